"""TensorFlow's checkpoints: ``NAME.index``, a table of contents, and ``NAME.data-00000-of-00001`` with the bytes.

See tensorflow/core/util/tensor_bundle/tensor_bundle.h. Partitioned variables are stored in pieces under separate keys
(`ordered_code`); this module joins the pieces.
"""

import math
import os
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.bounded_messages import parse
from stepscope.summary.checkpoints.base import (
    MOST_TENSORS,
    CheckpointError,
    OpenFile,
    TensorInfo,
    checked_shape,
    find_tensor,
    reported,
    rows_of,
)
from stepscope.summary.checkpoints.elements import element_bytes, is_number, read_floats
from stepscope.summary.checkpoints.ordered_code import WHOLE, slice_key
from stepscope.summary.checkpoints.table import Table
from stepscope.summary.memory_budget import claim
from stepscope.summary.proto.tensor_bundle_pb2 import BundleEntryProto, BundleHeaderProto, TensorSliceProto
from stepscope.summary.proto.tensor_pb2 import TensorShapeProto
from stepscope.summary.proto.types_pb2 import DataType
from stepscope.summary.records import masked_crcs

INDEX_SUFFIX: Final = ".index"
LARGEST_INDEX: Final = 256 << 20
"""Bytes."""
_HEADER_KEY: Final = b""
_BIG_ENDIAN: Final = 1
_ATTRIBUTE: Final = "/.ATTRIBUTES/VARIABLE_VALUE"
"""The suffix that TensorFlow 2 adds to the name of each variable."""
_DTYPES: Final = {
    "DT_FLOAT": "float32",
    "DT_DOUBLE": "float64",
    "DT_HALF": "float16",
    "DT_BFLOAT16": "bfloat16",
    "DT_FLOAT8_E4M3FN": "float8_e4m3fn",
    "DT_FLOAT8_E5M2": "float8_e5m2",
    **{f"DT_{name.upper()}": name for name in ("bool", "int8", "int16", "int32", "int64")},
    **{f"DT_{name.upper()}": name for name in ("uint8", "uint16", "uint32", "uint64")},
}


