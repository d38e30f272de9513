"""The charts that a page shows first after a restart are drawn of what was kept: no event file is read for them."""

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
    """How much was read of the event file of each run, of those that were opened."""
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


def first_charts(snapshot: Snapshot) -> tuple[dict[str, list[str]], Sequence[NDArray[Any]]]:
    """The runs of each chart, and all columns."""
    live = Live("logs", lambda publish: NoFollower())
    live.publish(snapshot)
    client = TestClient(build_app(live), base_url="http://localhost:6006")
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
    # Of a large file the ends are compared.
    assert bytes_read.keys() == {"long"}
    assert bytes_read["long"] <= HEAD_BYTES + MOST_OF_AN_END
