import gc
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from stepscope.dashboard.embeddings.point_files import PointFiles, mapped, points_name
from stepscope.dashboard.embeddings.requests import EmbeddingRequests
from stepscope.dashboard.panels.registry import companion_patterns
from stepscope.dashboard.projections.base import Points
from stepscope.dashboard.server.live import Live
from stepscope.summary.logdir import Logdir
from tests.dashboard.media import NoFollower

LARGE = np.random.default_rng(0).standard_normal((5_000, 256), np.float32)


@pytest.fixture
def files() -> Iterator[PointFiles]:
    made = PointFiles()
    yield made
    made.close()


def unexpected() -> Points:
    raise AssertionError("the points are written already")


def test_a_file_is_there_while_somebody_holds_it(files: PointFiles) -> None:
    path = files.hold("one", "points", lambda: LARGE)
    assert files.hold("two", "points", unexpected) == path
    np.testing.assert_array_equal(mapped(path), LARGE)
    files.release("one")
    assert os.path.exists(path)
    files.release("two")
    assert not os.path.exists(path)


def test_shared_points_are_the_file_that_others_hold(files: PointFiles) -> None:
    shared = files.shared(points_name("digest"), LARGE)
    np.testing.assert_array_equal(shared, LARGE)
    assert not np.shares_memory(shared, LARGE)
    assert type(shared) is np.ndarray
    path = files.hold("job", points_name("digest"), unexpected)
    files.release("job")
    assert os.path.exists(path)
    some = shared[:3]
    del shared
    gc.collect()
    assert os.path.exists(path)
    del some
    gc.collect()
    assert not os.path.exists(path)


def test_what_is_written_to_shared_points_stays_here(files: PointFiles) -> None:
    shared = files.shared("points", LARGE)
    shared[0, 0] = 7
    assert mapped(files.hold("job", "points", unexpected))[0, 0] == LARGE[0, 0]


def test_a_few_points_are_not_worth_a_file(files: PointFiles) -> None:
    few = LARGE[:10]
    assert files.shared("points", few) is few


def test_points_stay_in_memory_where_no_file_can_be_written(
    files: PointFiles, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    assert files.shared("points", LARGE) is LARGE
    assert "No space left on device" in caplog.text
    monkeypatch.undo()
    # No half-written file blocks the next one.
    np.testing.assert_array_equal(mapped(files.hold("job", "points", lambda: LARGE)), LARGE)


def test_points_are_named_by_what_was_done_to_them() -> None:
    assert points_name("digest") == points_name("digest", sphere=False) != points_name("digest", sphere=True)


def test_what_is_opened_is_the_file_that_workers_get(tmp_path: Path) -> None:
    np.save(tmp_path / "points.npy", LARGE)
    live = Live(str(tmp_path), lambda publish: NoFollower())
    live.publish(Logdir(tmp_path, companion_patterns=companion_patterns()).update())
    requested = EmbeddingRequests(live)
    (source,) = requested.sources()
    dataset = requested.opened(source, None)
    np.testing.assert_array_equal(dataset.points, LARGE)
    files = live.shared(PointFiles)
    assert os.path.exists(files.hold("job", points_name(dataset.digest), unexpected))
    requested.jobs.close()
