"""LevelDB's table format, in which TensorFlow keeps the index of a checkpoint.

leveldb/doc/table_format.md, and tensorflow/core/lib/io/{format,block,table}.cc: a file of blocks; its last 48 bytes
name the block whose values name, in turn, the blocks with the entries.
"""

import struct
from collections.abc import Iterator
from typing import Final

from summary.checkpoints.base import CheckpointError
from summary.records import masked_crc

FOOTER_BYTES: Final = 48
MAGIC: Final = (0xDB4775248B80FB57).to_bytes(8, "little")

_TRAILER: Final = struct.Struct("<BI")
"""Behind each block: how it is compressed, and the masked CRC-32C of the block and of that byte."""


def is_table(end: bytes) -> bool:
    """Whether a file that ends like this is a table."""
    return len(end) >= FOOTER_BYTES and end.endswith(MAGIC)


def table_entries(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Key and value of every entry, in the order of the keys.

    Raises:
        CheckpointError: the table is damaged, or its blocks are compressed with Snappy; TensorFlow's never are.
    """
    if not is_table(content):
        raise CheckpointError("The file is no table: it does not end with the number that tables end with.")
    footer = memoryview(content)[-FOOTER_BYTES:]
    at = _handle(footer, 0)[2]
    offset, size, _ = _handle(footer, at)
    for _, handle in _block_entries(_block(content, offset, size)):
        offset, size, _ = _handle(memoryview(handle), 0)
        yield from _block_entries(_block(content, offset, size))


def _block(content: bytes, offset: int, size: int) -> memoryview:
    end = offset + size
    if end + _TRAILER.size > len(content) - FOOTER_BYTES:
        raise CheckpointError(f"The file names a block of {size:,} bytes at {offset:,}, where it has none.")
    compression, crc = _TRAILER.unpack_from(content, end)
    if masked_crc(content[offset : end + 1]) != crc:
        raise CheckpointError(f"The block at {offset:,} is damaged: its checksum is another.")
    if compression:
        raise CheckpointError("The file is compressed with Snappy, which is not read; TensorFlow writes it without.")
    return memoryview(content)[offset:end]


def _block_entries(block: memoryview) -> Iterator[tuple[bytes, bytes]]:
    """Each key without what it begins with alike to the one before."""
    if len(block) < 4:
        raise CheckpointError("The file has a block without entries.")
    restarts = int.from_bytes(block[-4:], "little")
    end = len(block) - 4 - 4 * restarts
    if end < 0:
        raise CheckpointError("The file has a block that is too short for what it says of itself.")
    at, key = 0, b""
    while at < end:
        shared, at = _varint(block, at)
        own, at = _varint(block, at)
        length, at = _varint(block, at)
        if shared > len(key) or at + own + length > end:
            raise CheckpointError("The file has a block whose entries reach beyond its end.")
        key = key[:shared] + bytes(block[at : at + own])
        at += own
        yield key, bytes(block[at : at + length])
        at += length


def _handle(data: memoryview, at: int) -> tuple[int, int, int]:
    """Offset and size of a block, and where the handle ends."""
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
