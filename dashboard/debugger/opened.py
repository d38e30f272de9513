"""An opened recording or dump: its observations in chunks, and results computed from them."""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from threading import Lock, RLock
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.debugger.filters import ObservationFilter, TensorFilter, matching, passing
from stepscope.dashboard.debugger.heat import Matrix, bytes_of_matrix, matrix_of
from stepscope.dashboard.debugger.index import CHUNK, Index, index_of
from stepscope.dashboard.debugger.matrices import MatrixCache
from stepscope.dashboard.server.work import held
from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.debugger.model import (
    DebugData,
    DevicesData,
    Figure,
    LinkedData,
    NestedData,
    Observations,
    WatchedTensor,
)

T = TypeVar("T")

MOST_CHUNKS: Final = 8
"""Maximum number of chunks of observations that are kept, 2 MB each."""
MOST_KEPT: Final = 64
MOST_BACK: Final = 64
"""Maximum number of chunks read backward to find an earlier observation of a tensor."""
MOST_LINKS: Final = 50
"""Maximum number of linked tensors to look for: inputs of a tensor, and tensors made from it."""


@dataclass(frozen=True)
class Page:
    """Some of the observations that pass a filter."""

    total: int
    """Number of observations that pass."""
    numbers: NDArray[np.int64]
    observed: Observations


class Link(NamedTuple):
    """A tensor that another was made from, or that was made from another."""

    tensor: int
    observation: int | None
    """Number of the observation; None if there is none nearby."""


