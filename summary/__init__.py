"""The event-file library: write summaries, read and follow log directories."""

from typing import TYPE_CHECKING

from stepscope.summary.writer import SummaryWriter

if TYPE_CHECKING:
    from stepscope.summary.global_writer import GlobalSummaryWriter
    from stepscope.summary.logdir import open_logdir

__all__ = ["GlobalSummaryWriter", "SummaryWriter", "open_logdir"]


def __getattr__(name: str) -> object:
    # Reading compiles its scan with Numba, whose import training code should not pay for.
    if name == "open_logdir":
        from stepscope.summary.logdir import open_logdir

        return open_logdir
    # It imports `multiprocessing`.
    if name == "GlobalSummaryWriter":
        from stepscope.summary.global_writer import GlobalSummaryWriter

        return GlobalSummaryWriter
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
