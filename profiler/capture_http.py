"""The HTTP side of `stepscope.profiler.server`: which requests are answered, and how."""

import hmac
import json
import logging
import os
import shutil
import socket
import socketserver
import tempfile
import threading
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any, Final

from stepscope.profiler.capture_files import MOST_ANSWER_BYTES, pack
from stepscope.profiler.capture_recording import CaptureCancelledError, NoStepsError, record
from stepscope.profiler.capture_request import MOST_REQUEST_BYTES, CaptureRequest, parse_request
from stepscope.profiler.capture_routes import OTHER_ROUTES, RefusalError
from stepscope.profiler.process import AlreadyStartedError
from stepscope.profiler.session import Recording
from stepscope.summary.errors import UserError, reason_of

_MOST_CONNECTIONS: Final = 32
_MOST_DRAINED: Final = 1 << 20

_log = logging.getLogger(__name__)


class CaptureHttpServer(ThreadingHTTPServer):
    """Answers ``GET /status`` and ``POST /capture``.

    Args:
        family: address family.
        address: host and port to listen on.
        names: host names by which requests may address this server; None for any.
        token: token that requests must carry, if any.
        status: returns the answer to ``GET /status``.

    Raises:
        OSError: the server cannot listen on the address.
    """

    daemon_threads = True
    request_queue_size = 16

    def __init__(
        self,
        family: socket.AddressFamily,
        address: tuple[str, int],
        names: frozenset[str] | None,
        token: str | None,
        status: Callable[[], Mapping[str, Any]],
    ) -> None:
        self.address_family = family
        self.status: Final = status
        self.names: Final = names
        self.token: Final = token
        self.turn: Final = threading.Lock()
        """Held while a requested recording is made."""
        self.stopping: Final = threading.Event()
        self._connections: Final = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        super().__init__(address, _Handler)
        _close_in_children(self)

    def server_bind(self) -> None:
        # Not HTTPServer's version, which asks a name server for the machine's name.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        # Every connection is a thread in the training program.
        if self._connections.acquire(blocking=False):
            try:
                super().process_request(request, client_address)
            except BaseException:
                self._connections.release()
                raise
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        _log.debug("a request from %s was not answered", client_address, exc_info=True)


def _close_in_children(http: CaptureHttpServer) -> None:
    """Close the port in forked children, such as data-loading workers."""
    kept = weakref.ref(http)

    def close() -> None:
        if (server := kept()) is not None:
            server.socket.close()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=close)


