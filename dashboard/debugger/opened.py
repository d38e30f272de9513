"""A recording or dump that somebody looks at: its observations by chunks, and what was worked out about them."""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from threading import Lock, RLock
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.debugger.filters import ObservationFilter, TensorFilter, matching, passing
from stepscope.dashboard.debugger.heat import Matrix, matrix_of
from stepscope.dashboard.debugger.index import CHUNK, Index, index_of
from stepscope.dashboard.server.work import held
from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.debugger.model import DebugData, Figure, Observations, WatchedTensor

T = TypeVar("T")

MOST_CHUNKS: Final = 32
"""Chunks of observations that are kept, 2 MB each."""
MOST_MATRICES: Final = 3
"""Figures of one recording whose matrix is kept, 36 MB each at most."""
MOST_KEPT: Final = 64
MOST_BACK: Final = 64
"""Chunks that are read backwards to find what a tensor was before."""


@dataclass(frozen=True)
class Page:
    """Some of the observations that pass a filter."""

    total: int
    """How many pass."""
    numbers: NDArray[np.int64]
    observed: Observations


class OpenedDebug:
    """One recording at one moment; safe to use from many threads.

    Args:
        data: the recording.
        known: the same recording when it was shorter, of which what was worked out is continued.
    """

    def __init__(self, data: DebugData, known: "OpenedDebug | None" = None) -> None:
        self.data: Final = data
        self._chunks: OrderedDict[int, Observations] = OrderedDict()
        self._chunks_lock = Lock()
        self._lock = RLock()
        earlier = known if known is not None and _is_beginning(known.data, data) else None
        self.index: Final[Index] = index_of(
            self.read, data.observation_count, len(data.tensors), earlier.index if earlier else None
        )
        self._matrices: OrderedDict[Figure, Matrix] = OrderedDict(earlier.matrices() if earlier else ())
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()

    @property
    def bytes(self) -> int:
        """An estimate of the memory that it holds at most."""
        return sum(matrix.nbytes for matrix in self.matrices().values()) + MOST_CHUNKS * CHUNK * 128 + (
            512 * len(self.data.tensors)
        )  # fmt: skip

    def matrices(self) -> dict[Figure, Matrix]:
        """Return the figures that were worked out."""
        with self._chunks_lock:
            return dict(self._matrices)

    def read(self, begin: int, end: int) -> Observations:
        """Return observations; those of whole chunks are kept for a while."""
        chunk = begin // CHUNK
        with self._chunks_lock:
            kept = self._chunks.get(chunk)
            if kept is not None:
                self._chunks.move_to_end(chunk)
        if kept is None:
            first = chunk * CHUNK
            kept = self.data.observations(first, min(first + CHUNK, self.data.observation_count))
            with self._chunks_lock:
                self._chunks[chunk] = kept
                while len(self._chunks) > MOST_CHUNKS:
                    self._chunks.popitem(last=False)
        offset = chunk * CHUNK
        return _part(kept, slice(begin - offset, end - offset))

    def one(self, number: int) -> Observations:
        """Return one observation."""
        return self.read(number, number + 1)

    def chunks(self) -> Iterator[tuple[int, Observations]]:
        """Yield all observations, with the number of the first of each stretch."""
        for begin in range(0, self.data.observation_count, CHUNK):
            check_cancelled()
            yield begin, self.read(begin, min(begin + CHUNK, self.data.observation_count))

    def matrix(self, figure: Figure) -> Matrix:
        """Return a figure of all tensors over all steps."""
        with held(self._lock):
            known = self.matrices().get(figure)
            if known is None or known.observations != self.index.observations:
                known = matrix_of(figure, self.read, self.index, known)
            with self._chunks_lock:
                self._matrices[figure] = known
                self._matrices.move_to_end(figure)
                while len(self._matrices) > MOST_MATRICES:
                    self._matrices.popitem(last=False)
            return known

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what ``make`` gave the first time it was asked for under ``key``."""
        with held(self._lock):
            if key not in self._kept:
                self._kept[key] = make()
                while len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            found: T = self._kept[key]
            return found

    def passing(self, wanted: TensorFilter) -> NDArray[np.bool_]:
        """Return which tensors pass; raises PatternError."""
        return self.kept(("tensors", wanted), lambda: passing(self.data.tensors, wanted))

    def page(self, wanted: ObservationFilter, offset: int, limit: int) -> Page:
        """Return some of the observations that pass; raises PatternError."""
        ends = None if wanted.all else self._counts(wanted)
        if ends is None:
            total = self.data.observation_count
            begin = min(offset, total)
            end = min(begin + limit, total)
            pieces = [self.read(at, min(end, (at // CHUNK + 1) * CHUNK)) for at in _stretches(begin, end)]
            return Page(total, np.arange(begin, end, dtype=np.int64), _together(pieces))
        total = ends[-1] if ends else 0
        passes = self.passing(wanted.of)
        numbers: list[NDArray[np.int64]] = []
        pieces = []
        missing, skip = min(limit, max(total - offset, 0)), offset
        chunk = bisect_right(ends, offset)
        skip -= ends[chunk - 1] if chunk else 0
        while missing > 0:
            begin = chunk * CHUNK
            observed = self.read(begin, min(begin + CHUNK, self.data.observation_count))
            places = np.flatnonzero(matching(observed, wanted, passes))[skip : skip + missing]
            numbers.append(begin + places)
            pieces.append(_part(observed, places))
            missing -= len(places)
            skip = 0
            chunk += 1
        return Page(total, np.concatenate(numbers) if numbers else np.zeros(0, np.int64), _together(pieces))

    def place(self, wanted: ObservationFilter, number: int) -> int:
        """Return how many of the observations that pass come before one."""
        if wanted.all:
            return number
        ends = self._counts(wanted)
        chunk = number // CHUNK
        if chunk >= len(ends):
            return ends[-1] if ends else 0
        before = ends[chunk - 1] if chunk else 0
        if number == chunk * CHUNK:
            return before
        inside = matching(self.read(chunk * CHUNK, number), wanted, self.passing(wanted.of))
        return before + int(inside.sum())

    def _counts(self, wanted: ObservationFilter) -> list[int]:
        """Return how many observations pass up to the end of each chunk."""

        def count() -> list[int]:
            passes = self.passing(wanted.of)
            found, total = [], 0
            for _begin, observed in self.chunks():
                total += int(matching(observed, wanted, passes).sum())
                found.append(total)
            return found

        return self.kept(("counts", wanted), count)

    def latest(self, tensors: Sequence[int], before: int) -> dict[int, int]:
        """Return the last observation of each tensor before a number, as far as it is not long ago."""
        missing = set(tensors)
        found: dict[int, int] = {}
        end = before
        for _ in range(MOST_BACK):
            if not missing or end <= 0:
                break
            check_cancelled()
            begin = (end - 1) // CHUNK * CHUNK
            observed = self.read(begin, end)
            for tensor in list(missing):
                places = np.flatnonzero(observed.tensors == tensor)
                if len(places):
                    found[tensor] = begin + int(places[-1])
                    missing.discard(tensor)
            end = begin
        return found

    def following(self, tensors: Sequence[int], after: int) -> dict[int, int]:
        """Return the first observation of each tensor behind a number, as far as it comes soon."""
        missing = set(tensors)
        found: dict[int, int] = {}
        begin = after + 1
        for _ in range(MOST_BACK):
            if not missing or begin >= self.data.observation_count:
                break
            check_cancelled()
            end = min((begin // CHUNK + 1) * CHUNK, self.data.observation_count)
            observed = self.read(begin, end)
            for tensor in list(missing):
                places = np.flatnonzero(observed.tensors == tensor)
                if len(places):
                    found[tensor] = begin + int(places[0])
                    missing.discard(tensor)
            begin = end
        return found

    @cached_property
    def consumers(self) -> dict[int, list[int]]:
        """The tensors that were made of each."""
        found: dict[int, list[int]] = {}
        for number, tensor in enumerate(self.data.tensors):
            for taken in dict.fromkeys(tensor.inputs):
                found.setdefault(taken, []).append(number)
        return found


def _is_beginning(earlier: DebugData, now: DebugData) -> bool:
    """Return whether a recording is the same as an earlier one, only longer."""
    count = len(earlier.tensors)
    if earlier.observation_count > now.observation_count or count > len(now.tensors) or not earlier.observation_count:
        return False
    same = all(_key(a) == _key(b) for a, b in zip(earlier.tensors, now.tensors, strict=False))
    last = earlier.observation_count
    one, other = earlier.observations(last - 1, last), now.observations(last - 1, last)
    names = ("tensors", "steps", "wall_times")
    return same and all(bool(getattr(one, name)[0] == getattr(other, name)[0]) for name in names)


def _key(tensor: WatchedTensor) -> tuple[str, str]:
    return tensor.name, tensor.phase


def _stretches(begin: int, end: int) -> list[int]:
    """Return where each stretch begins, of which none crosses a chunk."""
    edges = [begin, *range((begin // CHUNK + 1) * CHUNK, end, CHUNK), end]
    return [first for first, last in pairwise(edges) if last > first]


def _part(observed: Observations, places: slice | NDArray[np.int64]) -> Observations:
    marked = observed.marked
    return Observations(
        observed.tensors[places],
        observed.steps[places],
        observed.wall_times[places],
        observed.figures[places],
        None if marked is None else marked[places],
    )


def _together(pieces: Sequence[Observations]) -> Observations:
    if len(pieces) == 1:
        return pieces[0]
    if not pieces:
        return Observations.none()
    names = ("tensors", "steps", "wall_times", "figures", *(("marked",) if pieces[0].marked is not None else ()))
    return Observations(*(np.concatenate([getattr(piece, name) for piece in pieces]) for name in names))
