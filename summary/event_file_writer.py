"""One event file and the background thread that appends to it."""

import atexit
import contextlib
import errno
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
from pathlib import PurePath
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from summary.backlog import Backlog
from summary.kinds.base import Prepared
from summary.kinds.scalar import ScalarForm
from summary.kinds.scalar_batch import POINT, ScalarTemplate, encode_scalar, encode_scalars, scalar_template
from summary.kinds.scalar_series import encode_series
from summary.proto.event_pb2 import Event, SourceMetadata
from summary.proto.summary_pb2 import Summary
from summary.records import frame
from summary.storage import AppendFile, Folder, RemoteFolder, folder_at

FILE_VERSION: Final = "brain.Event:2"
WRITER: Final = "stepscope.summary"

LOCAL_LINGER: Final = 1.0
REMOTE_LINGER: Final = 10.0
"""Seconds; each write to a remote file costs a round trip, and to an object store all that the file holds."""

_PACK_POINT: Final = struct.Struct("<qdqd").pack
_MANY_ITEMS: Final = 1 << 14
"""A power of two; every so many waiting items the thread is told not to linger."""
_MOST_ITEMS: Final = 1 << 18
_MOST_EVENT_BYTES: Final = 1 << 26
"""With so much waiting, callers wait for the disk instead of filling the memory."""
_SERIES_PIECE: Final = 1 << 15
"""Points of a series that are queued, and encoded, at once."""


@dataclass(frozen=True)
class _Barrier:
    passed: threading.Event = field(default_factory=threading.Event)


class _Deferred(NamedTuple):
    """A summary that the thread encodes."""

    prepared: Prepared
    step: int
    wall_time: float


class _Series(NamedTuple):
    """Points of one tag: int64, float64 and float64, all of one length."""

    template: ScalarTemplate
    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]
    numbers: NDArray[np.float64]


