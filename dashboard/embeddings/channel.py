"""A worker's end of the pipe to the server."""

import os
import threading
from collections.abc import Mapping
from queue import Empty, SimpleQueue
from typing import Any, BinaryIO

from stepscope.dashboard.embeddings import worker_protocol
from stepscope.dashboard.embeddings.worker_protocol import Arrays


class StoppedError(Exception):
    """The server wants no more of a task."""


class Channel:
    """Hears what the server says, by a thread of its own, and answers."""

    def __init__(self, source: BinaryIO, target: BinaryIO) -> None:
        self._source = source
        self._target = target
        self._said: SimpleQueue[tuple[dict[str, Any], Arrays]] = SimpleQueue()
        self.task: int = 0
        """Number of the task that is worked on."""

    def start(self) -> None:
        """Begin to listen."""
        threading.Thread(target=self._listen, name="server", daemon=True).start()

    def _listen(self) -> None:
        while (said := worker_protocol.receive(self._source)) is not None:
            self._said.put(said)
        # At once, whatever the main thread does: nobody wants its result.
        os._exit(0)

    def next_task(self, seconds: float | None) -> tuple[dict[str, Any], Arrays] | None:
        """Return what to do next; None when nothing was said for that long. Words about earlier tasks are left out."""
        while True:
            try:
                message, arrays = self._said.get(timeout=seconds)
            except Empty:
                return None
            if message["say"] == "task":
                self.task = message["task"]
                return message, arrays

    def words(self, *, wait: bool = False) -> list[dict[str, Any]]:
        """Return what the server said about the task meanwhile; with ``wait``, not before it said something."""
        found: list[dict[str, Any]] = []
        while True:
            try:
                message, _ = self._said.get(block=wait and not found)
            except Empty:
                return found
            if message["task"] == self.task:
                found.append(message)

    def tell(self, say: str, values: Mapping[str, Any] | None = None, arrays: Arrays | None = None) -> None:
        """Say something about the task."""
        worker_protocol.send(self._target, {"say": say, "task": self.task, **(values or {})}, arrays or {})

    def tell_count(self, done: int, total: int, phase: str) -> None:
        """Say how far a task without pictures is."""
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
