"""Tensors in files of weights, read without the frameworks that wrote them, and without running anything in them."""
