"""What the panel Debugger and ``stepscope debug`` share: recordings and dumps of a log directory, opened."""
