"""The Graph panel: the structure of a model, drawn on a canvas, with its cost on it."""
