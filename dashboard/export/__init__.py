"""Export of data and media from a log directory to files."""
