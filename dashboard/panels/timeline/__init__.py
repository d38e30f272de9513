"""The Timeline panel: the traces of a log directory, drawn on a canvas at the speed of the hand."""
