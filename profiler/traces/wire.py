"""Protobuf's wire format, as far as needed to read the events of an XLine without creating messages for them.

Format: https://protobuf.dev/programming-guides/encoding/
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.traces.json_scan import Buffer
from stepscope.summary.kernels import kernel

LENGTH: Final = rb"[\x80-\xff]{0,9}[\x00-\x7f]"
"""Regular expression for the number that gives the length of a field."""


class Fields(NamedTuple):
    """One field of a message: ``begin:end`` are its bytes including the key, ``start:end`` its content."""

    number: int
    wire_type: int
    begin: int
    start: int
    end: int


@kernel()
def _varint(buffer: Buffer, position: int, end: int) -> tuple[int, int]:
    """Return a number and the offset after it, which is -1 if there is none."""
    value = np.uint64(0)
    shift = 0
    while position < end and shift < 70:
        byte = buffer[position]
        position += 1
        value |= np.uint64(byte & 127) << np.uint64(shift)
        if byte < 128:
            return int(np.int64(value)), position
        shift += 7
    return 0, -1


@kernel()
def _field(buffer: Buffer, position: int, end: int) -> tuple[int, int, int, int]:
    """Return number, wire type, start and end of the field at an offset; number 0 if there is none.

    An end after ``end`` means that the field is cut off.
    """
    key, start = _varint(buffer, position, end)
    if start < 0 or key >> 3 <= 0:
        return 0, 0, -1, -1
    number = key >> 3
    wire_type = key & 7
    if wire_type == 0:
        _, after = _varint(buffer, start, end)
        return (number, wire_type, start, after) if after > 0 else (0, 0, -1, -1)
    if wire_type == 1:
        return number, wire_type, start, start + 8
    if wire_type == 5:
        return number, wire_type, start, start + 4
    if wire_type != 2:
        return 0, 0, -1, -1
    length, content = _varint(buffer, start, end)
    if content < 0 or length < 0 or length > 1 << 40:
        return 0, 0, -1, -1
    return number, wire_type, content, content + length


def fields_of(buffer: Buffer, start: int, end: int, *, stop_at: int = 0) -> Iterator[Fields]:
    """Yield the fields of the message in ``start:end``; a last field that is cut off ends at the end of the buffer.

    ``stop_at`` is the number of a repeated field of which only the first is wanted, along with all other fields.

    Raises:
        ValueError: there is no field at an offset.
    """
    end = min(end, buffer.size)
    position = start
    while position < end:
        number, wire_type, content, after = _field(buffer, position, end)
        if number == 0:
            raise ValueError(f"at byte {position} there is no field of a message")
        yield Fields(number, wire_type, position, content, min(after, buffer.size))
        position = after
        if number == stop_at:
            position = _skip_repeated(buffer, position, end, stop_at)


@kernel()
def _skip_repeated(buffer: Buffer, position: int, end: int, repeated: int) -> int:
    """Return the offset of the next field with another number."""
    while position < end:
        number, _, _, after = _field(buffer, position, end)
        if number != repeated:
            return position
        position = after
    return position


@kernel()
def _varint_fields(buffer: Buffer, start: int, end: int, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    values = np.zeros(numbers.size, np.int64)
    position = start
    while position < end:
        number, wire_type, content, after = _field(buffer, position, end)
        if number == 0:
            break
        if wire_type == 0:
            for index in range(numbers.size):
                if numbers[index] == number:
                    values[index], _ = _varint(buffer, content, end)
        position = after
    return values


def varint_fields(buffer: Buffer, start: int, end: int, numbers: Sequence[int]) -> list[int]:
    """Return the last values of integer fields, 0 for those that are absent."""
    found: list[int] = _varint_fields(buffer, start, end, np.array(numbers, np.int64)).tolist()
    return found


class XEventColumns(NamedTuple):
    """The events of an XLine, in the order of the file."""

    metadata_id: NDArray[np.int64]
    offset_ps: NDArray[np.int64]
    duration_ps: NDArray[np.int64]
    occurrences: NDArray[np.int64]
    """-1 for an event that has a time."""
    stats: NDArray[np.bool_]
    """Whether the event has stats."""
    start: NDArray[np.int64]
    """Offset of the event's message in the file."""
    length: NDArray[np.int64]
    damaged_at: int
    """Offset from which nothing could be read, or -1."""
    left_out: int
    """Number of events beyond those requested."""


