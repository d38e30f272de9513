"""safetensors: the length of a JSON header, the header, then the bytes of all tensors.

https://huggingface.co/docs/safetensors: uint64 N, little-endian; then N bytes of JSON with the "dtype", "shape" and
"data_offsets" (from the end of the header) of each tensor; "__metadata__" holds strings. All numbers are little-endian.
"""

import math
from typing import Any, Final

import msgspec
import numpy as np
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
from stepscope.summary.memory_budget import claim, claim_json
from stepscope.summary.source import read_up_to

_LARGEST_HEADER: Final = 100_000_000
"""The format's own limit, in bytes."""
_DTYPES: Final = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U64": "uint64",
    "U32": "uint32",
    "U16": "uint16",
    "U8": "uint8",
    "BOOL": "bool",
}


class SafetensorsFile:
    """The tensors of a safetensors file.

    Raises:
        CheckpointError: the header cannot be read.
    """

    def __init__(self, open_file: OpenFile, name: str) -> None:
        self._open = open_file
        self._name = name
        self._offsets: dict[str, int] = {}
        with reported(name), open_file(name) as stream:
            length = int.from_bytes(read_up_to(stream, 8), "little")
            if not 2 <= length <= _LARGEST_HEADER:
                raise CheckpointError(f"{name} is not a safetensors file: its header would have {length:,} bytes.")
            claim(length)
            content = read_up_to(stream, length)
            if len(content) < length:
                raise CheckpointError(f"{name} ends within its header.")
            claim_json(content)
            self.tensors = tuple(self._listed(msgspec.json.decode(content), 8 + length))

    def read(self, name: str, rows: int | None = None) -> NDArray[np.float32]:
        info = find_tensor(self.tensors, name)
        shape = rows_of(info.shape, rows)
        with reported(f"The tensor {name!r} of {self._name}"), self._open(self._name) as stream:
            stream.seek(self._offsets[name])
            return read_floats(stream, math.prod(shape), info.dtype).reshape(shape)

    def _listed(self, header: Any, begin: int) -> list[TensorInfo]:
        if not isinstance(header, dict) or len(header) > MOST_TENSORS:
            raise CheckpointError(f"{self._name} is not a safetensors file: its header is not a list of tensors.")
        listed: list[TensorInfo] = []
        for name, about in header.items():
            if name == "__metadata__":
                continue
            try:
                dtype = _DTYPES.get(about["dtype"], str(about["dtype"]))
                first, last = about["data_offsets"]
                shape = checked_shape(about["shape"])
                fits = is_number(dtype) and 0 <= first <= last == first + math.prod(shape) * element_bytes(dtype)
            except (KeyError, TypeError, ValueError):
                fits = False
            if fits:
                self._offsets[name] = begin + first
                listed.append(TensorInfo(name, shape, dtype))
        return listed
