"""Shared parts of the verbs whose work an engine does."""

from argparse import ArgumentParser
from collections.abc import Generator
from typing import Final, TypeVar

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as ProgressBar

from stepscope.dashboard.cli.interrupts import interrupt_this_thread_alone
from stepscope.dashboard.cli.reading import printable
from stepscope.summary.counts import counted
from stepscope.summary.engine import Progress

UNREADABLE: Final = 2
"""Exit code when some of several parts cannot be read."""
INTERRUPTED: Final = 130
"""Exit code after Ctrl+C, as in shells."""
_MOST_NAMED: Final = 20
"""Maximum number of failures that are named."""

Step = TypeVar("Step")


def add_engine(parser: ArgumentParser, what: str, *, default: str) -> None:
    """Declare ``--engine``.

    Args:
        parser: the verb's parser.
        what: the work that an engine does, such as "read the traces of many ranks".
        default: what does the work if no engine is named.
    """
    parser.add_argument(
        "--engine",
        metavar="ENGINE",
        help=f"where to {what}: threads or processes on this machine, dask or ray on it, or a cluster at "
        f"dask://HOST:8786 or ray://HOST:10001 (default: {default})",
    )


def progress_bar(console: Console) -> ProgressBar:
    """Return a progress bar of bytes that disappears when it is done; it is shown only on a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    return ProgressBar(*columns, console=console, transient=True, disable=not console.is_terminal)


def last_step(
    steps: Generator[Step, None, None], progress: Progress, parts: str, console: Console
) -> tuple[Step | None, bool]:
    """Go through the steps of some work and show progress; return the last one, and whether Ctrl+C ended it early.

    Args:
        steps: the result so far, after each part.
        progress: the progress of the same work.
        parts: what the progress counts, such as "file".
        console: shows the progress bar and names failures.

    Raises:
        KeyboardInterrupt: Ctrl+C came before there was any result.
    """
    interrupt_this_thread_alone()
    found: Step | None = None
    interrupted = False
    with progress_bar(console) as bar:
        task = bar.add_task("Looking", total=None)
        try:
            for step in steps:
                found = step
                failed = f", {counted(len(progress.failures), 'failure')}" if progress.failures else ""
                words = f"{progress.done:,} of {counted(progress.parts, parts)}{failed}"
                bar.update(task, description=words, total=progress.bytes, completed=progress.done_bytes)
        except KeyboardInterrupt:
            steps.close()
            if found is None:
                raise
            interrupted = True
    for name, reason in list(progress.failures.items())[:_MOST_NAMED]:
        console.print(printable(f"{name}: {reason}"), markup=False)
    if len(progress.failures) > _MOST_NAMED:
        console.print(f"and {len(progress.failures) - _MOST_NAMED:,} more")
    return found, interrupted


def exit_code(progress: Progress, *, interrupted: bool) -> int:
    """Return the exit code of a command, some of whose parts may have failed."""
    return INTERRUPTED if interrupted else UNREADABLE if progress.failures else 0
