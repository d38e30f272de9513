"""The charts that a page first shows after a restart are drawn from kept data: no event file is read for them."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest
from fastapi.testclient import TestClient
from numpy.typing import NDArray

from stepscope.dashboard.server.app import build_app
from stepscope.dashboard.server.binary import unpack
from stepscope.dashboard.server.live import Live
from stepscope.summary import SummaryWriter, local_source
from stepscope.summary.column_cache import ColumnCache
from stepscope.summary.event_file import HEAD_BYTES
from stepscope.summary.kept_files import LEAST_CACHED
from stepscope.summary.log_index import LogIndex
from stepscope.summary.logdir import Logdir
from stepscope.summary.snapshot import Snapshot
from tests.dashboard.media import NoFollower

TAGS = ("a/loss", "a/accuracy", "b/rate")
SMALL, LARGE = 50, 3_000
MOST_OF_AN_END = 1 << 13


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("stepscope.summary.index_lists._SETTLED_NS", 0)
    for run, points in (("one", SMALL), ("other", SMALL), ("long", LARGE)):
        with SummaryWriter(tmp_path / "logs" / run) as writer:
            for step in range(points):
                for number, tag in enumerate(TAGS):
                    writer.add_scalar(tag, step * 0.5 + number, step)
    assert next((tmp_path / "logs" / "long").iterdir()).stat().st_size > LEAST_CACHED
    return tmp_path / "logs"


@pytest.fixture
def bytes_read(logs: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """The number of bytes read from each run's event file, for files that were opened."""
    found: dict[str, int] = {}

    class Counted(io.FileIO):
        def read(self, size: int | None = -1) -> Any:
            content = super().read(-1 if size is None else size)
            found[Path(str(self.name)).parent.name] += len(content or b"")
            return content

        def readinto(self, buffer: Any) -> Any:
            count = super().readinto(buffer)
            found[Path(str(self.name)).parent.name] += count or 0
            return count

    opened = local_source._opened

    def counted(path: str, offset: int) -> BinaryIO:
        if not Path(path).is_relative_to(logs):
            return opened(path, offset)
        found.setdefault(Path(path).parent.name, 0)
        stream = Counted(path)
        stream.seek(offset)
        return stream

    monkeypatch.setattr(local_source, "_opened", counted)
    return found


def started(logs: Path, kept: Path) -> Logdir:
    return Logdir(logs, cache=ColumnCache(kept / "columns"), index=LogIndex(str(kept / "index")))


def client_of_snapshot(snapshot: Snapshot) -> TestClient:
    live = Live("logs", lambda publish: NoFollower())
    live.publish(snapshot)
    return TestClient(build_app(live), base_url="http://localhost:6006")


def first_charts(snapshot: Snapshot) -> tuple[dict[str, list[str]], Sequence[NDArray[Any]]]:
    """The runs of each chart, and all columns."""
    client = client_of_snapshot(snapshot)
    header, arrays = unpack(client.post("/api/scalars/first", json={"view": "?tab=scalars"}).content)
    return {key: [line["run"] for line in chart["lines"]] for key, chart in header["charts"].items()}, arrays


def test_the_first_charts_are_drawn_without_event_files(logs: Path, tmp_path: Path, bytes_read: dict[str, int]) -> None:
    logdir = started(logs, tmp_path)
    expected = first_charts(logdir.update())
    assert expected[0] == {tag: ["one", "other", "long"] for tag in TAGS}
    assert bytes_read["long"] > LEAST_CACHED
    logdir.wait_until_stored()
    bytes_read.clear()

    restarted = started(logs, tmp_path)
    before_the_look, columns = first_charts(restarted.indexed())
    assert before_the_look == {tag: ["one", "other"] for tag in TAGS}
    assert bytes_read == {}
    charts, columns = first_charts(restarted.update())
    assert charts == expected[0]
    assert all(np.array_equal(one, other) for one, other in zip(columns, expected[1], strict=True))
    # A large file is compared by its ends.
    assert bytes_read.keys() == {"long"}
    assert bytes_read["long"] <= HEAD_BYTES + MOST_OF_AN_END


class Charts:
    """The charts that a page gets from a server."""

    def __init__(self, snapshot: Snapshot, view: str) -> None:
        self._client = client_of_snapshot(snapshot)
        self._view = view

    def ask(self, route: str, **body: Any) -> dict[str, Any]:
        """Return the charts in the answer, with the steps of their lines instead of their places."""
        header, arrays = unpack(self._client.post(f"/api/scalars/{route}", json={"view": self._view, **body}).content)
        for chart in header["charts"].values():
            chart["steps"] = {line["label"]: arrays[line["columns"]["x"]].tolist() for line in chart["lines"]}
        found: dict[str, Any] = header["charts"]
        return found

    def news(self, version: str, window: tuple[float, float] | None = None) -> Any:
        charts = [{"key": "loss", "points": 600, "version": version, "window": window}]
        return self.ask("curves", charts=charts).get("loss")


@pytest.fixture
def long_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Snapshot:
    """Two long runs and a short one, as seen by a second start whose index has all points."""
    monkeypatch.setattr("stepscope.summary.index_lists._SETTLED_NS", 0)
    monkeypatch.setattr("stepscope.summary.packed_points.LARGEST_UNDIVIDED", 1 << 16)
    for run, points in (("long", 20_000), ("longer", 30_000), ("short", 10)):
        with SummaryWriter(tmp_path / "logs" / run) as writer:
            writer.add_scalar_batch("loss", np.sin(np.arange(points) / 100), np.arange(points))
    logdir = Logdir(tmp_path / "logs", index=LogIndex(str(tmp_path / "index")))
    logdir.update()
    logdir.wait_until_stored()
    return Logdir(tmp_path / "logs", index=LogIndex(str(tmp_path / "index"))).update()


def test_of_long_curves_a_picture_comes_first_and_then_all_points(long_runs: Snapshot, tmp_path: Path) -> None:
    page = Charts(long_runs, "?tab=scalars")
    first = page.ask("first", points=600)["loss"]
    assert first["is_picture"]
    assert {run: len(steps) for run, steps in first["steps"].items()} == {"long": 1024, "longer": 1024, "short": 10}
    assert [steps[-1] for steps in first["steps"].values()] == [19_999, 29_999, 9]
    assert first["note"] == "Preview of 30,000 points per line"
    # A page that never used that route gets the same chart.
    assert page.news("") == first

    then = page.news(first["version"])
    of_all = Charts(Logdir(tmp_path / "logs").update(), "?tab=scalars").news("")
    assert not then["is_picture"]
    assert then["raw_version"] != first["raw_version"]
    assert (then["steps"], then["lines"], then["note"]) == (of_all["steps"], of_all["lines"], of_all["note"])
    assert page.news(then["version"]) is None


@pytest.mark.parametrize(
    "view", ["?tab=scalars&runs.group=path:1", "?tab=scalars&scalars.axis=metric&scalars.axis_tag=loss"]
)
def test_where_points_of_several_curves_meet_there_is_no_picture(long_runs: Snapshot, view: str) -> None:
    assert not Charts(long_runs, view).news("")["is_picture"]


def test_a_part_of_the_axis_is_drawn_of_all_points(long_runs: Snapshot) -> None:
    found = Charts(long_runs, "?tab=scalars").news("", (10_000, 10_100))
    assert not found["is_picture"]
    assert found["steps"]["long"] == list(range(9_999, 10_102))
