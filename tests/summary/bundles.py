"""Writes TensorFlow's checkpoints without TensorFlow, following its documentation of the format."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.checkpoints.ordered_code import slice_key
from stepscope.summary.checkpoints.table import MAGIC
from stepscope.summary.proto.tensor_bundle_pb2 import BundleEntryProto, BundleHeaderProto, SavedTensorSlices
from stepscope.summary.records import masked_crc

DTYPES = {"float32": "DT_FLOAT", "float64": "DT_DOUBLE", "float16": "DT_HALF", "int64": "DT_INT64", "bool": "DT_BOOL"}


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def block(entries: list[tuple[bytes, bytes]], restart_every: int = 3, compression: int = 0) -> bytes:
    """A block with its trailer; keys share their common prefixes, except for every third key."""
    out = bytearray()
    restarts: list[int] = []
    last = b""
    for index, (key, value) in enumerate(entries):
        shared = 0
        if index % restart_every == 0:
            restarts.append(len(out))
        else:
            while shared < min(len(key), len(last)) and key[shared] == last[shared]:
                shared += 1
        out += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        last = key
    for restart in restarts or [0]:
        out += restart.to_bytes(4, "little")
    out += len(restarts or [0]).to_bytes(4, "little")
    content = bytes(out) + bytes([compression])
    return content + masked_crc(content).to_bytes(4, "little")


def table(
    entries: list[tuple[bytes, bytes]], per_block: int = 4, compression: int = 0, restart_every: int = 3
) -> bytes:
    out = bytearray()
    index: list[tuple[bytes, bytes]] = []
    for begin in range(0, len(entries), per_block):
        part = entries[begin : begin + per_block]
        data = block(part, restart_every, compression)
        index.append((part[-1][0], varint(len(out)) + varint(len(data) - 5)))
        out += data
    handles = b""
    for data in (block([]), block(index, restart_every=1)):
        handles += varint(len(out)) + varint(len(data) - 5)
        out += data
    return bytes(out) + handles.ljust(40, b"\0") + MAGIC


class Bundle:
    """Collects tensors, then writes index and data."""

    def __init__(self, shards: int = 1, *, big_endian: bool = False) -> None:
        self.entries: dict[bytes, BundleEntryProto] = {}
        self.data = [bytearray() for _ in range(shards)]
        self.big_endian = big_endian

    def add(self, key: bytes, array: NDArray[Any], *, shard: int = 0, dtype: str = "") -> BundleEntryProto:
        content = array.astype(array.dtype.newbyteorder(">" if self.big_endian else "<")).tobytes()
        entry = BundleEntryProto(
            dtype=dtype or DTYPES[array.dtype.name],
            shard_id=shard,
            offset=len(self.data[shard]),
            size=len(content),
            crc32c=masked_crc(content),
        )
        for size in array.shape:
            entry.shape.dim.add(size=size)
        self.data[shard] += content
        self.entries[key] = entry
        return entry

    def add_in_pieces(self, name: str, array: NDArray[Any], ends: list[int]) -> None:
        """Adds a tensor in pieces of its rows."""
        whole = BundleEntryProto(dtype=DTYPES[array.dtype.name])
        for size in array.shape:
            whole.shape.dim.add(size=size)
        begin = 0
        for end in ends:
            piece = whole.slices.add()
            piece.extent.add(start=begin, length=end - begin)
            piece.extent.add()
            self.add(slice_key(name, [(begin, end - begin), (0, -1)]), array[begin:end], shard=begin % len(self.data))
            begin = end
        self.entries[name.encode()] = whole

    def write(self, prefix: Path) -> None:
        header = BundleHeaderProto(num_shards=len(self.data), endianness=int(self.big_endian))
        entries = sorted((key, entry.SerializeToString()) for key, entry in self.entries.items())
        index = table([(b"", header.SerializeToString()), *entries])
        prefix.with_name(prefix.name + ".index").write_bytes(index)
        for shard, data in enumerate(self.data):
            name = f"{prefix.name}.data-{shard:05d}-of-{len(self.data):05d}"
            prefix.with_name(name).write_bytes(data)


def of_arrays(**arrays: NDArray[Any]) -> Bundle:
    bundle = Bundle()
    for name, array in arrays.items():
        bundle.add(name.encode(), np.asarray(array))
    return bundle


VALUES = {
    "float32": "float_val",
    "float64": "double_val",
    "float16": "half_val",
    "int64": "int64_val",
    "bool": "bool_val",
}


def slices_file(arrays: dict[str, NDArray[Any]], ends: dict[str, list[int]] | None = None) -> bytes:
    """A checkpoint of the first version: one file.

    Args:
        arrays: the tensors.
        ends: for tensors in pieces, the row after the last row of each piece.
    """
    listed = SavedTensorSlices()
    entries: dict[bytes, bytes] = {}
    for name, array in arrays.items():
        meta = listed.meta.tensor.add(name=name, type=DTYPES[array.dtype.name])
        for size in array.shape:
            meta.shape.dim.add(size=size)
        begin = 0
        for end in (ends or {}).get(name, [None]):
            saved = SavedTensorSlices()
            saved.data.name = name
            for piece in (meta.slice.add(), saved.data.slice):
                for dimension in range(array.ndim):
                    piece.extent.add(**({} if end is None or dimension else {"start": begin, "length": end - begin}))
            rows = array if end is None else array[begin:end]
            bits = rows.view(np.uint16) if array.dtype == np.float16 else rows
            # Neither the type nor the shape, as in TensorFlow's own files.
            getattr(saved.data.data, VALUES[array.dtype.name]).extend(bits.reshape(-1).tolist())
            extents = [(e.start, e.length if e.HasField("length") else -1) for e in saved.data.slice.extent]
            entries[slice_key(name, extents)] = saved.SerializeToString()
            begin = end or 0
    return table([(b"", listed.SerializeToString()), *sorted(entries.items())])
