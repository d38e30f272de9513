"""Meshes for the page: what is drawn from any data, what is left out, and how it is reported."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from numpy.typing import NDArray

from stepscope.dashboard.page.colors import assign_colors
from stepscope.dashboard.page.state import View
from stepscope.dashboard.panels.cards import Draw, pair_key
from stepscope.dashboard.panels.groups import OfTag
from stepscope.dashboard.panels.mesh import geometry
from stepscope.dashboard.panels.mesh.files import ply
from stepscope.dashboard.panels.mesh.geometry import make_geometry, sample_of
from stepscope.dashboard.panels.mesh.json_config import looks_of
from stepscope.dashboard.panels.mesh.panel import draw, mesh_keys
from stepscope.dashboard.panels.mesh.series import Compare, belonging, compared_points, meshes_of, parse_compare
from stepscope.dashboard.panels.mesh.settings import COMPARE
from stepscope.dashboard.panels.mesh.toolbar import comparisons
from stepscope.dashboard.server.arrays import typed
from stepscope.dashboard.server.binary import unpack
from stepscope.summary import SummaryWriter
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.mesh import mesh
from stepscope.summary.kinds.tensor_proto import numbers_tensor, plugin_metadata
from stepscope.summary.logdir import open_logdir
from stepscope.summary.proto.plugin_data_pb2 import MeshPluginData
from stepscope.summary.proto.summary_pb2 import DATA_CLASS_TENSOR, Summary
from stepscope.summary.series import Series
from tests.dashboard.media import client_of

SQUARE = np.array([[0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0]], np.float32)
TRIANGLES = np.array([[0, 1, 2], [0, 2, 3]], np.int32)
RED = np.tile(np.array([255, 0, 0], np.uint8), (4, 1))


def value(tag: str, name: str, part: int, rows: NDArray[Any], config: str = "") -> Summary.Value:
    """A part of a mesh that our writer would refuse."""
    data = MeshPluginData(name=name, content_type=part, json_config=config)  # type: ignore[arg-type]
    metadata = plugin_metadata("mesh", DATA_CLASS_TENSOR, data.SerializeToString())
    return Summary.Value(tag=tag, metadata=metadata, tensor=numbers_tensor(rows))


def write_parts(folder: Path, steps: dict[str, list[int]]) -> None:
    """A run "a" with a mesh "m" whose parts have points at the given steps."""
    with SummaryWriter(str(folder / "a")) as writer:
        parts = {one.tag: one for one in mesh("m", SQUARE, RED, TRIANGLES)}
        for name, at in steps.items():
            for step in at:
                writer.add_summary(Summary(value=[parts[f"m_{name}"]]), step, walltime=1000.0 + step)


def series_of(folder: Path) -> tuple[Series, Series | None]:
    found = meshes_of(open_logdir(folder).runs["a"])["m"]
    assert found.vertices is not None
    return found.vertices, found.faces


# --- geometry -------------------------------------------------------------------------------------------------------


def test_a_whole_mesh_is_drawn_whole() -> None:
    found = make_geometry(SQUARE, TRIANGLES, RED)
    assert (found.origin + found.positions).tolist() == SQUARE.tolist()
    assert found.faces is not None
    assert found.faces.tolist() == TRIANGLES.tolist()
    assert found.colors is not None
    assert found.colors.tolist() == [[255, 0, 0, 255]] * 4
    assert (found.low.tolist(), found.high.tolist()) == ([0, 0, 0], [2, 2, 0])
    assert (found.vertices, found.face_count, found.every, found.notes) == (4, 2, 1, ())


def test_vertices_that_are_not_finite_go_with_their_faces() -> None:
    vertices = SQUARE.copy()
    vertices[1, 2] = np.nan
    found = make_geometry(vertices, TRIANGLES, RED)
    assert (found.origin + found.positions).tolist() == SQUARE[[0, 2, 3]].tolist()
    assert found.faces is not None
    assert found.faces.tolist() == [[0, 1, 2]]
    assert found.notes == ("1 vertex left out: NaN or infinite", "1 face left out: a vertex is NaN or infinite")


def test_faces_that_point_outside_are_left_out() -> None:
    faces = np.array([[0, 1, 2], [0, 1, 4], [-1, 0, 1]], np.int32)
    found = make_geometry(SQUARE, faces)
    assert found.faces is not None
    assert found.faces.tolist() == [[0, 1, 2]]
    assert found.notes == ("2 faces left out: expected indices of the vertices, 0 to 3",)


def test_colors_of_another_number_are_not_used() -> None:
    found = make_geometry(SQUARE, TRIANGLES, RED[:3])
    assert found.colors is None
    assert found.notes == ("Colors ignored: 3 colors for 4 vertices",)


@pytest.mark.parametrize(
    ("colors", "shade", "notes"),
    [
        (np.full((4, 3), 0.2), 51, ()),
        (np.full((4, 3), 20.4), 20, ()),
        (np.full((4, 3), 300, np.int32), 255, ("12 color values outside 0–255 were clamped",)),
        (np.full((4, 3), np.nan), 0, ("12 color values outside 0–255 were clamped",)),
    ],
)
def test_colors_become_bytes(colors: NDArray[Any], shade: int, notes: tuple[str, ...]) -> None:
    found = make_geometry(SQUARE, None, colors)
    assert found.colors is not None
    assert found.colors[0].tolist() == [shade, shade, shade, 255]
    assert found.notes == notes


def test_distances_are_per_vertex() -> None:
    moved = make_geometry(SQUARE, reference=SQUARE + np.array([0, 3, 4])).moved
    assert moved is not None
    assert (moved.distances.tolist(), moved.mean, moved.most) == ([5, 5, 5, 5], 5, 5)


def test_meshes_of_different_numbers_of_vertices_are_not_compared() -> None:
    found = make_geometry(SQUARE, reference=SQUARE[:3])
    assert (found.moved, found.notes) == (None, ("Not compared: 4 vertices here, 3 there",))


def test_a_vertex_that_is_nowhere_in_the_other_mesh_has_no_distance() -> None:
    reference = SQUARE.copy()
    reference[2] = np.inf
    found = make_geometry(SQUARE, reference=reference)
    assert found.moved is not None
    assert found.moved.distances.tolist() == [0, 0, -1, 0]
    assert found.notes == ("1 vertex not compared: NaN or infinite there; shown in gray",)


def test_meshes_far_from_zero_keep_their_digits() -> None:
    vertices = np.array([[5_000_000.125, 0, 0], [5_000_000.25, 0, 0]])
    found = make_geometry(vertices)
    assert (found.origin[0] + found.positions[:, 0].astype(np.float64)).tolist() == [5_000_000.125, 5_000_000.25]


def test_too_many_points_are_thinned_and_too_many_faces_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geometry, "MOST_VERTICES", 3)
    found = make_geometry(SQUARE, None, RED, SQUARE)
    assert (found.every, len(found.positions), found.vertices) == (2, 2, 4)
    assert found.notes == ("4 points are too many to draw; 1 of 2 is shown",)
    with pytest.raises(PayloadError, match="4 vertices and 2 faces are too many to draw"):
        make_geometry(SQUARE, TRIANGLES)


@pytest.mark.parametrize(
    ("vertices", "why"),
    [(np.empty((0, 3)), "no vertices at this step"), (np.full((2, 3), np.nan), "all 2 vertices are NaN or infinite")],
)
def test_what_cannot_be_drawn_says_why(vertices: NDArray[Any], why: str) -> None:
    with pytest.raises(PayloadError, match=why):
        make_geometry(vertices)


def test_a_sample_that_is_not_there_is_named() -> None:
    with pytest.raises(PayloadError, match="there is no sample 2: this step has 1 mesh"):
        sample_of(SQUARE[np.newaxis], 2)


# --- parts ----------------------------------------------------------------------------------------------------------


def test_parts_belong_by_step_or_to_the_last_one_before(tmp_path: Path) -> None:
    write_parts(tmp_path, {"VERTEX": [0, 5, 5, 10, 20], "FACE": [5, 5, 10]})
    vertices, faces = series_of(tmp_path)
    assert belonging(vertices, faces).tolist() == [-1, 0, 1, 2, 2]
    assert belonging(vertices, None).tolist() == [-1] * 5


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("first", [0, 0, 0, 0]),
        ("previous", [-1, 0, 1, 2]),
        ("run:a", [0, 1, 2, 3]),
        ("at:11:a", [2, 2, 2, 2]),
        ("off", [-1, -1, -1, -1]),
    ],
)
def test_points_to_compare_with(tmp_path: Path, text: str, points: list[int]) -> None:
    write_parts(tmp_path, {"VERTEX": [0, 5, 10, 20]})
    vertices, _ = series_of(tmp_path)
    assert compared_points(vertices, vertices, parse_compare(text)).tolist() == points


@pytest.mark.parametrize("compare", [Compare(), Compare("run", "a:b"), Compare("at", "a:b", -3), Compare("first")])
def test_comparisons_are_read_as_they_are_written(compare: Compare) -> None:
    assert parse_compare(compare.text) == compare


@pytest.mark.parametrize("text", ["", "run:", "first:x", "at:x:a", "at:1", "nothing"])
def test_what_is_no_comparison_counts_as_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"the comparison is|invalid literal"):
        parse_compare(text)
    assert COMPARE.of(View(settings={"mesh.compare": (text,)})) == "off"


def test_a_series_that_does_not_say_its_part_is_known_by_its_tag(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path / "a")) as writer:
        writer.add_summary(Summary(value=[value("m_VERTEX", "", 0, SQUARE[np.newaxis])]), 0)
        writer.add_summary(Summary(value=[value("odd", "", 0, SQUARE[np.newaxis])]), 0)
    found = meshes_of(open_logdir(tmp_path).runs["a"])
    assert found["m"].vertices is not None
    assert found["m"].problems[0].startswith("The metadata of m_VERTEX cannot be read")
    assert found["odd"].vertices is None
    assert found["odd"].problems[1].startswith("odd does not name the part")


# --- configuration --------------------------------------------------------------------------------------------------


def test_a_configuration_is_honored_as_far_as_it_has_a_meaning() -> None:
    config = {
        "camera": {"cls": "PerspectiveCamera", "fov": 60, "position": [1, 2, 3], "near": 0.1},
        "material": {"cls": "MeshBasicMaterial", "color": "#ff8000", "wireframe": True, "roughness": 1},
        "lights": [
            {"cls": "AmbientLight", "color": 0xFFFFFF, "intensity": 0.5},
            {"cls": "DirectionalLight", "position": {"x": 0, "y": 1, "z": 2}},
            {"cls": "SpotLight"},
        ],
        "fog": 1,
    }
    assert looks_of(config) == {
        "camera": {"kind": "perspective", "fov": 60.0, "position": (1.0, 2.0, 3.0), "target": None},
        "material": {
            "unlit": True,
            "color": (1.0, 128 / 255, 0.0),
            "wireframe": True,
            "flat": None,
            "vertexColors": None,
            "size": None,
        },
        "lights": [
            {"color": (1.0, 1.0, 1.0), "intensity": 0.5},
            {"color": (1.0, 1.0, 1.0), "intensity": 1.0, "position": (0.0, 1.0, 2.0)},
        ],
        "ignored": ["camera.near = 0.1", "material.roughness = 1", "lights[2].cls = SpotLight", "fog = 1"],
    }


@pytest.mark.parametrize(
    ("config", "ignored"),
    [
        ({}, []),
        ({"camera": 3, "lights": {}, "material": []}, ["camera = 3", "material = []", "lights = {}"]),
        ({"camera": {"fov": "wide", "position": [1, None]}}, ["camera.fov = wide", "camera.position = [1, None]"]),
        ({"material": {"color": "no color", "size": -1, "wireframe": 1}},
         ["material.color = no color", "material.wireframe = 1", "material.size = -1"]),
        ({"camera": {"fov": 10**400, "position": [0, 10**400, 0]}},
         [f"camera.fov = 1{'0' * 59}", f"camera.position = [0, 1{'0' * 55}"]),
    ],
)  # fmt: skip
def test_what_is_odd_in_a_configuration_is_told(config: dict[str, Any], ignored: list[str]) -> None:
    assert looks_of(config)["ignored"] == ignored


# --- the page's data ------------------------------------------------------------------------------------------------


def test_a_card_knows_which_points_belong_together(tmp_path: Path) -> None:
    write_parts(tmp_path, {"VERTEX": [0, 10], "FACE": [0], "COLOR": [10]})
    snapshot = open_logdir(tmp_path)
    view = View(settings={"mesh.compare": ("first",)})
    assert mesh_keys(snapshot, view) == [(OfTag("m"), pair_key("m", "a"))]
    drawn = draw(pair_key("m", "a"), Draw(snapshot, view, "light", {}))
    color = assign_colors(["a"])["a"]
    steps, walls = typed(np.array([0, 10])), typed(np.array([1000.0, 1010.0]))
    assert drawn == {
        "key": pair_key("m", "a"),
        "tag": "m",
        "run": "a",
        "light": color.light,
        "dark": color.dark,
        "problems": (),
        "looks": looks_of({}),
        "vertices": {
            "steps": steps,
            "walls": walls,
            "faces": typed(np.array([0, 0], np.int32)),
            "colors": typed(np.array([-1, 0], np.int32)),
        },
        "against": {
            "run": "a",
            "same_run": True,
            "index": typed(np.array([0, 0], np.int32)),
            "steps": steps,
            "walls": walls,
        },
    }


def test_a_mesh_without_vertices_says_so(tmp_path: Path) -> None:
    write_parts(tmp_path, {"FACE": [0]})
    drawn = draw(pair_key("m", "a"), Draw(open_logdir(tmp_path), View(), "light", {}))
    assert drawn["vertices"] is None
    assert drawn["problems"] == (
        "There are no vertices: expected the tag m_VERTEX, without which nothing can be drawn.",
    )


def test_a_mesh_whose_run_is_gone_says_so(tmp_path: Path) -> None:
    write_parts(tmp_path, {"VERTEX": [0]})
    drawn = draw(pair_key("m", "gone"), Draw(open_logdir(tmp_path), View(), "light", {}))
    assert (drawn["vertices"], drawn["problems"]) == (None, ("This mesh no longer exists.",))


def test_the_list_of_comparisons_has_the_runs_and_what_is_chosen(tmp_path: Path) -> None:
    write_parts(tmp_path, {"VERTEX": [0]})
    view = View(settings={"mesh.compare": ("at:5:gone",)})
    assert [option["value"] for option in comparisons(open_logdir(tmp_path), view)] == [
        "off",
        "first",
        "previous",
        "run:a",
        "at:5:gone",
    ]


# --- routes ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    """Two samples at step 0; only vertices at step 10, one of them moved; then rows that are no vertices."""
    logs = tmp_path_factory.mktemp("logs")
    with SummaryWriter(str(logs / "a")) as writer:
        writer.add_mesh("m", np.stack([SQUARE, SQUARE * 2]), faces=np.stack([TRIANGLES] * 2), global_step=0)
        moved = SQUARE[np.newaxis].copy()
        moved[0, 0, 2] = 1.5
        writer.add_summary(Summary(value=[value("m_VERTEX", "m", 1, moved)]), 10)
        writer.add_summary(Summary(value=[value("m_VERTEX", "m", 1, np.zeros((4, 2)))]), 20)
    return client_of(logs)


def get(client: TestClient, **params: Any) -> tuple[dict[str, Any], dict[str, list[float]]]:
    answer = client.get("/api/mesh/geometry", params={"run": "a", "tag": "m", **params})
    assert answer.status_code == 200, answer.text
    header, arrays = unpack(answer.content)
    return header, {name: arrays[at].tolist() for name, at in header.pop("columns").items()}


def test_geometry_comes_as_columns(client: TestClient) -> None:
    header, columns = get(client, index=0, face=0, sample=1)
    assert header == {
        "samples": 2,
        "error": "",
        "notes": [],
        "vertices": 4,
        "faces": 2,
        "every": 1,
        "origin": [2.0, 2.0, 0.0],
        "low": [0.0, 0.0, 0.0],
        "high": [4.0, 4.0, 0.0],
        "moved": None,
    }
    assert columns == {
        "positions": [-2, -2, 0, 2, -2, 0, 2, 2, 0, -2, 2, 0],
        "faces": [0, 1, 2, 0, 2, 3],
    }


def test_older_faces_and_distances_are_told(client: TestClient) -> None:
    header, columns = get(client, index=1, face=0, against_run="a", against=0)
    assert header["notes"] == ["Using the faces of step 0: this step has none"]
    assert header["moved"] == {"mean": 0.375, "most": 1.5}
    assert columns["moved"] == [1.5, 0, 0, 0]


@pytest.mark.parametrize(
    ("params", "error"),
    [
        ({"index": 2}, "expected part of a mesh of shape [batch, n, 3], got shape [4, 2]"),
        ({"index": 1, "sample": 1}, "there is no sample 1: this step has 1 mesh"),
    ],
)
def test_what_is_wrong_with_the_data_stands_in_the_answer(
    client: TestClient, params: dict[str, int], error: str
) -> None:
    header, columns = get(client, **params)
    assert (header["error"], columns) == (error, {})


@pytest.mark.parametrize(
    ("params", "status", "why"),
    [
        ({"index": 9}, 404, "the index 9 is out of range"),
        ({"index": 0, "run": "b"}, 404, "unknown run"),
        ({"index": 0, "tag": "b"}, 404, "no mesh of that name"),
        ({"index": 0, "step": 1, "wall_time": 0}, 404, "has changed"),
        ({"index": 0, "face": 7}, 404, "the index 7 is out of range"),
        ({"index": -1}, 422, "greater than or equal to 0"),
    ],
)
def test_what_is_not_there_is_an_error(client: TestClient, params: dict[str, Any], status: int, why: str) -> None:
    answer = client.get("/api/mesh/geometry", params={"run": "a", "tag": "m", **params})
    assert answer.status_code == status
    assert why in answer.text


def test_ply_files_hold_the_whole_mesh(client: TestClient) -> None:
    answer = client.get("/api/mesh/ply", params={"run": "a", "tag": "m", "index": 0, "face": 0})
    assert answer.headers["content-disposition"] == 'attachment; filename="a_m_step0_0.ply"'
    head, _, body = answer.content.partition(b"end_header\n")
    assert head.decode() == (
        "ply\nformat binary_little_endian 1.0\ncomment written by Stepscope\nelement vertex 4\nproperty float x\n"
        "property float y\nproperty float z\nelement face 2\nproperty list uchar uint vertex_indices\n"
    )
    assert np.frombuffer(body, "<f4", 12).reshape(4, 3).tolist() == SQUARE.tolist()
    assert body[48:] == b"".join(b"\3" + row.astype("<u4").tobytes() for row in TRIANGLES)


def test_ply_files_say_what_they_leave_out() -> None:
    content = ply(SQUARE, np.array([[0, 1, 9], [0, 1, 2]]), RED[:2])
    assert b"comment 2 colors do not fit 4 vertices and are left out\n" in content
    assert b"comment 1 faces that point outside the vertices are left out\n" in content
    assert b"element face 1\n" in content


def test_ply_files_have_colors() -> None:
    body = ply(SQUARE[:1], None, RED[:1]).partition(b"end_header\n")[2]
    assert body == SQUARE[:1].tobytes() + b"\xff\0\0"
