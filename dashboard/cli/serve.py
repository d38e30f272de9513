"""``stepscope --logdir DIR``: serve the dashboard."""

import contextlib
import errno
import os
import re
import secrets
import socket
import threading
import webbrowser
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from rich.console import Console
from rich.markup import escape

from stepscope.dashboard.cli.reading import add_directories, check_logdirs, directories, index_at
from stepscope.dashboard.cli.start import Served, Start
from stepscope.dashboard.server.access import (
    Access,
    checked_host,
    checked_prefix,
    checked_token,
    is_loopback,
    machine_names,
)
from stepscope.dashboard.server.guard import TOKEN_FIELD
from stepscope.dashboard.server.steady_output import steady_console
from stepscope.dashboard.server.web_server import ends_as_interrupted
from stepscope.summary.cache_folder import cache_folder
from stepscope.summary.errors import UserError
from stepscope.summary.first_reading import read_ahead
from stepscope.summary.index_places import place_in_cache
from stepscope.summary.source import Source, readable

if TYPE_CHECKING:
    from stepscope.dashboard.server.live import Live
    from stepscope.profiler.client import Address

DEFAULT_PORT: Final = 6006
PORTS_TO_TRY: Final = 100
EVERY_INTERFACE: Final = ("0.0.0.0", "::", "")
TOKEN_VARIABLE: Final = "STEPSCOPE_TOKEN"


