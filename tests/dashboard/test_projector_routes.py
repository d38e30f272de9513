import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from stepscope.summary import SummaryWriter
from stepscope.summary.projector import LARGEST_CONFIG, projector_runs
from stepscope.summary.snapshot import EMPTY_SNAPSHOT
from tests.dashboard.routes import client_with_companions

POINTS = np.arange(6, dtype=np.float32).reshape(3, 2)
PLUGIN_FOLDER = "plugins/org_tensorflow_tensorboard_projector"


def write_config(folder: Path, *embeddings: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    content = "\n".join(f"embeddings {{ {fields} }}" for fields in embeddings)
    (folder / "projector_config.pbtxt").write_text(content)


def ask(client: TestClient, route: str, **query: Any) -> Any:
    return client.get(f"/data/plugin/projector/{route}", params=query)


def points_of(client: TestClient, run: str, name: str, columns: int = 2, **query: Any) -> list[list[float]]:
    answer = ask(client, "tensor", run=run, name=name, **query)
    assert answer.status_code == 200, answer.text
    points: list[list[float]] = np.frombuffer(answer.content, "<f4").reshape(-1, columns).tolist()
    return points


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """A log directory next to a file that nobody may read."""
    (tmp_path / "secret.tsv").write_text("1\t2\n")
    folder = tmp_path / "logs"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "points.tsv").write_text("0\t1\n\n2\t3\n4\t5\n")
    return folder


def test_what_the_writer_writes_is_read(logdir: Path) -> None:
    with SummaryWriter(str(logdir / "w")) as writer:
        labels = [["cat", 1], ["dog", 2], ["owl", 3]]
        writer.add_embedding(POINTS, labels, np.zeros((3, 3, 2, 2)), 7, "e", metadata_header=["name", "age"])
    client = client_with_companions(logdir)
    assert ask(client, "runs").json() == ["w"]
    assert ask(client, "info", run="w").json()["embeddings"][0]["tensorShape"] == [3, 2]
    assert points_of(client, "w", "e:00007") == POINTS.tolist()
    assert points_of(client, "w", "e:00007", num_rows=2) == POINTS[:2].tolist()
    assert ask(client, "metadata", run="w", name="e:00007", num_rows=1).text == "name\tage\ncat\t1\n"
    picture = ask(client, "sprite_image", run="w", name="e:00007")
    assert picture.headers["content-type"] == "image/png"
    assert picture.content.startswith(b"\x89PNG")
    assert ask(client, "bookmarks", run="w", name="e:00007").status_code == 404


def test_configuration_without_shapes_and_names(logdir: Path) -> None:
    write_config(logdir / "a", 'tensor_path: "points.tsv"', 'tensor_name: "of a checkpoint"')
    client = client_with_companions(logdir)
    about = {"tensorName": "points.tsv", "tensorPath": "points.tsv", "tensorShape": [3, 2]}
    assert ask(client, "info", run="a").json() == {"embeddings": [about]}
    assert points_of(client, "a", "points.tsv:0") == POINTS.tolist()


def test_raw_float32_and_bookmarks(logdir: Path) -> None:
    (logdir / "a" / "points.bytes").write_bytes((POINTS - 3).tobytes())
    # Zeros are valid UTF-8 as well.
    (logdir / "a" / "zeros.bytes").write_bytes(bytes(24))
    (logdir / "a" / "marks.json").write_text('[{"label": "a"}]')
    write_config(
        logdir / "a",
        'tensor_name: "raw" tensor_shape: 3 tensor_shape: 2 tensor_path: "points.bytes" bookmarks_path: "marks.json"',
        'tensor_name: "zeros" tensor_shape: 2 tensor_shape: 3 tensor_path: "zeros.bytes"',
        'tensor_name: "other shape" tensor_shape: 9 tensor_shape: 2 tensor_path: "points.bytes"',
    )
    client = client_with_companions(logdir)
    assert points_of(client, "a", "raw") == (POINTS - 3).tolist()
    assert points_of(client, "a", "raw", num_rows=1) == [[-3.0, -2.0]]
    assert points_of(client, "a", "zeros", 3) == [[0.0, 0.0, 0.0]] * 2
    assert json.loads(ask(client, "bookmarks", run="a", name="raw").content) == [{"label": "a"}]
    answer = ask(client, "tensor", run="a", name="other shape")
    assert answer.status_code == 404
    assert "nor raw float32 of shape [9, 2]" in answer.json()["detail"]


