"""NumPy's ``.npy`` and ``.npz``: arrays of numbers; arrays of Python objects, which are pickles, are never read.

The format is defined in numpy/lib/_format_impl.py. Files are read piece by piece rather than memory-mapped, since
another program that shortens a mapped file crashes the process.
"""

import io
import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

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
from stepscope.summary.checkpoints.elements import is_number, read_floats
from stepscope.summary.checkpoints.zip_members import open_member
from stepscope.summary.memory_budget import claim
from stepscope.summary.source import read_up_to

_LARGEST_HEADER: Final = 0xFFFF
"""Maximum size of a header in bytes, as in version 1 of the format; later versions could declare 4 GiB."""
_MOST_TEXT: Final = 256 << 20
"""Maximum size of an array of strings in bytes."""


class NumpyFile:
    """The array of a ``.npy`` file, named after the file.

    Raises:
        CheckpointError: the file is not a readable ``.npy`` file, or its elements are not real numbers.
    """

    def __init__(self, open_file: OpenFile, name: str) -> None:
        self._open = open_file
        self._name = name
        with reported(name), open_file(name) as stream:
            shape, _, dtype = _header(stream)
        if not is_number(dtype.name):
            raise CheckpointError(f"{name} holds {_refused(dtype)}.")
        self.tensors = (TensorInfo(name, shape, dtype.name),)

    def read(self, name: str, rows: int | None = None) -> NDArray[np.float32]:
        find_tensor(self.tensors, name)
        with reported(self._name), self._open(self._name) as stream:
            return _read(stream, rows)


class NumpyArchive:
    """The arrays of a ``.npz`` file.

    Raises:
        CheckpointError: the file is not a readable ``.npz`` file.
    """

    def __init__(self, open_file: OpenFile, name: str) -> None:
        self._open = open_file
        self._name = name
        self._texts: dict[str, tuple[int, ...]] = {}
        listed: list[TensorInfo] = []
        with reported(name), open_file(name) as stream, zipfile.ZipFile(stream) as archive:
            for member in archive.namelist()[:MOST_TENSORS]:
                if not member.endswith(".npy"):
                    continue
                array = member.removesuffix(".npy")
                with open_member(archive, member) as content:
                    shape, _, dtype = _header(content)
                if is_number(dtype.name):
                    listed.append(TensorInfo(array, shape, dtype.name))
                elif dtype.kind in "US":
                    self._texts[array] = shape
        self.tensors = tuple(listed)

    def read(self, name: str, rows: int | None = None) -> NDArray[np.float32]:
        find_tensor(self.tensors, name)
        with self._opened(name) as content:
            return _read(content, rows)

    @property
    def text_columns(self) -> dict[str, int]:
        """The number of strings in each array of strings, by name."""
        return {name: shape[0] for name, shape in self._texts.items() if len(shape) == 1}

    def read_texts(self, name: str) -> list[str]:
        """Return an array of strings; raise CheckpointError if it cannot be read."""
        if name not in self._texts:
            raise CheckpointError(f"The file has no string array {name[:200]!r}.")
        with self._opened(name) as content:
            shape, _, dtype = _header(content)
            size = math.prod(shape) * dtype.itemsize
            if size > _MOST_TEXT:
                raise CheckpointError(f"The string array {name!r} is {size:,} bytes; the limit is {_MOST_TEXT:,}.")
            # Both as bytes and as text.
            claim(2 * size + 100 * math.prod(shape))
            data = read_up_to(content, size)
            if dtype.kind == "S":
                return [text.decode(errors="replace") for text in np.frombuffer(data, dtype).tolist()]
            # As numbers first: NumPy itself would fail on invalid code points.
            letters = np.frombuffer(data, f"{dtype.str[0]}u4").reshape(shape[0], -1)
            return ["".join(chr(c) if c < 0x110000 else "\ufffd" for c in row if c) for row in letters.tolist()]

    @contextmanager
    def _opened(self, name: str) -> Iterator[BinaryIO]:
        with (
            reported(f"{name} of {self._name}"),
            self._open(self._name) as stream,
            zipfile.ZipFile(stream) as archive,
            open_member(archive, name + ".npy") as content,
        ):
            yield content


def _header(stream: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return the shape, whether columns come first, and the dtype; leave the stream at the first element."""
    version = npy.read_magic(stream)
    match version:
        case (1, 0):
            shape, columns_first, dtype = npy.read_array_header_1_0(stream)
        case (2, 0) | (3, 0):
            declared = read_up_to(stream, 4)
            size = int.from_bytes(declared, "little")
            if size > _LARGEST_HEADER:
                raise CheckpointError(f"The header of an array would have {size:,} bytes.")
            header = io.BytesIO(declared + read_up_to(stream, size))
            shape, columns_first, dtype = npy.read_array_header_2_0(header)
        case _:
            raise CheckpointError(f"The file is a .npy of version {version}, which is not supported.")
    return checked_shape(shape), columns_first, dtype


def _refused(dtype: np.dtype[Any]) -> str:
    if dtype.hasobject:
        return "Python objects, which can only be read by executing code from the file; expected numbers"
    return f"elements of the type {str(dtype)[:50]}; expected real numbers"


def _read(stream: BinaryIO, rows: int | None) -> NDArray[np.float32]:
    shape, columns_first, dtype = _header(stream)
    if not is_number(dtype.name):
        raise CheckpointError(f"The array holds {_refused(dtype)}.")
    big_endian = dtype.str.startswith(">")
    if columns_first:
        whole = read_floats(stream, math.prod(rows_of(shape, None)), dtype.name, big_endian=big_endian)
        claim(whole.nbytes)
        return np.ascontiguousarray(whole.reshape(shape, order="F")[: rows if shape else None])
    wanted = rows_of(shape, rows)
    return read_floats(stream, math.prod(wanted), dtype.name, big_endian=big_endian).reshape(wanted)
