"""The health panel: what was and was not read from every event file."""
