"""The time that the program waits for its next batch of data."""

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any, Final, Generic, Protocol, TypeVar

from stepscope.profiler.collectors.base import (
    END_OF_DATA,
    FIRST_MADE_UP_THREAD,
    HOST_DEVICE,
    ArgumentValue,
    Collected,
    Lane,
    Record,
    RecordingClock,
)
from stepscope.profiler.collectors.patching import Patches
from stepscope.profiler.process import _process
from stepscope.summary.counts import counted

T = TypeVar("T")

DATA_LOADING_LANE: Final = Lane(HOST_DEVICE, FIRST_MADE_UP_THREAD + 2, "data loading")

_UNRECORDED: Final = "_stepscope_unrecorded"
"""Attribute of a recording function: the function that does the same without recording."""


class SliceSink(Protocol):
    """Where slices go: the collector of this module, or the host's."""

    now: Callable[[], int]

    def add_slice(
        self, name: str, category: str, lane: Lane, start: int, end: int, args: Mapping[str, ArgumentValue]
    ) -> None: ...


class _Running:
    """The collector running in this process, if any: `data_loading` has no reference to a recording."""

    __slots__ = ("sink",)

    def __init__(self) -> None:
        self.sink: SliceSink | None = None


_running: Final = _Running()


def _sink() -> SliceSink | None:
    if _running.sink is not None:
        return _running.sink
    return _process.host


def data_loading(batches: Iterable[T], name: str = "data loading") -> "LoadedBatches[T]":
    """Return the same batches; while a recording runs, the wait for each is a slice on the lane "data loading".

        for images, labels in profiler.data_loading(batches):
            ...

    Without a recording, this costs next to nothing.

    Args:
        batches: any iterable; it needs a length only if the result's length is requested.
        name: name of the slices.
    """
    return LoadedBatches(batches, name)


class LoadedBatches(Generic[T]):
    """Batches whose loading is recorded, made by `data_loading`. Has the attributes of the object that it wraps."""

    def __init__(self, batches: Iterable[T], name: str) -> None:
        self._batches = batches
        self._name = name

    def __iter__(self) -> Iterator[T]:
        return _LoadingIterator(iter(self._batches), self._name)

    def __len__(self) -> int:
        return len(self._batches)  # type: ignore[arg-type]

    def __bool__(self) -> bool:
        return bool(self._batches)

    def __getattr__(self, attribute: str) -> Any:
        # Copying and unpickling look up such names before `_batches` exists.
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        return getattr(self._batches, attribute)


class _LoadingIterator(Iterator[T]):
    def __init__(self, iterator: Iterator[T], name: str) -> None:
        self._iterator = iterator
        self._name = name
        self._index = 0

    def __next__(self) -> T:
        sink = _sink()
        if sink is None:
            batch = next(self._iterator)
        else:
            # A batch recorded here must not be recorded again inside, by a collector that does so automatically.
            load = type(self._iterator).__next__
            load = getattr(load, _UNRECORDED, load)
            batch = _recorded(sink, load, self._iterator, self._name, self._index)
        self._index += 1
        return batch


def _recorded(sink: SliceSink, load: Callable[[Any], T], iterator: Any, name: str, index: int) -> T:
    args: dict[str, ArgumentValue] = {"index": index, "thread": threading.get_native_id() & 0xFFFF_FFFF}
    # The name that PyTorch's loaders use.
    workers = getattr(iterator, "_num_workers", None)
    if isinstance(workers, int):
        args["workers"] = workers
    start = sink.now()
    try:
        return load(iterator)
    except StopIteration:
        # No batch, but still a wait: workers are joined here.
        name += END_OF_DATA
        raise
    except BaseException as error:
        args["error"] = type(error).__name__
        raise
    finally:
        sink.add_slice(name, "data_loading", DATA_LOADING_LANE, start, sink.now(), args)


class DataLoadingCollector:
    """Records waits for batches of PyTorch's ``DataLoader``, with and without workers, and of `data_loading`.

    Nothing is imported: PyTorch's loaders are recorded only if PyTorch is imported when the recording starts.

    Args:
        max_slices: maximum number of slices to keep; the rest are counted in the notes.

    Raises:
        ValueError: the limit is negative.
    """

    def __init__(self, *, max_slices: int = 1_000_000) -> None:
        if max_slices < 0:
            raise ValueError(f"max_slices must be a number of slices, 0 or more, got {max_slices!r}")
        self._max_slices: Final = max_slices
        self._patches: Final = Patches()

    def start(self, clock: RecordingClock) -> None:
        """Wrap the method that yields the batches of PyTorch's loaders."""
        self.now = clock.now
        self._wall_offset_ns = clock.wall_offset_ns
        self._slices: list[tuple[str, str, Lane, int, int, Mapping[str, ArgumentValue]]] = []
        self._dropped = 0
        self._pid = os.getpid()
        self._loaders = _torch_loaders()
        if self._loaders is not None:
            self._patches.replace(self._loaders, "__next__", self._recording_next)
        _running.sink = self

    def stop(self) -> Collected:
        """Remove the wrapper, and return the slices."""
        if _running.sink is self:
            _running.sink = None
        self._patches.undo()
        notes = []
        if self._dropped:
            waits = counted(self._dropped, "wait for data was", "waits for data were")
            notes.append(f"{waits} dropped beyond the limit of {self._max_slices:,}")
        if self._loaders is None and _torch_loaders() is not None:
            notes.append(
                "waits for PyTorch's DataLoader were not recorded: PyTorch was imported after the recording started"
            )
        offset = self._wall_offset_ns
        records = [
            Record(name, category, lane, start + offset, end - start, args=args)
            for name, category, lane, start, end, args in self._slices
        ]
        self._slices = []
        return Collected(records, notes=tuple(notes))

    def add_slice(
        self, name: str, category: str, lane: Lane, start: int, end: int, args: Mapping[str, ArgumentValue]
    ) -> None:
        """Record one slice; times are monotonic."""
        if os.getpid() != self._pid:
            # A forked child has a copy of this collector that nobody will ever stop.
            return
        if len(self._slices) >= self._max_slices:
            self._dropped += 1
        else:
            self._slices.append((name, category, lane, start, end, args))

    def _recording_next(self, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @wraps(original)
        def recorded_next(iterator: Any) -> Any:
            if _running.sink is not self:
                return original(iterator)
            return _recorded(self, original, iterator, "DataLoader", iterator._num_yielded)

        setattr(recorded_next, _UNRECORDED, original)
        return recorded_next


def _torch_loaders() -> Any:
    """Return the base class of the iterators of PyTorch's loaders; None if PyTorch is not imported."""
    module = sys.modules.get("torch.utils.data.dataloader")
    return getattr(module, "_BaseDataLoaderIter", None)
