import json
import math
import re
from collections.abc import Callable, Iterable
from graphlib import TopologicalSorter
from pathlib import Path

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from stepscope.dashboard.server.access import host_name
from stepscope.dashboard.server.app import build_app
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.tensorboard.tag_indexes import tag_index
from stepscope.summary import SummaryWriter
from stepscope.summary.logdir import Logdir
from stepscope.summary.series import Columns, Series
from stepscope.summary.snapshot import Snapshot


class Once:
    """Reads the directory once, on start."""

    def __init__(self, path: Path, publish: Callable[[Snapshot], None]) -> None:
        self._logdir, self._publish = Logdir(str(path)), publish

    def start(self) -> None:
        self._publish(self._logdir.update())

    def stop(self) -> None: ...

    def heed(self, runs: Iterable[str]) -> None: ...


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    logs = tmp_path_factory.mktemp("logs")
    with SummaryWriter(str(logs / "b")) as writer:
        for step, value in enumerate([1.0, math.nan, math.inf, -math.inf]):
            writer.add_scalar("train/loss", value, step, walltime=100.0 + step)
    with SummaryWriter(str(logs / "a")) as writer:
        writer.add_scalar("train/loss", 0.5, 0, walltime=200.0)
    live = Live(str(logs), lambda publish: Once(logs, publish))
    live.start()
    return TestClient(build_app(live), base_url="http://localhost:6006")


def test_runs_in_order_of_first_event(client: TestClient) -> None:
    assert sorted(client.get("/data/runs").json()) == ["a", "b"]


def test_scalars_as_tensorboard_has_them(client: TestClient) -> None:
    assert client.get("/data/plugin/scalars/scalars", params={"run": "b", "tag": "train/loss"}).json() == [
        [100.0, 0, 1.0],
        [101.0, 1, "NaN"],
        [102.0, 2, "Infinity"],
        [103.0, 3, "-Infinity"],
    ]
    assert client.get("/data/plugin/scalars/tags").json()["a"] == {
        "train/loss": {"displayName": "train/loss", "description": ""}
    }


def test_scalars_as_csv(client: TestClient) -> None:
    query = {"run": "a", "tag": "train/loss", "format": "csv"}
    assert client.get("/data/plugin/scalars/scalars", params=query).text == "Wall time,Step,Value\r\n200.0,0,0.5\r\n"


def test_points_of_a_card_as_a_table(client: TestClient) -> None:
    query = {"view": "hide=b", "key": "train/loss", "format": "json"}
    answer = client.get("/api/scalars/table", params=query)
    assert answer.json() == [{"run": "a", "tag": "train/loss", "step": 0, "wall_time": 200.0, "value": 0.5}]
    assert answer.headers["content-disposition"] == 'attachment; filename="train_loss.json"'


def test_a_table_of_nothing_says_what_to_do(client: TestClient) -> None:
    answer = client.get("/api/scalars/table", params={"key": "gone"})
    expected = "None of the visible runs has such a scalar. Show more runs, or change the filter."
    assert (answer.status_code, answer.json()["detail"]) == (404, expected)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        '{"view": 3}',
        '{"view": "", "charts": [{"key": 1}]}',
        json.dumps({"view": "", "charts": [{"key": "x"}] * 65}),
        json.dumps({"view": "", "charts": [{"key": "x", "points": 1 << 64}]}),
    ],
)
def test_charts_that_are_asked_for_wrongly_are_refused(client: TestClient, body: str) -> None:
    answer = client.post("/api/scalars/curves", content=body)
    assert (answer.status_code, answer.json()["detail"].partition(" ")[0]) == (400, "Expected")


def test_descriptions_are_sanitized_html() -> None:
    # TensorBoard's clients insert them into their pages unchanged; only those of images were sanitized.
    columns = Columns(np.array([0]), np.array([1.0]), np.array([1.0]))
    text = "a *b* <script>alert(1)</script>"
    series = Series("r", "t", "scalars", "", text, b"", 1, 0, lambda: columns, lambda index: None)
    assert tag_index([series]) == {
        "t": {"displayName": "t", "description": "<p>a <em>b</em> &lt;script&gt;alert(1)&lt;/script&gt;</p>"}
    }


