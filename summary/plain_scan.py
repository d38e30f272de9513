"""The scan of `stepscope.summary.scan_kernel` in plain Python: hundreds of times slower, but available immediately.

It finds the same records, rows and damages; the rules are documented there.
"""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.records import FOOTER_BYTES, HEADER_BYTES, crc32c, masked_crcs
from stepscope.summary.scan_layout import BLOB, LARGEST_RECORD, MOST_DIMENSIONS, NUMBER

_SUMMARY: Final = 5
_SEARCHED_AT_ONCE: Final = 1 << 16
_U32: Final = struct.Struct("<I")
_U64: Final = struct.Struct("<Q")
_F32: Final = struct.Struct("<f")
_F64: Final = struct.Struct("<d")

Row = tuple[float, int, float, int, int, int, int, int, int, int]
"""The fields of `stepscope.summary.scan.ROW`."""
R = TypeVar("R")


class _NoMessageError(Exception):
    """The bytes are not an Event."""


@dataclass
class PlainScan(Generic[R]):
    """The results of scanning a buffer."""

    rows: list[R] = field(default_factory=list)
    damages: list[tuple[int, int, int]] = field(default_factory=list)
    """Offset, length and reason of each."""
    records: int = 0
    position: int = 0
    needed: int = 0
    outcome: int = 0


class _Field(NamedTuple):
    number: int
    wire: int
    begin: int
    end: int
    value: int


def scan(data: bytes, begin: int, base: int, most_rows: int, number_of: Callable[[bytes], int]) -> "PlainScan[Row]":
    """Read the records of ``data``, starting at ``begin``.

    Args:
        data: the bytes of the file, starting at offset ``base``.
        begin: position in the data at which to start.
        base: offset of the data in the file.
        most_rows: number of rows at which to stop.
        number_of: returns the number of a tag.
    """
    found: PlainScan[Row] = PlainScan(position=begin)
    for inner, stop in _frames(data, base, found):
        rows_before = len(found.rows)
        try:
            _event(data, inner, stop, base, found.rows, number_of)
            found.records += 1
        except _NoMessageError:
            del found.rows[rows_before:]
            begin = inner - HEADER_BYTES
            found.damages.append((base + begin, stop + FOOTER_BYTES - begin, 2))
        if len(found.rows) > most_rows:
            del found.rows[rows_before:]
            found.records -= 1
            found.outcome = 1
            return found
    return found


def frame_records(data: bytes, begin: int, base: int, most: int) -> "PlainScan[tuple[int, int]]":
    """Find records of any kind; rows are the start and end of each record's data.

    Args:
        data: the bytes of the file, starting at offset ``base``.
        begin: position in the data at which to start.
        base: offset of the data in the file.
        most: number of records at which to stop.
    """
    found: PlainScan[tuple[int, int]] = PlainScan(position=begin)
    for record in _frames(data, base, found):
        if len(found.rows) >= most:
            found.outcome = 1
            return found
        found.rows.append(record)
        found.records += 1
    return found


def _frames(data: bytes, base: int, found: "PlainScan[Any]") -> Iterator[tuple[int, int]]:
    """Yield the start and end of each record's data; record damages, and where and why the scan stopped."""
    end = len(data)
    while end - found.position >= HEADER_BYTES:
        at = found.position
        (length,) = _U64.unpack_from(data, at)
        if length > LARGEST_RECORD or not is_followed_by_crc(data, at, at + 8):
            following = next_header(data, at + 1)
            if following < 0:
                found.outcome = 4
                return
            found.damages.append((base + at, following - at, 0))
            found.position = following
            continue
        inner, stop = at + HEADER_BYTES, at + HEADER_BYTES + length
        if stop + FOOTER_BYTES > end:
            found.needed = stop + FOOTER_BYTES - at
            return
        if is_followed_by_crc(data, inner, stop):
            yield inner, stop
        else:
            found.damages.append((base + at, stop + FOOTER_BYTES - at, 1))
        found.position = stop + FOOTER_BYTES


def is_followed_by_crc(data: bytes, begin: int, end: int) -> bool:
    """Return whether the bytes are followed by their masked CRC-32C."""
    crc = crc32c(memoryview(data)[begin:end])
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    return bool(masked == _U32.unpack_from(data, end)[0])


def next_header(data: bytes, begin: int) -> int:
    """Return the first position at or after ``begin`` with a valid header; -1 if there is none."""
    every = np.frombuffer(data, np.uint8)
    last = len(data) - HEADER_BYTES
    for first in range(begin, last + 1, _SEARCHED_AT_ONCE):
        count = min(_SEARCHED_AT_ONCE, last + 1 - first)
        windows = np.lib.stride_tricks.sliding_window_view(
            every[first : first + count + HEADER_BYTES - 1], HEADER_BYTES
        )
        possible = windows[:, 3].astype(np.int64) + (windows[:, 4:8] != 0).sum(axis=1) * 256 <= 128
        places = np.flatnonzero(possible)
        heads = np.ascontiguousarray(windows[places])
        lengths = heads[:, :8].copy().view("<u8").reshape(-1)
        matches = masked_crcs(_crcs_of_eight(heads[:, :8])) == heads[:, 8:].copy().view("<u4").reshape(-1)
        hits = np.flatnonzero((lengths <= LARGEST_RECORD) & matches)
        if len(hits):
            return first + int(places[hits[0]])
    return -1


def _crc_table() -> NDArray[np.uint32]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(0x82F63B78), table >> 1).astype(np.uint32)
    return table


