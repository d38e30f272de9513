"""PyTorch's ``.pt`` and ``.pth``: a ZIP archive with a pickle that lists the tensors, and their bytes.

See torch/serialization.py and torch/_utils.py. `pickle_machine` reads the pickle without executing any of it: tensors
are recognized as calls of the PyTorch functions that rebuild them. Files from before PyTorch 1.6, which are not
archives, are not read.
"""

import math
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided
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
from stepscope.summary.checkpoints.elements import element_bytes, is_number, read_floats
from stepscope.summary.checkpoints.pickle_machine import Described, Name, Stored, described
from stepscope.summary.checkpoints.zip_members import seekable_member
from stepscope.summary.memory_budget import claim
from stepscope.summary.source import read_up_to

_LARGEST_PICKLE: Final = 256 << 20
_DEEPEST: Final = 64
_BYTES_OF_VALUE: Final = 200
"""Most memory that a value takes until its turn comes, besides the text of its path."""
_STORAGES: Final = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "Float8_e4m3fnStorage": "float8_e4m3fn",
    "Float8_e5m2Storage": "float8_e5m2",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
}
_REBUILT: Final = frozenset({"torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor_v3"})
_WRAPPED: Final = frozenset({"torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state"})
"""Functions that wrap a tensor, their first argument, in a parameter."""
_SUBCLASS: Final = "torch._tensor._rebuild_from_type_v2"


@dataclass(frozen=True)
class _Tensor:
    """The location of a tensor's elements within a storage."""

    storage: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


class TorchArchive:
    """The tensors in a file that ``torch.save`` wrote, named by their path of keys, such as "model.embedding.weight".

    Raises:
        CheckpointError: the file is not a readable PyTorch archive.
    """

    def __init__(self, open_file: OpenFile, name: str) -> None:
        self._open = open_file
        self._name = name
        with reported(name), open_file(name) as stream, zipfile.ZipFile(stream) as archive:
            pickle = pickle_member(archive)
            if pickle is None:
                raise CheckpointError(f"{name} is not a PyTorch archive: it has no data.pkl.")
            self._folder = pickle.removesuffix("data.pkl")
            claim(min(archive.getinfo(pickle).file_size, _LARGEST_PICKLE))
            with archive.open(pickle) as content:
                data = content.read(_LARGEST_PICKLE + 1)
            if len(data) > _LARGEST_PICKLE:
                raise CheckpointError(f"{name} describes its tensors in more than {_LARGEST_PICKLE:,} bytes.")
            order = self._folder + "byteorder"
            self._big_endian = False
            if order in archive.namelist():
                with archive.open(order) as content:
                    self._big_endian = content.read(16).strip() == b"big"
            self._tensors = dict(_named_tensors(described(data)))
        self.tensors = tuple(TensorInfo(name, t.shape, t.dtype, _label(name)) for name, t in self._tensors.items())

    def read(self, name: str, rows: int | None = None) -> NDArray[np.float32]:
        find_tensor(self.tensors, name)
        tensor = self._tensors[name]
        shape = rows_of(tensor.shape, rows)
        with (
            reported(f"The tensor {name!r} of {self._name}"),
            self._open(self._name) as stream,
            zipfile.ZipFile(stream) as archive,
            seekable_member(archive, f"{self._folder}data/{tensor.storage}") as content,
        ):
            return _read(content, tensor, shape, self._big_endian)


def _label(name: str) -> str:
    """Return the name without the attributes in which modules that were saved whole keep their parts."""
    return name.replace("_modules.", "").replace("_parameters.", "").replace("_buffers.", "")


def pickle_member(archive: zipfile.ZipFile) -> str | None:
    """Return the member that lists the tensors; None if this is not a PyTorch archive."""
    found = [name for name in archive.namelist() if name == "data.pkl" or name.endswith("/data.pkl")]
    return min(found, key=len) if found else None


