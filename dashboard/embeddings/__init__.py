"""Embeddings: where they come from, what they hold, and the projections of them that were asked for."""
