"""From a large file in an index, one tag's columns are read without those of the others, and fewer at first."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.summary import SummaryWriter
from stepscope.summary.index_files import Segment
from stepscope.summary.log_index import LogIndex
from stepscope.summary.logdir import Logdir
from stepscope.summary.picture_points import LEAST_PICTURED, PICTURE_POINTS, points_of_picture
from stepscope.summary.snapshot import Snapshot
from tests.summary.index_parts import files_of

POINTS = 10_000
TAGS = ("falls", "odd", "rises")
VALUES = {
    "falls": 1 / np.arange(1, POINTS + 1, dtype=np.float32),
    "odd": np.where(np.arange(POINTS) == 5_000, np.nan, np.sin(np.arange(POINTS, dtype=np.float32))),
    "rises": np.arange(POINTS, dtype=np.float32) / 4,
}
POINT_BYTES = 8 + 8 + 4


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs, one of them with long curves and a short one; their blocks are divided."""
    monkeypatch.setattr("stepscope.summary.index_lists._SETTLED_NS", 0)
    monkeypatch.setattr("stepscope.summary.packed_points.LARGEST_UNDIVIDED", 1 << 16)
    with SummaryWriter(tmp_path / "logs" / "long") as writer:
        for tag in TAGS:
            writer.add_scalar_batch(tag, VALUES[tag], np.arange(POINTS))
        writer.add_scalar("short", 1.5, 3)
        writer.add_text("note", "of **it**", 4)
    with SummaryWriter(tmp_path / "logs" / "other") as writer:
        writer.add_scalar("falls", 1.0, 1)
    return tmp_path / "logs"


