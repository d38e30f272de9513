"""A worker's end of the pipe to the server."""

import os
import threading
from collections.abc import Mapping
from queue import Empty, SimpleQueue
from typing import Any, BinaryIO

from stepscope.dashboard.embeddings import worker_protocol
from stepscope.dashboard.embeddings.worker_protocol import Arrays


class StoppedError(Exception):
    """The server no longer needs the task."""


class Channel:
    """Receives the server's messages in a separate thread, and replies."""

    def __init__(self, source: BinaryIO, target: BinaryIO) -> None:
        self._source = source
        self._target = target
        self._said: SimpleQueue[tuple[dict[str, Any], Arrays]] = SimpleQueue()
        self.task: int = 0
        """Number of the current task."""

    def start(self) -> None:
        """Start listening."""
        threading.Thread(target=self._listen, name="server", daemon=True).start()

    def _listen(self) -> None:
        while (said := worker_protocol.receive(self._source)) is not None:
            self._said.put(said)
        # At once, whatever the main thread is doing: nobody wants its result.
        os._exit(0)

    def next_task(self, seconds: float | None) -> tuple[dict[str, Any], Arrays] | None:
        """Return the next task; None if none arrives within ``seconds``. Messages about earlier tasks are dropped."""
        while True:
            try:
                message, arrays = self._said.get(timeout=seconds)
            except Empty:
                return None
            if message["say"] == "task":
                self.task = message["task"]
                return message, arrays

    def words(self, *, wait: bool = False) -> list[dict[str, Any]]:
        """Return the messages received about the current task; with ``wait``, wait for the first one."""
        found: list[dict[str, Any]] = []
        while True:
            try:
                message, _ = self._said.get(block=wait and not found)
            except Empty:
                return found
            if message["task"] == self.task:
                found.append(message)

    def tell(self, say: str, values: Mapping[str, Any] | None = None, arrays: Arrays | None = None) -> None:
        """Send a message about the current task."""
        worker_protocol.send(self._target, {"say": say, "task": self.task, **(values or {})}, arrays or {})

    def tell_count(self, done: int, total: int, phase: str) -> None:
        """Report the progress of a task without pictures."""
        reported = {
            "place": 0,
            "picture": 0,
            "iteration": done,
            "total": total,
            "phase": phase,
            "loss": None,
            "notes": [],
        }
        self.tell("progress", reported)
