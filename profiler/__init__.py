"""The trace library: recording of steps, reading of every trace format, analysis, and level of detail.

Names are loaded on first use: reading traces needs no collectors, and starting a server needs neither.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from stepscope.profiler import server
    from stepscope.profiler.collectors.data_loading import data_loading
    from stepscope.profiler.options import ProfilerOptions
    from stepscope.profiler.process import AlreadyStartedError, NotStartedError, Profile, annotate, start, step, stop
    from stepscope.profiler.schedules import ProfilerAction, schedule
    from stepscope.profiler.session import Recording

__all__ = [
    "AlreadyStartedError",
    "NotStartedError",
    "Profile",
    "ProfilerAction",
    "ProfilerOptions",
    "Recording",
    "annotate",
    "data_loading",
    "schedule",
    "server",
    "start",
    "step",
    "stop",
]

_MODULES: Final = {
    "ProfilerAction": "schedules",
    "ProfilerOptions": "options",
    "Recording": "session",
    "data_loading": "collectors.data_loading",
    "schedule": "schedules",
    "server": "server",
}
"""Module of each name; the others are in `process`."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    where = _MODULES.get(name, "process")
    module = import_module(f"stepscope.profiler.{where}")
    if where == name:
        return module  # Importing it made it an attribute.
    # Loops call some of them a thousand times a second, and no recording should show the lookup.
    globals().update({each: getattr(module, each) for each in __all__ if _MODULES.get(each, "process") == where})
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