class ServeVerb:
    """The default verb."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_directories(parser)
        self.add_server_arguments(parser)

    @staticmethod
    def add_server_arguments(parser: ArgumentParser) -> None:
        """Declare all server options, but not those for what to show."""
        parser.add_argument(
            "--port", type=int, help=f"port to serve on (default: {DEFAULT_PORT} or, if taken, the next free one)"
        )
        parser.add_argument(
            "--host",
            default="localhost",
            help="address to serve on; 0.0.0.0 for every interface, which then requires a token (default: %(default)s)",
        )
        parser.add_argument(
            "--token",
            help="the token that browsers and programs must send; prefer the environment variable "
            f"{TOKEN_VARIABLE}, which other users of the machine cannot read",
        )
        parser.add_argument(
            "--no-token", action="store_true", help="serve without a token, even where --host lets other machines in"
        )
        parser.add_argument(
            "--allow-host",
            action="append",
            default=[],
            metavar="NAME",
            type=host_to_allow,
            help="another name under which the page is opened, such as a proxy's; *.example.org for all of a domain",
        )
        parser.add_argument("--keep-superseded", action="store_true", help="show points that a restarted run overwrote")
        parser.add_argument(
            "--reload-interval",
            type=float,
            default=2.0,
            metavar="S",
            help="polling interval in seconds when the file system sends no change events (default: %(default)s)",
        )
        parser.add_argument(
            "--no-cache",
            action="store_true",
            help="neither read nor write the cache that speeds up starts",
        )
        parser.add_argument(
            "--index",
            metavar="ADDRESS",
            help="start from the index at a path or an address, as written by stepscope index, and keep it up to date "
            "(default: an index in the user's cache)",
        )
        parser.add_argument(
            "--allow-frame",
            action="append",
            default=[],
            metavar="ORIGIN",
            type=frame_origin,
            help="let pages of ORIGIN, such as https://notes.example.org, show the dashboard in a frame; "
            "pages of this machine always may",
        )
        parser.add_argument(
            "--capture",
            action="append",
            default=[],
            metavar="HOST:PORT",
            type=capture_address,
            help="let pages record the program whose profiler.server listens at HOST:PORT; programs on this machine "
            "can always be recorded, unless --host lets other machines in",
        )
        parser.add_argument(
            "--path-prefix",
            type=path_prefix,
            default="",
            metavar="PATH",
            help="the path under which a proxy shows the page, such as /notes; requests may come with or without it",
        )
        parser.add_argument("--window-title", metavar="TEXT", help="the title of the browser tab")
        parser.add_argument(
            "--reuse-port", action="store_true", help="share the port with programs that allow that too (SO_REUSEPORT)"
        )
        parser.add_argument("--open-browser", action="store_true", help="open the page in the default browser")

    def run(self, arguments: Namespace) -> int:
        console, given = steady_console(), directories(arguments)
        return self.run_with(arguments, check_logdirs(given, console), console, logdirs=given)

    @staticmethod
    def run_with(
        arguments: Namespace, source: Source, console: Console, *, tab: str = "", logdirs: Sequence[str] = ()
    ) -> int:
        """Serve the content of a source.

        Args:
            arguments: the parsed arguments of `add_server_arguments`.
            source: the source to serve.
            console: shows the progress.
            tab: the tab that the link opens; empty for the first.
            logdirs: the user's names for the source, if a process may read it ahead.

        Raises:
            UserError: an argument is out of range, or the server cannot listen.
        """
        if not 0 < arguments.reload_interval <= threading.TIMEOUT_MAX:
            raise UserError(f"--reload-interval is {arguments.reload_interval:g}; expected seconds above 0, such as 2")
        token = token_for(arguments.host, arguments.token, without=arguments.no_token)
        hosts, frames = tuple(arguments.allow_host), tuple(arguments.allow_frame)
        access = Access(arguments.host, token, hosts, frames, arguments.path_prefix)
        listener = listen(arguments.host, arguments.port, console, shared=arguments.reuse_port)
        path, title = source.address, arguments.window_title or ""
        shared = None if arguments.index is None else index_at(arguments.index, "--index")
        in_cache = not arguments.no_cache and shared is None
        place = str(place_in_cache(source)) if in_cache else None if shared is None else shared.address
        reading = None if place is None else read_ahead(logdirs, source.watchable_folders, place)

        def make() -> "Live":
            from stepscope.dashboard.cli import serving
            from stepscope.dashboard.embeddings.results import result_folder
            from stepscope.summary.column_cache import ColumnCache
            from stepscope.summary.index_places import index_in_cache

            live = serving.make_live(
                source,
                arguments.keep_superseded,
                arguments.reload_interval,
                ColumnCache(cache_folder("columns")) if in_cache else None,
                index_in_cache(source) if in_cache else shared,
                title,
                reading,
            )
            serving.keep_results(live, None if arguments.no_cache else result_folder())
            return live

        served = Served(path, make, title)
        try:
            serve(served, access, arguments.capture, listener, console, browse=arguments.open_browser, tab=tab)
        finally:
            if reading is not None:
                reading.stop()
        return 0


def listen(host: str, port: int | None, console: Console, *, shared: bool = False) -> socket.socket:
    """Return a socket that listens on the port; if it is None, on the usual port or the next free one.

    Prints which port it is if another program has the usual one. With ``shared``, another program may listen on the
    port too, if that program has allowed it.

    Raises:
        UserError: the port is taken or out of range, the host is not an address of this machine, or none of 100 ports
            is free.
    """
    first = DEFAULT_PORT if port is None else port
    if not 0 <= first <= 65535:
        raise UserError(f"--port is {port}; expected a number from 0 to 65535, such as {DEFAULT_PORT}")
    try:
        family, _, _, _, address = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError) as error:
        raise UserError(
            f"--host {host} cannot be resolved ({error}); expected localhost, 0.0.0.0 or an address"
        ) from error
    if shared and not hasattr(socket, "SO_REUSEPORT"):
        raise UserError("--reuse-port: this system cannot share ports; leave it out")
    for candidate in range(first, first + (PORTS_TO_TRY if port is None else 1)):
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            listener.bind((address[0], candidate))
            listener.listen(128)
        except PermissionError as error:
            listener.close()
            raise UserError(
                f"Port {candidate} requires administrator privileges; choose one above 1023, such as 6006"
            ) from error
        except OSError as error:
            listener.close()
            if error.errno == errno.EADDRNOTAVAIL:
                raise UserError(
                    f"--host {host} is not an address of this machine; expected localhost or 0.0.0.0"
                ) from error
            continue
        if candidate != first:
            console.print(f"Port {first} is taken; using {candidate}.")
        return listener
    if port is None:
        raise UserError(f"Ports {first} to {first + PORTS_TO_TRY - 1} are all taken; choose another with --port")
    raise UserError(f"Port {port} is taken; choose another, or leave out --port for the first free one")


def token_for(host: str, given: str | None, *, without: bool) -> str:
    """Return the token of a server: the one that was given, or a new one if other machines can reach the server.

    The token is "" if there is none.

    Raises:
        UserError: the given token cannot be used, or was given although no token was wanted.
    """
    if without:
        if given is not None:
            raise UserError("--token and --no-token contradict each other; give one of them")
        return ""
    chosen = os.environ.get(TOKEN_VARIABLE, "") if given is None else given
    if chosen or given is not None:
        return checked_token(chosen)
    return "" if is_loopback(host) else secrets.token_urlsafe(24)


def frame_origin(text: str) -> str:
    """Check an origin for ``--allow-frame``: a scheme, a host, whose first part may be "*", and optionally a port.

    Raises:
        ArgumentTypeError: the text is not an origin, or contains more than an origin, which the browser would obey.
    """
    if not re.fullmatch(r"https?://(\*\.)?[A-Za-z0-9][A-Za-z0-9.-]*(:(\d{1,5}|\*))?", text):
        raise ArgumentTypeError(f"{text!r} is not an origin; expected one such as https://notes.example.org")
    return text


def host_to_allow(text: str) -> str:
    """Check a host name for ``--allow-host``. Raises ArgumentTypeError if it is invalid."""
    try:
        return checked_host(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


def path_prefix(text: str) -> str:
    """Check a path for ``--path-prefix``. Raises ArgumentTypeError if it is invalid."""
    try:
        return checked_prefix(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


def capture_address(text: str) -> "Address":
    """Check an address for ``--capture``. Raises ArgumentTypeError if it is invalid."""
    # This takes long to import, and few programs are recorded from pages on other machines.
    from stepscope.profiler.client import parse_address

    try:
        return parse_address(text)
    except UserError as error:
        raise ArgumentTypeError(str(error)) from error


def page_url(host: str, port: int) -> str:
    """Return the URL of the page for a browser on this machine."""
    if host in (*EVERY_INTERFACE, "127.0.0.1", "::1"):
        return f"http://localhost:{port}/"
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def announcement(path: str, access: Access, port: int, tab: str = "") -> str:
    """Return the message printed at the start, as Rich markup: the link, and who may do what on the server."""
    link, path = page_link(access, port, tab), readable(path)
    lines = [f"[bold]Stepscope[/] follows {escape(path)}", f"  [bold cyan]{escape(link)}[/]  (Ctrl+C to stop)"]
    if access.bound_host in EVERY_INTERFACE:
        lines.append(f"  [cyan]{escape(link.replace('//localhost', f'//{machine_names()[0]}', 1))}[/]")
    elif not access.others_reach_it:
        return "\n".join(lines)
    who = "Anyone who has the token" if access.token else "No token is required: anyone who reaches this port"
    said = (
        f"Other machines can reach this dashboard, without encryption. {who} can read what is below {path}, save "
        "layouts in it, drop files and start projections."
    )
    lines.append(escape(said) if access.token else f"[yellow]{escape(said)}[/]")
    return "\n".join(lines)


def page_link(access: Access, port: int, tab: str = "") -> str:
    """Return the URL of the page for a browser on this machine, with the token if required, and the tab if given."""
    fields = {TOKEN_FIELD: access.token, "tab": tab}
    query = urlencode({name: value for name, value in fields.items() if value})
    page = page_url(access.bound_host, port) + (f"{access.prefix[1:]}/" if access.prefix else "")
    return f"{page}?{query}" if query else page


def serve(
    served: Served,
    access: Access,
    captures: "Sequence[Address]",
    listener: socket.socket,
    console: Console,
    *,
    browse: bool,
    tab: str = "",
) -> None:
    """Serve until Ctrl+C, SIGTERM or SIGHUP.

    Args:
        served: what to follow and show.
        access: who may use the server.
        captures: programs that pages may record, besides those on this machine.
        listener: the socket to serve on.
        console: shows the progress.
        browse: whether to open the page in the default browser.
        tab: the tab that the link opens; empty for the first.
    """
    with contextlib.suppress(KeyboardInterrupt), ends_as_interrupted():
        start = Start(served, access, captures, console)
        port = listener.getsockname()[1]
        console.print(announcement(served.path, access, port, tab))
        try:
            start.begin()
            if browse:
                webbrowser.open(page_link(access, port, tab))
            start.server.run(sockets=[listener])
        finally:
            start.finish()
    console.print("Stopped.")
