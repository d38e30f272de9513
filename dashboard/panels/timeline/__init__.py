"""The Timeline panel: the traces of a log directory, drawn interactively on a canvas."""
