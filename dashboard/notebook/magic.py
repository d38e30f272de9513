"""The dashboard in a notebook: the magic ``%stepscope``, and the same as functions.

``%load_ext stepscope`` (or ``%load_ext dashboard``), then ``%stepscope logs``. The server runs as a
separate process, reachable only from this machine by default, and ends with the kernel.
"""

import atexit
import contextlib
import html
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import IO, Any, Final, Literal, assert_never
from urllib.parse import urljoin, urlsplit, urlunsplit
from urllib.request import ProxyHandler, build_opener

from stepscope.dashboard.notebook.registry import RunningServer, forget, remember, running_servers
from stepscope.summary.errors import UserError

DEFAULT_HEIGHT: Final = 800
START_SECONDS: Final = 180.0
COLAB_FRAMES: Final = (
    "https://colab.research.google.com",
    "https://*.googleusercontent.com",
    "https://*.colab.dev",
)
"""Origins of the pages that show a server of a Colab kernel."""

Place = Literal["colab", "hub", "local"]

# As `stepscope.dashboard.cli.serve.announcement` says it, which would load the server's console into the kernel.
_LINK: Final = re.compile(r"^  (https?://\S+)  \(Ctrl\+C to stop\)$", re.MULTILINE)
_STYLES: Final = re.compile(r"\x1b\[[\d;]*m")
"""Escape codes of colors, which Jupyter asks for although the output goes to a file."""
# Same as `stepscope.dashboard.server.access.HEALTH`, which would load the web server into the kernel.
_HEALTH: Final = "/healthz"
_POLL_SECONDS: Final = 0.05
_STOP_SECONDS: Final = 5.0


class ServerError(UserError):
    """The server did not start; the message contains its output."""


def load_ipython_extension(shell: Any) -> None:
    """Give an IPython shell the magic ``%stepscope``."""
    shell.register_magic_function(stepscope_magic, magic_kind="line", magic_name="stepscope")


def stepscope_magic(line: str) -> None:
    """Show the dashboard: ``%stepscope LOGDIR``, with the options of ``stepscope serve``, and ``--height N``."""
    start(line)


def start(line: str, *, echo: Callable[[str], None] = print) -> None:
    """Start a dashboard, or reuse the one running with the same arguments in the same folder, and show it.

    Args:
        line: the arguments of ``stepscope serve`` as on a command line, and ``--height`` in pixels.
        echo: receives messages, one line at a time. Errors are reported this way too, not raised.
    """
    try:
        arguments, height = parse_line(line)
        server, reused = find_or_launch(arguments)
    except UserError as error:
        echo(f"stepscope: {error}")
        return
    if reused:
        echo(f"Stepscope is already running at {server.url} (process {server.pid})")
    else:
        echo(f"Stepscope serves {shlex.join(arguments)} at {server.url}")
    show(server, height, echo)


def list() -> None:
    """Print the running dashboards that this user's notebooks started."""
    servers = running_servers()
    for server in servers:
        print(f"port {server.port}: {shlex.join(server.arguments)} in {server.folder} (process {server.pid})")
    if not servers:
        print("No dashboard is running. Start one with %stepscope LOGDIR")


def display(port: int | None = None, height: int = DEFAULT_HEIGHT) -> None:
    """Show a running dashboard again.

    Args:
        port: port of the dashboard; None for the one that was started last.
        height: height in pixels.
    """
    servers = [server for server in running_servers() if port in (None, server.port)]
    if not servers:
        where = "is running" if port is None else f"that a notebook started is on port {port}"
        print(f"No dashboard {where}. Start one with %stepscope LOGDIR")
        return
    show(servers[-1], height, print)


