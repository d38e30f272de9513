"""The projector's worker processes, which stay while dashboards change from test to test.

Starting one takes a second of a processor, as long as opening the page does.
"""

import threading
from collections.abc import Callable
from typing import Any, Final

from stepscope.dashboard.embeddings.processes import WorkerProcess
from stepscope.dashboard.embeddings.worker_protocol import Arrays

OVER: Final = ("done", "stopped", "failed")
"""What a worker says at the end of a task."""


class KeptProcess:
    """A worker process and the one that it is lent to, if any."""

    def __init__(self, holder: "LentWorker") -> None:
        self.holder: LentWorker | None = holder
        self.has_task = False
        self.has_ended = False
        self.process: Final = WorkerProcess(self._hear, self._end)

    def _hear(self, _process: WorkerProcess, message: dict[str, Any], arrays: Arrays) -> None:
        if message["say"] in OVER:
            self.has_task = False
        holder = self.holder
        if holder is not None:
            holder.hear(holder, message, arrays)

    def _end(self, _process: WorkerProcess) -> None:
        self.has_ended = True
        holder = self.holder
        if holder is not None:
            holder.ended(holder)


class LentWorker:
    """What a pool has in place of a `WorkerProcess`: one that goes to the next pool, unless it still has a task."""

    def __init__(
        self, hear: Callable[["LentWorker", dict[str, Any], Arrays], None], ended: Callable[["LentWorker"], None]
    ) -> None:
        self.hear: Final = hear
        self.ended: Final = ended
        self.closed = False
        self._kept: Final = WORKERS.lend(self)
        self._is_given_back = False

    @property
    def pid(self) -> int:
        return self._kept.process.pid

    def tell(self, message: dict[str, Any], arrays: Arrays | None = None) -> None:
        if message["say"] == "task":
            self._kept.has_task = True
        self._kept.process.tell(message, arrays)

    def close(self) -> None:
        self.kill()

    def kill(self) -> None:
        self.closed = True
        self._is_given_back = WORKERS.take_back(self._kept)
        if self._is_given_back:
            self.ended(self)
        else:
            self._kept.process.kill()

    def wait(self, seconds: float) -> bool:
        return self._is_given_back or self._kept.process.wait(seconds)

    def last_words(self) -> str:
        return self._kept.process.last_words()

    def why_ended(self) -> str:
        return self._kept.process.why_ended()


class Workers:
    """The worker processes that have nothing to do."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._idle: Final[list[KeptProcess]] = []

    def lend(self, holder: LentWorker) -> KeptProcess:
        with self._lock:
            while self._idle:
                kept = self._idle.pop()
                if not kept.has_ended:
                    kept.holder = holder
                    return kept
        return KeptProcess(holder)

    def take_back(self, kept: KeptProcess) -> bool:
        """Keep a process for the next pool; return whether that is possible: a task would go on."""
        with self._lock:
            if kept.has_task or kept.has_ended or kept in self._idle:
                return False
            kept.holder = None
            self._idle.append(kept)
            return True

    def end(self) -> None:
        with self._lock:
            for kept in self._idle:
                kept.process.kill()
            self._idle.clear()


WORKERS: Final = Workers()
