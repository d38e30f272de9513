"""What running programs show through the dashboard: frames, or why there are none."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from fastapi.testclient import TestClient

from stepscope.dashboard.traces.messages import LiveFrame, LiveSection, LiveTensor, NoLiveFrame
from stepscope.debug import showing
from stepscope.debug.live import LiveTensors
from stepscope.profiler import server as profiler_server
from stepscope.profiler.capture_routes import OTHER_ROUTES
from tests.dashboard.test_capture_routes import TOKEN, still

ROUTE = "/api/capture/live"


@pytest.fixture
def program() -> Iterator[str]:
    with profiler_server.start(0, token=TOKEN) as server:
        yield server.address


@pytest.fixture
def training() -> Iterator[None]:
    """A loop that shows one array until the test ends."""
    stop = threading.Event()

    def train() -> None:
        step = 0
        while not stop.wait(0.001):
            showing.show("layer/weight", np.full((2, 3), step))
            showing.end_step(step)
            step += 1

    thread = threading.Thread(target=train)
    thread.start()
    yield
    stop.set()
    thread.join()


def order(address: str, **request: Any) -> dict[str, Any]:
    return {"address": address, "token": TOKEN, "request": {"rate": 30, **request}}


@pytest.mark.usefixtures("training")
def test_a_page_gets_frame_after_frame(tmp_path: Path, program: str) -> None:
    with still(str(tmp_path)) as asked:
        first = frame(asked, program, -1)
        second = frame(asked, program, first["number"])
    assert second["number"] > first["number"]
    (section,) = second["sections"]
    assert (section["name"], section["tensors"][0]["name"], section["tensors"][0]["shape"]) == (
        "layer",
        "layer/weight",
        [2, 3],
    )


def frame(asked: TestClient, address: str, after: int) -> dict[str, Any]:
    """The first frame after number ``after``; the program may not have begun."""
    while True:
        answer = asked.post(ROUTE, json=order(address, after=after))
        assert answer.status_code == 200
        found: dict[str, Any] = answer.json()
        if "sections" in found:
            return found


def test_a_program_that_shows_nothing_is_waited_for(tmp_path: Path, program: str) -> None:
    with still(str(tmp_path)) as asked:
        assert asked.post(ROUTE, json=order(program, after=7, names="nobody", wait_ms=0)).json() == {
            "number": 7,
            "tensors": None,
        }


def test_a_page_is_told_why_there_is_nothing(tmp_path: Path, program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {**order(program), "token": "x" * 20}
    with still(str(tmp_path)) as asked:
        assert asked.post(ROUTE, json=wrong).json()["problem"] == "token"
        assert asked.post(ROUTE, json=order("localhost:1")).json()["problem"] == "unreachable"
        assert asked.post(ROUTE, json=order("10.0.0.1:6009")).status_code == 403
        assert asked.post(ROUTE, json={"address": program, "request": {"rate": 1000}}).status_code == 400
        monkeypatch.delitem(OTHER_ROUTES, "/live")
        assert asked.post(ROUTE, json=order(program)).json() == {
            "problem": "refused",
            "message": "The program shows nothing yet. Call stepscope.debug.show(name, array) in it, once per step.",
        }
        monkeypatch.setitem(OTHER_ROUTES, "/live", lambda body: {"sections": "<script>"})
        assert asked.post(ROUTE, json=order(program)).json() == {
            "problem": "answer",
            "message": "The program's frame cannot be used: Expected `array`, got `str` - at `$.sections`.",
        }


def test_the_program_and_the_page_mean_the_same_frame() -> None:
    live = LiveTensors()
    empty = live.answer(b'{"wait_ms": 0}')
    assert set(empty) == set(NoLiveFrame.__annotations__)
    live.offer("a", np.zeros(2))
    live.end_step(1)
    sent = live.answer(b'{"wait_ms": 0}')
    assert msgspec.convert(sent, LiveFrame) == sent
    assert set(sent) == set(LiveFrame.__annotations__)
    assert set(sent["sections"][0]) == set(LiveSection.__annotations__)
    assert set(sent["sections"][0]["tensors"][0]) == set(LiveTensor.__annotations__)
