"""The command ``stepscope``, and ``%load_ext stepscope`` in a notebook.

What there is to import is in ``summary``, ``profiler`` and ``dashboard``.
"""

from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """Gives the shell the magic ``%stepscope``.

    Raises:
        ImportError: a module of the user's hides a package of Stepscope's; says where it is.
    """
    # Not above, where a module of the same name would be imported before it can be told from Stepscope's.
    from stepscope.hidden import check_packages

    check_packages()
    from dashboard import load_ipython_extension as load

    load(shell)
