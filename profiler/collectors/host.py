"""What the program itself reports about its threads: steps, named scopes, and Python's garbage collections.

A scope costs two readings of the clock and one extension of a list that belongs to its thread: four plain values per
scope in one flat list, so that recording creates nothing that the garbage collector has to visit. Records are made when
the recording stops.
"""

import gc
import operator
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, SupportsIndex

from stepscope.profiler.collectors.base import (
    FIRST_MADE_UP_THREAD,
    HOST_DEVICE,
    NO_ARGUMENTS,
    UNFINISHED,
    ArgumentValue,
    Collected,
    Lane,
    Record,
    RecordingClock,
)

STEPS_LANE = Lane(HOST_DEVICE, FIRST_MADE_UP_THREAD, "steps")
GC_LANE = Lane(HOST_DEVICE, FIRST_MADE_UP_THREAD + 1, "garbage collection")

Scopes = list[Any]
"""The scopes of one thread, sorted by start, `FIELDS_PER_SCOPE` items each: name, arguments, start and end."""

FIELDS_PER_SCOPE = 4
END = 3
OPEN = -1
"""The end of a scope that has not ended."""


class HostCollector:
    """Records training steps, scopes of all threads, and garbage collections; serves one recording."""

    def __init__(self, now: Callable[[], int]) -> None:
        self.now = now
        self._wall_offset = 0
        self._lock = threading.Lock()
        self._steps: list[tuple[int, int]] = []
        self._last_step_end = OPEN
        self._threads: list[tuple[Lane, Scopes]] = []
        self.local = threading.local()
        """Holds the result of `scopes` as the attribute ``scopes``, in threads that have requested it before."""
        self._collections: list[tuple[int, int, Mapping[str, int]]] = []
        self._collection_start: int | None = None
        self._slices: list[tuple[str, str, Lane, int, int, Mapping[str, ArgumentValue]]] = []

    def start(self, clock: RecordingClock) -> None:
        """Start recording; garbage collections are recorded from now on."""
        self._wall_offset = clock.wall_offset_ns
        gc.callbacks.append(self._on_collection)
        # So that the thread that starts the recording is shown above the others.
        self._register_thread()

    def begin_step(self, number: int | None = None, *, forget: bool = False) -> int:
        """End the running step, if any, and begin the next, numbered one more unless ``number`` is given.

        Args:
            number: number of the step that begins.
            forget: discard the steps before it.

        Returns:
            The time of the beginning, on the monotonic clock.

        Raises:
            TypeError, ValueError: ``number`` is not a 64-bit integer.
        """
        number = None if number is None else checked_step_number(number)
        with self._lock:
            if number is None:
                number = self._steps[-1][0] + 1 if self._steps else 0
            if forget:
                self._steps.clear()
            begin = self.now()
            self._steps.append((number, begin))
            self._last_step_end = OPEN
        return begin

    def end_step(self) -> None:
        """End the running step without beginning another."""
        with self._lock:
            self._last_step_end = self.now()

    def stop(self) -> Collected:
        """Stop recording; anything still open ends now and is marked `UNFINISHED`."""
        self.end_collections()
        stopped = self.now()
        with self._lock:
            threads = [(lane, scopes.copy()) for lane, scopes in self._threads]
            steps, last_step_end = self._steps.copy(), self._last_step_end
        collections = [self._collection_record(*collection) for collection in self._collections]
        scopes = [record for thread in threads for record in self._scope_records(*thread, stopped)]
        slices = [
            self._record(name, category, lane, (start, end), args)
            for name, category, lane, start, end, args in self._slices.copy()
        ]
        return Collected([*self._step_records(steps, last_step_end, stopped), *scopes, *slices, *collections])

    def end_collections(self) -> None:
        """Record no more garbage collections."""
        gc.callbacks.remove(self._on_collection)

    def add_slice(
        self,
        name: str,
        category: str,
        lane: Lane,
        start: int,
        end: int,
        args: Mapping[str, ArgumentValue] = NO_ARGUMENTS,
    ) -> None:
        """Record something that has ended, on a separate lane; times are from `now`."""
        self._slices.append((name, category, lane, start, end, args))

    def scopes(self) -> Scopes:
        """Return the list that receives the scopes of the calling thread."""
        try:
            found: Scopes = self.local.scopes
        except AttributeError:
            found = self._register_thread()
        return found

    def _register_thread(self) -> Scopes:
        scopes: Scopes = []
        thread_name = plain_text(threading.current_thread().name)
        lane = Lane(HOST_DEVICE, threading.get_native_id() & 0xFFFF_FFFF, thread_name)
        with self._lock:
            self._threads.append((lane, scopes))
        self.local.scopes = scopes
        return scopes

    def _on_collection(self, phase: str, info: Mapping[str, int]) -> None:
        if phase == "start":
            self._collection_start = self.now()
        elif self._collection_start is not None:
            self._collections.append((self._collection_start, self.now(), info))

    def _collection_record(self, start: int, end: int, info: Mapping[str, int]) -> Record:
        return self._record(f"gc generation {info['generation']}", "gc", GC_LANE, (start, end), info)

    def _scope_records(self, lane: Lane, scopes: Scopes, stopped: int) -> Iterator[Record]:
        for i in range(0, len(scopes), FIELDS_PER_SCOPE):
            name, args, start, end = scopes[i : i + FIELDS_PER_SCOPE]
            if end == OPEN:
                args, end = {**args, **UNFINISHED}, stopped
            yield self._record(plain_text(name), "annotation", lane, (start, end), args)

    def _step_records(self, steps: Sequence[tuple[int, int]], last_step_end: int, stopped: int) -> Iterator[Record]:
        ends = [start for _, start in steps[1:]]
        for (number, start), end in zip(steps, [*ends, last_step_end], strict=False):
            args: Mapping[str, ArgumentValue] = {"step": number}
            if end == OPEN:
                args, end = {**args, **UNFINISHED}, stopped
            yield self._record(f"ProfilerStep#{number}", "step", STEPS_LANE, (start, end), args)

    def _record(
        self,
        name: str,
        category: str,
        lane: Lane,
        span: tuple[int, int],
        args: Mapping[str, ArgumentValue],
    ) -> Record:
        start, end = span
        return Record(name, category, lane, start + self._wall_offset, end - start, args=args)


def checked_step_number(number: SupportsIndex) -> int:
    """Return ``number``, of any integer type, in a form that every reader of the files understands.

    Raises:
        TypeError: it is not an integer.
        ValueError: it does not fit in 64 bits.
    """
    whole = operator.index(number)
    if not -(2**63) <= whole < 2**63:
        raise ValueError(f"a step must fit a signed 64-bit integer, got {whole}")
    return whole


def plain_arguments(args: Mapping[str, object]) -> Mapping[str, ArgumentValue]:
    """Return arguments as numbers and text, so that a recording keeps no tensor alive and shows no later change."""
    return {name: _plain(value) for name, value in args.items()} if args else NO_ARGUMENTS


def _plain(value: object) -> ArgumentValue:
    if value is None or isinstance(value, bool):
        return value
    # NumPy's float64 is a float, but JSON writers need not know it or other subclasses.
    if isinstance(value, float):
        return float(value)
    # Not every reader of the files supports integers beyond 64 bits.
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return int(value)
    return plain_text(value)


def plain_text(value: object) -> str:
    """Return text that UTF-8 can encode, whatever the program used as a name."""
    return str(value).encode(errors="backslashreplace").decode()
