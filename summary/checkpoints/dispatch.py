"""Opening of any file of weights or arrays, recognized by its content."""

import os
import zipfile
from contextlib import suppress
from functools import partial
from pathlib import PurePosixPath
from typing import BinaryIO, Final

from stepscope.summary.checkpoints.base import Checkpoint, OpenFile, OtherFileError, reported
from stepscope.summary.checkpoints.hdf5 import KERAS_WEIGHTS, Hdf5File, looks_like_hdf5
from stepscope.summary.checkpoints.numpy_files import NumpyArchive, NumpyFile
from stepscope.summary.checkpoints.safetensors import SafetensorsFile
from stepscope.summary.checkpoints.table import FOOTER_BYTES, is_table
from stepscope.summary.checkpoints.tensor_bundle import INDEX_SUFFIX, TensorBundle
from stepscope.summary.checkpoints.tensor_slices import TensorSlices
from stepscope.summary.checkpoints.torch_archive import TorchArchive, pickle_member, refuse_old_file
from stepscope.summary.source import read_up_to

CHECKPOINT_PATTERNS: Final = (
    "*.ckpt",
    "*.h5",
    "*.index",
    "*.keras",
    "*.npy",
    "*.npz",
    "*.pt",
    "*.pth",
    "*.safetensors",
    "pytorch_model*.bin",
)
"""Name patterns of files in a log directory that may be checkpoints."""
EXPECTED: Final = (
    "a TensorFlow checkpoint's .index, Keras' .weights.h5 or .keras, .safetensors, PyTorch's .pt or .pth, .npy or .npz"
)


def open_checkpoint(open_file: OpenFile, name: str) -> Checkpoint:
    """Return the tensors of a file, whatever its name.

    Args:
        open_file: opens the file and the files beside it that belong to it.
        name: the file name; for a TensorFlow checkpoint, the index, any data file, or their common prefix.

    Raises:
        OtherFileError: the file is none of `EXPECTED`.
        CheckpointError: the file cannot be read.
    """
    name = _index_of(open_file, name)
    with reported(name), open_file(name) as stream:
        head = read_up_to(stream, 16)
        stream.seek(0)
        if head.startswith(b"PK\x03\x04"):
            return _of_archive(stream, open_file, name)
        if looks_like_hdf5(head):
            return Hdf5File(open_file, name)
        if head.startswith(b"\x93NUMPY"):
            return NumpyFile(open_file, name)
        if head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= 100_000_000:
            return SafetensorsFile(open_file, name)
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - FOOTER_BYTES))
        if is_table(read_up_to(stream, FOOTER_BYTES)):
            return TensorBundle(open_file, name) if name.endswith(INDEX_SUFFIX) else TensorSlices(open_file, name)
        stream.seek(0)
        refuse_old_file(stream, name)
    raise OtherFileError(f"{name} is not a supported weight file. Expected {EXPECTED}.")


def _of_archive(stream: BinaryIO, open_file: OpenFile, name: str) -> Checkpoint:
    with zipfile.ZipFile(stream) as archive:
        members = archive.namelist()
        if KERAS_WEIGHTS in members:
            return Hdf5File(open_file, name, KERAS_WEIGHTS)
        if pickle_member(archive) is not None:
            return TorchArchive(open_file, name)
        if any(member.endswith(".npy") for member in members):
            return NumpyArchive(open_file, name)
    raise OtherFileError(f"{name} is a ZIP archive without weights. Expected {EXPECTED}.")


def _index_of(open_file: OpenFile, name: str) -> str:
    """Return the index of a TensorFlow checkpoint if the name refers to one; otherwise the name itself."""
    path = PurePosixPath(name)
    stem, found, _ = path.name.rpartition(".data-")
    index = name[: len(name) - len(path.name)] + stem + INDEX_SUFFIX if found else name + INDEX_SUFFIX
    if not found:
        with suppress(OSError, ValueError), open_file(name):
            return name
    with suppress(OSError, ValueError), open_file(index):
        return index
    return name


def open_checkpoint_at(path: str | os.PathLike[str]) -> Checkpoint:
    """Return the tensors of a local file; raise the same errors as `open_checkpoint`."""
    folder, name = os.path.split(os.path.abspath(path))
    return open_checkpoint(partial(open_in, folder), name)


def open_in(folder: str, name: str) -> BinaryIO:
    """Open a file of a local folder for `open_checkpoint`; raise OSError if that fails."""
    return open(os.path.join(folder, name), "rb")
