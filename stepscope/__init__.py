"""``%load_ext stepscope`` in a notebook; what there is to import is in ``summary``, ``profiler`` and ``dashboard``."""

from dashboard import load_ipython_extension

__all__ = ["load_ipython_extension"]
