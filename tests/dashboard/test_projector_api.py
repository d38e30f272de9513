"""The Projector's own routes for a tiny log directory, in the real server's application."""

import base64
import io
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from stepscope.dashboard.embeddings import plans, quality_and_clusters
from stepscope.dashboard.embeddings.columns import column_of_texts
from stepscope.dashboard.embeddings.job_queue import Jobs
from stepscope.dashboard.embeddings.methods import SETTINGS as KINDS
from stepscope.dashboard.embeddings.quality_and_clusters import HdbscanSettings, KmeansSettings
from stepscope.dashboard.embeddings.requests import EmbeddingRequests
from stepscope.dashboard.embeddings.uploads import Uploads
from stepscope.dashboard.panels.projector.panel import ProjectorPanel
from stepscope.dashboard.panels.registry import companion_patterns
from stepscope.dashboard.server.app import build_app
from stepscope.dashboard.server.binary import unpack
from stepscope.dashboard.server.live import Live
from stepscope.summary import SummaryWriter
from stepscope.summary.logdir import Logdir
from tests.dashboard.media import NoFollower

ID = "r|config|words"
GROWING = "r|config|growing"
JSON = {"content-type": "application/json"}
POINTS = [[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 4], [1, 1, 1], [5, 5, 5]]
ROWS = [["cat", "1"], ["Dog", "2"], ["cat", "10"], ["", ""], ["bird", "-1"], ["dog", "2.5"]]
ENDLESS = 1_000_000


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("logs")
    with SummaryWriter(str(path / "r")) as writer:
        writer.add_embedding(np.array(POINTS, np.float32), ROWS, tag="words", metadata_header=["animal", "size"])
        cloud = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
        for step in (0, 10, 20):
            metadata = [["even", "odd"][row % 2] for row in range(40)]
            writer.add_embedding(cloud + step / 100, metadata, global_step=step, tag="growing")
    return path


@pytest.fixture
def live(logdir: Path) -> Iterator[Live]:
    live = Live(str(logdir), lambda publish: NoFollower())
    live.publish(Logdir(logdir, companion_patterns=companion_patterns()).update())
    yield live
    live.stop()
    live.shared(Jobs).close()


@pytest.fixture
def client(live: Live) -> TestClient:
    return TestClient(build_app(live, panels=[ProjectorPanel()]), base_url="http://localhost:6006")


