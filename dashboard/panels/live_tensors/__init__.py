"""The health panel: what was read from every event file, and what was not."""
