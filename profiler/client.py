"""Records other processes: asks the `stepscope.profiler.server` in each, and writes what they send to files."""

import http.client
import json
import queue
import re
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, Literal

from stepscope.profiler.capture_files import MOST_ANSWER_BYTES, AnswerError, CapturedFiles, printable, unpack
from stepscope.profiler.capture_request import DEFAULT_PORT, CaptureRequest, request_bytes
from stepscope.summary.counts import counted
from stepscope.summary.errors import UserError, reason_of

Phase = Literal["connecting", "recording", "receiving", "writing"]
"""The phase of a capture: reaching the process, waiting while it records, reading its answer, or writing the files."""

Problem = Literal["unreachable", "busy", "token", "refused", "late", "answer", "files", "cancelled"]
"""Why there is no recording: nothing is listening; a recording is already running; the token is wrong; the process
refused for another reason; it did not answer in time; its answer cannot be used; the files cannot be written; the
capture was canceled."""

CONNECT_S: Final = 10.0
ANSWER_PATIENCE_S: Final = 120.0
"""Seconds allowed for starting the collectors and writing the files, in addition to the recording itself."""
PAUSE_S: Final = 1.0
"""Seconds between two attempts."""
_BLOCK: Final = 1 << 20
_IN_MEMORY: Final = 32 << 20
_MOST_ERROR_BYTES: Final = 64 << 10


class CaptureError(UserError):
    """A process was not recorded."""

    def __init__(self, problem: Problem, message: str) -> None:
        super().__init__(message)
        self.problem: Final = problem


