"""Data and media of a log directory as files."""
