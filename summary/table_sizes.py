"""Memory that a Parquet or Arrow file declares to need once read: a small file may hold any number of rows.

Parquet: the footer, in Thrift's compact protocol (parquet-format, ``parquet.thrift``). Arrow: the metadata of its
messages, in FlatBuffers (``format/Message.fbs``, ``format/File.fbs``).
"""

import struct
from collections.abc import Iterator
from typing import Any, Final

_LARGEST_FOOTER: Final = 64 << 20
_VALUE_BYTES: Final = 16
"""Bytes of one value in memory, including its place in the table."""
_DEEPEST: Final = 64
_COMPRESSED_BUFFER: Final = 8
"""Size in bytes of the prefix of a compressed buffer, which gives its uncompressed size."""


def declared_bytes(content: bytes) -> int:
    """Return the bytes of memory that a Parquet or Arrow file declares to need.

    Raises:
        ValueError: the file is damaged.
    """
    try:
        return _parquet(content) if content.startswith(b"PAR1") else _arrow(content)
    except (struct.error, IndexError, KeyError, TypeError, AttributeError) as error:
        raise ValueError("its description of itself is damaged") from error


def _parquet(content: bytes) -> int:
    length = int.from_bytes(content[-8:-4], "little")
    if not content.endswith(b"PAR1") or not 0 < length <= min(len(content) - 12, _LARGEST_FOOTER):
        raise ValueError("it has no Parquet footer")
    # FileMetaData.row_groups, RowGroup.columns and num_rows, ColumnChunk.meta_data, its num_values and total sizes.
    footer = _Compact(memoryview(content)[-8 - length : -8]).struct()
    total = 0
    for group in footer[4]:
        for column in group[1]:
            about = column[3]
            total += _VALUE_BYTES * max(about[5], group[3], 0) + max(about[6], 0)
    return total


class _Compact:
    """Reads Thrift's compact protocol; a struct becomes a dict by field number."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._at = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        found: dict[int, Any] = {}
        field = 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._number()
            found[field] = self._value(head & 15, depth)
        return found

    def _value(self, kind: int, depth: int, *, in_list: bool = False) -> Any:
        match kind:
            case 1 | 2:
                return self._byte() == 1 if in_list else kind == 1
            case 3:
                return self._byte()
            case 4 | 5 | 6:
                return self._number()
            case 7:
                return self._skip(8)
            case 8:
                return self._skip(self._varint())
            case 9 | 10 if depth < _DEEPEST:
                head = self._byte()
                size = head >> 4 if head >> 4 < 15 else self._varint()
                if size > len(self._data):
                    raise IndexError
                return [self._value(head & 15, depth + 1, in_list=True) for _ in range(size)]
            case 12 if depth < _DEEPEST:
                return self.struct(depth + 1)
            case 13:
                return self._skip(16)
            case _:
                raise ValueError("its footer has a value of an unknown type")

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _skip(self, size: int) -> None:
        self._at += size

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise IndexError

    def _number(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)


def _arrow(content: bytes) -> int:
    total = 0
    places = _file_messages(content) if content.startswith(b"ARROW1") else _stream_messages(content)
    for metadata, body in places:
        message = metadata + _u32(content, metadata)
        header_type = _field(content, message, 1)
        header = _table(content, message, 2)
        if header_type and content[header_type] == 2:
            header = _table(content, header, 1)
        elif not header_type or content[header_type] != 3:
            continue
        total += _batch(content, header, body)
    return total


def _batch(content: bytes, batch: int, body: int) -> int:
    total = 0
    nodes, count = _vector(content, batch, 1)
    for place in range(nodes, nodes + 16 * count, 16):
        total += _VALUE_BYTES * max(_i64(content, place), 0)
    compressed = _field(content, batch, 3)
    buffers, count = _vector(content, batch, 2)
    for place in range(buffers, buffers + 16 * count, 16):
        size = _i64(content, place + 8)
        if compressed and size > _COMPRESSED_BUFFER:
            size = max(size, _i64(content, body + _i64(content, place)))
        total += max(size, 0)
    return total


def _stream_messages(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield the start of the metadata and of the body of each message."""
    at = 0
    while at + 8 <= len(content):
        if _u32(content, at) == 0xFFFFFFFF:
            at += 4
        length = _u32(content, at)
        at += 4
        if not length:
            return
        message = at + _u32(content, at)
        body_length = _field(content, message, 3)
        yield at, at + length
        size = _i64(content, body_length) if body_length else 0
        if size < 0:
            raise IndexError
        at += length + size


def _file_messages(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield the same as `_stream_messages`, from the footer."""
    length = int.from_bytes(content[-10:-6], "little")
    begin = len(content) - 10 - length
    if not content.endswith(b"ARROW1") or not 0 < length < len(content) - 18:
        raise ValueError("it has no Arrow footer")
    footer = begin + _u32(content, begin)
    for slot in (2, 3):
        blocks, count = _vector(content, footer, slot)
        for place in range(blocks, blocks + 24 * count, 24):
            offset, length = struct.unpack_from("<qi", content, place)
            start = offset + (8 if _u32(content, offset) == 0xFFFFFFFF else 4)
            yield start, offset + length


def _field(content: bytes, table: int, slot: int) -> int:
    """Return the position of a field of a table; 0 if it has none."""
    vtable = table - struct.unpack_from("<i", content, table)[0]
    size = struct.unpack_from("<H", content, vtable)[0]
    offset: int = struct.unpack_from("<H", content, vtable + 4 + 2 * slot)[0] if 4 + 2 * slot < size else 0
    return table + offset if offset else 0


def _table(content: bytes, table: int, slot: int) -> int:
    place = _field(content, table, slot)
    if not place:
        raise IndexError
    return place + _u32(content, place)


def _vector(content: bytes, table: int, slot: int) -> tuple[int, int]:
    """Return the start and the number of the elements of a vector."""
    place = _field(content, table, slot)
    if not place:
        return 0, 0
    begin = place + _u32(content, place)
    count = _u32(content, begin)
    if count > len(content):
        raise IndexError
    return begin + 4, count


def _u32(content: bytes, at: int) -> int:
    value: int = struct.unpack_from("<I", content, at)[0]
    return value


def _i64(content: bytes, at: int) -> int:
    value: int = struct.unpack_from("<q", content, at)[0]
    return value