class TensorBundle:
    """The tensors of a TensorFlow checkpoint.

    Args:
        open_file: opens the index and the data files beside it.
        name: the name of the index, which ends in ".index".

    Raises:
        CheckpointError: the index cannot be read.
    """

    def __init__(self, open_file: OpenFile, name: str) -> None:
        self._open = open_file
        self._name = name
        self._entries: dict[bytes, BundleEntryProto] = {}
        header = BundleHeaderProto()
        with reported(name), open_file(name) as stream:
            if stream.seek(0, os.SEEK_END) > LARGEST_INDEX:
                raise CheckpointError(f"{name} has more than {LARGEST_INDEX:,} bytes, which no index has.")
            for key, value in Table(stream).entries():
                if key == _HEADER_KEY:
                    header = parse(BundleHeaderProto, value)
                elif len(self._entries) < MOST_TENSORS:
                    # As a name, and as a label.
                    claim(2 * len(key))
                    self._entries[key] = parse(BundleEntryProto, value)
        self._shards = header.num_shards
        self._big_endian = header.endianness == _BIG_ENDIAN
        self.tensors = tuple(_infos(self._entries))

    def read(self, name: str, rows: int | None = None) -> NDArray[np.float32]:
        info = find_tensor(self.tensors, name)
        shape = rows_of(info.shape, rows)
        entry = self._entries[_key(name)]
        with reported(f"The tensor {name!r} of {self._name}"):
            if entry.slices:
                return self._joined(name, entry, info)[: rows if info.shape else None]
            return self._whole(entry, info.shape, shape)

    def _whole(self, entry: BundleEntryProto, shape: tuple[int, ...], wanted: tuple[int, ...]) -> NDArray[np.float32]:
        dtype = dtype_name(entry.dtype)
        size = math.prod(shape) * element_bytes(dtype)
        if entry.size != size or entry.offset < 0 or not 0 <= entry.shard_id < max(self._shards, 1):
            raise CheckpointError(f"it would have {entry.size:,} bytes, but its shape needs {size:,}")
        from crc32c import crc32c

        crc = 0

        def add(piece: bytes) -> None:
            nonlocal crc
            crc = crc32c(piece, crc)

        with self._open(self._data_file(entry.shard_id)) as stream:
            stream.seek(entry.offset)
            values = read_floats(stream, math.prod(wanted), dtype, big_endian=self._big_endian, seen=add)
        if wanted == shape and masked_crcs(np.array([crc], np.uint32))[0] != entry.crc32c:
            raise CheckpointError("it is damaged: its checksum does not match")
        return values.reshape(wanted)

    def _joined(self, name: str, entry: BundleEntryProto, info: TensorInfo) -> NDArray[np.float32]:
        """Return a tensor joined from its pieces, with NaN where they leave a hole."""
        claim(math.prod(rows_of(info.shape, None)) * 4)
        whole = np.full(info.shape, np.nan, np.float32)
        for piece in entry.slices:
            extents = extents_of(piece, info.shape)
            found = self._entries.get(slice_key(name, [extent for extent, _ in extents]))
            if found is None:
                raise CheckpointError("one of its pieces is missing")
            place = tuple(section for _, section in extents)
            shape = whole[place].shape
            if shape_of(found.shape) != shape:
                raise CheckpointError("one of its pieces has the wrong shape")
            whole[place] = self._whole(found, shape, shape)
        return whole

    def _data_file(self, shard: int) -> str:
        prefix = self._name.removesuffix(INDEX_SUFFIX)
        return f"{prefix}.data-{shard:05d}-of-{max(self._shards, 1):05d}"


def _infos(entries: Mapping[bytes, BundleEntryProto]) -> list[TensorInfo]:
    """Return the tensors, without their pieces, non-numeric tensors and entries with invalid shapes."""
    infos: list[TensorInfo] = []
    for key, entry in entries.items():
        dtype = dtype_name(entry.dtype)
        if key.startswith(b"\0") or not is_number(dtype):
            continue
        try:
            name = key.decode(errors="surrogateescape")
            infos.append(TensorInfo(name, shape_of(entry.shape), dtype, name.removesuffix(_ATTRIBUTE)))
        except CheckpointError:
            continue
    return infos


def _key(name: str) -> bytes:
    return name.encode(errors="surrogateescape")


def dtype_name(number: int) -> str:
    """Return the name of a TensorFlow type, as accepted by `is_number`."""
    known = DataType.DESCRIPTOR.values_by_number.get(number)
    return _DTYPES.get(known.name, known.name) if known is not None else f"number {number}"


def shape_of(shape: TensorShapeProto) -> tuple[int, ...]:
    """Return a shape validated by `checked_shape`; raise CheckpointError if it is invalid."""
    return checked_shape(dim.size for dim in shape.dim)


def extents_of(piece: TensorSliceProto, shape: tuple[int, ...]) -> list[tuple[tuple[int, int], slice]]:
    """Return, for each dimension, start and length as in the key, and the slice of the whole tensor.

    Raises:
        CheckpointError: the piece does not fit in the whole tensor.
    """
    if len(piece.extent) != len(shape):
        raise CheckpointError("one of its pieces has a different number of dimensions")
    extents: list[tuple[tuple[int, int], slice]] = []
    for extent, size in zip(piece.extent, shape, strict=True):
        if not extent.HasField("length"):
            extents.append(((0, WHOLE), slice(0, size)))
        elif 0 <= extent.start <= extent.start + extent.length <= size:
            extents.append(((extent.start, extent.length), slice(extent.start, extent.start + extent.length)))
        else:
            raise CheckpointError("one of its pieces lies outside of it")
    return extents