class _Handler(BaseHTTPRequestHandler):
    server: CaptureHttpServer
    protocol_version = "HTTP/1.1"
    server_version = "stepscope"
    sys_version = ""
    timeout = 30

    def do_GET(self) -> None:
        self._answer({"/status": self._status})

    def do_POST(self) -> None:
        others = {path: partial(self._other, answer) for path, answer in OTHER_ROUTES.items()}
        self._answer({"/capture": self._capture, **others})

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the terminal belongs to the training program."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request that this server does not understand, also as JSON."""
        self._send_json(code, {"error": f"{message or 'the request cannot be read'}."})

    def _answer(self, routes: Mapping[str, Any]) -> None:
        self._unread = self._declared_length()
        try:
            self._check()
            route = routes.get(self.path.partition("?")[0])
            if route is None:
                raise RefusalError(404, "nothing answers at this path. Expected GET /status or POST /capture.")
            route()
        except RefusalError as refusal:
            self._send_json(refusal.status, {"error": str(refusal)}, refusal.headers)
        except ConnectionError:
            self.close_connection = True

    # --- access ----------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        """Refuse requests from web pages, and from clients that do not know the token."""
        hosts = self.headers.get_all("Host") or []
        name = host_of(hosts[0]) if len(hosts) == 1 else ""
        names = self.server.names
        if names is not None and name not in names:
            raise RefusalError(
                403, f"this server is not called {name[:80]!r}. Expected one of: {', '.join(sorted(names))}."
            )
        if "Origin" in self.headers:
            raise RefusalError(403, "requests of web pages are refused. Expected a request without an Origin header.")
        token = self.server.token
        if token is not None and not hmac.compare_digest(self._token().encode(), token.encode()):
            raise RefusalError(
                401,
                "the token is missing or wrong. Expected the one that stepscope.profiler.server.start(token=...) was "
                "given, as Authorization: Bearer TOKEN.",
                {"WWW-Authenticate": "Bearer"},
            )

    def _token(self) -> str:
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""

    # --- requests --------------------------------------------------------------------------------------------------

    def _declared_length(self) -> int:
        text = self.headers.get("Content-Length", "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0

    def _body(self) -> bytes:
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            found = f"is {kind[:80]}" if kind else "has no Content-Type"
            raise RefusalError(415, f"the body {found}. Expected Content-Type: application/json.")
        if "Transfer-Encoding" in self.headers or not self._unread:
            raise RefusalError(411, "the length of the body is not known. Expected a Content-Length above 0.")
        if self._unread > MOST_REQUEST_BYTES:
            raise RefusalError(413, f"the body is {self._unread:,} bytes. Expected up to {MOST_REQUEST_BYTES:,}.")
        body = self.rfile.read(self._unread)
        self._unread = 0
        return body

    def _status(self) -> None:
        self._send_json(200, self.server.status())

    def _other(self, answer: Callable[[bytes], Mapping[str, Any]]) -> None:
        self._send_json(200, answer(self._body()))

    def _capture(self) -> None:
        try:
            request = parse_request(self._body())
        except UserError as error:
            raise RefusalError(400, str(error)) from error
        try:
            # Nameless, so that nothing is left behind whatever happens.
            with tempfile.TemporaryFile() as archive:
                self._record_into(archive, request)
                self._send_archive(archive)
        except (ConnectionError, TimeoutError):
            raise
        except OSError as error:
            raise RefusalError(507, f"the recording cannot be written here: {reason_of(error)}.") from error

    def _record_into(self, archive: IO[bytes], request: CaptureRequest) -> None:
        if not self.server.turn.acquire(blocking=False):
            raise RefusalError(409, "this process is already being captured. Try again when that is finished.")
        try:
            with tempfile.TemporaryDirectory(prefix="stepscope-capture-") as name:
                folder = Path(name)
                self._pack(self._recorded(request, folder), folder, archive)
        finally:
            self.server.turn.release()

    def _recorded(self, request: CaptureRequest, folder: Path) -> Recording:
        try:
            return record(request, folder, self._is_wanted)
        except AlreadyStartedError as error:
            raise RefusalError(
                409,
                "a recording is already running in this process, which can have only one at a time. "
                "Try again when it has finished.",
            ) from error
        except CaptureCancelledError as error:
            raise RefusalError(503, "the recording ended because the server was stopped.") from error
        except NoStepsError as error:
            raise RefusalError(504, str(error)) from error
        except UserError as error:
            raise RefusalError(400, str(error)) from error
        except ImportError as error:
            raise RefusalError(400, f"a requested collector cannot be loaded here: {error}.") from error
        except OSError:
            raise
        except Exception as error:
            raise RefusalError(500, f"the recording failed: {type(error).__name__}: {error}.") from error

    def _is_wanted(self) -> bool:
        """Return whether the client is still waiting and the server is not stopping."""
        if self.server.stopping.is_set():
            return False
        # Not `select`, which fails in programs with more than 1,024 open files.
        self.connection.settimeout(0)
        try:
            return bool(self.connection.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return True
        except OSError:
            return False
        finally:
            self.connection.settimeout(self.timeout)

    # --- answers ---------------------------------------------------------------------------------------------------

    def _pack(self, recording: Recording, folder: Path, archive: IO[bytes]) -> None:
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        if size > MOST_ANSWER_BYTES:
            raise RefusalError(
                507,
                f"the recording is {size:,} bytes, and no more than {MOST_ANSWER_BYTES:,} are sent. Ask for a shorter "
                "one, or for fewer collectors.",
            )
        pack(recording, folder, {"host": socket.gethostname(), "pid": os.getpid()}, archive)

    def _send_archive(self, archive: IO[bytes]) -> None:
        size = archive.tell()
        archive.seek(0)
        self._send_head(200, "application/zip", size, {})
        shutil.copyfileobj(archive, self.wfile, 1 << 20)

    def _send_json(self, code: int, value: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
        body = json.dumps(value).encode() + b"\n"
        # Closing a connection with unread data cuts it off, and the client might not see the answer.
        unread, self._unread = min(getattr(self, "_unread", 0), _MOST_DRAINED), 0
        if unread:
            self.rfile.read(unread)
        self._send_head(code, "application/json", len(body), headers or {})
        self.wfile.write(body)

    def _send_head(self, code: int, content_type: str, length: int, headers: Mapping[str, str]) -> None:
        self.close_connection = True
        self.send_response(code)
        own = {"Content-Type": content_type, "Content-Length": str(length), "Connection": "close"}
        for name, value in {**own, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", **headers}.items():
            self.send_header(name, value)
        self.end_headers()


def host_of(header: str) -> str:
    """Return the name in a Host header, without the port and the brackets of an IPv6 address."""
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return header.partition(":")[0].lower()
