"""Progress of reading many ranks, in words."""

from stepscope.dashboard.server.numbers import file_size
from stepscope.summary.counts import counted
from stepscope.summary.engine import Progress


def progress_words(progress: Progress) -> str:
    """Return the progress as a line such as "16 of 1,024 ranks read, 41 MB of 2.6 GB, about 110 s left"."""
    left = progress.seconds_left()
    parts = [
        f"{progress.done:,} of {counted(progress.parts, 'rank')} read",
        *([f"{file_size(progress.done_bytes)} of {file_size(progress.bytes)}"] if progress.bytes else []),
        *([f"{counted(len(progress.failures), 'failure')}"] if progress.failures else []),
        *([f"about {left:,.0f} s left"] if left is not None else []),
    ]
    return ", ".join(parts)
