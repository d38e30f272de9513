"""Panels: one folder each, listed in `stepscope.dashboard.panels.registry`."""
