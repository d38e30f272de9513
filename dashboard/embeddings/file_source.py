"""Single files with points: weights, arrays, or tables, and the user's descriptions of them."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final

import numpy as np

from stepscope.dashboard.embeddings.assembly import EmbeddingUnavailableError, NothingToShowError, ReadPoints, all_rows
from stepscope.dashboard.embeddings.columns import column_of_numbers, column_of_texts, columns_of_table
from stepscope.dashboard.embeddings.dataset import Column, Problem
from stepscope.dashboard.embeddings.metadata import read_metadata_file
from stepscope.dashboard.embeddings.sprites import read_sprite
from stepscope.summary.checkpoints.base import Checkpoint, CheckpointError, OpenFile, OtherFileError, TensorInfo
from stepscope.summary.checkpoints.dispatch import EXPECTED, open_checkpoint
from stepscope.summary.checkpoints.elements import read_floats
from stepscope.summary.checkpoints.numpy_files import NumpyArchive
from stepscope.summary.errors import reason_of
from stepscope.summary.source import read_up_to
from stepscope.summary.vector_table_rules import VectorTableError
from stepscope.summary.vector_tables import TABLE_SUFFIXES, read_vector_table

FILES: Final = f"{EXPECTED}, or a table: {', '.join(TABLE_SUFFIXES)}"
RAW_SUFFIX: Final = ".bytes"
LARGEST_FILE_BESIDE: Final = 1 << 30
"""Maximum bytes of a metadata file or a sprite."""


@dataclass(frozen=True)
class FileAbout:
    """The user's description of a file with points."""

    shape: tuple[int, int] | None = None
    """Shape of raw float32."""
    metadata: str = ""
    """Path of a local metadata file."""
    metadata_name: str = ""
    """The user's name for the metadata file."""
    sprite: str = ""
    """Path of a local image with the pictures of all points."""
    sprite_sizes: tuple[int, ...] = ()
    """Width and height of one point's picture."""
    version: tuple[int, ...] = ()
    """Changes when the additional files change."""


def is_table_name(name: str) -> bool:
    """Return whether a file with this name is read as a table."""
    return name.lower().endswith(TABLE_SUFFIXES)


def matrices_of_file(open_file: OpenFile, name: str, about: FileAbout) -> list[TensorInfo]:
    """Return the matrices of a file; a table is one matrix, whose shape is unknown until it is read.

    Raises:
        NothingToShowError: the file has none.
        EmbeddingUnavailableError: the file cannot be read.
    """
    if is_table_name(name):
        return [TensorInfo(name, (), "float32")]
    if about.shape is not None:
        return [TensorInfo(name, about.shape, "float32")]
    if name.lower().endswith(RAW_SUFFIX):
        raise EmbeddingUnavailableError(f"{name} is raw float32; give its shape, as in --shape 1000x64.")
    try:
        found = [tensor for tensor in open_checkpoint(open_file, name).tensors if tensor.is_matrix]
    except OtherFileError as error:
        raise NothingToShowError(str(error)) from error
    except CheckpointError as error:
        raise EmbeddingUnavailableError(str(error)) from error
    if not found:
        raise NothingToShowError(f"{name} has no matrix, that is, no tensor of two dimensions.")
    return found


def read_file_points(open_file: OpenFile, name: str, tensor: str, about: FileAbout) -> ReadPoints:
    """Return the points of one matrix of a file, with its metadata and sprite.

    Raises:
        EmbeddingUnavailableError: the matrix cannot be read.
    """
    try:
        if is_table_name(name):
            read = _of_table(open_file, name)
        elif about.shape is not None:
            read = _of_raw(open_file, name, about.shape)
        else:
            checkpoint = open_checkpoint(open_file, name)
            read = all_rows(checkpoint.read(tensor))
            read = replace(read, columns=tuple(_columns_beside(checkpoint, tensor, read.row_count)))
    except (CheckpointError, VectorTableError) as error:
        raise EmbeddingUnavailableError(str(error)) from error
    except OSError as error:
        raise EmbeddingUnavailableError(f"{name} cannot be read: {reason_of(error)}.") from error
    return _with_files(read, about)


def _of_table(open_file: OpenFile, name: str) -> ReadPoints:
    with open_file(name) as stream:
        table = read_vector_table(stream, name)
    problems = tuple(Problem(remark.kind, remark.message, remark.count) for remark in table.remarks)
    return ReadPoints(table.points, table.rows, table.row_count, tuple(columns_of_table(table.columns)), problems)


def _of_raw(open_file: OpenFile, name: str, shape: tuple[int, int]) -> ReadPoints:
    with open_file(name) as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        if size != 4 * shape[0] * shape[1]:
            raise EmbeddingUnavailableError(
                f"{name} is {size:,} bytes; {shape[0]:,} x {shape[1]:,} of float32 are {4 * shape[0] * shape[1]:,}."
            )
        return all_rows(read_floats(stream, shape[0] * shape[1], "float32").reshape(shape))


def _columns_beside(checkpoint: Checkpoint, tensor: str, count: int) -> list[Column]:
    """Return the arrays of an ``.npz`` archive with one number or text per point, such as labels."""
    if not isinstance(checkpoint, NumpyArchive):
        return []
    numbers = [other for other in checkpoint.tensors if other.name != tensor and other.shape in ((count,), (count, 1))]
    texts = [name for name, length in checkpoint.text_columns.items() if length == count]
    return [
        *(column_of_numbers(o.name, checkpoint.read(o.name).reshape(-1).astype(np.float64)) for o in numbers),
        *(column_of_texts(name, checkpoint.read_texts(name)) for name in texts),
    ]


def _with_files(read: ReadPoints, about: FileAbout) -> ReadPoints:
    if about.metadata:
        content, problems = _beside(about.metadata, "metadata")
        columns: Sequence[Column] = ()
        if content is not None:
            name = about.metadata_name or Path(about.metadata).name
            columns, problems = read_metadata_file(content, name, read.row_count, read.rows)
        read = replace(read, columns=(*read.columns, *columns), problems=(*read.problems, *problems))
    if about.sprite:
        content, problems = _beside(about.sprite, "sprite")
        if content is not None:
            sprite, problems = read_sprite(content, about.sprite_sizes, read.row_count)
            read = replace(read, sprite=sprite)
        read = replace(read, problems=(*read.problems, *problems))
    return read


def _beside(path: str, kind: str) -> tuple[bytes | None, list[Problem]]:
    try:
        with open(path, "rb") as stream:
            content = read_up_to(stream, LARGEST_FILE_BESIDE + 1)
    except OSError as error:
        name = PurePosixPath(path).name
        return None, [Problem(kind, f"The {kind} file {name} cannot be read: {reason_of(error)}.", 1)]
    if len(content) > LARGEST_FILE_BESIDE:
        return None, [Problem(kind, f"The {kind} file is larger than {LARGEST_FILE_BESIDE:,} bytes.", 1)]
    return content, []
