"""Tensors in weight files, read without the frameworks that wrote them and without executing anything in them."""
