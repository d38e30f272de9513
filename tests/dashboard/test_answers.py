"""Equal questions are answered once for each state of the log directory."""

import asyncio
import io
import json
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from stepscope.dashboard.curves import routes as curve_routes
from stepscope.dashboard.curves.chart import chart
from stepscope.dashboard.server.answers import Answers
from stepscope.dashboard.server.app import build_app
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.pieces import npy_pieces, rows
from stepscope.dashboard.tensorboard import timeseries
from stepscope.summary import SummaryWriter
from stepscope.summary.logdir import Logdir
from stepscope.summary.series import Columns
from tests.dashboard.media import NoFollower

PATIENCE_S = 30.0


class Work:
    """Work that lasts until it may end; counts how often it was begun."""

    def __init__(self) -> None:
        self.begun = 0
        self.may_end = asyncio.Event()

    async def __call__(self) -> bytes:
        self.begun += 1
        await self.may_end.wait()
        return b"answer %d" % self.begun


async def requested(answers: Answers, state: int, question: str, work: Any, times: int) -> list[asyncio.Task[Any]]:
    tasks = [asyncio.ensure_future(answers.get(state, question, work)) for _ in range(times)]
    # Each runs as far as it can.
    for _ in range(5):
        await asyncio.sleep(0)
    return tasks


def test_of_many_who_ask_the_same_one_works_it_out_until_something_changes() -> None:
    async def scene() -> None:
        answers, work = Answers(), Work()
        tasks = await requested(answers, 1, "same", work, 100)
        assert work.begun == 1
        work.may_end.set()
        assert await asyncio.gather(*tasks) == [b"answer 1"] * 100
        assert await answers.get(1, "same", work) == b"answer 1"
        assert await answers.get(1, "other", work) == b"answer 2"
        assert await answers.get(2, "same", work) == b"answer 3"

    asyncio.run(asyncio.wait_for(scene(), PATIENCE_S))


def test_where_who_works_it_out_leaves_another_of_those_who_wait_does() -> None:
    async def scene() -> None:
        answers, work = Answers(), Work()
        first, *others = await requested(answers, 1, "same", work, 3)
        first.cancel()
        await asyncio.wait([first])
        work.may_end.set()
        assert await asyncio.gather(*others) == [b"answer 2"] * 2

    asyncio.run(asyncio.wait_for(scene(), PATIENCE_S))


def test_failures_are_not_kept() -> None:
    async def scene() -> None:
        answers = Answers()

        async def fails() -> bytes:
            raise ValueError("no")

        for _ in range(2):
            with pytest.raises(ValueError, match="no"):
                await answers.get(1, "same", fails)

    asyncio.run(asyncio.wait_for(scene(), PATIENCE_S))


def test_answers_are_bounded_by_number_and_by_bytes() -> None:
    async def scene() -> None:
        answers, begun = Answers(most=3, most_bytes=20), []

        async def ask(question: str, size: int) -> None:
            async def make() -> bytes:
                begun.append(question)
                return b"x" * size

            await answers.get(1, question, make)

        for question in ("a", "b", "c", "d", "d", "a"):
            await ask(question, 1)
        assert begun == ["a", "b", "c", "d", "a"]
        await ask("large", 20)
        await ask("a", 1)
        assert begun[5:] == ["large", "a"]

    asyncio.run(asyncio.wait_for(scene(), PATIENCE_S))


def test_what_was_asked_is_not_kept_however_large() -> None:
    class Question(str):
        """A text whose end can be seen."""

    async def scene() -> None:
        answers, work = Answers(), Work()
        work.may_end.set()
        question = Question("long")
        asked = weakref.ref(question)
        assert await answers.get(1, question, work) == b"answer 1"
        del question
        assert asked() is None
        assert await answers.get(1, Question("long"), work) == b"answer 1"

    asyncio.run(asyncio.wait_for(scene(), PATIENCE_S))


@pytest.fixture
def live(tmp_path: Path) -> Live:
    for run in ("a", "b"):
        with SummaryWriter(tmp_path / run) as writer:
            for step in range(5):
                writer.add_scalar("loss", float(step), step)
    found = Live(str(tmp_path), lambda publish: NoFollower())
    found.publish(Logdir(tmp_path).update())
    return found


@pytest.fixture
def client(live: Live) -> TestClient:
    return TestClient(build_app(live), base_url="http://localhost")


def test_charts_that_several_pages_ask_for_are_drawn_once(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []

    def counted(*given: Any, **options: Any) -> Any:
        drawn.append("chart")
        return chart(*given, **options)

    monkeypatch.setattr(curve_routes, "chart", counted)
    question = {"view": "?tab=scalars", "charts": [{"key": "loss"}]}
    first, second = (client.post("/api/scalars/curves", json=question) for _ in range(2))
    assert first.status_code == second.status_code == 200
    assert first.content == second.content
    assert len(drawn) == 1
    # A page that lags behind has another version, but lacks the same chart.
    question["charts"] = [{"key": "loss", "version": "of an earlier revision"}]
    assert client.post("/api/scalars/curves", json=question).content == first.content
    assert len(drawn) == 1


def time_series(client: TestClient, *requests: dict[str, Any]) -> Any:
    return client.post("/data/plugin/timeseries/timeSeries", data={"requests": json.dumps(requests)})


def test_equal_time_series_of_one_request_are_worked_out_once(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []

    def counted(columns: Columns) -> Any:
        written.append("rows")
        return rows(columns)

    monkeypatch.setattr(timeseries, "rows", counted)
    loss = {"plugin": "scalars", "tag": "loss"}
    answer = time_series(client, loss, {"plugin": "scalars", "tag": "none"}, loss, loss).json()
    assert [sorted(one["runToSeries"]) for one in answer] == [["a", "b"], [], ["a", "b"], ["a", "b"]]
    assert answer[0] == answer[2] == answer[3]
    assert [point["value"] for point in answer[0]["runToSeries"]["a"]] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert len(written) == 2


def test_more_time_series_than_are_sent_at_once_are_refused_with_a_sentence(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeseries, "MOST_POINTS", 20)
    loss = {"plugin": "scalars", "tag": "loss"}
    assert time_series(client, loss, loss).status_code == 200
    refused = time_series(client, loss, loss, {**loss, "run": "a"})
    said = "The response would have 25 points, and at most 20 are sent at once. "
    assert (refused.status_code, refused.json()) == (
        413,
        {"detail": said + "Ask for fewer time series, or name a run in each request."},
    )
    path = "/data/plugin/timeseries/timeSeries"
    assert client.get(path, params={"requests": json.dumps([loss] * 3)}).status_code == 413


def test_points_come_in_pieces_and_are_the_same(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    path = "/data/plugin/scalars/scalars?run=a&tag=loss"
    whole = client.get(path).content
    monkeypatch.setattr("stepscope.dashboard.server.pieces.POINTS_A_PIECE", 2)
    assert client.get(path).content == whole
    assert [row[1:] for row in json.loads(whole)] == [[step, float(step)] for step in range(5)]


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12.0).reshape(3, 4).T,
        np.float16(3.5) * np.ones((), np.float16),
        np.zeros((0, 3), np.int8),
        np.arange(400_000, dtype=np.int64),
        np.array([True, False]),
        np.array([1 + 2j], ">c16"),
    ],
)
def test_an_array_is_sent_as_numpys_file_a_megabyte_at_a_time(array: NDArray[np.generic]) -> None:
    pieces = list(npy_pieces(array))
    assert max(map(len, pieces)) <= 1 << 20
    found = np.load(io.BytesIO(b"".join(pieces)))
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert_array_equal(found, array)
