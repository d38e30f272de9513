"""The text panel."""