def ask(client: TestClient, path: str, **parameters: Any) -> Any:
    answer = client.get(f"/api/projector/{path}", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def packed(client: TestClient, path: str, **parameters: Any) -> tuple[dict[str, Any], list[Any]]:
    answer = client.get(f"/api/projector/{path}", params=parameters)
    assert answer.status_code == 200, answer.text
    header, arrays = unpack(answer.content)
    return header, list(arrays)


def post(client: TestClient, path: str, **body: Any) -> Any:
    answer = client.post(f"/api/projector/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def done(client: TestClient, job: str, **parameters: Any) -> tuple[dict[str, Any], list[Any]]:
    """The last picture of a job, once it has ended."""
    version = -1
    while True:
        header, _ = packed(client, "frame", job=job, after=version, **parameters)
        version = header["version"]
        if header["state"] not in ("queued", "running"):
            return packed(client, "frame", job=job, **parameters)


def kept(client: TestClient, rows: list[int], id: str = ID) -> str:
    text = base64.b64encode(np.array(rows, "<u4").tobytes()).decode()
    answer = post(client, "rows", id=id, rows=text)
    assert answer["count"] == len(set(rows))
    key: str = answer["key"]
    return key


def test_the_listing(client: TestClient) -> None:
    words = {"id": ID, "run": "r", "label": "words", "kind": "config", "steps": [0], "shape": [6, 3], "problem": ""}
    growing = words | {"id": GROWING, "label": "growing", "steps": [0, 10, 20], "shape": [40, 4]}
    assert ask(client, "embeddings") == {"embeddings": [words, growing], "unlisted": 0}


def test_a_dataset(client: TestClient) -> None:
    found = ask(client, "dataset", id=ID)
    assert len(found.pop("digest")) > 8
    assert found == {
        "id": ID,
        "label": "words",
        "run": "r",
        "step": 0,
        "steps": [0],
        "count": 6,
        "dimensions": 3,
        "left_out": [],
        "problems": [],
        "columns": [
            {
                "name": "animal",
                "kind": "text",
                "categories": 4,
                "minimum": None,
                "maximum": None,
                "missing": 1,
                "derived": False,
            },
            {
                "name": "size",
                "kind": "number",
                "categories": 5,
                "minimum": -1.0,
                "maximum": 10.0,
                "missing": 1,
                "derived": False,
            },
        ],
        "sprite": None,
        "bookmarks": [],
        "limits": {"tsne": 500_000, "umap": 1_000_000},
    }
    assert ask(client, "dataset", id=GROWING)["step"] == 20
    assert ask(client, "dataset", id=GROWING, step=0)["step"] == 0


def test_columns(client: TestClient) -> None:
    header, (codes,) = packed(client, "column", id=ID, name="animal")
    named = [header["categories"][code] if code >= 0 else "" for code in codes]
    assert (header["kind"], codes.dtype, named) == ("text", np.int32, ["cat", "Dog", "cat", "", "bird", "dog"])
    header, (numbers,) = packed(client, "column", id=ID, name="size")
    assert header == {"name": "size", "kind": "number", "categories": None}
    np.testing.assert_array_equal(numbers, [1, 2, 10, np.nan, -1, 2.5])


def test_labels(client: TestClient) -> None:
    assert ask(client, "labels", id=ID, name="animal", rows="4,0") == {"texts": ["bird", "cat"]}
    assert post(client, "labels", id=ID, name="size", rows=[2, 3, 5]) == {"texts": ["10", "", "2.5"]}


@pytest.mark.parametrize(
    ("parameters", "order"),
    [
        ({}, [0, 1, 2, 3, 4, 5]),
        ({"descending": True}, [5, 4, 3, 2, 1, 0]),
        ({"sort": "animal"}, [4, 0, 2, 1, 5, 3]),
        ({"sort": "animal", "descending": True}, [1, 5, 0, 2, 4, 3]),
        ({"sort": "size"}, [4, 0, 1, 5, 2, 3]),
        ({"sort": "size", "descending": True}, [2, 5, 1, 0, 4, 3]),
        ({"sort": "size", "offset": 2, "limit": 2}, [1, 5]),
        ({"offset": 9}, []),
    ],
)
def test_the_order_of_the_table(client: TestClient, parameters: dict[str, Any], order: list[int]) -> None:
    found = ask(client, "table", id=ID, **parameters)
    assert (found["count"], [row["#"] for row in found["rows"]]) == (6, order)


def test_the_table_of_some_points(client: TestClient) -> None:
    found = ask(client, "table", id=ID, sort="size", rows_of=kept(client, [5, 3, 1, 3]))
    assert found == {
        "count": 3,
        "rows": [
            {"#": 1, "animal": "Dog", "size": 2.0},
            {"#": 5, "animal": "dog", "size": 2.5},
            {"#": 3, "animal": "", "size": None},
        ],
    }


def test_a_point(client: TestClient) -> None:
    assert ask(client, "row", id=ID, row=2) == {
        "row": 2,
        "file_row": 2,
        "values": {"animal": "cat", "size": "10"},
        "norm": 2.0,
    }


@pytest.mark.parametrize(
    ("metric", "rows", "distances"),
    [
        ("euclidean", [0, 4, 2], [1.0, 2**0.5, 5**0.5]),
        ("cosine", [4, 5, 0], [1 - 3**-0.5, 1 - 3**-0.5, 1.0]),
        ("inner", [5, 4, 0], [5.0, 1.0, 0.0]),
    ],
)
def test_neighbors(client: TestClient, metric: str, rows: list[int], distances: list[float]) -> None:
    found = ask(client, "neighbors", id=ID, row=1, count=3, metric=metric)
    assert (found["rows"], found["metric"], found["exact"]) == (rows, metric, True)
    assert found["distances"] == pytest.approx(distances, abs=1e-6)


@pytest.mark.parametrize(
    ("parameters", "rows"),
    [
        ({"q": "DOG"}, [1, 5]),
        ({"q": "^(cat|bird)$", "match": "regex"}, [0, 2, 4]),
        ({"q": "2", "in": "size"}, [1, 5]),
        ({"q": "2", "in": "animal"}, []),
        ({"q": "^-?1$", "match": "regex", "in": "*"}, [0, 4]),
        ({"q": ".", "match": "text"}, [5]),
    ],
)
def test_searches(client: TestClient, parameters: dict[str, Any], rows: list[int]) -> None:
    header, (found,) = packed(client, "search", id=ID, **parameters)
    assert (found.tolist(), header["count"], header["shown"], header["error"]) == (rows, len(rows), len(rows), None)
    assert ask(client, "table", id=ID, rows_of=header["key"])["count"] == len(rows)


def test_a_search_that_is_none_says_so(client: TestClient) -> None:
    header, (found,) = packed(client, "search", id=ID, q="(", match="regex")
    assert (header["count"], len(found), header["error"]) == (0, 0, "Missing ) at position 1.")


def test_pca(client: TestClient) -> None:
    begun = post(client, "project", id=ID, projection="pca", settings={"components": 3})
    header, (flat,) = done(client, begun["job"])
    assert (header["state"], header["projection"], header["dimensions"]) == ("done", "pca", 3)
    assert (header["settings"], header["seed"], header["step"]) == ({"components": 3}, None, 0)
    assert sum(header["components"]["ratios"]) == pytest.approx(1)
    picture = flat.reshape(-1, 3)
    # With all three dimensions, distances are those of the points.
    points = np.array(POINTS, np.float32)
    assert np.linalg.norm(picture[1] - picture[5]) == pytest.approx(np.linalg.norm(points[1] - points[5]), rel=1e-5)
    again = post(client, "project", id=ID, projection="pca", settings={"components": 3})
    assert (again["job"], again["state"], again["cached"]) == (begun["job"], "done", True)
    unchanged, arrays = packed(client, "frame", job=begun["job"], after=header["version"], wait=0)
    assert (unchanged["version"], arrays) == (header["version"], [])


def test_pca_of_all_steps_keeps_points_in_their_place(client: TestClient) -> None:
    begun = post(client, "project", id=GROWING, projection="pca", steps=[0, 10, 20], settings={"components": 2})
    header, (last,) = done(client, begun["job"])
    assert (header["frames"], header["step"], header["frames_done"]) == ([0, 10, 20], 20, 3)
    assert header["notes"] == ["Components are those of all steps together."]
    first_header, (first,) = done(client, begun["job"], frame=0)
    assert first_header["step"] == 0
    # All points moved by the same vector, and so did their pictures.
    moved = (last - first).reshape(-1, 2)
    np.testing.assert_allclose(moved, np.tile(moved[0], (40, 1)), atol=1e-5)


def test_custom_axes(client: TestClient) -> None:
    axes = [
        {"left": {"rows": [0]}, "right": {"rows": [1]}},
        {"left": {"rows": [0]}, "right": {"q": "^10$", "match": "regex", "in": "size"}},
    ]
    begun = post(client, "project", id=ID, projection="custom", axes=axes)
    _, (flat,) = done(client, begun["job"])
    expected = np.array(POINTS, np.float32)[:, :2] - [0.5, 1.0]
    np.testing.assert_allclose(flat.reshape(-1, 2), expected, atol=1e-6)


def test_a_custom_axis_of_some_points_lies_between_ends_that_are_none_of_them(client: TestClient) -> None:
    axes = [{"left": {"rows": [0]}, "right": {"rows": [4]}}]
    whole = post(client, "project", id=ID, projection="custom", axes=axes)
    _, (of_all,) = done(client, whole["job"])
    some = post(client, "project", id=ID, projection="custom", axes=axes, rows=kept(client, [1, 3, 5]))
    _, (flat, rows) = done(client, some["job"])
    assert (len(flat), rows.tolist()) == (6, [1, 3, 5])
    np.testing.assert_allclose(flat.reshape(-1, 2), of_all.reshape(-1, 2)[[1, 3, 5]], atol=1e-6)


def test_what_is_only_looked_for_is_not_begun(client: TestClient) -> None:
    order = {"id": ID, "projection": "random", "settings": {"seed": 11}}
    assert post(client, "project", **order, only_if_known=True) == {"job": None}
    begun = post(client, "project", **order)
    done(client, begun["job"])
    known = post(client, "project", **order, only_if_known=True)
    assert (known["job"], known["cached"]) == (begun["job"], True)


def test_random_axes_of_some_points(client: TestClient) -> None:
    key = kept(client, [1, 3, 5])
    begun = post(client, "project", id=ID, projection="random", settings={"dimensions": 2, "seed": 7}, rows=key)
    header, (flat, rows) = done(client, begun["job"])
    assert (len(flat), rows.tolist(), header["seed"], header["count"]) == (6, [1, 3, 5], 7, 3)
    near = ask(client, "neighbors", id=ID, row=3, job=begun["job"])
    assert sorted(near["rows"]) == [1, 5]
    refused = client.get("/api/projector/neighbors", params={"id": ID, "row": 2, "job": begun["job"]})
    assert (refused.status_code, refused.json()["detail"]) == (404, "The point 2 is not in the view.")


def tsne(client: TestClient, iterations: int, **more: Any) -> str:
    settings = {"iterations": iterations, "exaggeration_iterations": 20, "perplexity": 5, **more.pop("settings", {})}
    job: str = post(client, "project", id=GROWING, projection="tsne", settings=settings, **more)["job"]
    return job


def test_tsne_streams_and_is_judged_and_clustered_and_written(client: TestClient) -> None:
    job = tsne(client, 200, supervise="label", settings={"supervision": 50})
    header, (flat,) = done(client, job)
    assert (header["state"], header["iteration"], header["loss"] is not None) == ("done", 200, True)
    assert (flat.dtype, len(flat)) == (np.float32, 80)

    judged: dict[str, Any] = {"state": "queued"}
    arrays: list[Any] = []
    while judged["state"] in ("queued", "running"):
        judged, arrays = packed(client, "quality", job=job, count=5, column="label")
    assert judged["state"] == "done", judged["message"]
    assert judged["arrays_of"] == ["trustworthiness", "continuity", "hit", "neighbors_kept"]
    assert [len(array) for array in arrays] == [40] * 4
    assert all(0 <= judged[name] <= 1 for name in judged["arrays_of"])
    assert (judged["count"], judged["sampled"]) == (5, 40)

    begun = post(client, "clusters", id=GROWING, method="kmeans", settings={"count": 3}, on=job)
    clustered, _ = done(client, begun["job"])
    assert (clustered["state"], clustered["column"], clustered["clusters"]) == ("done", "k-means (3) of t-SNE", 3)
    columns = ask(client, "dataset", id=GROWING)["columns"]
    assert [(column["name"], column["derived"]) for column in columns] == [
        ("label", False),
        ("k-means (3) of t-SNE", True),
    ]

    answer = client.get(
        "/api/projector/export",
        params={"id": GROWING, "job": job, "format": "parquet", "rows_of": kept(client, [3, 0], GROWING)},
    )
    assert answer.headers["content-disposition"] == 'attachment; filename="growing.parquet"'
    frame = pl.read_parquet(io.BytesIO(answer.content))
    assert frame.columns == ["row", "x", "y", "label", "k-means (3) of t-SNE"]
    assert frame["row"].to_list() == [0, 3]
    np.testing.assert_array_equal(frame["x"].to_numpy(), flat.reshape(-1, 2)[[0, 3], 0])


def test_tsne_over_steps(client: TestClient) -> None:
    job = tsne(client, 150, steps=[0, 10, 20])
    header, _ = done(client, job)
    assert (header["state"], header["frames"], header["frames_done"]) == ("done", [0, 10, 20], 3)
    for frame in range(3):
        _, (flat,) = packed(client, "frame", job=job, frame=frame, wait=0)
        assert len(flat) == 80


def test_clusters_of_the_points(client: TestClient) -> None:
    begun = post(client, "clusters", id=ID, method="hdbscan", settings={"minimum_size": 2, "minimum_samples": 1})
    header, _ = done(client, begun["job"])
    assert (header["state"], header["column"]) == ("done", "HDBSCAN (2)")
    column, (codes,) = packed(client, "column", id=ID, name="HDBSCAN (2)")
    assert (len(codes), column["kind"]) == (6, "text")


def test_an_export_of_texts(client: TestClient) -> None:
    answer = client.get("/api/projector/export", params={"id": ID, "rows_of": kept(client, [1, 3])})
    assert answer.text == 'row,animal,size\n1,Dog,2.0\n3,"",\n'
    assert answer.headers["content-disposition"] == 'attachment; filename="words.csv"'


def test_an_export_has_no_formulas(client: TestClient) -> None:
    texts = ["=cmd()", "+1 of 2", "-1.5", "@x", "a=b"]
    content = "=name\tnumber\n" + "".join(f"{text}\t{-row}\n" for row, text in enumerate(texts))
    id = client.post("/api/projector/drop?name=p.npy", content=npy(5), headers=FILE).json()["id"]
    where = {"id": id, "name": "m.tsv"}
    assert client.post("/api/projector/drop_metadata", params=where, content=content, headers=FILE).status_code == 200
    written = {
        form: client.get("/api/projector/export", params={"id": id, "format": form})
        for form in ("csv", "tsv", "parquet")
    }
    rows = ["row,'=name,number", "0,'=cmd(),0.0", "1,'+1 of 2,-1.0", "2,-1.5,-2.0", "3,'@x,-3.0", "4,a=b,-4.0"]
    assert written["csv"].text.splitlines() == rows
    assert written["tsv"].text.splitlines() == [row.replace(",", "\t") for row in rows]
    assert pl.read_parquet(io.BytesIO(written["parquet"].content))["=name"].to_list() == texts


def test_jobs_are_acted_on(client: TestClient) -> None:
    job = tsne(client, ENDLESS)
    assert post(client, "job", job=job, action="pause") == {"state": "paused"}
    assert packed(client, "frame", job=job, wait=0)[0]["state"] == "paused"
    assert post(client, "job", job=job, action="resume")["state"] in ("queued", "running")
    version = -1
    while packed(client, "frame", job=job, after=version)[0]["iteration"] == 0:
        version = packed(client, "frame", job=job, wait=0)[0]["version"]
    assert post(client, "job", job=job, action="perturb") == {"state": "running"}
    assert post(client, "job", job=job, action="cancel") == {"state": "cancelled"}
    refused = client.post("/api/projector/job", json={"job": job, "action": "extend", "iterations": 5})
    assert (refused.status_code, refused.json()["detail"]) == (409, "The computation was canceled. Start it again.")


def test_others_are_answered_while_a_page_waits_and_a_job_runs(live: Live) -> None:
    with TestClient(build_app(live, panels=[ProjectorPanel()]), base_url="http://localhost:6006") as client:
        job = tsne(client, ENDLESS)
        post(client, "job", job=job, action="pause")
        version = packed(client, "frame", job=job, wait=0)[0]["version"]
        begun = threading.Event()

        def wait() -> int:
            begun.set()
            header, _ = packed(client, "frame", job=job, after=version, wait=30)
            found: int = header["version"]
            return found

        with ThreadPoolExecutor(60) as pool:
            # More than the threads that serve plain routes: waiting takes no thread.
            waiting = [pool.submit(wait) for _ in range(50)]
            begun.wait()
            assert ask(client, "row", id=ID, row=0)["row"] == 0
            assert not any(future.done() for future in waiting)
            post(client, "job", job=job, action="cancel")
            assert all(future.result() > version for future in waiting)


@pytest.mark.parametrize(
    ("path", "parameters", "status", "detail"),
    [
        ("dataset", {}, 422, "Parameter 'id': Field required."),
        ("dataset", {"id": "r|config|nothing"}, 404, "There is no embedding 'r|config|nothing' in the log directory"),
        ("dataset", {"id": "r|file|../../../etc/passwd|x"}, 404, "There is no embedding"),
        ("dataset", {"id": GROWING, "step": 5}, 404, "'growing' has no step 5; choose one from the list."),
        ("column", {"id": ID, "name": "x"}, 404, "'words' has no column 'x'; choose one from the list."),
        (
            "labels",
            {"id": ID, "name": "animal", "rows": "0,x"},
            422,
            "Parameter 'rows' must be comma-separated",
        ),
        ("labels", {"id": ID, "name": "animal", "rows": "-1"}, 404, "The embedding has 6 points; expected a number"),
        ("table", {"id": ID, "limit": 501}, 422, "Parameter 'limit': Input should be less than or equal to 500."),
        ("table", {"id": ID, "sort": "nothing"}, 404, "'words' has no column 'nothing'"),
        ("table", {"id": ID, "rows_of": "f" * 32}, 404, "This selection no longer exists."),
        ("row", {"id": ID, "row": 6}, 404, "The embedding has 6 points; expected a number from 0 to 5, got 6."),
        ("neighbors", {"id": ID, "row": 0, "metric": "x"}, 422, "Parameter 'metric': Input should be"),
        ("neighbors", {"id": ID, "row": 0, "job": "0" * 32}, 404, "This computation no longer exists."),
        ("search", {"id": ID, "q": ""}, 422, "Parameter 'q': "),
        ("sprite", {"id": ID}, 404, "The embedding has no sprite image."),
        ("frame", {"job": "../../../etc/passwd"}, 404, "This computation no longer exists."),
        ("frame", {"job": "x", "wait": 1e9}, 422, "Parameter 'wait': "),
        ("quality", {"job": "x"}, 404, "This computation no longer exists."),
        ("export", {"id": ID, "format": "exe"}, 422, "Parameter 'format': "),
        ("export", {"id": ID, "job": "x"}, 404, "This computation no longer exists."),
    ],
)
def test_what_a_caller_got_wrong(
    client: TestClient, path: str, parameters: dict[str, Any], status: int, detail: str
) -> None:
    answer = client.get(f"/api/projector/{path}", params=parameters)
    assert (answer.status_code, answer.json()["detail"][: len(detail)]) == (status, detail)


@pytest.mark.parametrize(
    ("path", "body", "status", "detail"),
    [
        ("project", {"id": ID}, 422, "The request is not understood: Object missing required field `projection`."),
        ("project", {"id": "x", "projection": "pca"}, 404, "There is no embedding 'x'"),
        ("project", {"id": ID, "projection": "pca", "settings": {"x": 1}}, 422, "There is no setting 'x'; there are"),
        ("project", {"id": ID, "projection": "pca", "settings": {"components": 0}}, 422, "Settings: components is 0"),
        ("project", {"id": ID, "projection": "tsne", "settings": {"perplexity": "a"}}, 422, "Settings: Expected"),
        ("project", {"id": ID, "projection": "tsne", "settings": {"perplexity": 0}}, 422, "Settings: The perplexity"),
        ("project", {"id": ID, "projection": "custom"}, 422, "No axis is defined."),
        (
            "project",
            {"id": ID, "projection": "custom", "axes": [{"left": {"q": "zzz"}, "right": {}}]},
            422,
            "'zzz' finds no point.",
        ),
        (
            "project",
            {"id": ID, "projection": "custom", "axes": [{"left": {"rows": [9]}, "right": {}}]},
            422,
            "The embedding has 6 points; expected a number from 0 to 5, got 9.",
        ),
        ("project", {"id": ID, "projection": "tsne", "supervise": "nothing"}, 404, "'words' has no column 'nothing'"),
        ("project", {"id": GROWING, "projection": "pca", "steps": []}, 422, "No step is given."),
        ("project", {"id": GROWING, "projection": "pca", "steps": [3]}, 404, "'growing' has no step 3"),
        ("project", {"id": ID, "projection": "pca", "rows": "x"}, 404, "This selection no longer exists."),
        ("clusters", {"id": ID, "method": "kmeans", "settings": {"count": -1}}, 422, "Settings: count is -1"),
        ("clusters", {"id": ID, "method": "kmeans", "on": "x"}, 404, "This computation no longer exists."),
        ("job", {"job": "x", "action": "pause"}, 404, "This computation no longer exists."),
        ("job", {"job": "x", "action": "explode"}, 422, "The request is not understood: Invalid enum value 'explode'"),
        ("rows", {"id": ID, "rows": "!"}, 422, "The rows are not base64 of uint32"),
        ("rows", {"id": ID, "rows": "////fw=="}, 422, "The embedding has 6 points; expected a number"),
        ("labels", {"id": ID, "name": "animal", "rows": list(range(2001))}, 422, "The request is not understood"),
    ],
)
def test_what_a_page_got_wrong(client: TestClient, path: str, body: Any, status: int, detail: str) -> None:
    answer = client.post(f"/api/projector/{path}", json=body)
    assert (answer.status_code, answer.json()["detail"][: len(detail)]) == (status, detail)


SETTINGS: list[tuple[str, str, str, Any]] = [("project", "projection", name, kind) for name, kind in KINDS.items()]
SETTINGS += [("clusters", "method", "kmeans", KmeansSettings), ("clusters", "method", "hdbscan", HdbscanSettings)]


@pytest.mark.parametrize(
    ("path", "choice", "name", "setting"),
    [(*where, field.name) for *where, kind in SETTINGS for field in fields(kind) if field.name != "metric"],
)
@pytest.mark.parametrize("value", [2**70, -(2**70), 1e300])
def test_every_number_of_the_settings_is_bounded(
    client: TestClient, path: str, choice: str, name: str, setting: str, value: float
) -> None:
    answer = client.post(f"/api/projector/{path}", json={"id": ID, choice: name, "settings": {setting: value}})
    assert (answer.status_code, answer.json()["detail"][:10]) == (422, "Settings: ")


def test_more_neighbors_than_memory_holds_are_refused(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    # For 25,000 points with as many neighbors each, HDBSCAN would hold ten gigabytes.
    for module in (plans, quality_and_clusters):
        monkeypatch.setattr(module, "MOST_PAIRS", 20)
    reported = "neighbors in all with these settings; at most 20 are held."
    orders: list[tuple[str, dict[str, Any], str]] = [
        (
            "project",
            {"projection": "tsne"},
            f"These points have 30 {reported} Choose fewer points, or a smaller perplex",
        ),
        (
            "project",
            {"projection": "umap"},
            f"These points have 36 {reported} Choose fewer points, or a smaller number",
        ),
        ("clusters", {"method": "hdbscan"}, f"6 points have 36 {reported} Set minimum_samples to 3 or less."),
    ]
    for path, order, detail in orders:
        answer = client.post(f"/api/projector/{path}", json={"id": ID, **order})
        assert (answer.status_code, answer.json()["detail"][: len(detail)]) == (422, detail)
    allowed = {"id": ID, "method": "hdbscan", "settings": {"minimum_samples": 3}}
    assert client.post("/api/projector/clusters", json=allowed).status_code == 200


def test_without_scikit_learn_it_is_said_what_to_install(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    answer = client.post("/api/projector/clusters", json={"id": ID, "method": "kmeans"})
    sentence = "Finding clusters needs scikit-learn. Run: pip install 'stepscope[scikit-learn]'"
    assert (answer.status_code, answer.json()["detail"]) == (422, sentence)


@pytest.mark.parametrize("path", ["project", "clusters", "job", "rows", "labels"])
def test_pages_of_others_cannot_post(client: TestClient, path: str) -> None:
    for content_type in ("", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"):
        answer = client.post(f"/api/projector/{path}", content=b"{}", headers={"content-type": content_type})
        assert answer.status_code == 415
    foreign = client.post(f"/api/projector/{path}", json={}, headers={"host": "rebound.example"})
    assert foreign.status_code == 421


FILE = {"content-type": "application/octet-stream"}


def npy(rows: int) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.arange(3 * rows, dtype=np.float32).reshape(rows, 3))
    return buffer.getvalue()


def test_a_file_is_dropped_with_its_metadata(client: TestClient) -> None:
    answer = client.post("/api/projector/drop?name=C:\\mine\\points.npy", content=npy(3), headers=FILE)
    assert answer.status_code == 200, answer.text
    (id,) = answer.json()["ids"]
    assert answer.json()["id"] == id
    assert ask(client, "embeddings")["embeddings"][0] | {"label": ""} == {
        "id": id,
        "run": "",
        "label": "",
        "kind": "dropped",
        "steps": [],
        "shape": [3, 3],
        "problem": "",
    }
    reported = client.post(
        "/api/projector/drop_metadata",
        params={"id": id, "name": "names.tsv"},
        content=b"name\tsize\na\t1\nb\t2\nc\t3\n",
        headers=FILE,
    )
    assert reported.json() == {"id": id, "ids": [id]}
    assert ask(client, "row", id=id, row=2) == {
        "row": 2,
        "file_row": 2,
        "values": {"name": "c", "size": "3"},
        "norm": pytest.approx((6**2 + 7**2 + 8**2) ** 0.5),
    }


def test_a_computed_column_that_dropped_metadata_has_too_is_listed_once(client: TestClient, live: Live) -> None:
    id = client.post("/api/projector/drop?name=p.npy", content=npy(2), headers=FILE).json()["id"]
    requested = EmbeddingRequests(live)
    assert requested.derived.add(requested.dataset(id), column_of_texts("group", ["a", "b"])) == "group"
    client.post(
        "/api/projector/drop_metadata",
        params={"id": id, "name": "m.tsv"},
        content=b"group\tsize\na\t1\nb\t2\n",
        headers=FILE,
    )
    columns = ask(client, "dataset", id=id)["columns"]
    assert [(column["name"], column["derived"]) for column in columns] == [("group", False), ("size", False)]


def test_another_sprite_of_a_dropped_file_has_another_url(client: TestClient) -> None:
    id = client.post("/api/projector/drop?name=points.npy", content=npy(4), headers=FILE).json()["id"]
    urls = []
    for shade in (0, 255):
        content = io.BytesIO()
        Image.new("L", (4, 4), shade).save(content, "PNG")
        where = {"id": id, "name": "sprite.png", "width": 2, "height": 2}
        client.post("/api/projector/drop_sprite", params=where, content=content.getvalue(), headers=FILE)
        urls.append(ask(client, "dataset", id=id)["sprite"]["url"])
        assert client.get(urls[-1]).content == content.getvalue()
    assert urls[0] != urls[1]


def test_a_file_that_cannot_be_taken_is_refused(live: Live) -> None:
    live.shared(Uploads, lambda: Uploads(largest=200))
    client = TestClient(build_app(live, panels=[ProjectorPanel()]), base_url="http://localhost:6006")
    for content, detail in ((npy(30), "The file is larger than 200 B, the limit for dropped files."), (b"", "")):
        answer = client.post("/api/projector/drop?name=points.npy", content=content, headers=FILE)
        assert (answer.status_code, answer.json()["detail"][: len(detail)]) == (422, detail)
    for content_type in ("", "text/plain", "multipart/form-data; boundary=b"):
        answer = client.post("/api/projector/drop?name=a.npy", content=npy(1), headers={"content-type": content_type})
        assert (answer.status_code, answer.json()["detail"]) == (415, "Expected the file as application/octet-stream.")
    answer = client.post("/api/projector/drop_metadata", params={"id": ID, "name": "a"}, content=b"a", headers=FILE)
    assert answer.json()["detail"] == f"There is no dropped file {ID!r}; drop it again."
    assert [row["kind"] for row in ask(client, "embeddings")["embeddings"]] == ["config", "config"]
