"""The points of one event file as one block of bytes, with a table of its layout that similar files share.

A block holds the columns of all tags in sequence: steps (int64), stored once for neighbors with equal steps; wall times
(float64); offsets and lengths of records (int64); values (float32 if that is exact, else float64); indices (int32). All
are little endian. A tag has the columns that `stepscope.summary.points.TagPoints` keeps for its kind.

A large block is divided, so that the columns of one tag can be read without the rest: it has a part for each tag, laid
out like the block of a file with only that tag, followed by the picture, a block of a few points of each long curve.
"""

import errno
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, Final, NamedTuple, Protocol
from weakref import WeakValueDictionary

import msgspec
import numpy as np
from numpy.typing import NDArray

from stepscope.summary.picture_points import LEAST_PICTURED, PICTURE_POINTS, points_of_picture
from stepscope.summary.points import TagState
from stepscope.summary.scalar_summaries import Points, ScalarSummary
from stepscope.summary.scan import RowsByTag
from stepscope.summary.series import SCALARS
from stepscope.summary.stored_points import NO_TEXTS, NONE_SAID, TagTable, Texts, places_of, texts_of_states

_STEPS: Final = np.dtype("<i8")
_TIMES: Final = np.dtype("<f8")
_PLACES: Final = np.dtype("<i8")
_INDICES: Final = np.dtype("<i4")
_NUMBERS: Final = (np.dtype("<f8"), np.dtype("<f4"))
"""Data types of values in general, and of values that float32 represents exactly."""
LARGEST_UNDIVIDED: Final = 4 << 20
"""Maximum size in bytes of a block that is read as fast as a part of it."""
_NO_PLACES: Final = np.empty(0, np.int64)
_NO_NUMBERS: Final = np.empty(0, np.float64)
_NO_INDICES: Final = np.empty(0, np.int32)


class _Begins(NamedTuple):
    """Start of each tag's columns, in elements, followed by the end of the last tag's."""

    rows: list[int]
    values: list[int]
    blobs: list[int]