def test_the_folder_of_the_plugin_goes_before_that_of_the_run(logdir: Path) -> None:
    write_config(logdir / "a", 'tensor_name: "of the run" tensor_path: "points.tsv"')
    write_config(logdir / "a" / PLUGIN_FOLDER, 'tensor_name: "of the plugin" tensor_path: "../../points.tsv"')
    write_config(logdir / PLUGIN_FOLDER, f'tensor_name: "of the root" tensor_path: "{logdir}/a/points.tsv"')
    client = client_with_companions(logdir)
    assert ask(client, "runs").json() == [".", "a"]
    assert points_of(client, "a", "of the plugin") == POINTS.tolist()
    assert points_of(client, ".", "of the root") == POINTS.tolist()


@pytest.mark.parametrize("path", ["../../secret.tsv", "{outside}/secret.tsv", "link.tsv", "folder/secret.tsv"])
def test_no_path_leads_out_of_the_log_directory(logdir: Path, path: str) -> None:
    (logdir / "a" / "link.tsv").symlink_to(logdir.parent / "secret.tsv")
    (logdir / "a" / "folder").symlink_to(logdir.parent)
    path = path.format(outside=logdir.parent)
    fields = f'metadata_path: "{path}" bookmarks_path: "{path}" sprite {{ image_path: "{path}" }}'
    write_config(logdir / "a", f'tensor_name: "e" tensor_path: "{path}" {fields}')
    client = client_with_companions(logdir)
    for route in ("tensor", "metadata", "bookmarks", "sprite_image"):
        answer = ask(client, route, run="a", name="e")
        assert answer.status_code == 404
        assert "outside the log directory" in answer.json()["detail"]
    assert ask(client, "info", run="a").json()["embeddings"][0].get("tensorShape") is None


def test_a_run_that_is_a_link_shows_its_own_files(logdir: Path) -> None:
    elsewhere = logdir.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "points.tsv").write_text("1\t2\n")
    write_config(elsewhere, 'tensor_name: "own" tensor_path: "points.tsv"', 'tensor_path: "../secret.tsv"')
    (logdir / "linked").symlink_to(elsewhere)
    client = client_with_companions(logdir)
    assert points_of(client, "linked", "own") == [[1.0, 2.0]]
    assert ask(client, "tensor", run="linked", name="secret.tsv").status_code == 404


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("gone.tsv", "There is no file"),
        (".", "There is no file"),
        ("nul\\000.tsv", "is not a path"),
        ("x" * 5000, "cannot be read"),
        ("ragged.tsv", "neither lines of numbers"),
        ("words.tsv", "neither lines of numbers"),
        ("loop.tsv", "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_said(logdir: Path, path: str, reason: str) -> None:
    (logdir / "a" / "ragged.tsv").write_text("1\t2\n3\n")
    (logdir / "a" / "words.tsv").write_text("# no\tcomment\n")
    (logdir / "a" / "loop.tsv").symlink_to(logdir / "a" / "loop.tsv")
    write_config(logdir / "a", f'tensor_name: "e" tensor_path: "{path}"')
    answer = ask(client_with_companions(logdir), "tensor", run="a", name="e")
    assert answer.status_code == 404
    assert reason in answer.json()["detail"]


def test_an_empty_file_has_no_points(logdir: Path) -> None:
    (logdir / "a" / "empty.tsv").write_text("\n \n")
    write_config(logdir / "a", 'tensor_name: "e" tensor_path: "empty.tsv"')
    assert ask(client_with_companions(logdir), "tensor", run="a", name="e").content == b""


def test_a_sprite_that_is_no_picture_is_not_sent(logdir: Path) -> None:
    (logdir / "a" / "page.png").write_text("<script>alert(1)</script>")
    write_config(logdir / "a", 'tensor_name: "e" tensor_path: "points.tsv" sprite { image_path: "page.png" }')
    assert ask(client_with_companions(logdir), "sprite_image", run="a", name="e").status_code == 422


@pytest.mark.parametrize("content", [b"embeddings {", b"\xff\xfe", b"#" * (LARGEST_CONFIG + 1)], ids=len)
def test_an_unreadable_configuration_is_said(logdir: Path, content: bytes) -> None:
    (logdir / "a" / "projector_config.pbtxt").write_bytes(content)
    client = client_with_companions(logdir)
    assert ask(client, "runs").json() == []
    answer = ask(client, "info", run="a")
    assert answer.status_code == 422
    assert "a/projector_config.pbtxt is not a readable projector configuration" in answer.json()["detail"]


def test_unknown_runs_and_names(logdir: Path) -> None:
    write_config(logdir / "a", 'tensor_name: "e" tensor_path: "points.tsv"')
    client = client_with_companions(logdir)
    assert ask(client, "info", run="../..").status_code == 404
    answer = ask(client, "tensor", run="a", name="f")
    assert answer.json() == {"detail": "'a' has no embedding 'f'; it has e."}
    assert ask(client, "tensor", run="a", name="e", num_rows=0).status_code == 422


def test_nothing_comes_of_nothing() -> None:
    assert projector_runs(EMPTY_SNAPSHOT) == {}
