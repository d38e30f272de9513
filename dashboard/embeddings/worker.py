"""A process that works out projections for the server: one task at a time, told what to do over its standard input.

It ends when its input does, which is when the server is gone, however that came.
"""

import ctypes
import gc
import os
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from typing import Any, BinaryIO, Final

from dashboard.embeddings import wire
from dashboard.embeddings.wire import Arrays

SLICE_SECONDS: Final = 0.12
"""Between two looks at what the server says, and between two pictures."""
NICENESS: Final = 10


class StoppedError(Exception):
    """The server wants no more of a task."""


class Channel:
    """A worker's end of the pipe: what the server says is read by a thread of its own."""

    def __init__(self, source: BinaryIO, target: BinaryIO) -> None:
        self._source = source
        self._target = target
        self._said: SimpleQueue[tuple[dict[str, Any], Arrays]] = SimpleQueue()
        self.task: int = 0
        """Number of the task that is worked on."""

    def start(self) -> None:
        """Begins to listen."""
        threading.Thread(target=self._listen, name="server", daemon=True).start()

    def _listen(self) -> None:
        while (said := wire.receive(self._source)) is not None:
            self._said.put(said)
        # At once, whatever the main thread does: nobody wants its result.
        os._exit(0)

    def next_task(self, seconds: float | None) -> tuple[dict[str, Any], Arrays] | None:
        """What to do next; None when nothing was said for that long. Words about earlier tasks are left out."""
        while True:
            try:
                message, arrays = self._said.get(timeout=seconds)
            except Empty:
                return None
            if message["say"] == "task":
                self.task = message["task"]
                return message, arrays

    def words(self, *, wait: bool = False) -> list[dict[str, Any]]:
        """What the server said about the task meanwhile; with ``wait``, not before it said something."""
        found: list[dict[str, Any]] = []
        while True:
            try:
                message, _ = self._said.get(block=wait and not found)
            except Empty:
                return found
            if message["task"] == self.task:
                found.append(message)

    def tell(self, say: str, values: Mapping[str, Any] | None = None, arrays: Arrays | None = None) -> None:
        """Says something about the task."""
        wire.send(self._target, {"say": say, "task": self.task, **(values or {})}, arrays or {})

    def tell_count(self, done: int, total: int, phase: str) -> None:
        """Says how far a task without pictures is."""
        told = {"place": 0, "frame": 0, "iteration": done, "total": total, "phase": phase, "loss": None, "notes": []}
        self.tell("progress", told)


def serve(channel: Channel) -> None:
    """Does task after task; returns never but by an error of the pipe."""
    from dashboard.embeddings import tasks

    channel.tell("ready")
    warm = deque(tasks.WARMERS)
    while True:
        found = channel.next_task(0.0 if warm else None)
        if found is None:
            _warm(warm.popleft())
            continue
        message, arrays = found
        try:
            tasks.run(channel, message, arrays)
        except StoppedError:
            channel.tell("stopped")
        except MemoryError:
            channel.tell("failed", {"reason": "memory", "message": ""})
        except ValueError as error:
            traceback.print_exc()
            channel.tell("failed", {"reason": "value", "message": str(error)})
        except Exception as error:
            traceback.print_exc()
            channel.tell("failed", {"reason": "error", "message": f"{type(error).__name__}: {error}"})
        del found, message, arrays
        _give_memory_back()


def _give_memory_back() -> None:
    """Nothing of a task is held while the worker waits for the next one."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def _warm(warmer: Callable[[], None]) -> None:
    try:
        warmer()
    except Exception:
        # Whatever is wrong is told when a task needs it.
        traceback.print_exc()


def lower_priority() -> None:
    """Lets the server and everything else on this machine go first."""
    import psutil

    process = psutil.Process()
    try:
        process.nice(psutil.BELOW_NORMAL_PRIORITY_CLASS if sys.platform == "win32" else NICENESS)
    except (psutil.Error, OSError):
        # Not allowed here; the work is the same.
        return


def main() -> None:
    """The whole life of a worker."""
    # What a library prints must not get between the messages: it goes where errors go.
    target = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    source = os.fdopen(os.dup(0), "rb")
    lower_priority()
    channel = Channel(source, target)
    channel.start()
    try:
        serve(channel)
    except BrokenPipeError:
        os._exit(0)
