"""The event-file library: write summaries, read them, follow them as they grow."""

from summary.writer import SummaryWriter

__all__ = ["SummaryWriter"]
