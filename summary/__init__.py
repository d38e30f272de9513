"""The event-file library: write summaries, read and follow log directories. Names are loaded when first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from stepscope.summary.global_writer import GlobalSummaryWriter
    from stepscope.summary.logdir import open_logdir
    from stepscope.summary.writer import SummaryWriter

__all__ = ["GlobalSummaryWriter", "SummaryWriter", "open_logdir"]

_MODULES: Final = {"GlobalSummaryWriter": "global_writer", "SummaryWriter": "writer", "open_logdir": "logdir"}


def __getattr__(name: str) -> Any:
    # Training code should not pay for reading, nor a starting server for writing.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"stepscope.summary.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
