"""The dashboard in a notebook: the magic ``%stepscope``, and the same as functions."""

from stepscope.dashboard.notebook.magic import display, list, start

__all__ = ["display", "list", "start"]
