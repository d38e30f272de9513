"""LevelDB's table format, in which TensorFlow keeps the index of a checkpoint.

See leveldb/doc/table_format.md and tensorflow/core/lib/io/{format,block,table}.cc: a file consists of blocks; its last
48 bytes locate the block whose values in turn locate the blocks with the entries.
"""

import os
import struct
from bisect import bisect_left
from collections.abc import Iterator
from typing import BinaryIO, Final

from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.checkpoints.base import CheckpointError
from stepscope.summary.memory_budget import claim
from stepscope.summary.records import masked_crc
from stepscope.summary.source import read_up_to

FOOTER_BYTES: Final = 48
MAGIC: Final = (0xDB4775248B80FB57).to_bytes(8, "little")

LARGEST_BLOCK: Final = (1 << 31) - 1
"""Maximum size in bytes: a value is at most one protobuf message, which cannot be larger."""

_TRAILER: Final = struct.Struct("<BI")
"""The trailer of each block: the compression type, and the masked CRC-32C of the block and that byte."""


def is_table(end: bytes) -> bool:
    """Return whether a file with this ending is a table."""
    return len(end) >= FOOTER_BYTES and end.endswith(MAGIC)


class Table:
    """The entries of a table, read a block at a time.

    Args:
        stream: the seekable stream of the file, which must stay open as long as the table is read.

    Raises:
        CheckpointError: the table is damaged, or its blocks are compressed with Snappy, which TensorFlow never does;
            every method raises this too.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._end = max(0, stream.seek(0, os.SEEK_END) - FOOTER_BYTES)
        stream.seek(self._end)
        footer = read_up_to(stream, FOOTER_BYTES)
        if not is_table(footer):
            raise CheckpointError("The file is not a table: it does not end with a table's magic number.")
        at = _handle(memoryview(footer), 0)[2]
        self._blocks: list[tuple[bytes, bytes]] = list(self._block(*_handle(memoryview(footer), at)[:2]))
        """The last key of each block, or a later one, and the location of the block."""

    def entries(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield the key and value of every entry, in key order."""
        for _, handle in self._blocks:
            check_cancelled()
            yield from self._block(*_handle(memoryview(handle), 0)[:2])

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key; None if the table does not have the key."""
        place = bisect_left(self._blocks, key, key=lambda entry: entry[0])
        if place == len(self._blocks):
            return None
        block = self._block(*_handle(memoryview(self._blocks[place][1]), 0)[:2])
        return next((value for found, value in block if found == key), None)

    def _block(self, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
        if offset + size + _TRAILER.size > self._end or size > LARGEST_BLOCK:
            raise CheckpointError(f"The file names a block of {size:,} bytes at {offset:,}, where it has none.")
        # Once as read, and once as entries.
        claim(2 * size)
        self._stream.seek(offset)
        content = read_up_to(self._stream, size + _TRAILER.size)
        compression, crc = _TRAILER.unpack_from(content, size)
        if masked_crc(content[: size + 1]) != crc:
            raise CheckpointError(f"The block at {offset:,} is damaged: its checksum does not match.")
        if compression:
            raise CheckpointError(
                "The file is compressed with Snappy, which is not supported; TensorFlow writes it uncompressed."
            )
        yield from _block_entries(memoryview(content)[:size])


def _block_entries(block: memoryview) -> Iterator[tuple[bytes, bytes]]:
    """Yield each key and value; each key is stored without the prefix that it shares with the previous one."""
    if len(block) < 4:
        raise CheckpointError("The file has a block without entries.")
    restarts = int.from_bytes(block[-4:], "little")
    end = len(block) - 4 - 4 * restarts
    if end < 0:
        raise CheckpointError("The file has a block that is shorter than it states.")
    at, key = 0, b""
    while at < end:
        shared, at = _varint(block, at)
        own, at = _varint(block, at)
        length, at = _varint(block, at)
        if shared > len(key) or at + own + length > end:
            raise CheckpointError("The file has a block whose entries reach beyond its end.")
        # The rest was claimed with the block.
        claim(shared)
        key = key[:shared] + bytes(block[at : at + own])
        at += own
        yield key, bytes(block[at : at + length])
        at += length


def _handle(data: memoryview, at: int) -> tuple[int, int, int]:
    """Return the offset and size of a block, and the position where the handle ends."""
    offset, at = _varint(data, at)
    size, at = _varint(data, at)
    return offset, size, at


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise CheckpointError("The file has a number that does not end.")