class EventFileWriter:
    """Appends events to a file of its own, from any number of threads, in the order of their calls.

    Callers only queue; a thread encodes and writes, at most ``linger`` seconds later. Nothing is ever dropped
    silently: when the disk refuses, the next call raises the `OSError`, which says how much is unwritten; that,
    with what the call was given, is kept and tried again at the call after it. With 64 MB unwritten, calls
    raise without taking what they were given. After `close`, and in a forked child, the next event opens a new
    file.

    Args:
        log_dir: a folder, created if absent, or its address for `fsspec`, such as ``s3://bucket/run``.
        linger: seconds that an event may wait for others to be written together; at most 1, and 10 where the
            folder is remote.
        filename_suffix: end of the name ``events.out.tfevents.<seconds>.<host>.<process>.<n><suffix>``.
        fsync: `flush` and `close` return when the disk has the bytes, not only the operating system.
        clock: gives the wall time of events that bring none.

    Raises:
        OSError: the folder or the file cannot be made.
        ValueError, ImportError: nobody knows the address's protocol, or a package for it is missing.
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
    _full: bool
    """The disk refuses, and too much is unwritten to take more."""
    _pending: deque[bytes | bytearray | _Deferred | _Series | _Barrier]
    """Packed `POINT`s (bytes), whole records (bytearray) and the rest, in the order of the calls."""
    _backlog: Backlog
    """What left the queue and is not in the file; the thread's own."""
    _waiting_event_bytes: int
    _failure: Exception | None
    """What the thread last ran into, until a caller has been told."""
    _thread: threading.Thread | None
    """None also while the interpreter ends, when callers write themselves."""
    _file: AppendFile | None
    """Opened and closed under the lock while no thread runs, else replaced by the thread."""
    _closing: bool

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | Folder,
        *,
        linger: float | None = None,
        filename_suffix: str = "",
        fsync: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        folder = folder_at(log_dir) if isinstance(log_dir, str | os.PathLike) else log_dir
        self.folder: Final[Folder] = folder
        longest = REMOTE_LINGER if isinstance(folder, RemoteFolder) else LOCAL_LINGER
        self._linger: Final = longest if linger is None else min(linger, longest)
        self._filename_suffix: Final = filename_suffix
        self._fsync: Final = fsync
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
        _close_before_threads_end(weakref.ref(self))
        with self._lock:
            self._start()

    @property
    def path(self) -> str | None:
        """The open file's path or address; None after `close`."""
        return None if self._file is None else self._file.name

    @property
    def file_names(self) -> tuple[str, ...]:
        """The names of all files so far, in their folder."""
        return tuple(self._file_names)

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
        if self._full:
            self._make_room()
        point = _PACK_POINT(index, self._clock() if wall_time is None else wall_time, step, number)
        pending = self._pending
        pending.append(point)
        if self._idle:
            self._rouse()
        elif not len(pending) & (_MANY_ITEMS - 1):
            self._press()

    def add_series(
        self,
        tag: str,
        numbers: NDArray[np.float64],
        steps: NDArray[np.int64],
        wall_times: NDArray[np.float64] | None = None,
        form: ScalarForm = "simple_value",
    ) -> None:
        """Queues many points of one tag; arguments must be valid, of one length, and are copied."""
        template = self._templates[self._add_template(tag, form)]
        now = self._clock()
        for begin in range(0, len(steps), _SERIES_PIECE):
            piece = slice(begin, begin + _SERIES_PIECE)
            copied = steps[piece].copy()
            times = np.full(len(copied), now) if wall_times is None else wall_times[piece].copy()
            self._add_item(_Series(template, copied, times, numbers[piece].copy()), 24 * len(copied))

    def add_event(self, event: Event, wall_time: float | None = None) -> None:
        """Queues one event, at the present time unless ``wall_time`` is given."""
        event.wall_time = self._clock() if wall_time is None else wall_time
        record = frame(event.SerializeToString())
        self._add_item(bytearray(record), len(record))

    def add_prepared(self, prepared: Prepared, step: int, wall_time: float | None = None) -> None:
        """Queues an event with a summary of one value that the thread encodes."""
        deferred = _Deferred(prepared, step, self._clock() if wall_time is None else wall_time)
        self._add_item(deferred, prepared.held_bytes)

    def flush(self) -> None:
        """Returns when everything queued before is in the file, handed to the operating system.

        Raises:
            OSError: it cannot be written; it is kept.
        """
        if self._file is None and not self._pending:
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
            if self._file is None and not self._pending:
                return
            self._start()
            if self._thread is None:
                self._drain(closing=True)
            else:
                self._closing = True
                self._work.set()
                self._hurry.set()
                self._thread.join()
                self._thread = None
            self._raise_failure()
            if self._file is not None:
                self._file.close()
            self._file = None
        atexit.unregister(self._close_at_exit)

    def _close_at_exit(self) -> None:
        try:
            self.close()
        # There is nobody left to catch it.
        except Exception as error:
            print(f"stepscope: {error}; the program ends, so they are lost", file=sys.stderr)
            atexit.unregister(self._close_at_exit)

    def _forget(self) -> None:
        """Makes a writer without a file; in a forked child, what is queued belongs to the parent."""
        self._lock = threading.Lock()
        self._work = threading.Event()
        self._hurry = threading.Event()
        self._pending = deque()
        self._backlog = Backlog()
        self._waiting_event_bytes = 0
        self._failure = None
        self._thread = None
        self._file = None
        self._file_names: list[str] = []
        self._closing = False
        self._idle = True
        self._full = False

    def _add_template(self, tag: str, form: ScalarForm) -> int:
        with self._lock:
            indexes = self._template_indexes[form]
            if tag not in indexes:
                self._templates.append(scalar_template(tag, form))
                indexes[tag] = len(self._templates) - 1
            return indexes[tag]

    def _add_item(self, item: bytearray | _Deferred | _Series, held_bytes: int) -> None:
        if self._full:
            self._make_room()
        self._pending.append(item)
        # Not exact where threads race, which is enough for a bound.
        self._waiting_event_bytes += held_bytes
        if self._idle:
            self._rouse()
        if self._waiting_event_bytes > _MOST_EVENT_BYTES:
            self.flush()

    def _rouse(self) -> None:
        with self._lock:
            self._raise_failure()
            self._start()
            if self._thread is None:
                self._drain(closing=False)
                return
            self._idle = False
        self._work.set()

    def _press(self) -> None:
        self._hurry.set()
        if len(self._pending) >= _MOST_ITEMS:
            self.flush()

    def _make_room(self) -> None:
        """Tries to write, and returns if that made room."""
        try:
            self.flush()
        except OSError as error:
            if self._full:
                raise OSError(error.errno, f"not taken, for lack of room: {error.strerror}", self.path) from error

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if isinstance(failure, OSError):
            reason = failure.strerror or str(failure)
            raise OSError(
                failure.errno or errno.EIO,
                f"{reason}; {self._backlog.unseen(self._file)} are not in the file and are kept for another try",
                self.path,
            ) from failure
        if failure is not None:
            raise failure

    def _start(self) -> None:
        if self._file is None:
            self._file = self._open()
            if not _interpreter_ends():
                atexit.register(self._close_at_exit)
        self._closing = False
        # An interrupted `close` may leave a thread that is about to end, or has.
        if self._thread is not None and not self._thread.is_alive():
            self._thread = None
        if self._thread is None and not _interpreter_ends():
            self._thread = threading.Thread(target=self._run, name=f"write {self.path}", daemon=True)
            self._thread.start()

    def _open(self) -> AppendFile:
        """A file with nothing but its version, which is there at once, so that readers see the run."""
        now = self._clock()
        file = _create_file(self.folder, self._filename_suffix, now)
        version = Event(wall_time=now, file_version=FILE_VERSION, source_metadata=SourceMetadata(writer=WRITER))
        record = memoryview(frame(version.SerializeToString()))
        try:
            while record:
                record = record[file.write(record) :]
            file.flush(to_disk=False)
        except OSError:
            file.close()
            file.remove()
            raise
        self._file_names.append(PurePath(file.name).name)
        return file

    def _run(self) -> None:
        closing = False
        while not closing:
            self._work.wait()
            self._work.clear()
            self._hurry.wait(self._linger)
            self._hurry.clear()
            self._idle = True
            closing = self._closing
            self._drain(closing)

    def _drain(self, closing: bool) -> None:
        items = [self._pending.popleft() for _ in range(len(self._pending))]
        self._waiting_event_bytes = 0
        barriers = [item for item in items if type(item) is _Barrier]
        failure: Exception | None = None
        try:
            encoded, failure = self._encoded(items)
            self._backlog.extend(encoded)
            self._write(to_disk=self._fsync and (closing or bool(barriers)))
        # Whatever it is, a caller must hear of it, and nobody may wait forever at a barrier.
        except Exception as refused:
            failure = refused
        finally:
            self._failure = failure
            self._full = self._backlog.size > _MOST_EVENT_BYTES
            for barrier in barriers:
                barrier.passed.set()

    def _encoded(self, items: list[Any]) -> tuple[list[bytes | bytearray | memoryview], Exception | None]:
        """The records of all items that can be encoded, and why one could not."""
        encoded: list[bytes | bytearray | memoryview] = []
        failure: Exception | None = None
        groups: Iterator[tuple[type, Iterator[Any]]] = itertools.groupby(items, type)
        for kind, group in groups:
            if kind is bytes:
                encoded.append(self._encode_points(b"".join(group)))
            elif kind is bytearray:
                encoded.extend(group)
            elif kind is _Series:
                for series in group:
                    encoded.extend(encode_series(*series))
            elif kind is _Deferred:
                for deferred in group:
                    try:
                        encoded.append(_encode_deferred(deferred))
                    except Exception as error:
                        failure = error
        return encoded, failure

    def _encode_points(self, packed: bytes) -> bytes:
        points = np.frombuffer(packed, POINT)
        if all(template.fits for template in self._templates):
            return encode_scalars(self._templates, points)
        return b"".join(frame(encode_scalar(self._templates[p["template"]], p)) for p in points)

    def _write(self, *, to_disk: bool) -> None:
        if self._file is None:
            raise ValueError("the file is closed")
        if self._file.full and self._backlog.size:
            full, self._file = self._file, self._open()
            full.close()
        self._backlog.write_to(self._file, to_disk=to_disk)


