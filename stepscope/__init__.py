"""Log, profile and browse model training.

Most programs need only ``from stepscope import SummaryWriter, open_logdir, Profile, annotate``. The packages behind
these names are `stepscope.summary` (event files), `stepscope.profiler` (traces), `stepscope.debug` (debugging of
tensors) and `stepscope.dashboard` (the pages and the command ``stepscope``). Importing this module loads none of them:
each name loads its package when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from stepscope import dashboard, debug, profiler, summary
    from stepscope.profiler import (
        Profile,
        ProfilerAction,
        ProfilerOptions,
        Recording,
        annotate,
        data_loading,
        schedule,
    )
    from stepscope.summary import GlobalSummaryWriter, SummaryWriter, open_logdir

__all__ = [
    "GlobalSummaryWriter",
    "Profile",
    "ProfilerAction",
    "ProfilerOptions",
    "Recording",
    "SummaryWriter",
    "annotate",
    "dashboard",
    "data_loading",
    "debug",
    "open_logdir",
    "profiler",
    "schedule",
    "summary",
]

_PACKAGES: Final = ("summary", "profiler", "debug", "dashboard")
_OF_SUMMARY: Final = ("GlobalSummaryWriter", "SummaryWriter", "open_logdir")


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"stepscope.{name}")
    if name in __all__:
        package = "summary" if name in _OF_SUMMARY else "profiler"
        return getattr(import_module(f"stepscope.{package}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: Any) -> None:
    """Give the shell the magic ``%stepscope``, so that ``%load_ext stepscope`` works.

    Raises:
        ImportError: the dashboard is not installed; the message says what to install.
    """
    from stepscope.command import check_dashboard

    check_dashboard()
    from stepscope.dashboard.notebook.magic import load_ipython_extension as load

    load(shell)
