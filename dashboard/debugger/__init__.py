"""Opened recordings and dumps of a log directory, shared by the Debugger panel and ``stepscope debug``."""
