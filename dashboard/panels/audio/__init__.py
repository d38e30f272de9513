"""The audio panel."""
