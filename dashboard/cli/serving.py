"""Objects that the command serves once its libraries are imported: log directory, application, and what was read."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from stepscope.dashboard.embeddings.results import ResultFiles
from stepscope.dashboard.page.front import Front
from stepscope.dashboard.page.health_badge import writers_text
from stepscope.dashboard.panels.registry import companion_patterns, recognizers
from stepscope.dashboard.server.access import Access
from stepscope.dashboard.server.app import LOCAL, build_app
from stepscope.dashboard.server.compiler_process import compile_beside, hold_back
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.temporary_folders import sweep
from stepscope.dashboard.server.web_server import DashboardServer
from stepscope.dashboard.traces.sources import has_traces, trace_sources
from stepscope.profiler.client import Address
from stepscope.summary import scan
from stepscope.summary.column_cache import ColumnCache
from stepscope.summary.counts import counted
from stepscope.summary.first_reading import FirstReading
from stepscope.summary.follow import Follower
from stepscope.summary.kernels import Group
from stepscope.summary.log_index import LogIndex
from stepscope.summary.logdir import Logdir
from stepscope.summary.snapshot import Snapshot
from stepscope.summary.source import Source
from stepscope.summary.storage import is_address


def keep_results(live: Live, folder: Path | None) -> None:
    """Set the folder that keeps projection results for the next start; None keeps them only in memory."""
    live.shared(ResultFiles, lambda: ResultFiles(folder))


def make_live(
    source: Source,
    keep_superseded: bool,
    poll_seconds: float,
    cache: ColumnCache | None = None,
    index: LogIndex | None = None,
    title: str = "",
    reading: FirstReading | None = None,
) -> Live:
    """Return the log directory, ready to be followed; ``reading`` is the reading ahead that already fills the index."""
    logdir = Logdir(
        source,
        companion_patterns=companion_patterns(),
        recognizers=recognizers(),
        keep_superseded=keep_superseded,
        cache=cache,
        index=index,
    )
    may_look = threading.Event()
    return Live(
        source.address,
        lambda publish: Follower(logdir, publish, poll_seconds=poll_seconds, may_look=may_look, reading=reading),
        title,
        may_look,
    )


def make_app(live: Live, access: Access, captures: Sequence[Address], front: Front | None = None) -> FastAPI:
    """Return the application; ``front`` is the one that has answered for the page in the meantime, if any."""
    return build_app(live, access=access, captures=captures, front=front)


def make_server(live: Live, access: Access = LOCAL, captures: Sequence[Address] = ()) -> DashboardServer:
    """Return the web server; ``run(sockets=[...])`` serves until told to exit."""
    return DashboardServer(make_app(live, access, captures), live.stop)


def follow(live: Live, console: Console, *, look_later: bool) -> Callable[[], None]:
    """Start following, along with the other work of a start.

    Args:
        live: the log directory to follow.
        console: shows a message if loops are not compiled yet.
        look_later: whether to defer the check for compiled loops, which takes as long as importing Numba: callers that
            need the loops go on without them. Otherwise the first caller that needs them triggers the check, and none
            does if nothing has changed.

    Returns:
        The function to call when there is time for a deferred check; it does nothing if the check is done.
    """
    looking = threading.Lock()
    held: dict[Group, threading.Event] = {}

    def look() -> None:
        with looking:
            looked_at = dict(held)
            held.clear()
            if looked_at and compile_beside(looked_at):
                console.print(
                    "  First start here: compiling parts of Stepscope for this machine, which takes up to a minute. "
                    "Curves are available immediately, traces once that is done; [bold]stepscope warm-up[/] does it in "
                    "advance."
                )

    held.update(hold_back(look=None if look_later else look))
    live.start()
    threading.Thread(target=sweep, name="temporary folders", daemon=True).start()
    return look


def show_first_pass(live: Live, console: Console) -> None:
    """Show a progress bar during the first pass, then what it found."""
    columns: tuple[Any, ...] = (TextColumn("  {task.description}"), BarColumn(), TimeElapsedColumn())
    stopped = threading.Event()
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("Reading", total=None)
        while live.reading and not live.closed:
            snapshot = live.snapshot()
            if snapshot.health:
                total = sum(file.size for file in snapshot.health)
                read = sum(file.bytes_read for file in snapshot.health)
                progress.update(task, total=total, completed=read, description=counted(len(snapshot.runs), "run"))
            stopped.wait(0.1)
    scan.KERNELS.spare(scan.READ_PLAINLY)
    if not live.closed:
        snapshot = live.snapshot()
        console.print(f"  {found(snapshot)}")
        if is_address(live.path) and not (snapshot.health or snapshot.companions):
            console.print(
                f"  [yellow]nothing is at {escape(live.path)} yet;[/] waiting for event files. Is the address right?"
            )


def found(snapshot: Snapshot) -> str:
    """Return one line on what the first pass read."""
    tags = len(snapshot.tags)
    traces = len(trace_sources(snapshot)) if has_traces(snapshot) else 0
    files = sum(not file.is_folder for file in snapshot.health)
    parts = [
        *([counted(traces, "trace")] if traces else []),
        counted(len(snapshot.runs), "run"),
        counted(tags, "tag"),
        counted(files, "event file"),
    ]
    text = parts[0] if traces and not snapshot.runs and not files else ", ".join(parts)
    if snapshot.damage_count:
        text += f"; [yellow]{counted(snapshot.damage_count, 'damaged stretch', 'damaged stretches')} skipped[/]"
    if snapshot.superseded:
        text += f"; {counted(snapshot.superseded, 'superseded point')} hidden"
    if snapshot.written_at_once:
        text += f"; {writers_text(snapshot.written_at_once)}"
    return text
