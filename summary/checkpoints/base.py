"""What every file of weights gives: a list of its tensors, and each as float32."""

import contextlib
import lzma
import math
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from tokenize import TokenError
from typing import BinaryIO, Final, Protocol

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

MOST_VALUES: Final = 1 << 28
"""Numbers of one tensor that are read: a gibibyte of float32."""
MOST_TENSORS: Final = 100_000
"""Tensors of one file that are listed."""
MOST_DIMENSIONS: Final = 32

OpenFile = Callable[[str], BinaryIO]
"""Opens the file of that name beside the checkpoint, seekable, at its beginning; raises OSError or ValueError."""


class CheckpointError(ValueError):
    """A file of weights, or a tensor of one, cannot be read; the message is a sentence for a person."""


class OtherFileError(CheckpointError):
    """A file is none of weights at all."""


@dataclass(frozen=True)
class TensorInfo:
    """What a file says of one of its tensors."""

    name: str
    """As the file has it; what `Checkpoint.read` takes."""
    shape: tuple[int, ...]
    dtype: str
    """NumPy's name of it, or "bfloat16", "float8_e4m3fn" and the like."""
    label: str = ""
    """A better name for a person, where the file has one."""

    @property
    def is_matrix(self) -> bool:
        """Whether it may be an embedding: at least one row, and more than one number."""
        return len(self.shape) == 2 and min(self.shape) > 0 and math.prod(self.shape) > 1


class Checkpoint(Protocol):
    """One file of weights. It holds no file open; every call opens it again."""

    @property
    def tensors(self) -> tuple[TensorInfo, ...]:
        """All tensors of numbers, in the file's own order or by name."""
        ...

    def read(self, name: str, rows: int | None = None) -> NDArray[np.float32]:
        """Return a tensor, float32 of its shape, C-contiguous; of whole numbers and float64 the nearest float32.

        Args:
            name: of `tensors`.
            rows: how many rows to read, from the first; None for all.

        Raises:
            CheckpointError: there is no such tensor, or it is damaged, too large, or of a type that is not read.
            NoMemoryError: there is not enough memory now, see `stepscope.summary.memory_budget`.
        """
        ...


def find_tensor(tensors: Iterable[TensorInfo], name: str) -> TensorInfo:
    """Return the tensor of that name.

    Raises:
        CheckpointError: there is none.
    """
    for tensor in tensors:
        if tensor.name == name:
            return tensor
    raise CheckpointError(f"There is no tensor {name[:200]!r} in the file.")


def checked_shape(shape: Iterable[object]) -> tuple[int, ...]:
    """Return a shape as it was found in a file.

    Raises:
        CheckpointError: it is none: a negative or an enormous size, or too many dimensions.
    """
    sizes: list[int] = []
    for size in shape:
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 1 << 48:
            raise CheckpointError(f"The file has a tensor of the size {size!r:.50}, which is not a size.")
        sizes.append(size)
        if len(sizes) > MOST_DIMENSIONS:
            raise CheckpointError(f"The file has a tensor of more than {MOST_DIMENSIONS} dimensions.")
    return tuple(sizes)


def rows_of(shape: tuple[int, ...], rows: int | None) -> tuple[int, ...]:
    """Return the shape of the first rows of a tensor.

    Raises:
        CheckpointError: they are too many to be read.
    """
    wanted = (min(rows, shape[0]), *shape[1:]) if rows is not None and shape else shape
    if math.prod(wanted) > MOST_VALUES:
        raise CheckpointError(
            f"The tensor has {math.prod(wanted):,} numbers (shape {list(wanted)}); at most {MOST_VALUES:,} are read."
        )
    return wanted


@contextlib.contextmanager
def reported(what: str) -> Iterator[None]:
    """Turn whatever the reading of damaged bytes raises into one error.

    Raises:
        CheckpointError: "``what`` cannot be read", and why.
    """
    try:
        yield
    except CheckpointError:
        raise
    except FileNotFoundError as error:
        raise CheckpointError(f"{what} cannot be read: the file {error.filename or ''} does not exist.") from error
    except (
        OSError,
        EOFError,
        RuntimeError,
        ArithmeticError,
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        MemoryError,
        SyntaxError,
        SystemError,
        struct.error,
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        DecodeError,
        # Of NumPy, which takes the header of a damaged file for Python 2's.
        TokenError,
    ) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise CheckpointError(f"{what} cannot be read: {reason.rstrip('.'):.300}.") from error