class OpenedDebug:
    """One recording at one moment; safe to use from many threads.

    Args:
        data: the recording.
        known: the same recording when it was shorter; its results are reused and extended.
        matrices: cache of figures over all steps; it may be shared with other recordings.
    """

    def __init__(
        self, data: DebugData, known: "OpenedDebug | None" = None, matrices: MatrixCache | None = None
    ) -> None:
        self.data: Final = data
        self._chunks: OrderedDict[int, Observations] = OrderedDict()
        self._chunks_lock = Lock()
        self._lock = RLock()
        earlier = known if known is not None and _is_beginning(known.data, data) else None
        self.index: Final[Index] = index_of(
            self.read, data.observation_count, len(data.tensors), earlier.index if earlier else None
        )
        self._matrices: Final = matrices or MatrixCache()
        self._key: Final[object] = earlier._key if earlier else object()
        """Key of the recording, which stays the same as it grows."""
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()

    @property
    def bytes(self) -> int:
        """An estimate of the maximum memory it holds, besides matrices."""
        chunks = min(MOST_CHUNKS * CHUNK, self.data.observation_count)
        return 136 * chunks + 512 * len(self.data.tensors) + 8 * len(self.index.steps)

    def read(self, begin: int, end: int) -> Observations:
        """Return observations; the chunks they are in are kept for a while."""
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
        """Yield all observations in stretches, each with the number of its first observation."""
        for begin in range(0, self.data.observation_count, CHUNK):
            check_cancelled()
            yield begin, self.read(begin, min(begin + CHUNK, self.data.observation_count))

    def matrix(self, figure: Figure) -> Matrix:
        """Return a figure of all tensors over all steps."""
        with held(self._lock):
            known = self._matrices.get((self._key, figure))
            if known is None or known.observations != self.index.observations:
                self._matrices.make_room(bytes_of_matrix(self.index))
                known = matrix_of(figure, self.read, self.index, known)
                self._matrices.put((self._key, figure), known)
            return known

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of ``make``, called when ``key`` is first requested and kept for a while."""
        with held(self._lock):
            if key not in self._kept:
                self._kept[key] = make()
                while len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            found: T = self._kept[key]
            return found

    def passing(self, wanted: TensorFilter) -> NDArray[np.bool_]:
        """Return which tensors pass; raise PatternError for an invalid expression."""
        return self.kept(("tensors", wanted), lambda: passing(self.data.tensors, wanted))

    def page(self, wanted: ObservationFilter, offset: int, limit: int) -> Page:
        """Return some of the observations that pass; raise PatternError for an invalid expression."""
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
            places = np.flatnonzero(matching(observed, wanted, passes, self.devices))[skip : skip + missing]
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
        inside = matching(self.read(chunk * CHUNK, number), wanted, self.passing(wanted.of), self.devices)
        return before + int(inside.sum())

    def _counts(self, wanted: ObservationFilter) -> list[int]:
        """Return how many observations pass up to the end of each chunk."""

        def count() -> list[int]:
            passes = self.passing(wanted.of)
            found, total = [], 0
            for _begin, observed in self.chunks():
                total += int(matching(observed, wanted, passes, self.devices).sum())
                found.append(total)
            return found

        return self.kept(("counts", wanted), count)

    def latest(self, tensors: Sequence[int], before: int) -> dict[int, int]:
        """Return the last observation of each tensor before a number, within at most `MOST_BACK` chunks."""
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
        """Return the first observation of each tensor after a number, within at most `MOST_BACK` chunks."""
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

    @property
    def devices(self) -> Sequence[str]:
        """Names of the devices, "" for an unknown one; empty if no device is known."""
        return self.data.devices if isinstance(self.data, DevicesData) else ()

    def device_of(self, observed: Observations, place: int) -> str:
        """Return the device that a value was on; empty if unknown."""
        return "" if observed.devices is None else self.devices[int(observed.devices[place])]

    def made_of(self, number: int) -> list[Link]:
        """Return the inputs of an observation: those recorded, else the last observation of each input tensor of its
        operation.
        """
        exact = self.data.made_of(number) if isinstance(self.data, LinkedData) else None
        made = self._tensor(number)
        taken = list(dict.fromkeys(made.inputs))[:MOST_LINKS]
        if exact is not None:
            links = [self._link(taken) for taken in dict.fromkeys(exact) if taken is not None][:MOST_LINKS]
            # An operation of a graph always takes the same inputs, even if some were not observed this time.
            known = {link.tensor for link in links}
            missing = taken if made.phase == "graph" and None in exact else []
            return [*links, *(Link(tensor, None) for tensor in missing if tensor not in known)]
        latest = self.latest(taken, number)
        step = int(self.one(number).steps[0])
        # An input that was not computed in this step, as in a branch not taken, contributed nothing.
        return [
            Link(tensor, found if found is not None and int(self.one(found).steps[0]) == step else None)
            for tensor in taken
            for found in (latest.get(tensor),)
        ]

    def made_into(self, number: int) -> list[Link]:
        """Return the observations made from one, found in the same way as in `made_of`."""
        exact = self.data.made_into(number) if isinstance(self.data, LinkedData) else None
        if exact is not None:
            return [self._link(made) for made in exact[:MOST_LINKS]]
        made = self.consumers.get(int(self.one(number).tensors[0]), [])[:MOST_LINKS]
        following = self.following(made, number)
        return [Link(tensor, following.get(tensor)) for tensor in made]

    def first_bad_inside(self, number: int) -> Link | None:
        """Return the first observation that is not finite inside the function or module that made the given one."""
        found = self.data.first_bad_inside(number) if isinstance(self.data, NestedData) else None
        return None if found is None else self._link(found)

    def knows_inputs(self, number: int) -> bool:
        """Return whether all inputs of an observation were observed."""
        exact = self.data.made_of(number) if isinstance(self.data, LinkedData) else None
        if exact is not None:
            return None not in exact and bool(exact)
        links = self.made_of(number)
        return 0 < len(links) < MOST_LINKS and all(link.observation is not None for link in links)

    def _tensor(self, number: int) -> WatchedTensor:
        return self.data.tensors[int(self.one(number).tensors[0])]

    def _link(self, number: int) -> Link:
        return Link(int(self.one(number).tensors[0]), number)

    @cached_property
    def consumers(self) -> dict[int, list[int]]:
        """By tensor, the tensors that were made from it."""
        found: dict[int, list[int]] = {}
        for number, tensor in enumerate(self.data.tensors):
            for taken in dict.fromkeys(tensor.inputs):
                found.setdefault(taken, []).append(number)
        return found


def _is_beginning(earlier: DebugData, now: DebugData) -> bool:
    """Return whether a recording is a continuation of an earlier one."""
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
    """Return the beginnings of stretches that do not cross chunks."""
    edges = [begin, *range((begin // CHUNK + 1) * CHUNK, end, CHUNK), end]
    return [first for first, last in pairwise(edges) if last > first]


def _part(observed: Observations, places: slice | NDArray[np.int64]) -> Observations:
    marked, devices = observed.marked, observed.devices
    return Observations(
        observed.tensors[places],
        observed.steps[places],
        observed.wall_times[places],
        observed.figures[places],
        None if marked is None else marked[places],
        None if devices is None else devices[places],
    )


def _together(pieces: Sequence[Observations]) -> Observations:
    if len(pieces) == 1:
        return pieces[0]
    if not pieces:
        return Observations.none()

    def joined(name: str) -> Any:
        columns = [getattr(piece, name) for piece in pieces]
        return None if columns[0] is None else np.concatenate(columns)

    return Observations(*(joined(field.name) for field in fields(Observations)))
