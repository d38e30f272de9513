"""The custom scalars panel."""
