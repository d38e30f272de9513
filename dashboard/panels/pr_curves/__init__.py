"""The PR curves panel."""