def parse_line(line: str) -> tuple[tuple[str, ...], int]:
    """Return the arguments for ``stepscope serve``, and the height in pixels.

    Raises:
        UserError: quotes do not match, or the height is not a number of pixels.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UserError(
            f"{line!r} is not a command line ({error}); expected one such as LOGDIR --height 900"
        ) from error
    if words[:1] == ["serve"]:
        words = words[1:]
    height, rest = "", []
    for word in (waiting := iter(words)):
        name, equals, value = word.partition("=")
        if name != "--height":
            rest.append(word)
        else:
            height = value if equals else next(waiting, "nothing")
    if height and not (height.isdecimal() and 100 <= int(height) <= 10_000):
        raise UserError(f"--height is {height}; expected pixels from 100 to 10000, such as {DEFAULT_HEIGHT}")
    return tuple(rest), int(height or DEFAULT_HEIGHT)


def find_or_launch(arguments: tuple[str, ...]) -> tuple[RunningServer, bool]:
    """Return the server running with these arguments in this folder, or a new one, and whether it was already running.

    Raises:
        ServerError: the server does not start.
    """
    folder = os.getcwd()
    for server in running_servers():
        if (server.arguments, server.folder) == (arguments, folder):
            return server, True
    return launch(arguments, folder), False


def launch(arguments: tuple[str, ...], folder: str) -> RunningServer:
    """Start a server and wait until it answers.

    Raises:
        ServerError: the server ends, or does not answer within three minutes; the message contains its output.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "stepscope.dashboard.notebook.server", *_for_serve(arguments, place_of_notebook())],
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=subprocess.STDOUT,
            cwd=folder,
        )
        atexit.register(stop, process)
        try:
            url = _wait_for_url(process, said)
        except BaseException:
            stop(process)
            raise
    parts = urlsplit(url)
    server = RunningServer(process.pid, parts.hostname or "localhost", parts.port or 80, url, arguments, folder)
    remember(server)
    return server


def stop(process: "subprocess.Popen[bytes]") -> None:
    """End a server that was started here; one that has already ended is not an error."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    forget(process.pid)


def place_of_notebook() -> Place:
    """Return where the notebook is served from."""
    if "google.colab" in sys.modules:
        return "colab"
    return "hub" if os.environ.get("JUPYTERHUB_SERVICE_PREFIX") else "local"


def show(server: RunningServer, height: int, echo: Callable[[str], None]) -> None:
    """Show the dashboard in the notebook, or explain how to reach it where the browser cannot."""
    place = place_of_notebook()
    match place:
        case "colab":
            sys.modules["google.colab"].output.serve_kernel_port_as_iframe(server.port, height=str(height))
        case "hub":
            echo(
                "This notebook is behind JupyterHub: the browser cannot reach a port of this machine. Forward it "
                f"(ssh -L {server.port}:localhost:{server.port} HOST) and open {forwarded(server)} there."
            )
        case "local":
            from IPython import display as module

            untyped: Any = module
            # IPython warns of frames in its class HTML, and its own frame may not write to the clipboard.
            untyped.display({"text/html": iframe(server.url, height), "text/plain": server.url}, raw=True)
        case _:
            assert_never(place)


def forwarded(server: RunningServer) -> str:
    """Return the page's address on a machine that the server's port is forwarded to."""
    parts = urlsplit(server.url)
    return urlunsplit(("http", f"localhost:{server.port}", parts.path, parts.query, ""))


def iframe(url: str, height: int) -> str:
    """Return the frame as HTML; it is light or dark according to the system setting."""
    return (
        f'<iframe src="{html.escape(url)}" title="Stepscope" allow="clipboard-write" '
        f'style="width: 100%; height: {height}px; border: 1px solid #8884; border-radius: 6px"></iframe>'
    )


def link_in(said: str) -> str:
    """Return the link to the page in the output of a server; empty before the server has said it."""
    found = _LINK.search(said)
    return found[1] if found else ""


def answers(url: str) -> bool:
    """Return whether a server of this machine answers; no proxy is asked for it."""
    try:
        with build_opener(ProxyHandler({})).open(urljoin(url, _HEALTH), timeout=_STOP_SECONDS) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _for_serve(arguments: Sequence[str], place: Place) -> tuple[str, ...]:
    """Return arguments with a free port if none was given; in Colab also with its frame origins and their hosts."""
    own = any(word.partition("=")[0] == "--port" for word in arguments)
    more = () if own else ("--port", "0")
    if place != "colab":
        return (*arguments, *more)
    hosts = [origin.removeprefix("https://") for origin in COLAB_FRAMES]
    allowed = [w for o, h in zip(COLAB_FRAMES, hosts, strict=True) for w in ("--allow-frame", o, "--allow-host", h)]
    return (*arguments, *more, *allowed)


def _wait_for_url(process: "subprocess.Popen[bytes]", said: IO[str]) -> str:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        ended = process.poll() is not None
        text = _text_of(said)
        link = link_in(text)
        if ended:
            raise ServerError(f"the server did not start (exit code {process.returncode}).\n{text.strip()}")
        if link and answers(link):
            return link
        time.sleep(_POLL_SECONDS)
    raise ServerError(f"the server did not answer within {START_SECONDS:.0f} seconds.\n{_text_of(said).strip()}")


def _text_of(said: IO[str]) -> str:
    # At an explicit offset: the server writes through the same open file.
    return _STYLES.sub("", os.pread(said.fileno(), 1 << 20, 0).decode("utf-8", "replace"))
