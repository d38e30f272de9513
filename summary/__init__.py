"""The event-file library: write summaries, read and follow log directories."""

from typing import TYPE_CHECKING

from summary.writer import SummaryWriter

if TYPE_CHECKING:
    from summary.global_writer import GlobalSummaryWriter
    from summary.logdir import open_logdir

__all__ = ["GlobalSummaryWriter", "SummaryWriter", "open_logdir"]


def __getattr__(name: str) -> object:
    # Reading compiles its scan with Numba, whose import training code should not pay for.
    if name == "open_logdir":
        from summary.logdir import open_logdir

        return open_logdir
    # It imports `multiprocessing`.
    if name == "GlobalSummaryWriter":
        from summary.global_writer import GlobalSummaryWriter

        return GlobalSummaryWriter
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