class PackedTable(msgspec.Struct, array_like=True, frozen=True, dict=True, weakref=True):
    """The tags of a file and the layout of its block."""

    tags: TagTable
    step_begins: list[int]
    """Start of each tag's steps."""
    steps: int
    """Number of stored steps."""
    narrow: bool
    """Whether values are float32."""
    divided: bool = False
    """Whether the block has a part for each tag, and the picture."""

    @cached_property
    def part_begins(self) -> list[int]:
        """Start of each part of a divided block: those of the tags, then the picture, then the end of the block."""
        lengths = [self._bytes_alone(*pair) for pair in zip(self.tags.kinds, self.tags.counts, strict=True)]
        return list(accumulate([*lengths, self.picture.length], initial=0))

    def _bytes_alone(self, kind: str, count: int) -> int:
        values = _NUMBERS[self.narrow].itemsize if kind in (SCALARS, "") else 0
        blobs = 2 * _PLACES.itemsize + _INDICES.itemsize if kind != SCALARS else 0
        return count * (_STEPS.itemsize + _TIMES.itemsize + values + blobs)

    def alone(self, place: int) -> "PackedTable":
        """Return the table of one tag's part, given the tag's index."""
        return PackedTable(self.tags.alone(place), [0], self.tags.counts[place], self.narrow)

    @cached_property
    def picture(self) -> "PackedTable":
        """The table of the picture, in which only long curves have points."""
        tags = self.tags
        pairs = zip(tags.kinds, tags.counts, strict=True)
        counts = [PICTURE_POINTS if kind == SCALARS and count >= LEAST_PICTURED else 0 for kind, count in pairs]
        ends = list(accumulate(counts))
        table = TagTable(tags.tags, tags.kinds, counts, tags.first_steps, tags.last_steps, tags.going_back)
        return PackedTable(
            table, [end - count for end, count in zip(ends, counts, strict=True)], sum(counts), self.narrow
        )

    def has_picture(self, place: int) -> bool:
        """Return whether the picture has points of the tag at an index."""
        return self.divided and self.picture.tags.counts[place] > 0

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The index of each tag."""
        return places_of(self.tags.tags)

    @cached_property
    def length(self) -> int:
        """Return the size of the block in bytes."""
        if self.divided:
            return self.part_begins[-1]
        rows, values, blobs = (begins[-1] for begins in self.begins)
        return 8 * (self.steps + rows + 2 * blobs) + _NUMBERS[self.narrow].itemsize * values + 4 * blobs

    @cached_property
    def begins(self) -> _Begins:
        """Start of each tag's columns."""
        pairs = list(zip(self.tags.kinds, self.tags.counts, strict=True))
        return _Begins(
            list(accumulate(self.tags.counts, initial=0)),
            list(accumulate([count if kind in (SCALARS, "") else 0 for kind, count in pairs], initial=0)),
            list(accumulate([count if kind != SCALARS else 0 for kind, count in pairs], initial=0)),
        )

    @cached_property
    def _of_scalars(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Number of summarized points and start of the steps of each tag; for tags with such points, the index of the
        last time; and the index of each of their values, unless all values belong to them.
        """
        rows, values, _ = self.begins
        scalars = np.array([kind == SCALARS for kind in self.tags.kinds], np.bool_)
        counts = np.where(scalars, np.array(self.tags.counts, np.int64), 0)
        some = np.flatnonzero(counts)
        last_rows = np.array(rows[1:], np.int64)[some] - 1
        at = [np.arange(values[place], values[place + 1]) for place in some.tolist()]
        return counts, np.array(self.step_begins, np.int64), last_rows, np.concatenate([_NO_PLACES, *at])

    def scalars(self, block: bytes) -> Points:
        """Return the points of the scalar tags, from the block."""
        if self.divided:
            return self._scalars_of_parts(block)
        rows, values, blobs = (begins[-1] for begins in self.begins)
        counts, step_begins, last_rows, places = self._of_scalars
        at_rows = 8 * self.steps
        numbers: NDArray[Any] = np.frombuffer(block, _NUMBERS[self.narrow], values, at_rows + 8 * rows + 16 * blobs)
        return Points(
            counts,
            np.frombuffer(block, _STEPS, self.steps),
            step_begins,
            np.frombuffer(block, _TIMES, rows, at_rows)[last_rows],
            numbers if len(places) == values else numbers[places],
        )

    def _scalars_of_parts(self, block: bytes) -> Points:
        found = [
            self.alone(place).scalars(block[begin:end])
            for place, (begin, end) in enumerate(pairwise(self.part_begins[:-1]))
        ]
        ends = np.cumsum([0, *(len(one.steps) for one in found)])
        return Points(
            np.concatenate([one.counts for one in found]),
            np.concatenate([one.steps for one in found]),
            ends[:-1],
            np.concatenate([one.last_times for one in found]),
            np.concatenate([one.values for one in found]),
        )

    @property
    def is_sound(self) -> bool:
        """Return whether all columns are consistent; those of a table from elsewhere may not be."""
        return (
            self.tags.is_sound(len(self.step_begins))
            and 0 <= self.steps <= sum(self.tags.counts)
            and all(
                0 <= begin <= self.steps - count
                for begin, count in zip(self.step_begins, self.tags.counts, strict=True)
            )
        )

    def state(self, block: bytes, place: int, texts: Texts) -> TagState:
        """Return the points of the tag at an index of the table, from the block, as views or copies."""
        if self.divided:
            begin, end = self.part_begins[place : place + 2]
            return self.state_of_part(block[begin:end], place, texts)
        table = self.tags
        kind, count = table.kinds[place], table.counts[place]
        rows, values, blobs = (begins[place] for begins in self.begins)
        all_rows, all_values, all_blobs = (begins[-1] for begins in self.begins)
        at_rows = 8 * self.steps
        at_blobs = at_rows + 8 * all_rows
        at_values = at_blobs + 16 * all_blobs
        number = _NUMBERS[self.narrow]
        at_indices = at_values + number.itemsize * all_values
        has_values, has_blobs = count > 0 and kind in (SCALARS, ""), count > 0 and kind != SCALARS
        numbers: NDArray[Any] = _NO_NUMBERS
        if has_values:
            numbers = np.frombuffer(block, number, count, at_values + number.itemsize * values)
            if self.narrow:
                numbers = numbers.astype(np.float64)
                numbers.flags.writeable = False
        return TagState(
            table.tags[place],
            kind,
            *texts.get(place, NO_TEXTS),
            table.goes_back(place),
            np.frombuffer(block, _STEPS, count, 8 * self.step_begins[place]) if count else _NO_PLACES,
            np.frombuffer(block, _TIMES, count, at_rows + 8 * rows) if count else _NO_NUMBERS,
            numbers,
            np.frombuffer(block, _PLACES, count, at_blobs + 8 * blobs) if has_blobs else _NO_PLACES,
            np.frombuffer(block, _PLACES, count, at_blobs + 8 * (all_blobs + blobs)) if has_blobs else _NO_PLACES,
            np.frombuffer(block, _INDICES, count, at_indices + 4 * blobs) if has_blobs else _NO_INDICES,
        )

    def state_of_part(self, part: bytes, place: int, texts: Texts) -> TagState:
        """Return the points of the tag at an index of the table, from its part of a divided block."""
        return self.alone(place).state(part, 0, {0: texts.get(place, NO_TEXTS)})


class Block(Protocol):
    """Access to the bytes of a block, and what is known of them."""

    @property
    def texts(self) -> Texts:
        """The texts in the first values of the tags."""
        ...

    def read(self) -> bytes | None:
        """Return the bytes; None if they are damaged or no longer exist."""
        ...

    def read_part(self, number: int, begin: int, end: int) -> bytes | None:
        """Return the bytes of one part of a divided block; None if they are damaged or no longer exist."""
        ...

    def summary(self, place: int) -> ScalarSummary | None:
        """Return the summary of the scalar tag at an index of the table; None if it is not available."""
        ...


class BlockInMemory(NamedTuple):
    """A block held only in memory."""

    content: bytes
    texts: Texts = NONE_SAID

    def read(self) -> bytes:
        return self.content

    def read_part(self, number: int, begin: int, end: int) -> bytes:
        return self.content[begin:end]

    def summary(self, place: int) -> ScalarSummary | None:
        return None


class PackedPoints:
    """The points of one file, in memory or stored; thread-safe."""

    __slots__ = ("block", "table")

    def __init__(self, table: PackedTable, block: Block) -> None:
        self.table = table
        self.block = block
        """May be replaced by another block with the same content."""

    @property
    def texts(self) -> Texts:
        """The texts in the first values of the tags."""
        return self.block.texts

    def summary(self, place: int) -> ScalarSummary | None:
        """Return the summary of the scalar tag at an index of the table; None if it is not available."""
        return self.block.summary(place)

    def load(self, place: int) -> TagState | None:
        """Return the points of the tag at an index of the table; None if they are damaged or no longer exist."""
        if self.table.divided:
            part = self._part(place)
            return None if part is None else self.table.state_of_part(part, place, self.texts)
        content = self.block.read()
        return None if content is None else self.table.state(content, place, self.texts)

    def has_picture(self, place: int) -> bool:
        """Return whether a first picture of the tag at an index of the table needs only a few of its points."""
        return self.table.has_picture(place)

    def picture(self, place: int) -> TagState | None:
        """Return the points of that picture; None if there are none, or they are damaged or no longer exist."""
        if not self.has_picture(place):
            return None
        part = self._part(len(self.table.tags.tags))
        return None if part is None else self.table.picture.state(part, place, self.texts)

    def _part(self, number: int) -> bytes | None:
        begin, end = self.table.part_begins[number : number + 2]
        return self.block.read_part(number, begin, end)

    def states(self) -> list[TagState]:
        """Return the points of all tags, in table order; raises OSError if they are damaged or no longer exist."""
        content = self.block.read()
        if content is None:
            raise OSError(errno.EIO, "packed points are damaged or gone")
        return [self.table.state(content, place, self.texts) for place in range(len(self.table.tags.tags))]


class Packer:
    """Packs points; equal tables, common among the runs of a sweep, are one object."""

    def __init__(self) -> None:
        # A file that grows has a new table each time.
        self._tables: WeakValueDictionary[bytes, PackedTable] = WeakValueDictionary()
        self._encode: Callable[[PackedTable], bytes] = msgspec.msgpack.Encoder().encode

    def shared(self, table: PackedTable) -> PackedTable:
        """Return the object shared by all tables equal to this one."""
        return self._tables.setdefault(self._encode(table), table)

    def pack(self, states: Sequence[TagState]) -> PackedPoints:
        """Return the points of a file as one block."""
        steps: list[NDArray[np.int64]] = []
        step_begins: list[int] = []
        total = 0
        for state in states:
            if not steps or not np.array_equal(steps[-1], state.steps):
                steps.append(state.steps)
                total += len(state.steps)
            step_begins.append(total - len(state.steps))
        values, narrow = _narrowed(_joined([state.values for state in states], _NUMBERS[0]))
        table = PackedTable(TagTable.of(states), step_begins, total, narrow)
        if table.length > LARGEST_UNDIVIDED:
            return self._divided(states, narrow=narrow)
        return self._packed(table, texts_of_states(states), [_block(states, steps, values)])

    def _divided(self, states: Sequence[TagState], *, narrow: bool) -> PackedPoints:
        number = _NUMBERS[narrow]
        parts = [_block([state], [state.steps], state.values.astype(number)) for state in states]
        long = [_in_picture(state) for state in states if state.kind == SCALARS and len(state.steps) >= LEAST_PICTURED]
        values = _joined([state.values for state in long], _NUMBERS[0]).astype(number)
        parts.append(_block(long, [state.steps for state in long], values))
        *begins, total = accumulate([len(state.steps) for state in states], initial=0)
        table = PackedTable(TagTable.of(states), begins, total, narrow, divided=True)
        return self._packed(table, texts_of_states(states), parts)

    def pack_numbers(
        self, tags: Sequence[str], texts: Texts, rows: RowsByTag, counts: NDArray[np.int64]
    ) -> PackedPoints:
        """Return scalars as one block, straight from the scan.

        Args:
            tags: the tags, indexed by number.
            texts: other texts than the kind in the first values of tags, if any, by the tag's number.
            rows: the rows of these tags, at least one for each; all are numbers.
            counts: int64 [tags]: the number of rows of each tag.
        """
        begins = rows.step_begins
        values, narrow = _narrowed(rows.values)
        table = TagTable(
            list(tags),
            [SCALARS] * len(tags),
            counts.tolist(),
            rows.steps[begins].tolist(),
            rows.steps[begins + counts - 1].tolist(),
            np.flatnonzero(rows.goes_back).tolist(),
        )
        packed = PackedTable(table, begins.tolist(), len(rows.steps), narrow)
        if packed.length > LARGEST_UNDIVIDED:
            columns = (
                np.split(rows.wall_times, rows.group_ends[:-1]),
                np.split(rows.values, rows.group_ends[:-1]),
            )
            states = [
                TagState(
                    tag,
                    SCALARS,
                    *texts.get(number, NO_TEXTS),
                    table.goes_back(number),
                    rows.steps[begin : begin + len(own_values)],
                    own_times,
                    own_values,
                    _NO_PLACES,
                    _NO_PLACES,
                    _NO_INDICES,
                )
                for number, (tag, begin, own_times, own_values) in enumerate(
                    zip(tags, begins.tolist(), *columns, strict=True)
                )
            ]
            return self._divided(states, narrow=narrow)
        return self._packed(packed, texts, [column.tobytes() for column in (rows.steps, rows.wall_times, values)])

    def _packed(self, table: PackedTable, texts: Texts, parts: Sequence[bytes]) -> PackedPoints:
        return PackedPoints(self.shared(table), BlockInMemory(b"".join(parts), texts))


def _block(states: Sequence[TagState], steps: Sequence[NDArray[np.int64]], values: NDArray[Any]) -> bytes:
    """Return the concatenated columns of tags."""
    columns = (
        _joined(steps, _STEPS),
        _joined([state.wall_times for state in states], _TIMES),
        _joined([state.offsets for state in states], _PLACES),
        _joined([state.lengths for state in states], _PLACES),
        values,
        _joined([state.indices for state in states], _INDICES),
    )
    return b"".join([column.tobytes() for column in columns])


def _in_picture(state: TagState) -> TagState:
    """Return the points of a long curve to include in the picture."""
    chosen = points_of_picture(state.values)
    return state._replace(steps=state.steps[chosen], wall_times=state.wall_times[chosen], values=state.values[chosen])


def _narrowed(values: NDArray[np.float64]) -> tuple[NDArray[Any], bool]:
    """Return values as float32 if that is exact, and whether it is."""
    with np.errstate(all="ignore"):
        narrowed = values.astype(_NUMBERS[1])
    # Bit by bit: a NaN does not equal itself, and may carry a payload.
    if (narrowed.astype(np.float64).view(np.int64) == values.view(np.int64)).all():
        return narrowed, True
    return values, False


def _joined(columns: Sequence[NDArray[Any]], dtype: np.dtype[Any]) -> NDArray[Any]:
    filled = [column for column in columns if len(column)]
    if not filled:
        return np.empty(0, dtype)
    return np.concatenate(filled).astype(dtype, copy=False)