def _read(content: Any, tensor: _Tensor, shape: tuple[int, ...], big_endian: bool) -> NDArray[np.float32]:
    if 0 in shape:
        return np.zeros(shape, np.float32)
    reach = 1 + sum((size - 1) * stride for size, stride in zip(shape, tensor.strides, strict=True))
    content.seek(tensor.offset * element_bytes(tensor.dtype))
    floats = read_floats(content, reach, tensor.dtype, big_endian=big_endian)
    if reach == math.prod(shape) and _is_plain(tensor, shape):
        return floats.reshape(shape)
    claim(math.prod(shape) * floats.itemsize)
    strides = tuple(stride * floats.itemsize for stride in tensor.strides)
    return np.ascontiguousarray(as_strided(floats, shape, strides, writeable=False))


def _is_plain(tensor: _Tensor, shape: tuple[int, ...]) -> bool:
    expected = 1
    for size, stride in zip(reversed(shape), reversed(tensor.strides), strict=True):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def _named_tensors(root: Any) -> Iterator[tuple[str, _Tensor]]:
    """Yield every tensor below with its path of keys; the first path where there are several."""
    waiting: list[tuple[str, int, Any]] = [("", 0, root)]
    seen: set[int] = set()
    names: set[str] = set()
    steps = 0
    while waiting:
        path, depth, value = waiting.pop()
        steps += 1
        if steps > 20 * MOST_TENSORS or len(names) >= MOST_TENSORS:
            return
        tensor = _tensor(value)
        if tensor is not None:
            name = path or "tensor"
            if name not in names:
                names.add(name)
                yield name, tensor
            continue
        if depth >= _DEEPEST or id(value) in seen:
            continue
        below = _below(value)
        if below:
            seen.add(id(value))
            claim(sum(_BYTES_OF_VALUE + len(path) + len(key) for key, _ in below))
            waiting += [(f"{path}.{key}" if path else key, depth + 1, item) for key, item in reversed(below)]


def _below(value: Any) -> list[tuple[str, Any]]:
    match value:
        case dict():
            return [(str(key), item) for key, item in value.items() if isinstance(key, str | int)]
        case list() | tuple():
            return [(str(index), item) for index, item in enumerate(value)]
        case Described():
            # The state of a module saved whole has the parameters under names with an underscore.
            return [*_below(value.items), *_below(value.elements), *_below(value.state)]
        case _:
            return []


def _tensor(value: Any, depth: int = 0) -> _Tensor | None:
    """Return the tensor that a call rebuilds; None for any other call or for invalid arguments."""
    if not isinstance(value, Described) or not isinstance(value.arguments, tuple) or depth > _DEEPEST:
        return None
    of, arguments = str(value.of) if isinstance(value.of, Name) else "", value.arguments
    if of in _WRAPPED and arguments:
        return _tensor(arguments[0], depth + 1)
    if of == _SUBCLASS and len(arguments) > 2 and isinstance(arguments[2], tuple):
        return _tensor(Described(arguments[0], arguments[2]), depth + 1)
    if of not in _REBUILT or len(arguments) < 4:
        return None
    storage, offset, shape, strides = arguments[:4]
    named = arguments[6] if of.endswith("v3") and len(arguments) > 6 else None
    key = storage.key if isinstance(storage, Stored) else None
    if not isinstance(key, tuple) or len(key) < 3 or not isinstance(key[1], Name) or not isinstance(key[2], str):
        return None
    dtype = named.name if isinstance(named, Name) else _STORAGES.get(key[1].name, key[1].name)
    try:
        shape, strides = checked_shape(shape), checked_shape(strides)
        (begin,) = checked_shape([offset])
    except (CheckpointError, TypeError):
        return None
    if len(shape) != len(strides) or not is_number(dtype):
        return None
    return _Tensor(key[2], dtype, shape, strides, begin)


def refuse_old_file(stream: BinaryIO, name: str) -> None:
    """Refuse a file in the format that PyTorch wrote before it wrote archives.

    Raises:
        CheckpointError: it is such a file; the message says so.
    """
    head = read_up_to(stream, 2)
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        raise CheckpointError(
            f"{name} is a pickle, as PyTorch wrote files before version 1.6. Expected an archive: load it and "
            "torch.save it again, or save it as safetensors."
        )
