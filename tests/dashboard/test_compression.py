"""What is sent compressed, and to whom."""

import gzip
from collections.abc import AsyncIterator

import brotli
import pytest
from fastapi.testclient import TestClient
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from stepscope.dashboard.server import compression
from stepscope.dashboard.server.compression import SUITES, Compression

SCRIPT = "var dash = 1;\n" * 200
ROWS = ["row"] * 1000
made: list[str] = []


async def script(request: Request) -> Response:
    made.append(request.url.path)
    if request.path_params["name"] == "dash/absent.js":
        return Response("no such file", 404)
    return Response(SCRIPT, media_type="text/javascript", headers={"Cache-Control": "public, max-age=9"})


async def rows(_request: Request) -> Response:
    return JSONResponse(ROWS)


async def events(_request: Request) -> Response:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"data: 1\n\n" * 1000

    return StreamingResponse(pieces(), media_type="text/event-stream")


def client(host: str = "127.0.0.1") -> TestClient:
    made.clear()
    compression._SUITES.clear()
    routes = [Route(SUITES + "{name:path}", script), Route("/rows", rows), Route("/events", events)]
    app = Compression(Starlette(routes=routes))
    return TestClient(app, client=(host, 5), headers={"accept-encoding": "gzip, br"})


def raw(answer: object) -> bytes:
    """The body as it was sent."""
    return b"".join(answer.iter_raw())  # type: ignore[attr-defined]


@pytest.mark.parametrize("host", ["127.0.0.1", "203.0.113.5"])
def test_a_script_of_a_package_is_compressed_once(host: str) -> None:
    with client(host) as requested:
        for _ in range(2):
            with requested.stream("GET", f"{SUITES}dash/a.js") as answer:
                assert brotli.decompress(raw(answer)).decode() == SCRIPT
            assert {
                name: answer.headers[name] for name in ("content-encoding", "content-type", "cache-control", "vary")
            } == {
                "content-encoding": "br",
                "content-type": "text/javascript; charset=utf-8",
                "cache-control": "public, max-age=9",
                "vary": "Accept-Encoding",
            }
        assert made == [f"{SUITES}dash/a.js"]


def test_a_script_that_a_browser_has_is_not_sent_again() -> None:
    with client() as requested:
        tag = requested.get(f"{SUITES}dash/a.js").headers["etag"]
        again = requested.get(f"{SUITES}dash/a.js", headers={"if-none-match": tag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)


def test_a_script_that_is_not_there_is_not_there() -> None:
    with client() as requested:
        for _ in range(2):
            answer = requested.get(f"{SUITES}dash/absent.js")
            assert (answer.status_code, answer.text) == (404, "no such file")


def test_a_client_without_brotli_gets_scripts_by_gzip_or_as_they_are() -> None:
    with client() as requested:
        with requested.stream("GET", f"{SUITES}dash/a.js", headers={"accept-encoding": "gzip"}) as answer:
            assert gzip.decompress(raw(answer)).decode() == SCRIPT
        with requested.stream("GET", f"{SUITES}dash/a.js", headers={"accept-encoding": "identity"}) as answer:
            assert raw(answer).decode() == SCRIPT


def test_data_are_compressed_for_other_machines_alone() -> None:
    with client() as requested:
        here = requested.get("/rows")
    with client("203.0.113.5") as requested:
        there = requested.get("/rows")
    assert here.json() == there.json() == ROWS
    assert "content-encoding" not in here.headers
    assert there.headers["content-encoding"] == "gzip"


def test_news_are_never_held_back_to_be_compressed() -> None:
    with client("203.0.113.5") as requested:
        assert "content-encoding" not in requested.get("/events").headers
