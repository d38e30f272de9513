"""``stepscope --logdir DIR``: serves the dashboard."""

import asyncio
import contextlib
import errno
import re
import socket
import threading
import webbrowser
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import uvicorn
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from dashboard.app import build_app
from dashboard.embeddings.results import ResultFiles, result_folder
from dashboard.health import writers_text
from dashboard.live import Live
from dashboard.numbers import count, counted
from dashboard.panels.registry import COMPANION_PATTERNS
from dashboard.temporary_folders import sweep
from dashboard.traces.sources import has_traces, trace_sources
from dashboard.verbs.reading import add_logdir, check_logdirs
from dashboard.warm_up import compile_beside
from profiler.client import Address, parse_address
from summary.column_cache import ColumnCache, default_cache_folder
from summary.errors import UserError
from summary.follow import Follower
from summary.logdir import Logdir
from summary.snapshot import Snapshot
from summary.source import Source

DEFAULT_PORT: Final = 6006
PORTS_TO_TRY: Final = 100


class ServeVerb:
    """The default verb."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_logdir(parser)
        parser.add_argument(
            "--port", type=int, default=DEFAULT_PORT, help="port to serve on; if taken, the next free one (%(default)s)"
        )
        parser.add_argument(
            "--host", default="localhost", help="address to serve on; 0.0.0.0 for every interface (%(default)s)"
        )
        parser.add_argument(
            "--keep-superseded", action="store_true", help="also show points that a restarted run overwrote"
        )
        parser.add_argument(
            "--reload-interval",
            type=float,
            default=2.0,
            metavar="S",
            help="seconds between looks where the file system tells of no changes (%(default)s)",
        )
        parser.add_argument(
            "--no-cache",
            action="store_true",
            help="keep nothing of what was read, by which the next start would be faster",
        )
        parser.add_argument(
            "--allow-frame",
            action="append",
            default=[],
            metavar="ORIGIN",
            type=frame_origin,
            help="let pages of ORIGIN, such as https://notes.example.org, show the dashboard in a frame; "
            "those of this machine may anyway",
        )
        parser.add_argument(
            "--capture",
            action="append",
            default=[],
            metavar="HOST:PORT",
            type=capture_address,
            help="let pages record the program whose profiler.server listens there; those of this machine they may "
            "anyway, unless --host lets other machines in",
        )
        parser.add_argument("--open-browser", action="store_true", help="open the page in the default browser")

    def run(self, arguments: Namespace) -> int:
        console = Console(highlight=False, soft_wrap=True)
        source = check_logdirs(arguments.logdir, console)
        if not 0 < arguments.reload_interval <= threading.TIMEOUT_MAX:
            raise UserError(f"--reload-interval is {arguments.reload_interval:g}; expected seconds above 0, such as 2")
        listener = listen(arguments.host, arguments.port, console)
        cache = None if arguments.no_cache else ColumnCache(default_cache_folder())
        live = make_live(source, arguments.keep_superseded, arguments.reload_interval, cache)
        keep_results(live, None if arguments.no_cache else result_folder())
        server = make_server(live, arguments.host, arguments.allow_frame, arguments.capture)
        serve(live, server, listener, arguments.host, console, open_browser=arguments.open_browser)
        return 0


def keep_results(live: Live, folder: Path | None) -> None:
    """Says where results of projections are kept for the next start; in memory alone where that is None."""
    live.shared(ResultFiles, lambda: ResultFiles(folder))


def make_live(source: Source, keep_superseded: bool, poll_seconds: float, cache: ColumnCache | None = None) -> Live:
    """The log directory, ready to be followed."""
    logdir = Logdir(source, companion_patterns=COMPANION_PATTERNS, keep_superseded=keep_superseded, cache=cache)
    return Live(source.address, lambda publish: Follower(logdir, publish, poll_seconds=poll_seconds))


def listen(host: str, port: int, console: Console) -> socket.socket:
    """A socket that listens on the port, or on the next free one, which it says.

    Raises:
        UserError: the port is out of range, the host is no address of this machine, or none of 100 ports is free.
    """
    if not 0 <= port <= 65535:
        raise UserError(f"--port is {port}; expected a number from 0 to 65535, such as {DEFAULT_PORT}")
    try:
        family, _, _, _, address = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError) as error:
        raise UserError(
            f"--host {host} is not known here ({error}); expected localhost, 0.0.0.0 or an address"
        ) from error
    last = min(port + PORTS_TO_TRY, 65536)
    for candidate in range(port, last):
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((address[0], candidate))
            listener.listen(128)
        except PermissionError as error:
            listener.close()
            raise UserError(f"Port {candidate} needs special rights; choose one above 1023, such as 6006") from error
        except OSError as error:
            listener.close()
            if error.errno == errno.EADDRNOTAVAIL:
                raise UserError(
                    f"--host {host} is no address of this machine; expected localhost or 0.0.0.0"
                ) from error
            continue
        if candidate != port and port:
            console.print(f"Port {port} is taken; using {candidate}.")
        return listener
    raise UserError(f"Ports {port} to {last - 1} are all taken; choose another with --port")


class DashboardServer(uvicorn.Server):
    """Ends the event streams before it waits for open connections to close."""

    def __init__(self, config: uvicorn.Config, live: Live) -> None:
        super().__init__(config)
        self._live = live

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await asyncio.to_thread(self._live.stop)
        await super().shutdown(sockets)


def make_server(
    live: Live, host: str, frame_origins: Sequence[str] = (), captures: Sequence[Address] = ()
) -> DashboardServer:
    """The web server; ``run(sockets=[...])`` serves until it is told to exit."""
    config = uvicorn.Config(
        build_app(live, bound_host=host, frame_origins=frame_origins, captures=captures),
        log_level="warning",
        lifespan="off",
        access_log=False,
        timeout_graceful_shutdown=3,
        server_header=False,
    )
    return DashboardServer(config, live)


def frame_origin(text: str) -> str:
    """Checks an origin for ``--allow-frame``: a scheme, a host, of which the first part may be "*", and maybe a port.

    Raises:
        ArgumentTypeError: it is none, or would say more than that to the browser.
    """
    if not re.fullmatch(r"https?://(\*\.)?[A-Za-z0-9][A-Za-z0-9.-]*(:(\d{1,5}|\*))?", text):
        raise ArgumentTypeError(f"{text!r} is no origin; expected such as https://notes.example.org")
    return text


def capture_address(text: str) -> Address:
    """Checks an address for ``--capture``. Raises ArgumentTypeError: it is none."""
    try:
        return parse_address(text)
    except UserError as error:
        raise ArgumentTypeError(str(error)) from error


def page_url(host: str, port: int) -> str:
    """Where a browser on this machine finds the page."""
    if host in ("0.0.0.0", "::", "127.0.0.1", "::1"):
        return f"http://localhost:{port}/"
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def serve(
    live: Live, server: DashboardServer, listener: socket.socket, host: str, console: Console, *, open_browser: bool
) -> None:
    """Serves until Ctrl+C."""
    port = listener.getsockname()[1]
    url = page_url(host, port)
    console.print(f"[bold]Stepscope[/] follows {escape(live.path)}\n  [bold cyan]{url}[/]  (Ctrl+C to stop)")
    if compile_beside():
        console.print(
            "  First start here: loops are compiled for this machine, for a minute or less. Curves are there at once, "
            "traces after it; [bold]stepscope warm-up[/] does it in advance."
        )
    live.start()
    threading.Thread(target=show_first_pass, args=(live, console), name="progress", daemon=True).start()
    threading.Thread(target=sweep, name="temporary folders", daemon=True).start()
    if open_browser:
        webbrowser.open(url)
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listener])
    console.print("Stopped.")


def show_first_pass(live: Live, console: Console) -> None:
    """A progress bar while the first pass reads, then what was found."""
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
    if not live.closed:
        console.print(f"  {found(live.snapshot())}")


def found(snapshot: Snapshot) -> str:
    """One line on what the first pass read."""
    tags = len({tag for run in snapshot.runs.values() for tag in run.series})
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
        text += f"; {count(snapshot.superseded)} superseded points hidden"
    if snapshot.written_at_once:
        text += f"; {writers_text(snapshot.written_at_once)}"
    return text