@kernel()
def _count(buffer: Buffer, start: int, end: int) -> int:
    count = 0
    position = start
    while position < end:
        number, wire_type, _, after = _field(buffer, position, end)
        if number == 0 or after > end:
            break
        count += number == 4 and wire_type == 2
        position = after
    return count


@kernel()
def _scan(buffer: Buffer, start: int, end: int, columns: NDArray[np.int64]) -> int:
    event = 0
    position = start
    while position < end and event < columns.shape[1]:
        number, wire_type, content, after = _field(buffer, position, end)
        if number == 0 or after > end:
            return position
        position = after
        if number != 4 or wire_type != 2:
            continue
        columns[3, event] = -1
        columns[5, event] = content
        columns[6, event] = after - content
        inner = content
        while inner < after:
            number, wire_type, value_at, next_ = _field(buffer, inner, after)
            if number == 0 or next_ > after:
                return content
            if wire_type == 0:
                value, _ = _varint(buffer, value_at, after)
                if number == 1:
                    columns[0, event] = value
                elif number == 2:
                    columns[1, event] = value
                    columns[3, event] = -1
                elif number == 3:
                    columns[2, event] = value
                elif number == 5:
                    columns[3, event] = max(value, 0)
            elif number == 4:
                columns[4, event] = 1
            inner = next_
        event += 1
    return -1


def scan_events(buffer: Buffer, start: int, end: int, most: int) -> XEventColumns:
    """Return the first ``most`` events of the XLine in ``start:end``, as far as they can be read."""
    count = _count(buffer, start, end)
    columns = np.zeros((7, min(count, most)), np.int64)
    damaged_at = _scan(buffer, start, end, columns)
    if damaged_at >= 0:
        read = np.count_nonzero((columns[5] > 0) & (columns[5] < damaged_at))
        columns = columns[:, :read]
    metadata_id, offset_ps, duration_ps, occurrences, stats, at, length = columns
    return XEventColumns(
        metadata_id, offset_ps, duration_ps, occurrences, stats > 0, at, length, damaged_at, max(count - most, 0)
    )


@kernel()
def _stat_numbers(
    buffer: Buffer,
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    wanted: NDArray[np.int64],
    values: NDArray[np.int64],
    present: NDArray[np.bool_],
) -> None:
    for event in range(starts.size):
        position = starts[event]
        end = position + lengths[event]
        while position < end:
            number, wire_type, content, after = _field(buffer, position, end)
            if number == 0 or after > end:
                break
            position = after
            if number != 4 or wire_type != 2:
                continue
            name = 0
            value = 0
            whole = False
            inner = content
            while inner < after:
                number, wire_type, value_at, next_ = _field(buffer, inner, after)
                if number == 0 or next_ > after:
                    break
                if wire_type == 0:
                    decoded, _ = _varint(buffer, value_at, after)
                    if number == 1:
                        name = decoded
                    elif number == 3 or number == 4 or number == 7:
                        value = decoded
                        whole = True
                inner = next_
            if whole:
                for index in range(wanted.size):
                    if wanted[index] == name:
                        values[event, index] = value
                        present[event, index] = True


def stat_numbers(
    buffer: Buffer, starts: NDArray[np.int64], lengths: NDArray[np.int64], wanted: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Read the stats of the XEvents at ``starts`` that are integers or refer to texts.

    Return their values, ``[n, wanted]``, and which events have them.

    ``wanted`` are the numbers of the stats' metadata. Numbers above 63 bits wrap.
    """
    values = np.zeros((len(starts), len(wanted)), np.int64)
    present = np.zeros((len(starts), len(wanted)), np.bool_)
    _stat_numbers(buffer, starts, lengths, np.array(wanted, np.int64), values, present)
    return values, present
