"""No request makes the server fail: it refuses those that it cannot answer, with a sentence."""

import asyncio
import itertools
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx import ASGITransport, AsyncClient

from stepscope.dashboard.panels.registry import companion_patterns
from stepscope.dashboard.server.app import build_app
from stepscope.dashboard.server.bounded_bodies import LARGEST_BODY
from stepscope.dashboard.server.live import Live
from stepscope.summary.follow import Follower
from stepscope.summary.logdir import Logdir

SAMPLE_LOGS = Path(__file__).resolve().parents[2] / "sample_logs"
RUN = "digits/lr_0.1/seed_0"
VALUES = (
    "",
    RUN,
    "loss/train",
    "..",
    "../../../etc/passwd",
    "/etc/passwd",
    f"{RUN}|file|../../../make.py",
    f"{RUN}|tag|step_48|0",
    "nan",
    "-inf",
    "1e308",
    "-1",
    "0",
    "9223372036854775808",
    '"><script>alert(1)</script>',
    "\x00",
    "é\r\nX-Header: 1",
    "%",
    "a" * 5_000,
    "(a+)+$",
    "{}",
    "[[[[[[[[",
    '[{"plugin": "scalars", "tag": "loss/train"}, {"plugin": "images", "tag": 1, "run": {}}]',
    '{"sliceSize": -1, "startIndex": -9, "allowedStatuses": [0, 1, 2, 3], "colParams": [{"hparam": "lr", "order": 1}]}',
    '{"sessionName": "../..", "metricName": {"group": "../../../etc", "tag": "passwd"}}',
    "VERTEX",
)
BODIES = (
    b"",
    b"\x00\xff",
    b"null",
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b'{"view": "\xff", "charts": []}',
    b'{"colParams": [{"hparam": "lr", "filterRegexp": "(a|aa)+$"}], "sliceSize": 9}',
    b"tag=loss/train&runs=" + RUN.encode() + b"&runs=../..",
    b"requests=" + b"%5B" * 1_000,
    b'--b\r\nContent-Disposition: form-data; name="tag"\r\n\r\nloss\r\n--b--',
    b"--b\r\n" * 5_000,
    b"a" * (LARGEST_BODY + 1),
)
CONTENT_TYPES = (
    "",
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=b",
    'multipart/form-data; boundary="',
    "multipart/form-data; boundary=" + "b" * 5_000,
)


@pytest.fixture(scope="module")
def app() -> FastAPI:
    source = Logdir(SAMPLE_LOGS, companion_patterns=companion_patterns())
    # The name is not that of a folder, so that no request can write into it.
    live = Live("samples", lambda publish: Follower(source, publish))
    live.publish(source.update())
    return build_app(live)


@pytest.fixture(scope="module")
def client(app: FastAPI) -> TestClient:
    return TestClient(app, base_url="http://localhost", raise_server_exceptions=False)


def many_requests(app: FastAPI) -> AsyncClient:
    """A client in the application's event loop: changing threads per request takes longer than most answers."""
    return AsyncClient(transport=ASGITransport(app, raise_app_exceptions=False), base_url="http://localhost")


def routes(client: TestClient) -> dict[str, list[str]]:
    paths = client.get("/api/openapi.json").json()["paths"]
    return {
        path: [parameter["name"] for parameter in operations["get"].get("parameters", [])]
        for path, operations in paths.items()
        if "get" in operations and path != "/api/revision"
    }


@pytest.mark.long
def test_every_route_answers_or_refuses_whatever_it_is_asked(app: FastAPI, client: TestClient) -> None:
    requested = routes(client)
    assert "/data/runs" in requested
    assert "/api/timeline/window" in requested

    async def ask() -> None:
        async with many_requests(app) as asked:
            for path, names in requested.items():
                # Each parameter gets each value, in combinations that change.
                for shift, start in itertools.product(range(min(len(names), 3) or 1), range(len(VALUES))):
                    query = {name: VALUES[(start + shift * place) % len(VALUES)] for place, name in enumerate(names)}
                    answer = await asked.get(path, params=query)
                    assert answer.status_code in (200, 304, 400, 404, 422), (
                        f"{path} {query}: {answer.status_code} {answer.text}"
                    )
                    assert "X-Header" not in answer.headers
                    assert b"root:" not in answer.content

    asyncio.run(ask())


def test_every_route_that_is_posted_to_answers_or_refuses(app: FastAPI, client: TestClient) -> None:
    paths = client.get("/api/openapi.json").json()["paths"]
    # Dash's own route is not in the list.
    requested = ["/_dash-update-component", *(path for path, operations in paths.items() if "post" in operations)]
    requested = [path.replace("{extension}", "csv") for path in requested]
    assert {"/data/plugin/hparams/session_groups", "/api/scalars/curves", "/api/projector/drop"} < set(requested)

    async def post() -> None:
        async with many_requests(app) as asked:
            for path, body, content_type in itertools.product(requested, BODIES, CONTENT_TYPES):
                answer = await asked.post(path, content=body, headers={"content-type": content_type})
                assert answer.status_code in (200, 400, 404, 409, 413, 415, 422), (
                    f"{path} {body[:80]!r} {content_type}: {answer.text}"
                )

    asyncio.run(post())


@pytest.mark.parametrize(
    "path",
    ["/assets/../cli.py", "/assets/%2e%2e/cli.py", "/assets//etc/passwd", "/page/0/../../cli.py", "/page/0/%2e%2e"],
)
def test_assets_lead_nowhere_else(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_a_foreign_name_of_this_host_is_refused(client: TestClient) -> None:
    assert client.get("/data/runs", headers={"host": "rebound.example"}).status_code == 421