@pytest.fixture
def parts_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of the parts of segments that are read."""
    found: list[int] = []
    read = Segment.read

    def noted(self: Segment, at: int, length: int, crc: int) -> bytes | None:
        found.append(length)
        return read(self, at, length, crc)

    monkeypatch.setattr(Segment, "read", noted)
    return found


def started(logs: Path, index: Path) -> Logdir:
    return Logdir(logs, index=LogIndex(str(index)))


def restarted(logs: Path, index: Path) -> Snapshot:
    """The snapshot that a second start shows."""
    first = started(logs, index)
    first.update()
    first.wait_until_stored()
    return started(logs, index).update()


def test_of_one_tag_no_more_is_read_than_its_columns(logs: Path, tmp_path: Path, parts_read: list[int]) -> None:
    run = restarted(logs, tmp_path / "index").runs["long"]
    parts_read.clear()
    np.testing.assert_array_equal(run.series["rises"].values, VALUES["rises"])
    assert parts_read == [POINT_BYTES * POINTS]
    np.testing.assert_array_equal(run.series["odd"].values, VALUES["odd"])
    assert (run.series["short"].values.tolist(), run.series["short"].steps.tolist()) == ([1.5], [3])
    assert parts_read[1:] == [POINT_BYTES * POINTS, POINT_BYTES]
    assert str(run.series["note/text_summary"].read(0).strings) == "of **it**"
    assert [run.series[tag].picture for tag in ("short", "note/text_summary")] == [None, None]


def test_a_picture_is_read_for_all_long_curves_at_once(logs: Path, tmp_path: Path, parts_read: list[int]) -> None:
    run = restarted(logs, tmp_path / "index").runs["long"]
    parts_read.clear()
    for tag in TAGS:
        picture = run.series[tag].picture
        assert picture is not None
        chosen = points_of_picture(VALUES[tag])
        np.testing.assert_array_equal(picture.steps, chosen)
        np.testing.assert_array_equal(picture.values, VALUES[tag][chosen])
        assert len(picture.wall_times) == PICTURE_POINTS
    assert parts_read == [POINT_BYTES * PICTURE_POINTS * len(TAGS)]
    # A reader that has all points needs no picture.
    series = run.series["falls"]
    assert (len(series), len(series.columns), series.picture) == (POINTS, POINTS, None)


def test_what_sums_up_curves_needs_no_points(logs: Path, tmp_path: Path, parts_read: list[int]) -> None:
    expected = {tag: Logdir(logs).update().runs["long"].summary(tag) for tag in (*TAGS, "short")}
    run = restarted(logs, tmp_path / "index").runs["long"]
    parts_read.clear()
    assert {tag: run.summary(tag) for tag in expected} == expected
    assert parts_read == []


@pytest.mark.parametrize("damaged", ["columns", "picture"])
def test_damage_costs_what_is_damaged(logs: Path, tmp_path: Path, damaged: str) -> None:
    snapshot = restarted(logs, tmp_path / "index")
    segment = max((tmp_path / "index").glob("*.segment"), key=lambda path: path.stat().st_size)
    content = bytearray(segment.read_bytes())
    # The middle of the steps of the first tag, or of the picture's.
    sought = np.arange(POINTS) if damaged == "columns" else points_of_picture(VALUES["falls"])
    at = content.find(sought[100:200].astype("<i8").tobytes())
    content[at + 7] ^= 1
    segment.write_bytes(content)
    run = snapshot.runs["long"]
    pictures = [run.series[tag].picture for tag in TAGS]
    expected = PICTURE_POINTS if damaged == "columns" else POINTS
    assert [picture and len(picture) for picture in pictures] == [expected] * len(TAGS)
    for tag in TAGS:
        np.testing.assert_array_equal(run.series[tag].values, VALUES[tag])


def test_a_run_of_which_one_file_is_long_has_a_picture_of_both(logs: Path, tmp_path: Path) -> None:
    with SummaryWriter(logs / "long") as writer:
        for step in range(POINTS, POINTS + 5):
            writer.add_scalar("rises", step / 4, step)
    picture = restarted(logs, tmp_path / "index").runs["long"].series["rises"].picture
    assert picture is not None
    expected = [*points_of_picture(VALUES["rises"]).tolist(), *range(POINTS, POINTS + 5)]
    assert picture.steps.tolist() == expected
    assert picture.values.tolist() == [step / 4 for step in expected]


@pytest.mark.parametrize("viewed", [(), TAGS])
def test_divided_blocks_are_moved_to_new_segments(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, viewed: tuple[str, ...]
) -> None:
    monkeypatch.setattr("stepscope.summary.log_index._MOST_SMALL_SEGMENTS", 0)
    monkeypatch.setattr("stepscope.summary.kept_files._SECONDS_BETWEEN_SEGMENTS", 0.0)
    restarted(logs, tmp_path / "index")
    before = set((tmp_path / "index").glob("*.segment"))
    logdir = started(logs, tmp_path / "index")
    run = logdir.update().runs["long"]
    assert [len(run.series[tag].values) for tag in viewed] == [POINTS] * len(viewed)
    with SummaryWriter(logs / "later") as writer:
        writer.add_scalar("falls", 2.0, 1)
    logdir.update()
    logdir.wait_until_stored()
    runs = started(logs, tmp_path / "index").update().runs
    after = {files.segment.name for files, _ in files_of(tmp_path / "index", logs).places.values()}
    assert len(after) == 1
    assert not after & {path.name for path in before}
    np.testing.assert_array_equal(runs["long"].series["odd"].values, VALUES["odd"])
    picture = runs["long"].series["falls"].picture
    assert picture is not None
    assert picture.steps.tolist() == points_of_picture(VALUES["falls"]).tolist()


FLOATS = st.floats(width=32, allow_nan=True)


@given(values=st.lists(FLOATS, min_size=1, max_size=40), length=st.integers(LEAST_PICTURED, LEAST_PICTURED + 700))
def test_a_picture_has_the_ends_and_the_extremes_of_its_parts(values: list[float], length: int) -> None:
    curve = np.resize(np.array(values), length)
    chosen = points_of_picture(curve)
    assert (len(chosen), chosen[0], chosen[-1]) == (PICTURE_POINTS, 0, length - 1)
    assert (np.diff(chosen) > 0).all()
    if not np.isnan(curve).any():
        assert (curve[chosen].min(), curve[chosen].max()) == (curve.min(), curve.max())
    else:
        assert np.isnan(curve[chosen]).any()