@dataclass(frozen=True)
class Address:
    """Where a `stepscope.profiler.server` listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Capture:
    """A process that was recorded."""

    address: Address
    files: CapturedFiles


def parse_address(text: str) -> Address:
    """Parse an address ``HOST:PORT``, or ``[::1]:6009`` for IPv6.

    Raises:
        UserError: the text is not an address.
    """
    found = re.fullmatch(r"\[([0-9A-Fa-f:.]+)\]:(\d{1,5})|([A-Za-z0-9._-]+):(\d{1,5})", text.strip())
    port = int(found[2] or found[4]) if found else 0
    if found is None or not 0 < port <= 65535:
        raise UserError(f"{text!r} is not an address. Expected HOST:PORT, such as localhost:{DEFAULT_PORT}.")
    return Address(found[1] or found[3], port)


class Client:
    """Sends one request at a time to one server; `cancel` ends it from any thread.

    Args:
        address: where the server listens.
        token: the token that the server requires, if any.
    """

    def __init__(self, address: Address, token: str | None = None) -> None:
        self.address: Final = address
        self._token: Final = token
        self._cancelled: Final = threading.Event()
        self._connection: http.client.HTTPConnection | None = None

    def cancel(self) -> None:
        """End the current request with `CaptureError`; the process then ends its recording."""
        self._cancelled.set()
        connection = self._connection
        if connection is not None and connection.sock is not None:
            try:
                connection.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                return

    def status(self) -> dict[str, Any]:
        """Return what runs there: `stepscope.profiler.server.status`. Raises `CaptureError`."""
        answer = self._ask("GET", "/status", None, CONNECT_S)
        try:
            found = json.loads(answer.read(_MOST_ERROR_BYTES))
        except (ValueError, OSError, http.client.HTTPException) as error:
            raise self._no_server() from error
        finally:
            self._close()
        if not isinstance(found, dict):
            raise self._no_server()
        return found

    def ask_json(self, path: str, value: Mapping[str, Any], most_bytes: int = 64 << 20) -> dict[str, Any]:
        """Send JSON to one of `stepscope.profiler.capture_routes.OTHER_ROUTES`, and return the JSON of the answer.

        Raises:
            CaptureError: there is no answer, or it is larger than ``most_bytes``.
        """
        answer = self._ask("POST", path, json.dumps(value).encode(), CONNECT_S)
        try:
            body = answer.read(most_bytes + 1)
            found = json.loads(body) if len(body) <= most_bytes else None
        except TimeoutError as error:
            raise self._late(CONNECT_S) from error
        except (ValueError, OSError, http.client.HTTPException) as error:
            raise self._no_server() from error
        finally:
            self._close()
        if not isinstance(found, dict):
            raise self._no_server()
        return found

    def capture(
        self,
        request: CaptureRequest,
        logdir: Path,
        begin_ns: int,
        *,
        tag_suffix: str = "",
        attempts: int = 1,
        on_phase: Callable[[Phase], None] = lambda phase: None,
    ) -> Capture:
        """Record the process, and write what it sends into a log directory.

        Args:
            request: how long to record, and what.
            logdir: a local directory.
            begin_ns: wall time in nanoseconds since the epoch, from which the trace's folder gets its name.
            tag_suffix: appended to the tags of the StepStats, to tell processes apart.
            attempts: how many times to try while nothing is listening or another recording is running, once per second.
            on_phase: called with each phase as it begins.

        Raises:
            CaptureError: the process was not recorded, or the files cannot be written.
            ValueError: ``attempts`` is less than 1.
        """
        for left in range(attempts - 1, -1, -1):
            try:
                with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as archive:
                    self._record(request, archive, on_phase)
                    on_phase("writing")
                    return Capture(self.address, self._written(archive, logdir, begin_ns, tag_suffix))
            except CaptureError as error:
                if not left or error.problem not in ("unreachable", "busy") or self._cancelled.wait(PAUSE_S):
                    raise
            finally:
                self._close()
        raise ValueError(f"attempts must be at least 1, got {attempts}")

    def _record(self, request: CaptureRequest, archive: IO[bytes], on_phase: Callable[[Phase], None]) -> None:
        on_phase("connecting")
        patience = request.seconds + ANSWER_PATIENCE_S
        answer = self._ask("POST", "/capture", request_bytes(request), patience, lambda: on_phase("recording"))
        if answer.headers.get_content_type() != "application/zip":
            raise self._no_server()
        on_phase("receiving")
        size = 0
        try:
            while piece := answer.read(_BLOCK):
                size += len(piece)
                if size > MOST_ANSWER_BYTES:
                    raise CaptureError("answer", f"{self.address} sent more than {MOST_ANSWER_BYTES:,} bytes.")
                archive.write(piece)
        except TimeoutError as error:
            raise self._late(patience) from error
        except (OSError, http.client.HTTPException) as error:
            raise self._broken(error) from error
        if answer.length:
            raise self._broken(counted(answer.length, "byte is missing", "bytes are missing"))

    def _written(self, archive: IO[bytes], logdir: Path, begin_ns: int, tag_suffix: str) -> CapturedFiles:
        try:
            return unpack(archive, logdir, begin_ns, tag_suffix=tag_suffix)
        except AnswerError as error:
            raise CaptureError("answer", f"the response from {self.address} cannot be used: {error}.") from error
        except OSError as error:
            raise CaptureError("files", f"nothing can be written to {logdir}: {reason_of(error)}.") from error

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes | None,
        patience: float,
        on_sent: Callable[[], None] = lambda: None,
    ) -> http.client.HTTPResponse:
        """Return the response to a request; raise if it is an error."""
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if self._token:
            if not self._token.isascii() or not self._token.isprintable():
                raise CaptureError("token", "the token cannot be sent. Expected ASCII letters, digits and symbols.")
            headers["Authorization"] = f"Bearer {self._token}"
        connection = http.client.HTTPConnection(self.address.host, self.address.port, timeout=CONNECT_S)
        self._connection = connection
        try:
            connection.connect()
        except (OSError, UnicodeError) as error:
            raise self._unreachable(error) from error
        connection.sock.settimeout(patience)
        if self._cancelled.is_set():
            raise self._broken("cancelled")
        try:
            connection.request(method, path, body, headers)
            on_sent()
            answer = connection.getresponse()
        except TimeoutError as error:
            raise self._late(patience) from error
        except (http.client.BadStatusLine, http.client.LineTooLong) as error:
            # BadStatusLine also occurs if the connection ends without an answer, as when the program ends.
            if isinstance(error, http.client.RemoteDisconnected):
                raise self._broken(error) from error
            raise self._no_server() from error
        except (OSError, http.client.HTTPException) as error:
            raise self._broken(error) from error
        if answer.status != 200:
            raise self._refused(answer)
        return answer

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    # --- errors ----------------------------------------------------------------------------------------------------

    def _unreachable(self, error: Exception) -> CaptureError:
        if self._cancelled.is_set():
            return self._broken(error)
        if isinstance(error, ConnectionRefusedError):
            reason = f"nothing listens on {self.address}"
        elif isinstance(error, TimeoutError):
            reason = f"{self.address} cannot be reached within {CONNECT_S:g} s"
        else:
            reason = f"{self.address} cannot be reached: {reason_of(error)}"
        return CaptureError("unreachable", f"{reason}. Expected a program that has called {_start(self.address)}.")

    def _no_server(self) -> CaptureError:
        return CaptureError(
            "answer",
            f"what listens on {self.address} is not a profiler's server. Expected a program that has called "
            f"{_start(self.address)}.",
        )

    def _late(self, patience: float) -> CaptureError:
        return CaptureError(
            "late", f"{self.address} did not answer within {patience:g} s. Is the program stopped, or very busy?"
        )

    def _broken(self, error: object) -> CaptureError:
        if self._cancelled.is_set():
            return CaptureError("cancelled", f"the recording of {self.address} was canceled.")
        return CaptureError("answer", f"{self.address} ended early: {error}. Has the program ended?")

    def _refused(self, answer: http.client.HTTPResponse) -> CaptureError:
        try:
            said = json.loads(answer.read(_MOST_ERROR_BYTES)).get("error")
        except (ValueError, AttributeError, OSError, http.client.HTTPException):
            said = None
        if not isinstance(said, str):
            return self._no_server()
        problem: Problem = {401: "token", 409: "busy"}.get(answer.status, "refused")  # type: ignore[assignment]
        return CaptureError(problem, f"{self.address} refused: {printable(said)}")


def _start(address: Address) -> str:
    return f"stepscope.profiler.server.start({address.port})"


@dataclass(frozen=True)
class CaptureEvent:
    """Something that happened during the capture of processes."""

    address: Address
    what: Phase | Capture | CaptureError


def capture_all(
    addresses: Sequence[Address],
    request: CaptureRequest,
    logdir: Path,
    *,
    token: str | None = None,
    attempts: int = 1,
) -> Iterator[CaptureEvent]:
    """Record several processes at once into one folder of a log directory, yielding events as they occur.

    The last event of each address is a `Capture` or a `CaptureError`. If the iterator is closed early, recordings that
    are still running are ended.
    """
    begin_ns = time.time_ns()
    events: queue.SimpleQueue[CaptureEvent] = queue.SimpleQueue()
    clients = [Client(address, token) for address in addresses]

    def work(client: Client) -> None:
        def tell(what: Phase | Capture | CaptureError) -> None:
            events.put(CaptureEvent(client.address, what))

        suffix = f"/{client.address}" if len(clients) > 1 else ""
        try:
            tell(client.capture(request, logdir, begin_ns, tag_suffix=suffix, attempts=attempts, on_phase=tell))
        except CaptureError as error:
            tell(error)
        except Exception as error:
            tell(CaptureError("answer", f"{client.address} was not recorded: {type(error).__name__}: {error}."))

    for client in clients:
        # Daemon threads, so that an interrupted command ends.
        threading.Thread(target=work, args=(client,), name=f"capture {client.address}", daemon=True).start()
    left = len(clients)
    try:
        while left:
            event = events.get()
            left -= isinstance(event.what, Capture | CaptureError)
            yield event
    finally:
        for client in clients:
            client.cancel()


def check_writable(logdir: Path) -> None:
    """Create the log directory if it does not exist, and check that files can be written there.

    Raises:
        UserError: files cannot be written there.
    """
    try:
        logdir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=logdir):
            pass
    except OSError as error:
        raise UserError(
            f"nothing can be written to {logdir}: {reason_of(error)}. Expected a directory that may be written "
            "to, or a place where one can be made."
        ) from error