_TABLE: Final = _crc_table()


def _crcs_of_eight(rows: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """CRC-32C of each row of bytes."""
    crc = np.full(len(rows), 0xFFFFFFFF, np.uint32)
    for column in range(rows.shape[1]):
        crc = (crc >> np.uint32(8)) ^ _TABLE[(crc ^ rows[:, column]) & np.uint32(0xFF)]
    return crc ^ np.uint32(0xFFFFFFFF)


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Value and the position after it."""
    value = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
    raise _NoMessageError


def _field(data: bytes, at: int, end: int) -> _Field:
    key, begin = _varint(data, at, end)
    wire, value = key & 7, 0
    if key >> 3 == 0:
        raise _NoMessageError
    if wire == 0:
        value, stop = _varint(data, begin, end)
    elif wire == 1:
        stop = begin + 8
    elif wire == 5:
        stop = begin + 4
    elif wire == 2:
        value, begin = _varint(data, begin, end)
        stop = begin + value
    else:
        raise _NoMessageError
    if stop > end:
        raise _NoMessageError
    return _Field(key >> 3, wire, begin, stop, value)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _event(data: bytes, at: int, end: int, base: int, rows: list[Row], number_of: Callable[[bytes], int]) -> None:
    """Add the rows of one event. Raises _NoMessageError if it is not an event."""
    wall_time, step, what = 0.0, 0, 0
    what_begin = what_end = at
    offset, length = base + at, end - at
    while at < end:
        number, wire, begin, stop, value = _field(data, at, end)
        if number == 1 and wire == 1:
            (wall_time,) = _F64.unpack_from(data, begin)
        elif number == 2 and wire == 0:
            step = _signed(value)
        elif 3 <= number <= 9 and wire == 2:
            if what:
                raise _NoMessageError
            what, what_begin, what_end = number, begin, stop
        at = stop
    if what != _SUMMARY:
        if what:
            rows.append((wall_time, step, float("nan"), offset, length, -what, 0, 0, 0, BLOB))
        return
    index = 0
    data_at = offset - base
    at = what_begin
    while at < what_end:
        number, wire, begin, stop, _ = _field(data, at, what_end)
        at = stop
        if number != 1 or wire != 2:
            continue
        tag, width, where, holds_something = _value(data, begin, stop)
        if tag or holds_something:
            rows.append(
                (
                    wall_time,
                    step,
                    _number(data, where, width),
                    offset,
                    length,
                    number_of(tag),
                    index,
                    begin - data_at,
                    stop - begin,
                    NUMBER if width else BLOB,
                )
            )
        index += 1


def _value(data: bytes, begin: int, end: int) -> tuple[bytes, int, int, bool]:
    """Tag of a value, width of its number (0 for none), position of the number, and whether the value is not empty."""
    width, where = 0, begin
    tag = node = b""
    tensors = 0
    holds_something = False
    at = begin
    while at < end:
        number, wire, inner, stop, _ = _field(data, at, end)
        holds_something |= (number == 2 and wire == 5) or (wire == 2 and (3 <= number <= 6 or number == 8))
        if number == 1 and wire == 2:
            tag = data[inner:stop]
        elif number == 2 and wire == 5:
            width, where = 4, inner
        elif number == 7 and wire == 2:
            node = data[inner:stop]
        elif number == 8 and wire == 2:
            width, where = _tensor_number(data, inner, stop)
            tensors += 1
            if tensors > 1:
                # Protobuf merges them.
                width = 0
        elif 3 <= number <= 6:
            width = 0
        at = stop
    return tag or node, width, where, holds_something


def _tensor_number(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return width and position of the number of a float or double tensor that holds exactly one.

    Width 0 for others.
    """
    dtype = dimensions = numbers = width = where = 0
    single = True
    while at < end:
        number, wire, begin, stop, value = _field(data, at, end)
        if number == 1 and wire == 0:
            dtype = value
        elif number == 2 and wire == 2:
            sizes, known = _shape(data, begin, stop)
            dimensions += len(sizes)
            single = single and known and all(size == 1 for size in sizes)
        elif number == 4 and wire == 2 and stop > begin:
            width, where = 8 if dtype == 2 else 4, begin
            numbers += 1 if stop - begin == width else 2
        elif number == 5 and wire in (2, 5) and stop > begin:
            width, where = 4, begin
            numbers += 1 if stop - begin == 4 else 2
        elif number == 6 and wire in (1, 2) and stop > begin:
            width, where = 8, begin
            numbers += 1 if stop - begin == 8 else 2
        at = stop
    if numbers != 1 or not single or dimensions > MOST_DIMENSIONS or (dtype, width) not in ((1, 4), (2, 8)):
        width = 0
    return width, where


def _shape(data: bytes, at: int, end: int) -> tuple[list[int], bool]:
    """Return the sizes of a shape, and whether its rank is known."""
    sizes: list[int] = []
    known = True
    while at < end:
        number, wire, begin, stop, _ = _field(data, at, end)
        if number == 2 and wire == 2:
            size = 0
            while begin < stop:
                inner = _field(data, begin, stop)
                if inner.number == 1 and inner.wire == 0:
                    size = inner.value
                begin = inner.end
            sizes.append(size)
        elif number == 3:
            known = False
        at = stop
    return sizes, known


def _number(data: bytes, at: int, width: int) -> float:
    if width == 0:
        return float("nan")
    number: float = (_F32 if width == 4 else _F64).unpack_from(data, at)[0]
    return number
