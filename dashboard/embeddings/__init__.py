"""Embeddings: their sources, their content, and the projections requested of them."""
