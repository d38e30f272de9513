"""The mesh panel."""
