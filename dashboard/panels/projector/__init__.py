"""The Projector panel: embeddings as point clouds."""
