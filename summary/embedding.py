"""Embeddings: files next to the event files, and the ``projector_config.pbtxt`` that names them.

The layout is that of PyTorch's ``add_embedding``: ``<step>/<tag>/`` in the run's folder holds ``tensors.tsv`` (or
``tensors.bytes``), ``metadata.tsv`` and ``sprite.png``.
"""

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, assert_never, get_args

import numpy as np

# text_format imports it at the first call; a child forked meanwhile would wait for the end of that import forever.
from google.protobuf import descriptor_pb2 as _descriptor_pb2  # noqa: F401
from google.protobuf import text_format
from numpy.typing import NDArray

from stepscope.summary.arguments import as_array, checked_tag
from stepscope.summary.counts import counted
from stepscope.summary.kinds.pixels import bytes_nhwc, in_grid
from stepscope.summary.kinds.png import png
from stepscope.summary.proto.projector_pb2 import EmbeddingInfo, ProjectorConfig, SpriteMetadata
from stepscope.summary.storage import Folder

CONFIG_NAME: Final = "projector_config.pbtxt"

TensorFormat = Literal["tsv", "float32"]
"""Text, one line per row; or raw little-endian float32, which is smaller and faster to read."""

_LARGEST_SPRITE: Final = 8192
"""Pixels on a side; TensorBoard's projector shows no larger sprites."""
_LONGEST_NAME: Final = 200
"""Bytes of a folder's name; file systems allow 255."""


@dataclass(frozen=True)
class Embedding:
    """The encoded files of an embedding, and their entry in the configuration."""

    info: EmbeddingInfo
    files: dict[str, bytes]
    """Content by path relative to the run's folder."""


def embedding(
    tag: str,
    mat: Any,
    step: int,
    metadata: Any = None,
    label_img: Any = None,
    metadata_header: Sequence[str] | None = None,
    tensor_format: TensorFormat = "tsv",
) -> Embedding:
    """Encode an embedding.

    Args:
        tag: its name.
        mat: one row per point, shape [points, dimensions].
        step: its step.
        metadata: one label per point or, with ``metadata_header``, one row of labels per point; a label is anything
            that `str` accepts. Tabs and line ends, which the format itself uses, become spaces.
        label_img: one image per point, shape [points, channels, height, width], as for images.
        metadata_header: names of the columns; a single column has no header in the file.
        tensor_format: how the rows are stored.

    Raises:
        TypeError: ``mat`` or ``label_img`` is not an array of real numbers.
        ValueError: the shapes do not match, or the pictures together exceed 8192 pixels on a side.
    """
    name = f"the embedding {tag!r}"
    if tensor_format not in get_args(TensorFormat):
        raise ValueError(f"the format of {name} must be 'tsv' or 'float32', got {tensor_format!r}")
    matrix = as_array(mat, name)
    if matrix.ndim != 2 or matrix.size == 0:
        raise ValueError(f"{name} must have shape [points, dimensions], got {matrix.shape}")
    if matrix.dtype == bool:
        matrix = matrix.astype(np.uint8)
    number = str(step).zfill(5)
    folder = f"{number}/{_folder_name(checked_tag(tag))}"
    info = EmbeddingInfo(tensor_name=f"{tag}:{number}", tensor_shape=matrix.shape)
    files: dict[str, bytes] = {}
    match tensor_format:
        case "tsv":
            info.tensor_path = f"{folder}/tensors.tsv"
            files[info.tensor_path] = _lines("\t".join(row.astype(str).tolist()) for row in matrix)
        case "float32":
            info.tensor_path = f"{folder}/tensors.bytes"
            files[info.tensor_path] = matrix.astype("<f4").tobytes()
        case _:
            assert_never(tensor_format)
    if metadata is not None:
        info.metadata_path = f"{folder}/metadata.tsv"
        files[info.metadata_path] = _metadata(metadata, metadata_header, len(matrix), name)
    if label_img is not None:
        sprite, width, height = _sprite(label_img, len(matrix), name)
        path = f"{folder}/sprite.png"
        info.sprite.CopyFrom(SpriteMetadata(image_path=path, single_image_dim=[width, height]))
        files[path] = sprite
    return Embedding(info, files)


def write_embedding(folder: Folder, encoded: Embedding) -> None:
    """Write the files, then name them in the configuration, whose other entries stay as they are.

    An entry with the same tensor name is replaced. Each file is replaced atomically, so that a reader never sees half.

    Raises:
        ValueError: the existing configuration cannot be read; it is left alone, and nothing is written.
        OSError: a file cannot be read or written.
    """
    config = _config(folder)
    others = [info for info in config.embeddings if info.tensor_name != encoded.info.tensor_name]
    del config.embeddings[:]
    config.embeddings.extend([*others, encoded.info])
    for path, content in encoded.files.items():
        folder.replace(path, content)
    folder.replace(CONFIG_NAME, text_format.MessageToString(config).encode())


def _config(folder: Folder) -> ProjectorConfig:
    try:
        text = folder.read(CONFIG_NAME).decode()
    except FileNotFoundError:
        return ProjectorConfig()
    except UnicodeDecodeError as error:
        raise ValueError(_unreadable_config(folder, error)) from error
    try:
        return text_format.Parse(text, ProjectorConfig())
    except text_format.ParseError as error:
        raise ValueError(_unreadable_config(folder, error)) from error


def _unreadable_config(folder: Folder, error: Exception) -> str:
    path = f"{folder.address}/{CONFIG_NAME}"
    return f"{path} must be a projector configuration; correct it or move it away: {error}"


def _folder_name(tag: str) -> str:
    name = tag
    for letter in "%/\\\0":
        name = name.replace(letter, f"%{ord(letter):02x}")
    if name in (".", ".."):
        name = name.replace(".", "%2e")
    encoded = name.encode()
    if len(encoded) <= _LONGEST_NAME:
        return name
    return f"{encoded[:_LONGEST_NAME].decode(errors='ignore')}-{hashlib.sha256(encoded).hexdigest()[:16]}"


def _metadata(metadata: Any, header: Sequence[str] | None, count: int, name: str) -> bytes:
    labels = list(metadata.tolist() if hasattr(metadata, "tolist") else metadata)
    if len(labels) != count:
        raise ValueError(f"{name} needs one label per point, got {len(labels)} for {counted(count, 'point')}")
    if header is None:
        return _lines(_cell(label) for label in labels)
    rows = [list(row) for row in labels]
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"{name} needs a label for each of {list(header)}, got {row}")
    if len(header) > 1:
        rows.insert(0, list(header))
    return _lines("\t".join(map(_cell, row)) for row in rows)


def _cell(label: Any) -> str:
    return " ".join(str(label).replace("\t", " ").splitlines())


def _lines(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _sprite(label_img: Any, count: int, name: str) -> tuple[bytes, int, int]:
    """Return the pictures row by row in a square grid, as PNG, and the size of each."""
    pictures: NDArray[np.uint8] = bytes_nhwc(label_img, "NCHW", f"the images of {name}")
    points, height, width, _ = pictures.shape
    if points != count:
        raise ValueError(f"{name} needs one image per point, got {points} for {counted(count, 'point')}")
    side = math.ceil(math.sqrt(points))
    if side * max(width, height) > _LARGEST_SPRITE:
        raise ValueError(
            f"the images of {name} must fit into {_LARGEST_SPRITE} x {_LARGEST_SPRITE} pixels together,"
            f" got {side} x {side} of {width} x {height}"
        )
    return png(in_grid(pictures, side, side)), width, height
