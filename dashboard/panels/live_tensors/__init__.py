"""The tab *Live tensors*: arrays of a running program, while they change."""
