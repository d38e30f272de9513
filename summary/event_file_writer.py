"""One event file and the background thread that appends to it."""

import atexit
import itertools
import os
import socket
import struct
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from summary.kinds.scalar import ScalarForm
from summary.kinds.scalar_batch import POINT, ScalarTemplate, encode_scalar, encode_scalars, scalar_template
from summary.proto.event_pb2 import Event, SourceMetadata
from summary.records import frame

FILE_VERSION: Final = "brain.Event:2"
WRITER: Final = "stepscope.summary"

_PACK_POINT: Final = struct.Struct("<qdqd").pack
_MANY_ITEMS: Final = 1 << 14
"""A power of two; every so many waiting items the thread is told not to linger."""
_MOST_ITEMS: Final = 1 << 18
_MOST_EVENT_BYTES: Final = 1 << 26
"""With so much waiting, callers wait for the disk instead of filling the memory."""


@dataclass(frozen=True)
class _Barrier:
    passed: threading.Event = field(default_factory=threading.Event)


class EventFileWriter:
    """Appends events to a file of its own, from any number of threads, in the order of their calls.

    Callers only queue; a thread encodes and writes, at most ``linger`` seconds later. Nothing is ever dropped:
    when the disk refuses, the next call raises the `OSError`, and what is unwritten, with what that call was
    given, is kept and tried again at the call after it. After `close`, and in a forked child, the next
    event opens a new file.

    Args:
        log_dir: created if absent.
        linger: seconds that an event may wait for others to be written together.
        filename_suffix: end of the name ``events.out.tfevents.<seconds>.<host>.<process>.<n><suffix>``.
        clock: gives the wall time of events that bring none.

    Raises:
        OSError: the folder or the file cannot be made.
    """

    _lock: threading.Lock
    """Held to start and stop the thread, to open and close the file; the thread never takes it."""
    _work: threading.Event
    """Something is queued."""
    _hurry: threading.Event
    """Somebody waits for it; do not linger."""
    _idle: bool
    """The thread has not been told of the latest item. It sets this before it looks into the queue; callers
    read it after they append, so that no item is left behind unnoticed."""
    _pending: deque[bytes | bytearray | _Barrier]
    """Packed `POINT`s (bytes), whole records (bytearray) and barriers, in the order of the calls."""
    _unwritten: list[bytes]
    """Records, or the rest of them, that left the queue and are not in the file yet; the thread's own."""
    _waiting_event_bytes: int
    _failure: Exception | None
    """What the thread last ran into, until a caller has been told."""
    _thread: threading.Thread | None
    _fd: int | None
    _path: Path | None
    _closing: bool

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        *,
        linger: float = 1.0,
        filename_suffix: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.log_dir: Final = Path(log_dir)
        self._linger: Final = linger
        self._filename_suffix: Final = filename_suffix
        self._clock: Final = clock
        # Appended to under the lock and never changed otherwise, so that the thread may read them without.
        self._templates: Final[list[ScalarTemplate]] = []
        self._template_indexes: Final[dict[ScalarForm, dict[str, int]]] = {
            "simple_value": {},
            "float32": {},
            "float64": {},
        }
        self._forget()
        if sys.platform != "win32":
            itself = weakref.ref(self)
            os.register_at_fork(after_in_child=lambda: _forget_if_alive(itself))
        with self._lock:
            self._start()

    @property
    def path(self) -> Path | None:
        """The open file; None after `close`."""
        return self._path

    def add_scalar(
        self,
        tag: str,
        number: float,
        step: int = 0,
        wall_time: float | None = None,
        form: ScalarForm = "simple_value",
    ) -> None:
        """Queues one point; arguments must be valid (`summary.arguments`)."""
        index = self._template_indexes[form].get(tag)
        if index is None:
            index = self._add_template(tag, form)
        point = _PACK_POINT(index, self._clock() if wall_time is None else wall_time, step, number)
        pending = self._pending
        pending.append(point)
        if self._idle:
            self._rouse()
        elif not len(pending) & (_MANY_ITEMS - 1):
            self._press()

    def add_event(self, event: Event, wall_time: float | None = None) -> None:
        """Queues one event, at the present time unless ``wall_time`` is given."""
        event.wall_time = self._clock() if wall_time is None else wall_time
        record = frame(event.SerializeToString())
        self._pending.append(bytearray(record))
        # Not exact where threads race, which is enough for a bound.
        self._waiting_event_bytes += len(record)
        if self._idle:
            self._rouse()
        if self._waiting_event_bytes > _MOST_EVENT_BYTES:
            self.flush()

    def flush(self) -> None:
        """Returns when everything queued before is in the file, handed to the operating system.

        Raises:
            OSError: it cannot be written; it is kept.
        """
        if self._fd is None and not self._pending:
            return
        barrier = _Barrier()
        self._pending.append(barrier)
        self._rouse()
        self._hurry.set()
        barrier.passed.wait()
        with self._lock:
            self._raise_failure()

    def close(self) -> None:
        """Writes what is queued and closes the file.

        Raises:
            OSError: it cannot be written; the file stays open, and `close` may be called again.
        """
        with self._lock:
            if self._fd is None and not self._pending:
                return
            self._start()
            assert self._thread is not None
            self._closing = True
            self._work.set()
            self._hurry.set()
            self._thread.join()
            self._thread = None
            self._raise_failure()
            if self._fd is not None:
                os.close(self._fd)
            self._fd = self._path = None
        atexit.unregister(self.close)

    def _forget(self) -> None:
        """Makes a writer without a file; in a forked child, what is queued belongs to the parent."""
        self._lock = threading.Lock()
        self._work = threading.Event()
        self._hurry = threading.Event()
        self._pending = deque()
        self._unwritten = []
        self._waiting_event_bytes = 0
        self._failure = None
        self._thread = None
        self._fd = None
        self._path = None
        self._closing = False
        self._idle = True

    def _add_template(self, tag: str, form: ScalarForm) -> int:
        with self._lock:
            indexes = self._template_indexes[form]
            if tag not in indexes:
                self._templates.append(scalar_template(tag, form))
                indexes[tag] = len(self._templates) - 1
            return indexes[tag]

    def _rouse(self) -> None:
        with self._lock:
            self._raise_failure()
            self._start()
            self._idle = False
        self._work.set()

    def _press(self) -> None:
        self._hurry.set()
        if len(self._pending) >= _MOST_ITEMS:
            self.flush()

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if isinstance(failure, OSError):
            raise OSError(
                failure.errno,
                f"{failure.strerror}; what is unwritten is kept for another try",
                str(self._path),
            ) from failure
        if failure is not None:
            raise failure

    def _start(self) -> None:
        if self._fd is None:
            self._open()
            atexit.register(self.close)
        self._closing = False
        # An interrupted `close` may leave a thread that is about to end, or has.
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name=f"write {self._path}", daemon=True)
            self._thread.start()

    def _open(self) -> None:
        now = self._clock()
        self._path, self._fd = _create_file(self.log_dir, self._filename_suffix, now)
        version = Event(wall_time=now, file_version=FILE_VERSION, source_metadata=SourceMetadata(writer=WRITER))
        # At once, so that readers see the run before its first event.
        self._unwritten.append(frame(version.SerializeToString()))
        try:
            self._write_unwritten()
        except OSError:
            os.close(self._fd)
            self._path.unlink()
            self._fd = self._path = None
            self._unwritten.clear()
            raise

    def _run(self) -> None:
        closing = False
        while not closing:
            self._work.wait()
            self._work.clear()
            self._hurry.wait(self._linger)
            self._hurry.clear()
            self._idle = True
            closing = self._closing
            self._drain()

    def _drain(self) -> None:
        barriers: list[_Barrier] = []
        try:
            self._encode_pending(barriers)
            self._write_unwritten()
            self._failure = None
        # Whatever it is, a caller must hear of it, and nobody may wait forever at a barrier.
        except Exception as failure:
            self._failure = failure
        finally:
            for barrier in barriers:
                barrier.passed.set()

    def _encode_pending(self, barriers: list[_Barrier]) -> None:
        items = [self._pending.popleft() for _ in range(len(self._pending))]
        self._waiting_event_bytes = 0
        groups: Iterator[tuple[type, Iterator[Any]]] = itertools.groupby(items, type)
        for kind, group in groups:
            if kind is bytes:
                self._unwritten.append(self._encode_points(b"".join(group)))
            elif kind is bytearray:
                self._unwritten.append(b"".join(group))
            else:
                barriers.extend(group)

    def _encode_points(self, packed: bytes) -> bytes:
        points = np.frombuffer(packed, POINT)
        if all(template.fits for template in self._templates):
            return encode_scalars(self._templates, points)
        return b"".join(frame(encode_scalar(self._templates[p["template"]], p)) for p in points)

    def _write_unwritten(self) -> None:
        if self._fd is None:
            raise ValueError("the file is closed")
        data = b"".join(self._unwritten)
        self._unwritten = [data]
        written = 0
        try:
            while written < len(data):
                written += os.write(self._fd, memoryview(data)[written:])
        finally:
            self._unwritten = [data[written:]]


def _create_file(folder: Path, suffix: str, now: float) -> tuple[Path, int]:
    """An empty file that no other writer has."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"events.out.tfevents.{int(now):010d}.{socket.gethostname()}.{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
    number = 0
    while True:
        path = folder / f"{stem}.{number}{suffix}"
        try:
            return path, os.open(path, flags, 0o666)
        except FileExistsError:
            number += 1


def _forget_if_alive(writer: weakref.ref[EventFileWriter]) -> None:
    alive = writer()
    if alive is None:
        return
    inherited = alive._fd
    alive._forget()
    if inherited is not None:
        os.close(inherited)
