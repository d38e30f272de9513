"""Panels: one folder each, listed in `dashboard.panels.registry`."""
