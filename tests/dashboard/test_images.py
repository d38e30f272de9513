from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from dashboard.panels.images.pictures import sniff
from summary import SummaryWriter
from summary.kinds.base import PayloadError
from summary.proto.summary_pb2 import Summary
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


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    """Steps 0 and 10 with two samples, then an SVG, then a GIF."""
    with SummaryWriter(str(tmp_path / "a")) as writer:
        for step in (0, 10):
            pixels = np.full((2, 1, 2, 3), step, np.uint8)
            writer.add_images("digit", pixels, step, walltime=100.0 + step)
        writer.add_summary(legacy(SVG), 20, walltime=120.0)
        writer.add_summary(legacy(encoded("GIF")), 30, walltime=130.5)
    return client_of(tmp_path)


@pytest.mark.parametrize(
    ("image_format", "mime_type"),
    [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/gif"), ("WEBP", "image/webp"), ("BMP", "image/bmp")],
)
def test_formats_are_told_from_their_bytes(image_format: str, mime_type: str) -> None:
    assert sniff(encoded(image_format)) == mime_type


@pytest.mark.parametrize("content", [b"", b"x", SVG, b"<!DOCTYPE html>", b"RIFF\0\0\0\0WAVE", b"\x89PNG"])
def test_anything_else_is_no_picture(content: bytes) -> None:
    with pytest.raises(PayloadError, match="empty" if not content else "no PNG, JPEG, GIF, WebP or BMP"):
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


def test_picture_of_a_named_moment_is_cached_for_good(client: TestClient) -> None:
    right = client.get("/api/images/image", params={**WHERE, "index": 3, "step": 30, "wall_time": 130.5})
    wrong = client.get("/api/images/image", params={**WHERE, "index": 3, "step": 31, "wall_time": 130.5})
    assert right.headers["cache-control"] == "private, max-age=86400, immutable"
    assert right.headers["content-type"] == "image/gif"
    assert wrong.status_code == 404


def test_svg_is_never_served(client: TestClient) -> None:
    answer = client.get("/api/images/image", params={**WHERE, "index": 2})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["detail"].startswith("No picture: 71 B that are no PNG, JPEG, GIF, WebP or BMP")


def test_download_is_named_after_run_tag_and_step(client: TestClient) -> None:
    answer = client.get("/api/images/image", params={**WHERE, "index": 3, "download": True})
    assert answer.headers["content-disposition"] == 'attachment; filename="a_digit_step30_0.gif"'


def test_point_says_what_is_there_or_why_nothing_is(client: TestClient) -> None:
    def point(index: int, sample: int = 0) -> Any:
        return client.get("/api/images/point", params={**WHERE, "index": index, "sample": sample}).json()

    size = len(client.get("/api/images/image", params={**WHERE, "index": 0, "sample": 1}).content)
    assert point(0, 1) == {"samples": 2, "width": 3, "height": 2, "size": size, "mime_type": "image/png", "error": ""}
    assert point(3, 1)["error"] == "there is no sample 1: this step has 1 picture"
    assert point(2) == {
        "samples": 1,
        "width": 3,
        "height": 2,
        "size": 0,
        "mime_type": "",
        "error": "71 B that are no PNG, JPEG, GIF, WebP or BMP; they begin with b'<svg xml'",
    }


@pytest.mark.parametrize(
    ("path", "changed", "status"),
    [
        ("image", {"index": 4}, 404),
        ("image", {"index": 0, "run": "b"}, 404),
        ("image", {"index": -1}, 422),
        ("image", {"index": 0, "sample": 2}, 422),
        ("point", {"index": 4}, 404),
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
