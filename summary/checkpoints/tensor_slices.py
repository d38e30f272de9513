"""TensorFlow's version 1 checkpoints: one file, a table with both the list of tensors and their values.

See tensorflow/core/util/saved_tensor_slice.proto and tensor_slice_writer.cc: the empty key holds the list of all
tensors and their pieces; each piece has the same key as in a bundle (`ordered_code`). ``tf.compat.v1.train.Saver``
writes these files with ``write_version=SaverDef.V1``.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.bounded_messages import parse
from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.checkpoints.base import (
    MOST_TENSORS,
    CheckpointError,
    OpenFile,
    TensorInfo,
    find_tensor,
    reported,
    rows_of,
)
from stepscope.summary.checkpoints.elements import is_number
from stepscope.summary.checkpoints.ordered_code import slice_key
from stepscope.summary.checkpoints.table import Table
from stepscope.summary.checkpoints.tensor_bundle import dtype_name, extents_of, shape_of
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.tensor_proto import numbers
from stepscope.summary.memory_budget import claim
from stepscope.summary.proto.tensor_bundle_pb2 import SavedSliceMeta, SavedTensorSlices

_MEMORY: Final = 4
"""Copies of a piece in memory while it is read: its message, the message's numbers, and these as float32."""


class TensorSlices:
    """The tensors of a version 1 checkpoint.

    Raises:
        CheckpointError: the file is not a version 1 checkpoint.
    """

    def __init__(self, open_file: OpenFile, name: str) -> None:
        self._open = open_file
        self._name = name
        with reported(name), self._table() as table:
            content = table.get(b"")
            saved = parse(SavedTensorSlices, content or b"")
            if not saved.HasField("meta"):
                raise CheckpointError(
                    f"{name} is a table without a list of tensors, so it is not a TensorFlow checkpoint."
                )
            found = {meta.name: meta for meta in saved.meta.tensor[:MOST_TENSORS] if is_number(dtype_name(meta.type))}
            self._metas = dict(sorted(found.items()))
            self.tensors = tuple(
                TensorInfo(name, shape_of(meta.shape), dtype_name(meta.type)) for name, meta in self._metas.items()
            )

    def read(self, name: str, rows: int | None = None) -> NDArray[np.float32]:
        info = find_tensor(self.tensors, name)
        wanted = rows_of(info.shape, rows)
        meta = self._metas[name]
        with reported(f"The tensor {name!r} of {self._name}"), self._table() as table:
            claim(4 * math.prod(rows_of(info.shape, None)))
            whole = np.full(info.shape, np.nan, np.float32)
            for piece in meta.slice:
                check_cancelled()
                extents = extents_of(piece, info.shape)
                place = tuple(section for _, section in extents)
                content = table.get(slice_key(name, [extent for extent, _ in extents]))
                if content is None:
                    raise CheckpointError("one of its pieces is missing")
                whole[place] = _numbers(content, meta, whole[place].shape)
            return whole[: wanted[0]] if wanted else whole

    @contextmanager
    def _table(self) -> Iterator[Table]:
        with self._open(self._name) as stream:
            yield Table(stream)


def _numbers(content: bytes, meta: SavedSliceMeta, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return the numbers of a piece, whose message contains neither its type nor its shape."""
    claim(_MEMORY * len(content))
    tensor = parse(SavedTensorSlices, content).data.data
    tensor.dtype = meta.type
    tensor.tensor_shape.Clear()
    for size in shape:
        tensor.tensor_shape.dim.add(size=size)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(numbers(tensor)).astype(np.float32)
    except PayloadError as error:
        raise CheckpointError(f"one of its pieces is damaged: {error}") from error
