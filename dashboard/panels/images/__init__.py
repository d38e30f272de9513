"""The images panel."""
