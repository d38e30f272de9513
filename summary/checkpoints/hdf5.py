"""HDF5 as Keras writes it: ``.weights.h5``, ``.h5``, and the ``model.weights.h5`` within a ``.keras`` archive.

Links to other files, and datasets whose values are stored in other files, are not followed: an untrusted file must not
make this program read the files beside it.
"""

import math
import re
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.cancellation import check_cancelled
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
from stepscope.summary.checkpoints.elements import as_floats, is_number
from stepscope.summary.checkpoints.zip_members import seekable_member
from stepscope.summary.full_install import needs_extra
from stepscope.summary.memory_budget import claim

MAGIC: Final = b"\x89HDF\r\n\x1a\n"
KERAS_WEIGHTS: Final = "model.weights.h5"
"""The member of a ``.keras`` archive that holds the weights."""
_DEEPEST: Final = 100
_PIECE: Final = 1 << 20
"""Elements converted at a time."""
_UNSUSPICIOUS: Final = 64 << 20
"""Dataset size in bytes up to which it is read however little of it the file stores."""
_DENSEST: Final = 1100
"""Slightly more than the maximum compression ratio of deflate."""


class Hdf5File:
    """The numeric datasets of an HDF5 file; in Keras files, the model's come first and the optimizer's last.

    Args:
        open_file: opens the file.
        name: the file name.
        member: the archive member that is the HDF5 file, if the file is an archive.

    Raises:
        CheckpointError: the file cannot be read.
    """

    def __init__(self, open_file: OpenFile, name: str, member: str | None = None) -> None:
        self._open = open_file
        self._name = name
        self._member = member
        with reported(name), self._opened() as file:
            found = [info for info in _datasets(file) if is_number(info.dtype)]
        self.tensors = tuple(sorted(found, key=_order))

    def read(self, name: str, rows: int | None = None) -> NDArray[np.float32]:
        info = find_tensor(self.tensors, name)
        shape = rows_of(info.shape, rows)
        with reported(f"The tensor {name!r} of {self._name}"), self._opened() as file:
            dataset = _follow(file, name)
            if dataset.shape != info.shape:
                raise CheckpointError("The file has changed since it was listed.")
            _check_stored(dataset)
            if not shape:
                return np.asarray(as_floats(np.asarray(dataset[()]), info.dtype), np.float32).reshape(())
            step = max(1, _PIECE // max(1, math.prod(shape[1:])))
            chunk = dataset.chunks
            if chunk is not None:
                # A chunk shared by two pieces is unpacked for each of them.
                step = min(max(step, chunk[0]), shape[0])
                claim(math.prod(chunk) * dataset.dtype.itemsize)
            claim(math.prod(shape) * 4 + step * math.prod(shape[1:]) * dataset.dtype.itemsize)
            floats = np.empty(shape, np.float32)
            for begin in range(0, shape[0], step):
                check_cancelled()
                end = min(begin + step, shape[0])
                floats[begin:end] = as_floats(np.asarray(dataset[begin:end]), info.dtype)
            return floats

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        with needs_extra(f"Reading {self._name}", "stepscope-core[hdf5]"):
            import h5py

        with ExitStack() as stack:
            stream: Any = stack.enter_context(self._open(self._name))
            if self._member is not None:
                archive = stack.enter_context(zipfile.ZipFile(stream))
                stream = stack.enter_context(seekable_member(archive, self._member))
            yield stack.enter_context(h5py.File(stream, "r"))


def _order(info: TensorInfo) -> tuple[bool, list[tuple[int, str]]]:
    parts = re.split(r"(\d+)", info.name)
    return info.name.startswith("optimizer"), [(int(p), "") if p.isdecimal() else (-1, p) for p in parts]


def _datasets(file: Any) -> Iterator[TensorInfo]:
    """Yield every dataset stored in the file itself; a group that links to itself is visited once."""
    import h5py

    groups: list[tuple[str, str, Any]] = [("", "", file)]
    seen: set[Any] = set()
    count = 0
    while groups:
        path, label, group = groups.pop()
        address = h5py.h5o.get_info(group.id).addr
        if address in seen or path.count("/") > _DEEPEST:
            continue
        seen.add(address)
        for key in group:
            count += 1
            if count > MOST_TENSORS:
                return
            if not isinstance(group.get(key, getlink=True), h5py.HardLink):
                continue
            item = group[key]
            if isinstance(item, h5py.Group):
                groups.append((f"{path}{key}/", f"{_named(item, label, key)}/", item))
            elif isinstance(item, h5py.Dataset) and _is_own(item) and item.shape is not None:
                yield TensorInfo(f"{path}{key}", checked_shape(item.shape), item.dtype.name, f"{label}{key}")


def _named(group: Any, label: str, key: str) -> str:
    """Return the label of a group; for Keras' ``layers/dense/vars``, the layer's name, an attribute of ``vars``."""
    name = group.attrs.get("name") if key == "vars" else None
    above = label.rstrip("/")
    if not isinstance(name, str) or not above:
        return f"{label}{key}"
    return f"{above.rpartition('/')[0]}/{name}".lstrip("/")


def _is_own(dataset: Any) -> bool:
    return not dataset.is_virtual and not dataset.external


def _follow(file: Any, name: str) -> Any:
    """Return the dataset at a path; no part of the path may have become a link since it was listed."""
    import h5py

    item = file
    for part in name.split("/"):
        if not isinstance(item, h5py.Group) or not isinstance(item.get(part, getlink=True), h5py.HardLink):
            raise CheckpointError("The file has changed since it was listed.")
        item = item[part]
    if not isinstance(item, h5py.Dataset) or not _is_own(item):
        raise CheckpointError("The file has changed since it was listed.")
    return item


def _check_stored(dataset: Any) -> None:
    """Raise CheckpointError if a dataset is hardly more than one value repeated to fill its declared size."""
    declared, stored = dataset.size * dataset.dtype.itemsize, dataset.id.get_storage_size()
    if declared > _UNSUSPICIOUS and declared > _DENSEST * stored:
        raise CheckpointError(
            f"it would have {declared:,} bytes, of which the file stores {stored:,}: most of it was never written"
        )


def looks_like_hdf5(head: bytes) -> bool:
    """Return whether a file that begins like this is HDF5."""
    return head.startswith(MAGIC)


def weights_member(stream: BinaryIO) -> str | None:
    """Return the member of a ``.keras`` archive that holds the weights; None if there is none."""
    with zipfile.ZipFile(stream) as archive:
        return KERAS_WEIGHTS if KERAS_WEIGHTS in archive.namelist() else None
