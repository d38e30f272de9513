"""The web application and the command ``stepscope``."""

from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """Makes ``%load_ext dashboard`` work: gives the shell the magic ``%stepscope`` (`dashboard.notebook.magic`)."""
    # Not above: importing any part of the package must not import what notebooks need.
    from dashboard.notebook.magic import load_ipython_extension as load

    load(shell)
