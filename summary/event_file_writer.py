"""An event writer with its own file and a thread that appends to it."""

import atexit
import itertools
import os
import struct
import sys
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.backlog import Piece
from stepscope.summary.handover import Handover, Request, before_threads_end, interpreter_ends
from stepscope.summary.kinds.base import Prepared
from stepscope.summary.kinds.scalar import ScalarForm
from stepscope.summary.kinds.scalar_batch import POINT, ScalarTemplate, encode_scalars, scalar_template
from stepscope.summary.kinds.scalar_series import encode_series
from stepscope.summary.output import Output
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.records import frame
from stepscope.summary.storage import Folder, RemoteFolder, folder_at

LOCAL_LINGER: Final = 1.0
REMOTE_LINGER: Final = 10.0
"""Seconds; each write to a remote file costs a round trip, and to an object store, all that the file holds."""

_PACK_POINT: Final = struct.Struct("<qdqd").pack
_MANY_ITEMS: Final = 1 << 14
"""A power of two; whenever this many more items wait, the thread is told not to linger."""
_MOST_ITEMS: Final = 1 << 18
_MOST_EVENT_BYTES: Final = 1 << 26
"""With this much waiting, callers wait for the disk instead of filling the memory."""
_SERIES_PIECE: Final = 1 << 15
"""Points of a series that are queued, and encoded, together."""


class _Deferred(NamedTuple):
    """A summary that is encoded when its turn comes."""

    prepared: Prepared
    step: int
    wall_time: float


class _Series(NamedTuple):
    """Points of one tag: int64, float64 and float64, all of one length."""

    template: ScalarTemplate
    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]
    numbers: NDArray[np.float64]


