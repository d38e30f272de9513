"""Logs of small real training runs, and `sample_logs.make`, which makes them."""