def test_what_is_not_there_is_said(client: TestClient) -> None:
    answer = client.get("/data/plugin/scalars/scalars", params={"run": "zzz", "tag": "t"})
    assert answer.status_code == 404
    assert answer.json()["detail"] == ("No scalars for run 'zzz', tag 't': unknown run. See /data/plugin/scalars/tags.")
    assert client.get("/data/plugin/scalars/scalars", params={"run": "a"}).status_code == 422
    assert client.get("/data/plugin/scalars/scalars", params={"run": "a" * 5000, "tag": "t"}).status_code == 422


@pytest.mark.parametrize("host", ["localhost", "localhost:6006", "127.0.0.1:6006", "[::1]:6006", "LOCALHOST"])
def test_own_names_are_served(client: TestClient, host: str) -> None:
    assert client.get("/data/runs", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example:6006", "192.168.0.7:6006", ""])
def test_other_names_are_refused(client: TestClient, host: str) -> None:
    # Otherwise, a foreign page whose host name was pointed at 127.0.0.1 could read the user's logs.
    answer = client.get("/data/runs", headers={"host": host})
    assert answer.status_code == 421
    assert "--host" in answer.text


def test_no_other_origin_is_allowed(client: TestClient) -> None:
    answer = client.get("/data/runs", headers={"origin": "http://evil.example"})
    assert "access-control-allow-origin" not in answer.headers


def test_assets_do_not_lead_out_of_their_folder(client: TestClient) -> None:
    assert client.get("/assets/%2e%2e/app.py").status_code == 404
    assert client.get("/assets/favicon.svg").status_code == 200


@pytest.mark.parametrize(
    ("header", "name"), [("a:1", "a"), ("a", "a"), ("[::1]:80", "::1"), ("[::1]", "::1"), ("::1", "::1"), ("", "")]
)
def test_host_header(header: str, name: str) -> None:
    assert host_name(header) == name


def test_page_names_no_other_host(client: TestClient) -> None:
    page = client.get("/").text
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page


def test_the_page_tries_no_web_sockets(client: TestClient) -> None:
    assert "requests_pathname_prefix" in client.get("/").text
    assert "websocket" not in client.get("/").text


def test_no_two_callbacks_have_the_same_output(client: TestClient) -> None:
    """The page would silently refuse one of them."""
    callbacks = client.get("/_dash-dependencies").json()
    outputs = [
        output
        for callback in callbacks
        for output in re.split(r"\.\.\.", callback["output"].removesuffix("..").removeprefix(".."))
    ]
    assert len(outputs) > 50
    assert sorted(output for output in set(outputs) if outputs.count(output) > 1) == []


def test_no_callbacks_go_in_a_circle(client: TestClient) -> None:
    """The result of one callback may be lost while another in the circle is on its way."""
    made_of: dict[str, set[str]] = {}
    for callback in client.get("/_dash-dependencies").json():
        outputs = {output.split("@")[0] for output in callback["output"].strip(".").split("...")}
        inputs = {f"{given['id']}.{given['property']}" for given in callback["inputs"]}
        for output in outputs:
            made_of.setdefault(output, set()).update(inputs - outputs)
    assert list(TopologicalSorter(made_of).static_order())


def test_the_page_is_called_by_each_panel_whose_cards_the_server_draws(client: TestClient) -> None:
    functions = {
        callback["clientside_function"]["function_name"]
        for callback in client.get("/_dash-dependencies").json()
        if callback["clientside_function"]
    }
    for called in ("Histograms", "PrCurves", "Audio", "Images", "Meshes", "Texts"):
        assert {f"draw{called}", f"adjust{called}"} <= functions


def test_no_other_route_is_looked_at_before_that_of_callbacks(client: TestClient) -> None:
    app = client.app
    assert isinstance(app, FastAPI)
    assert [getattr(route, "path", "") for route in app.router.routes].index("/_dash-update-component") == 0