def _encode_deferred(deferred: _Deferred) -> bytes:
    summary = Summary(value=[deferred.prepared.encode()])
    event = Event(wall_time=deferred.wall_time, step=deferred.step, summary=summary)
    return frame(event.SerializeToString())


def _create_file(folder: Folder, suffix: str, now: float) -> AppendFile:
    """An empty file that no other writer has."""
    folder.make()
    stem = f"events.out.tfevents.{int(now):010d}.{socket.gethostname()}.{os.getpid()}"
    number = 0
    while True:
        try:
            return folder.create(f"{stem}.{number}{suffix}")
        except FileExistsError:
            number += 1


def _forget_if_alive(writer: weakref.ref[EventFileWriter]) -> None:
    alive = writer()
    if alive is None:
        return
    inherited = alive._file
    alive._forget()
    if inherited is not None:
        inherited.close()


def _close_before_threads_end(writer: weakref.ref[EventFileWriter]) -> None:
    """Closes the writer at the end of the process, while threads still run.

    Functions of `atexit` come too late for remote file systems, which ask threads of their own, and never in a
    process of `multiprocessing`. Only the interpreter's own libraries have another way.
    """

    def close() -> None:
        alive = writer()
        if alive is not None:
            alive._close_at_exit()

    register = getattr(threading, "_register_atexit", atexit.register)
    # Too late to be told: then the callers write.
    with contextlib.suppress(RuntimeError):
        register(close)


def _interpreter_ends() -> bool:
    """Whether threads can no longer be started; callers then write themselves."""
    return sys.is_finalizing() or not threading.main_thread().is_alive()
