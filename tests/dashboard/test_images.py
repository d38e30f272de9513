import json
import zipfile
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from httpx import Response
from PIL import Image

from stepscope.dashboard.server.arrays import typed
from stepscope.dashboard.server.pictures import sniff
from stepscope.summary import SummaryWriter
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.proto.summary_pb2 import Summary
from tests.dashboard.media import client_of

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
WHERE = {"run": "a", "tag": "digit"}


def encoded(image_format: str) -> bytes:
    stream = BytesIO()
    Image.new("RGB", (3, 2), "red").save(stream, format=image_format)
    return stream.getvalue()


def legacy(content: bytes) -> Summary:
    image = Summary.Image(width=3, height=2, encoded_image_string=content)
    return Summary(value=[Summary.Value(tag="digit", image=image)])


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    """Steps 0 and 10 with two samples, then an SVG, a GIF, a PNG without its header, and nothing."""
    logs = tmp_path_factory.mktemp("logs")
    with SummaryWriter(str(logs / "a")) as writer:
        for step in (0, 10):
            pixels = np.full((2, 1, 2, 3), step, np.uint8)
            writer.add_images("digit", pixels, step, walltime=100.0 + step)
        writer.add_summary(legacy(SVG), 20, walltime=120.0)
        writer.add_summary(legacy(encoded("GIF")), 30, walltime=130.5)
        writer.add_summary(legacy(b"\x89PNG\r\n\x1a\nIHDR"), 40, walltime=140.0)
        writer.add_summary(legacy(b""), 50, walltime=150.0)
    return client_of(logs)


@pytest.mark.parametrize(
    ("image_format", "mime_type"),
    [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/gif"), ("WEBP", "image/webp"), ("BMP", "image/bmp")],
)
def test_formats_are_told_from_their_bytes(image_format: str, mime_type: str) -> None:
    assert sniff(encoded(image_format)) == mime_type


@pytest.mark.parametrize("content", [b"", b"x", SVG, b"<!DOCTYPE html>", b"RIFF\0\0\0\0WAVE", b"\x89PNG"])
def test_anything_else_is_no_picture(content: bytes) -> None:
    with pytest.raises(PayloadError, match="empty" if not content else "not PNG, JPEG, GIF, WebP or BMP"):
        sniff(content)


def test_picture_has_its_bytes_and_safe_headers(client: TestClient) -> None:
    answer = client.get("/api/images/image", params={**WHERE, "index": 1, "sample": 1})
    assert np.asarray(Image.open(BytesIO(answer.content))).tolist() == [[10, 10, 10], [10, 10, 10]]
    headers = {name: answer.headers[name] for name in ("content-type", "x-content-type-options", "cache-control")}
    assert headers == {
        "content-type": "image/png",
        "x-content-type-options": "nosniff",
        "cache-control": "private, no-cache",
    }


def test_known_picture_is_not_sent_again(client: TestClient) -> None:
    first = client.get("/api/images/image", params={**WHERE, "index": 0})
    again = client.get(
        "/api/images/image", params={**WHERE, "index": 0}, headers={"If-None-Match": first.headers["etag"]}
    )
    other = client.get(
        "/api/images/image", params={**WHERE, "index": 1}, headers={"If-None-Match": first.headers["etag"]}
    )
    assert (again.status_code, again.content, other.status_code) == (304, b"", 200)


def test_svg_is_never_served(client: TestClient) -> None:
    answer = client.get("/api/images/image", params={**WHERE, "index": 2})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["detail"].startswith("No image: 71 B that are not PNG, JPEG, GIF, WebP or BMP")


def test_download_is_named_after_run_tag_and_step(client: TestClient) -> None:
    answer = client.get("/api/images/image", params={**WHERE, "index": 3, "download": True})
    assert answer.headers["content-disposition"] == 'attachment; filename="a_digit_step30_0.gif"'


def look(client: TestClient, index: int, step: int, **more: Any) -> Response:
    series_epoch = client.get("/api/images/steps", params=WHERE).json()["epoch"]
    where = {**WHERE, "index": index, "step": step, "epoch": series_epoch, **more}
    answer: Response = client.get("/api/images/look", params=where)
    return answer


def test_look_sends_a_picture_with_what_is_known_of_it_for_good(client: TestClient) -> None:
    original = client.get("/api/images/image", params={**WHERE, "index": 1, "sample": 1}).content
    answer = look(client, 1, 10, sample=1)
    assert answer.content == original
    assert answer.headers["cache-control"] == "private, max-age=86400, immutable"
    assert json.loads(answer.headers["x-picture"]) == {
        "samples": 2,
        "width": 3,
        "height": 2,
        "frames": 1,
        "size": len(original),
        "mime_type": "image/png",
        "wall_time": 110.0,
        "reduced": False,
    }


@pytest.mark.parametrize(
    ("index", "step", "sample", "error"),
    [
        (3, 30, 1, "there is no sample 1: this step has 1 image"),
        (2, 20, 0, "71 B that are not PNG, JPEG, GIF, WebP or BMP; they begin with b'<svg xml'"),
        (4, 40, 0, "the image is damaged: its header cannot be read (12 B)"),
        (5, 50, 0, "the image is empty: 0 bytes"),
        (0, 99, 0, "the run was restarted, and this image no longer exists"),
    ],
)
def test_look_says_why_there_is_no_picture(client: TestClient, index: int, step: int, sample: int, error: str) -> None:
    answer = look(client, index, step, sample=sample, edge=64)
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "private, no-cache")
    assert answer.json() == {"error": error, "samples": 2 if index == 0 else 1}


