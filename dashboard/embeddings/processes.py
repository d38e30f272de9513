"""The server's side of a worker process: starting it, sending messages, ending it, and its output after a failure."""

import logging
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from typing import IO, Any, BinaryIO, Final, cast

from stepscope.dashboard.embeddings import worker_protocol
from stepscope.dashboard.embeddings.worker_protocol import Arrays
from stepscope.summary.child_process import python_command

_CODE: Final = "from stepscope.dashboard.embeddings.worker import main; main()"
_ALLOCATION: Final = {"MALLOC_MMAP_THRESHOLD_": str(1 << 20), "MALLOC_ARENA_MAX": "2"}
"""Makes the C library of Linux return the memory of freed arrays; otherwise it keeps those of up to 32 MiB each."""
_TAIL_BYTES: Final = 4_096
_log: Final = logging.getLogger(__name__)


class WorkerProcess:
    """A worker process, from start to end; its methods do not block, except `wait`.

    It ends when its standard input is closed, even if the server was killed.

    Args:
        hear: called with each message, in a thread of this object.
        ended: called once when the worker has ended, in the same thread.
    """

    def __init__(
        self,
        hear: Callable[["WorkerProcess", dict[str, Any], Arrays], None],
        ended: Callable[["WorkerProcess"], None],
    ) -> None:
        self._hear = hear
        self._ended = ended
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the worker
        self._outbox: SimpleQueue[tuple[Mapping[str, Any], Arrays] | None] = SimpleQueue()
        self.closed = False
        """Whether the worker was told to end."""
        self._process: Final = subprocess.Popen(
            python_command(_CODE),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**_ALLOCATION, **os.environ},
        )
        threading.Thread(target=self._listen, name="projector worker", daemon=True).start()
        threading.Thread(target=self._speak, name="projector worker input", daemon=True).start()

    @property
    def pid(self) -> int:
        """The process id of the worker."""
        return self._process.pid

    def tell(self, message: Mapping[str, Any], arrays: Arrays | None = None) -> None:
        """Queue a message; it is discarded if the worker has ended, which `ended` reports."""
        self._outbox.put((message, arrays or {}))

    def close(self) -> None:
        """Ask the worker to end once it has read the queued messages."""
        self.closed = True
        self._outbox.put(None)

    def kill(self) -> None:
        """Kill the worker immediately."""
        self.closed = True
        self._process.kill()
        self._outbox.put(None)

    def wait(self, seconds: float) -> bool:
        """Wait for the worker to end; return whether it did."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def last_words(self) -> str:
        """Return the end of the standard error output of the worker and its libraries."""
        try:
            size = self._errors.seek(0, 2)
            self._errors.seek(max(0, size - _TAIL_BYTES))
            return self._errors.read(_TAIL_BYTES).decode(errors="replace").strip()
        except (OSError, ValueError):
            return ""

    def why_ended(self) -> str:
        """Return a sentence that explains an unexpected end."""
        code = self._process.poll()
        if code is None:
            return "The worker process no longer responds."
        if code in (-signal.SIGTERM, -getattr(signal, "SIGKILL", 9)):
            return (
                "The worker process was killed, most likely because memory ran out. "
                "Choose fewer points, or close other programs, and start it again."
            )
        if code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"signal {-code}"
            return f"The worker process crashed ({name}). Start it again; the server's log has its output."
        return (
            f"The process that worked on this ended with exit code {code}. "
            "Start it again; see the server's log for its output."
        )

    def _speak(self) -> None:
        stream = cast(BinaryIO, self._process.stdin)
        try:
            while (said := self._outbox.get()) is not None:
                worker_protocol.send(stream, *said)
            stream.close()
        except OSError:
            # The worker has ended; the other thread notices.
            return

    def _listen(self) -> None:
        stream = cast(BinaryIO, self._process.stdout)
        try:
            while (said := worker_protocol.receive(stream)) is not None:
                self._hear(self, *said)
        except Exception:
            _log.exception("a worker of the projector could not be understood")
            self._process.kill()
        stream.close()
        self._process.wait()
        self._outbox.put(None)
        words = self.last_words()
        if words:
            level = logging.DEBUG if self.closed else logging.ERROR
            _log.log(level, "a worker of the projector ended; its output:\n%s", words)
        self._ended(self)
        self._errors.close()