class EventFileWriter(Handover):
    """Appends events to its own file, from any number of threads, in the order of the calls.

    Callers only queue events; a thread encodes and writes them, at most ``linger`` seconds later. No event is ever
    dropped silently. When the disk refuses a write, the next call raises the `OSError`, which reports how much is
    unwritten and kept; every later call tries again. A call that raises has not accepted its data. With 64 MB
    unwritten, calls accept nothing until there is room. If the file is removed, a warning reports how many events were
    lost with it, and later events go to a new file, in a new folder if necessary. After `close`, and in a forked child,
    the next event opens a new file.

    A forked child or a `multiprocessing` process may be ended without notice, for example by its pool. There, each call
    writes before it returns, if the folder is local.

    Args:
        log_dir: a folder, created if missing, or its `fsspec` address, such as ``s3://bucket/run``.
        linger: seconds that an event may wait to be written together with others; at most 1, or 10 if the folder is
            remote.
        filename_suffix: end of the name ``events.out.tfevents.<seconds>.<host>.<process>.<n><suffix>``.
        fsync: if True, `flush` and `close` return only when the disk has the bytes, not just the operating system.
        clock: returns the wall time of events without one.

    Raises:
        OSError: the folder or the file cannot be created.
        ValueError, ImportError: the address's protocol is unknown, or a package for it is missing.
    """

    _output: Output
    """Used by whoever works on the queue: the thread or a caller."""
    _unready: bool
    """A call must check what is wrong before it accepts anything: a failure, no file, no room."""
    _full: bool
    """The disk refuses writes, and too much is unwritten to accept more."""
    _waiting_event_bytes: int
    _failure: Exception | None
    """The error that writing ran into, until a caller has been told."""

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
        # Append-only: a point refers to its template by index.
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
        before_threads_end(partial(_close_if_alive, weakref.ref(self)))
        self.check_ready()

    @property
    def path(self) -> str | None:
        """The open file's path or address; None after `close`."""
        return self._output.name

    @property
    def file_names(self) -> tuple[str, ...]:
        """The names of all files so far, in their folder."""
        return tuple(self._output.file_names)

    def add_scalar(
        self,
        tag: str,
        number: float,
        step: int = 0,
        wall_time: float | None = None,
        form: ScalarForm = "simple_value",
    ) -> None:
        """Queue one point; the arguments must be valid (see `stepscope.summary.arguments`)."""
        index = self._template_indexes[form].get(tag)
        if index is None:
            index = self._add_template(tag, form)
        if self._unready:
            self.check_ready()
        point = _PACK_POINT(index, self._clock() if wall_time is None else wall_time, step, number)
        pending = self._pending
        pending.append(point)
        if self._idle:
            self._wake()
        elif not len(pending) & (_MANY_ITEMS - 1):
            self._press()

    def add_ready_scalar(self, tag: str, number: float, step: int, wall_time: float | None = None) -> None:
        """Queue one point right after `check_ready`, never raising, so that related points are accepted together."""
        index = self._add_template(tag, "simple_value")
        point = _PACK_POINT(index, self._clock() if wall_time is None else wall_time, step, number)
        self._take(point, len(point))

    def add_series(
        self,
        tag: str,
        numbers: NDArray[np.float64],
        steps: NDArray[np.int64],
        wall_times: NDArray[np.float64] | None = None,
        form: ScalarForm = "simple_value",
    ) -> None:
        """Queue many points of one tag; the arrays must be valid and of one length, and are copied."""
        self.check_ready()
        template = self._templates[self._add_template(tag, form)]
        now = self._clock()
        for begin in range(0, len(steps), _SERIES_PIECE):
            piece = slice(begin, begin + _SERIES_PIECE)
            copied = steps[piece].copy()
            times = np.full(len(copied), now) if wall_times is None else wall_times[piece].copy()
            self._take(_Series(template, copied, times, numbers[piece].copy()), 24 * len(copied))

    def add_event(self, event: Event, wall_time: float | None = None) -> None:
        """Queue one event, at the current time unless ``wall_time`` is given."""
        self.check_ready()
        event.wall_time = self._clock() if wall_time is None else wall_time
        record = frame(event.SerializeToString())
        self._take(bytearray(record), len(record))

    def add_prepared(self, prepared: Prepared, step: int, wall_time: float | None = None) -> None:
        """Queue an event with a summary of one value, which is encoded when its turn comes."""
        self.check_ready()
        deferred = _Deferred(prepared, step, self._clock() if wall_time is None else wall_time)
        self._take(deferred, prepared.held_bytes)

    def check_ready(self) -> None:
        """Return when a file is open and a call may accept data; raise the error that prevents it."""
        if not self._unready:
            return
        self._tell(self._failure, "not taken")
        if self._output.name is None:
            if not interpreter_ends():
                atexit.register(self._close_at_exit)
            self._tell(self._ask("open").failure, "not taken")
        elif self._full:
            failure = self._ask("flush").failure
            if self._full:
                self._tell(failure, "not taken, for lack of room")
        self._unready = self._full or self._failure is not None

    def flush(self) -> None:
        """Return when everything queued so far is in the file, handed to the operating system.

        Raises:
            OSError: the data cannot be written; it is kept.
        """
        if self._output.name is not None or self._pending:
            self._tell(self._ask("flush").failure)

    def close(self) -> None:
        """Write everything queued and close the file.

        Raises:
            OSError: the data cannot be written; the file stays open, and `close` may be called again.
        """
        if self._output.name is not None or self._pending:
            self._tell(self._ask("close").failure)
            atexit.unregister(self._close_at_exit)

    def _close_at_exit(self) -> None:
        try:
            self.close()
        # No caller is left to catch it.
        except Exception as error:
            print(f"stepscope: {error}; the program is exiting, so they are lost", file=sys.stderr)
            atexit.unregister(self._close_at_exit)

    def _forget(self) -> None:
        """Reset to a writer without a file; in a forked child, the queued data belongs to the parent."""
        at_once = _may_end_without_notice() and not isinstance(self.folder, RemoteFolder)
        self._begin(self._linger, at_once=at_once)
        self._output = Output(self.folder, self._filename_suffix, self._clock)
        self._waiting_event_bytes = 0
        self._failure = None
        self._full = False
        self._unready = True

    def _add_template(self, tag: str, form: ScalarForm) -> int:
        """Return the template's index. Threads that add it simultaneously add several, of which one is used."""
        indexes = self._template_indexes[form]
        if tag not in indexes:
            template = scalar_template(tag, form)
            self._templates.append(template)
            place = next(at for at in reversed(range(len(self._templates))) if self._templates[at] is template)
            indexes.setdefault(tag, place)
        return indexes[tag]

    def _take(self, item: bytes | bytearray | _Deferred | _Series, held_bytes: int) -> None:
        self._pending.append(item)
        # Inexact if threads race, but good enough for a bound.
        self._waiting_event_bytes += held_bytes
        if self._idle:
            self._wake()
        if self._waiting_event_bytes > _MOST_EVENT_BYTES:
            self._ask("flush")

    def _press(self) -> None:
        if len(self._pending) >= _MOST_ITEMS:
            self._ask("flush")
        else:
            self._hurry()

    def _tell(self, failure: Exception | None, prefix: str = "") -> None:
        """Warn of removed files, and raise the error that writing ran into."""
        failure, self._failure = failure or self._failure, None
        with suppress(IndexError):
            while True:
                warnings.warn(self._output.notices.popleft(), RuntimeWarning, stacklevel=4)
        if isinstance(failure, OSError) and prefix and self._output.waiting:
            raise OSError(failure.errno, f"{prefix}: {failure.strerror}", failure.filename) from failure
        if failure is not None:
            raise failure

    def _work(self, items: list[Any], requests: list[Request]) -> bool:
        output, purposes = self._output, {request.purpose for request in requests}
        self._waiting_event_bytes = 0
        failure = None
        try:
            failure = self._encode(items)
            if "open" in purposes:
                output.open()
            output.write(to_disk=self._fsync and not purposes <= {"open"})
            if "close" in purposes:
                output.close()
        # Whatever it is, a caller must learn of it.
        except Exception as refused:
            failure = output.explained(refused)
        if failure is not None or isinstance(self._failure, OSError):
            self._failure = failure
        for request in requests:
            request.failure = failure
        self._full = output.waiting > _MOST_EVENT_BYTES
        self._unready = self._failure is not None or self._full or output.name is None or bool(output.notices)
        return output.name is None or "close" in purposes

    def _encode(self, items: list[Any]) -> Exception | None:
        """Pass the records of all items that can be encoded to the file, and return the error of one that cannot."""
        try:
            pieces, count, failure = self._encoded(items)
        except BaseException as error:
            if not isinstance(error, Exception):  # a caller doing the work was interrupted
                self._pending.extendleft(item for item in reversed(items) if type(item) is not Request)
            raise
        self._output.add(pieces, count)
        return failure

    def _encoded(self, items: list[Any]) -> tuple[list[Piece], int, Exception | None]:
        """Return whole records, their number, and the error of an item that could not be encoded."""
        pieces: list[Piece] = []
        count = 0
        failure: Exception | None = None
        groups: Iterator[tuple[type, Iterator[Any]]] = itertools.groupby(items, type)
        for kind, group in groups:
            if kind is bytes:
                points = np.frombuffer(b"".join(group), POINT)
                count += len(points)
                pieces.append(encode_scalars(self._templates, points))
            elif kind is bytearray:
                before = len(pieces)
                pieces.extend(group)
                count += len(pieces) - before
            elif kind is _Series:
                for series in group:
                    count += len(series.steps)
                    pieces.extend(encode_series(*series))
            elif kind is _Deferred:
                for deferred in group:
                    try:
                        pieces.append(_encode_deferred(deferred))
                        count += 1
                    except Exception as error:
                        failure = error
        return pieces, count, failure


def _encode_deferred(deferred: _Deferred) -> bytes:
    summary = Summary(value=[deferred.prepared.encode()])
    event = Event(wall_time=deferred.wall_time, step=deferred.step, summary=summary)
    return frame(event.SerializeToString())


def _forget_if_alive(writer: weakref.ref[EventFileWriter]) -> None:
    alive = writer()
    if alive is None:
        return
    inherited = alive._output
    alive._forget()
    inherited.close()


def _close_if_alive(writer: weakref.ref[EventFileWriter]) -> None:
    alive = writer()
    if alive is not None:
        alive._close_at_exit()


_forked = False


def _remember_fork() -> None:
    global _forked
    _forked = True


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_remember_fork)


def _may_end_without_notice() -> bool:
    """Return whether this is a forked child or a process of `multiprocessing`, which end by a signal or by
    `os._exit`.
    """
    processes = sys.modules.get("multiprocessing.process")
    return _forked or (processes is not None and processes.parent_process() is not None)