def test_look_of_another_epoch_is_refused(client: TestClient) -> None:
    answer = look(client, 0, 0, epoch="0000")
    assert answer.json()["error"] == "the run was restarted, and this image no longer exists"


def test_steps_and_catalog_list_what_there_is(client: TestClient) -> None:
    steps = client.get("/api/images/steps", params=WHERE).json()
    assert steps["steps"] == typed(np.array([0, 10, 20, 30, 40, 50]))
    catalog = client.get("/api/images/catalog").json()
    assert catalog["tags"] == ["digit"]
    assert [(run["run"], run["tags"]) for run in catalog["runs"]] == [("a", [0])]
    assert client.get("/api/images/catalog", params={"view": "hide=a"}).json() == {"tags": [], "runs": []}


def zipped(client: TestClient, wanted: Any) -> dict[str, bytes]:
    answer = client.post("/api/images/zip", json=wanted)
    assert answer.status_code == 200
    with zipfile.ZipFile(BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def test_pictures_come_in_a_zip_file_that_says_what_is_missing(client: TestClient) -> None:
    files = zipped(
        client, [["a", "digit", 1, 10, 1], ["a", "digit", 3, 30, 0], ["a", "digit", 1, 99, 0], ["b", "x", 0, 0, 0]]
    )
    second = client.get("/api/images/image", params={**WHERE, "index": 1, "sample": 1}).content
    assert files == {
        "a/digit/10_sample1.png": second,
        "a/digit/30.gif": encoded("GIF"),
        "left_out.txt": b"a\tdigit\tstep 99\tsample 0\tthe run was started again\n"
        b"b\tx\tstep 0\tsample 0\tthe run no longer has images with that tag\n",
    }


@pytest.mark.parametrize(
    ("body", "status"), [(b"{", 422), (b"[1]", 422), (json.dumps([["a", "digit", 0, 0, 0]] * 5001).encode(), 413)]
)
def test_a_list_of_pictures_that_is_none_is_refused(client: TestClient, body: bytes, status: int) -> None:
    assert client.post("/api/images/zip", content=body).status_code == status


@pytest.mark.parametrize(
    ("path", "changed", "status"),
    [
        ("image", {"index": 6}, 404),
        ("image", {"index": 0, "run": "b"}, 404),
        ("image", {"index": -1}, 422),
        ("image", {"index": 0, "sample": 2}, 422),
        ("steps", {"tag": "other"}, 404),
        ("look", {"index": 0, "step": 0, "epoch": "x", "edge": 100}, 422),
    ],
)
def test_what_is_not_there_is_said(client: TestClient, path: str, changed: dict[str, Any], status: int) -> None:
    assert client.get(f"/api/images/{path}", params={**WHERE, **changed}).status_code == status


def test_tensorboard_routes(client: TestClient) -> None:
    assert client.get("/data/plugin/images/tags").json() == {
        "a": {"digit": {"displayName": "digit", "description": "", "samples": 2}}
    }
    rows = client.get("/data/plugin/images/images", params={**WHERE, "sample": 1}).json()
    assert [(row["step"], row["wall_time"]) for row in rows] == [(0, 100.0), (10, 110.0)]
    by_key = client.get("/data/plugin/images/individualImage?" + rows[1]["query"])
    by_index = client.get("/api/images/image", params={**WHERE, "index": 1, "sample": 1})
    assert by_key.content == by_index.content


@pytest.mark.parametrize("key", ["", "x", "bnVsbA", "WzFd", "ÿ"])
def test_a_key_that_is_none_is_refused(client: TestClient, key: str) -> None:
    assert client.get("/data/plugin/images/individualImage", params={"blob_key": key}).status_code == 400
