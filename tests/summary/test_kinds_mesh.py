from typing import Any

import numpy as np
import pytest

from stepscope.summary.kinds import PayloadError, decode, kind_of
from stepscope.summary.kinds.mesh import MeshInfo, mesh, mesh_info
from stepscope.summary.kinds.tensor_proto import numbers_tensor
from stepscope.summary.proto.plugin_data_pb2 import MeshPluginData
from stepscope.summary.proto.summary_pb2 import Summary

TRIANGLE = [[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]
COLORS = [[[255, 0, 0], [0, 255, 0], [0, 0, 7]]]


def content(value: Summary.Value) -> MeshPluginData:
    return MeshPluginData.FromString(value.metadata.plugin_data.content)


def test_three_series() -> None:
    values = mesh("tri", TRIANGLE, COLORS, [[[0, 1, 2]]], {"camera": {"fov": 75}})
    assert [(value.tag, kind_of(value)) for value in values] == [
        ("tri_VERTEX", "mesh"),
        ("tri_FACE", "mesh"),
        ("tri_COLOR", "mesh"),
    ]
    rows = [decode("mesh", value).rows for value in values]
    assert [(array.dtype, array.tolist()) for array in rows] == [
        (np.float32, TRIANGLE),
        (np.int32, [[[0, 1, 2]]]),
        (np.uint8, COLORS),
    ]
    config = '{"camera": {"fov": 75}}'
    assert [content(value) for value in values] == [
        MeshPluginData(name="tri", content_type=1, shape=[1, 3, 3], components=14, json_config=config),  # type: ignore[arg-type]
        MeshPluginData(name="tri", content_type=2, shape=[1, 1, 3], components=14, json_config=config),  # type: ignore[arg-type]
        MeshPluginData(name="tri", content_type=3, shape=[1, 3, 3], components=14, json_config=config),  # type: ignore[arg-type]
    ]
    assert mesh_info(values[2].metadata.plugin_data.content) == MeshInfo(
        "tri", "COLOR", frozenset({"VERTEX", "FACE", "COLOR"}), {"camera": {"fov": 75}}
    )


def test_a_point_cloud_of_one_mesh() -> None:
    (value,) = mesh("cloud", TRIANGLE[0])
    assert decode("mesh", value).rows.tolist() == TRIANGLE
    assert (content(value).components, content(value).json_config) == (2, "{}")


@pytest.mark.parametrize(
    ("colors", "stored"),
    [
        ([[[0.0, 1.0, 0.5]]], [[[0, 255, 128]]]),
        ([[[0.0, 255.0, 7.0]]], [[[0, 255, 7]]]),
        ([[[0, 1, 1]]], [[[0, 1, 1]]]),
        ([[[True, False, True]]], [[[255, 0, 255]]]),
    ],
)
def test_colors(colors: Any, stored: Any) -> None:
    assert decode("mesh", mesh("m", [[[1.0, 2.0, 3.0]]], colors)[1]).rows.tolist() == stored


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[1.0, 2.0]],), ValueError, r"\[batch, n, 3\] or \[n, 3\], got \(1, 2\)"),
        (([[[1.0, 2.0, np.nan]]],), ValueError, "vertices .* must be finite, got nan"),
        ((TRIANGLE, COLORS[0][:2]), ValueError, r"vertices' shape \(1, 3, 3\), got \(1, 2, 3\)"),
        ((TRIANGLE, [[[0, 0, 256]] * 3]), ValueError, "0..255, or floats in 0..1, got 256"),
        ((TRIANGLE, None, [[[0, 1, 3]]]), ValueError, "indices in 0..2, got 3"),
        ((TRIANGLE, None, [[[0, 1, 0.5]]]), ValueError, "indices in 0..2, got 0.5"),
        ((TRIANGLE, None, [[[0, 1, 2]]] * 2), ValueError, "a batch of 1 like the vertices, got 2"),
        ((TRIANGLE, None, None, {"a": object()}), TypeError, "a mapping that JSON can hold"),
        ((TRIANGLE, None, None, 3), TypeError, "a mapping that JSON can hold"),
        ((["a"],), TypeError, "must be real numbers"),
    ],
)
def test_meshes_refuse(arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        mesh("m", *arguments)


def test_older_metadata_means_all_parts() -> None:
    older = MeshPluginData(name="m", content_type=MeshPluginData.FACE, json_config="no JSON")
    assert mesh_info(older.SerializeToString()) == MeshInfo("m", "FACE", frozenset({"VERTEX", "FACE", "COLOR"}), {})


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"\xff", "a MeshPluginData message"), (b"", "a mesh part of VERTEX, FACE, COLOR, got number 0")],
)
def test_metadata_of_no_mesh(data: bytes, message: str) -> None:
    with pytest.raises(PayloadError, match=message):
        mesh_info(data)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Summary.Value(simple_value=1), "as a tensor, got simple_value"),
        (Summary.Value(tensor=numbers_tensor(np.zeros((1, 3, 2)))), r"\[batch, n, 3\], got shape \[1, 3, 2\]"),
    ],
)
def test_what_is_no_mesh(value: Summary.Value, message: str) -> None:
    with pytest.raises(PayloadError, match=message):
        decode("mesh", value)
