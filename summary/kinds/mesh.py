"""Meshes and point clouds: vertices, and optionally faces and colors, each as its own series."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from stepscope.summary.arguments import as_array
from stepscope.summary.bounded_messages import parse
from stepscope.summary.kinds.base import Kind, PayloadError
from stepscope.summary.kinds.tensor_proto import numbers, numbers_tensor, plugin_metadata
from stepscope.summary.proto import summary_pb2
from stepscope.summary.proto.plugin_data_pb2 import MeshPluginData
from stepscope.summary.proto.summary_pb2 import Summary

PLUGIN_NAME: Final = "mesh"

MeshPart = Literal["VERTEX", "FACE", "COLOR"]

_PARTS: Final[dict[int, MeshPart]] = {
    MeshPluginData.VERTEX: "VERTEX",
    MeshPluginData.FACE: "FACE",
    MeshPluginData.COLOR: "COLOR",
}


@dataclass(frozen=True)
class Mesh:
    """One part of a batch of meshes; `mesh_info` of the series tells which."""

    rows: NDArray[Any]
    """Shape [batch, n, 3], read-only: coordinates, indices of vertices, or red, green and blue in 0..255."""


@dataclass(frozen=True)
class MeshInfo:
    """The metadata of a mesh series; series with the same ``name`` belong together."""

    name: str
    part: MeshPart
    parts: frozenset[MeshPart]
    """All parts that the mesh has."""
    config: Mapping[str, Any]
    """Camera, lights and material, in three.js terms; empty if missing or unreadable."""


def mesh(
    tag: str,
    vertices: Any,
    colors: Any = None,
    faces: Any = None,
    config: Mapping[str, Any] | None = None,
) -> list[Summary.Value]:
    """Return the values ``<tag>_VERTEX``, ``<tag>_FACE`` and ``<tag>_COLOR`` of the given parts.

    Args:
        tag: the mesh's name.
        vertices: coordinates, shape [batch, vertices, 3], or [vertices, 3] for one mesh; stored as float32.
        colors: red, green and blue of each vertex, with the same shape: whole numbers in 0..255, or floats in 0..1;
            floats are taken as 0..255 if one is above 1. Stored as uint8.
        faces: indices of each triangle's vertices, shape [batch, faces, 3] or [faces, 3]; stored as int32.
        config: camera, lights and material, in three.js terms.

    Raises:
        TypeError: an argument is not an array of real numbers, or ``config`` cannot be encoded as JSON.
        ValueError: a shape does not match, a coordinate is not finite, or an index or a color is out of range.
    """
    name = f"the mesh {tag!r}"
    points = _batch(vertices, f"the vertices of {name}")
    if not np.isfinite(points).all():
        raise ValueError(f"the vertices of {name} must be finite, got {points[~np.isfinite(points)][0]}")
    parts: dict[int, NDArray[Any]] = {MeshPluginData.VERTEX: points.astype(np.float32)}
    if faces is not None:
        parts[MeshPluginData.FACE] = _faces(faces, points, name)
    if colors is not None:
        parts[MeshPluginData.COLOR] = _colors(colors, points, name)
    try:
        json_config = json.dumps(dict(config or {}), sort_keys=True)
    except (TypeError, ValueError) as error:
        raise TypeError(f"the configuration of {name} must be a mapping that JSON can hold: {error}") from None
    components = sum(1 << part for part in parts)
    values = []
    for part, rows in parts.items():
        data = MeshPluginData(
            name=tag,
            content_type=part,  # type: ignore[arg-type]
            json_config=json_config,
            shape=rows.shape,
            components=components,
        )
        metadata = plugin_metadata(PLUGIN_NAME, summary_pb2.DATA_CLASS_TENSOR, data.SerializeToString())
        values.append(Summary.Value(tag=f"{tag}_{_PARTS[part]}", metadata=metadata, tensor=numbers_tensor(rows)))
    return values


def decode_mesh(value: Summary.Value) -> Mesh:
    """Decode a numeric tensor of shape [batch, n, 3].

    Raises:
        PayloadError: the value is not such a tensor.
    """
    if value.WhichOneof("value") != "tensor":
        raise PayloadError(f"expected a mesh as a tensor, got {value.WhichOneof('value') or 'no value'}")
    rows = numbers(value.tensor)
    if rows.ndim != 3 or rows.shape[2] != 3:
        raise PayloadError(f"expected part of a mesh of shape [batch, n, 3], got shape {list(rows.shape)}")
    return Mesh(rows)


def mesh_info(plugin_content: bytes) -> MeshInfo:
    """Return the information in ``Series.plugin_content`` of a mesh series.

    Raises:
        PayloadError: the content is not a MeshPluginData message that names a part.
    """
    try:
        data = parse(MeshPluginData, plugin_content)
    except DecodeError as error:
        raise PayloadError(f"expected a MeshPluginData message, got {plugin_content[:20]!r}...: {error}") from error
    if data.content_type not in _PARTS:
        raise PayloadError(f"expected a mesh part of {', '.join(_PARTS.values())}, got number {data.content_type}")
    # Older writers do not state which parts exist.
    parts = [part for number, part in _PARTS.items() if data.components & (1 << number)] or _PARTS.values()
    return MeshInfo(data.name, _PARTS[data.content_type], frozenset(parts), _config(data.json_config))


def _config(text: str) -> Mapping[str, Any]:
    try:
        config = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return config if isinstance(config, dict) else {}


def _batch(rows: Any, name: str) -> NDArray[Any]:
    array = as_array(rows, name)
    batch = array[np.newaxis] if array.ndim == 2 else array
    if batch.ndim != 3 or batch.shape[2] != 3 or batch.size == 0:
        raise ValueError(f"{name} must have shape [batch, n, 3] or [n, 3], got {array.shape}")
    return batch


def _faces(faces: Any, points: NDArray[Any], name: str) -> NDArray[np.int32]:
    indices = _batch(faces, f"the faces of {name}")
    if len(indices) != len(points):
        raise ValueError(f"the faces of {name} must be a batch of {len(points)} like the vertices, got {len(indices)}")
    wrong = ~((indices >= 0) & (indices < points.shape[1]) & (indices == np.floor(indices)))
    if wrong.any():
        last = points.shape[1] - 1
        raise ValueError(f"the faces of {name} must be indices in 0..{last}, got {indices[wrong][0]}")
    return indices.astype(np.int32)


def _colors(colors: Any, points: NDArray[Any], name: str) -> NDArray[np.uint8]:
    shades = _batch(colors, f"the colors of {name}")
    if shades.shape != points.shape:
        raise ValueError(f"the colors of {name} must have the vertices' shape {points.shape}, got {shades.shape}")
    wrong = ~((shades >= 0) & (shades <= 255))
    if wrong.any():
        raise ValueError(f"the colors of {name} must be in 0..255, or floats in 0..1, got {shades[wrong][0]}")
    scale = 255 if shades.dtype.kind in "fb" and shades.max() <= 1 else 1
    return np.asarray(np.rint(shades.astype(np.float64) * scale), dtype=np.uint8)


KIND: Final = Kind(
    plugin_name=PLUGIN_NAME,
    decode=decode_mesh,
    about="part of a mesh or point cloud",
    array=lambda found: found.rows,
)
