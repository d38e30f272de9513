"""The Projector panel: embeddings as clouds of points."""
