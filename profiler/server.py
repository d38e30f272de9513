"""Lets others record this process: ``stepscope.profiler.server.start(6009)`` in the training program.

Then ``stepscope capture localhost:6009 --logdir runs/first --duration 2s``, or the dashboard's Capture button, records
the program while it runs. Until a recording is requested, the server costs one sleeping thread.

The server speaks HTTP: ``GET /status`` reports what runs here; ``POST /capture`` takes a
`stepscope.profiler.capture_request.CaptureRequest` as JSON and answers with the archive that
`stepscope.profiler.capture_files.pack` writes. Errors are ``{"error": <sentence>}``.
"""

import ipaddress
import os
import socket
import threading
from importlib.metadata import PackageNotFoundError, version
from types import TracebackType
from typing import Any, Final, Self

from stepscope.profiler import process
from stepscope.profiler.capture_http import CaptureHttpServer
from stepscope.profiler.capture_request import DEFAULT_PORT
from stepscope.profiler.collectors.own_thread import end_left
from stepscope.profiler.collectors.registry import all_collectors
from stepscope.profiler.tokens import SHORTEST_TOKEN
from stepscope.summary.errors import UserError, reason_of

LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_STOP_PATIENCE_S: Final = 10.0
_MAKE_TOKEN: Final = 'python -c "import secrets; print(secrets.token_urlsafe())"'


class Server:
    """A running server, made by `start`. Also a context manager that stops the server."""

    def __init__(self, http: CaptureHttpServer) -> None:
        self._http: Final = http
        self._thread: Final = threading.Thread(
            target=http.serve_forever, kwargs={"poll_interval": 0.2}, name="stepscope-server", daemon=True
        )
        self._thread.start()

    @property
    def port(self) -> int:
        """The port that the server listens on."""
        return int(self._http.server_address[1])

    @property
    def address(self) -> str:
        """``HOST:PORT``, as ``stepscope capture`` expects it."""
        host = str(self._http.server_address[0])
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"

    def stop(self) -> None:
        """Stop the server, ending a requested recording if one is running; may be called again."""
        self._http.stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        if self._http.turn.acquire(timeout=_STOP_PATIENCE_S):
            self._http.turn.release()
        end_left()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()


def start(port: int = DEFAULT_PORT, *, host: str = "127.0.0.1", token: str | None = None) -> Server:
    """Start a server that records this process on request.

    Args:
        port: port to listen on; 0 for any free port.
        host: address to listen on; only this machine can reach the default one.
        token: token that requests must carry; required if other machines can reach the server.

    Raises:
        UserError: the port is taken or out of range, the host is not an address of this machine, or the token is
            missing or too short.
    """
    if not 0 <= port <= 65535:
        raise UserError(f"port {port} is out of range. Expected a number from 0 to 65535, such as {DEFAULT_PORT}.")
    family, address = _resolved(host)
    if token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
        raise UserError(
            f"the token is too short, or has a special character: it needs {SHORTEST_TOKEN} or more ASCII letters, "
            f"digits or symbols. To generate one:\n  {_MAKE_TOKEN}"
        )
    if token is None and not ipaddress.ip_address(address).is_loopback:
        raise UserError(
            f"other machines can reach {host}, and must not record this process without permission. Expected a token "
            f"of {SHORTEST_TOKEN} or more characters: make one with\n  {_MAKE_TOKEN}\nand start the server with "
            f"start({port}, host={host!r}, token=...)."
        )
    try:
        http = CaptureHttpServer(family, (address, port), _host_names(host, address), token, status)
    except OSError as error:
        raise UserError(
            f"the profiler's server cannot listen on {host}, port {port}: {reason_of(error)}. Choose another "
            "port, or 0 for one that is free."
        ) from error
    return Server(http)


def _resolved(host: str) -> tuple[socket.AddressFamily, str]:
    try:
        found = socket.getaddrinfo(host or "0.0.0.0", None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UserError(f"host {host!r} cannot be resolved ({error}). Expected localhost or an address.") from error
    # "localhost" is both, and more programs connect to 127.0.0.1 than to ::1.
    family, _, _, _, address = min(found, key=lambda one: one[0] != socket.AF_INET)
    return family, str(address[0])


def _host_names(host: str, address: str) -> frozenset[str] | None:
    """Return the names by which requests may address the server; None for any, if it listens on every interface."""
    if ipaddress.ip_address(address).is_unspecified:
        return None
    # Also the loopback names, which requests through a tunnel to another machine use.
    return LOOPBACK_NAMES | {host.lower(), address.lower(), socket.gethostname().lower()}


def usable_collectors() -> list[str]:
    """Return the names of the collectors that can record here, as far as can be told without starting them."""
    return [name for name, listed in all_collectors().items() if listed.usable()]


def status() -> dict[str, Any]:
    """Return the answer to ``GET /status``.

    "step" is the number of the step being recorded, or null.
    """
    try:
        own_version = version("stepscope-core")
    except PackageNotFoundError:
        own_version = ""
    session = process._process.session
    steps = session.host._steps if session is not None else []
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "recording": session is not None or process._process.profile is not None,
        "step": steps[-1][0] if steps else None,
        "collectors": usable_collectors(),
        "version": own_version,
    }
