"""The scalars panel."""
