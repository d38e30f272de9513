"""The common interface of weight files: a list of tensors, each readable as float32."""

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

from stepscope.summary.errors import reason_of
from stepscope.summary.full_install import NotInstalledError

MOST_VALUES: Final = 1 << 28
"""Maximum number of elements read from one tensor: a gibibyte of float32."""
MOST_TENSORS: Final = 100_000
"""Maximum number of tensors listed per file."""
MOST_DIMENSIONS: Final = 32

OpenFile = Callable[[str], BinaryIO]
"""Opens the named file beside the checkpoint, seekable, at its beginning; raises OSError or ValueError."""


class CheckpointError(ValueError):
    """A weight file, or a tensor in it, cannot be read; the message is a human-readable sentence."""


class OtherFileError(CheckpointError):
    """A file is not a weight file at all."""


@dataclass(frozen=True)
class TensorInfo:
    """A file's description of one of its tensors."""

    name: str
    """The name in the file, as `Checkpoint.read` takes it."""
    shape: tuple[int, ...]
    dtype: str
    """The NumPy name of the type, or a name such as "bfloat16" or "float8_e4m3fn"."""
    label: str = ""
    """A more readable name, where the file has one."""

    @property
    def is_matrix(self) -> bool:
        """Whether the tensor may be an embedding: a matrix with at least one row and more than one element."""
        return len(self.shape) == 2 and min(self.shape) > 0 and math.prod(self.shape) > 1


class Checkpoint(Protocol):
    """One weight file. The file is not kept open; every call reopens it."""

    @property
    def tensors(self) -> tuple[TensorInfo, ...]:
        """All numeric tensors, in file order or sorted by name."""
        ...

    def read(self, name: str, rows: int | None = None) -> NDArray[np.float32]:
        """Return a tensor as a C-contiguous float32 array; integers and float64 are rounded to the nearest float32.

        Args:
            name: the name of a tensor in `tensors`.
            rows: how many rows to read, from the first; None for all.

        Raises:
            CheckpointError: the tensor does not exist, or it is damaged, too large, or of an unsupported type.
            NoMemoryError: there is not enough memory now; see `stepscope.summary.memory_budget`.
        """
        ...


def find_tensor(tensors: Iterable[TensorInfo], name: str) -> TensorInfo:
    """Return the tensor with the given name.

    Raises:
        CheckpointError: there is none.
    """
    for tensor in tensors:
        if tensor.name == name:
            return tensor
    raise CheckpointError(f"There is no tensor {name[:200]!r} in the file.")


def checked_shape(shape: Iterable[object]) -> tuple[int, ...]:
    """Return a shape found in a file, after validating it.

    Raises:
        CheckpointError: it is not a valid shape: a size is negative or enormous, or there are too many dimensions.
    """
    sizes: list[int] = []
    for size in shape:
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 1 << 48:
            raise CheckpointError(f"The file has a tensor with the invalid dimension {size!r:.50}.")
        sizes.append(size)
        if len(sizes) > MOST_DIMENSIONS:
            raise CheckpointError(f"The file has a tensor of more than {MOST_DIMENSIONS} dimensions.")
    return tuple(sizes)


def rows_of(shape: tuple[int, ...], rows: int | None) -> tuple[int, ...]:
    """Return the shape of the first rows of a tensor.

    Raises:
        CheckpointError: they have too many elements to be read.
    """
    wanted = (min(rows, shape[0]), *shape[1:]) if rows is not None and shape else shape
    if math.prod(wanted) > MOST_VALUES:
        raise CheckpointError(
            f"The tensor has {math.prod(wanted):,} numbers (shape {list(wanted)}); the limit is {MOST_VALUES:,}."
        )
    return wanted


@contextlib.contextmanager
def reported(what: str) -> Iterator[None]:
    """Convert whatever reading damaged bytes raises, or a missing package, into one error.

    Raises:
        CheckpointError: "``what`` cannot be read", with the reason; or what to install.
    """
    try:
        yield
    except CheckpointError:
        raise
    except NotInstalledError as error:
        raise CheckpointError(str(error)) from error
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
        # From NumPy, which takes a damaged file's header for one of Python 2.
        TokenError,
    ) as error:
        reason = reason_of(error)
        raise CheckpointError(f"{what} cannot be read: {reason.rstrip('.'):.300}.") from error
