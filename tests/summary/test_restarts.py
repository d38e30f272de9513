"""Which points a restart has overwritten, and which files were written at the same time."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.summary.column_cache import ColumnCache
from stepscope.summary.logdir import Logdir, open_logdir
from stepscope.summary.proto.event_pb2 import Event, SessionLog
from stepscope.summary.restarts import (
    Restart,
    Turn,
    Written,
    are_written_at_once,
    kept_points,
    shown_order,
    standing,
    turns,
    writers_at_once,
)
from stepscope.summary.snapshot import Snapshot
from tests.summary.test_logdir import scalar, write


def written(
    turn: Turn, steps: Sequence[int], times: Sequence[float] | None = None, starts: Sequence[Restart] = ()
) -> Written:
    wall_times = np.arange(len(steps), dtype=np.float64) if times is None else np.array(times)
    return Written(turn, np.array(steps, np.int64), wall_times, starts)


def start(step: int, wall_time: float) -> Event:
    return Event(step=step, wall_time=wall_time, session_log=SessionLog(status=SessionLog.START))


# ---- the rules ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "kept"),
    [
        ([], []),
        ([7], [7]),
        ([0, 1, 2], [0, 1, 2]),
        # Several points of one step are not a restart.
        ([0, 1, 1, 1, 2], [0, 1, 1, 1, 2]),
        # A step that goes back overwrites what it repeats.
        ([0, 1, 2, 3, 4, 2, 3], [0, 1, 2, 3]),
        ([0, 1, 2, 3, 4, 2, 3, 4, 1, 2], [0, 1, 2]),
        ([5, 0], [0]),
        # The largest step once stood for "no restart follows", and was lost where another step went back.
        ([5, 3, 2**63 - 1, 2**63 - 1], [3, 2**63 - 1, 2**63 - 1]),
    ],
)
def test_a_step_that_goes_back_supersedes_the_points_it_repeats(steps: list[int], kept: list[int]) -> None:
    array = np.array(steps, np.int64)
    assert array[kept_points(array, [])].tolist() == kept


def test_a_session_start_supersedes_from_its_step_on_and_nothing_after_it() -> None:
    steps = np.array([0, 1, 2, 3, 4, 2, 3], np.int64)
    assert steps[kept_points(steps, [Restart(position=5, step=2)])].tolist() == [0, 1, 2, 3]
    # With session starts, the run itself tells where it restarted: other steps that go back are left alone.
    steps = np.array([0, 1, 2, 0, 1], np.int64)
    assert kept_points(steps, [Restart(position=0, step=0)]).all()
    # Of several starts in one place, the lowest decides, and each supersedes only what came before it.
    steps = np.array([0, 5, 1, 5, 0], np.int64)
    restarts = [Restart(position=2, step=3), Restart(position=2, step=1), Restart(position=4, step=5)]
    assert kept_points(steps, restarts).tolist() == [True, False, True, False, True]


@pytest.mark.parametrize(
    ("steps", "restarts", "expected"),
    [
        ([0, 1, 2], [], []),
        ([0, 1, 2, 3, 4, 2, 3], [], [(2, 3)]),
        ([0, 1, 2, 3, 4, 2, 3, 4, 1, 2], [], [(2, 3), (1, 4)]),
        # The second start overwrites nothing that is left, and one after all points has nowhere to continue.
        ([0, 1, 2, 1, 2], [Restart(3, 1), Restart(3, 2), Restart(5, 0)], [(1, 2)]),
    ],
)
def test_resumptions_tell_what_each_restart_overwrote(
    steps: list[int], restarts: list[Restart], expected: list[tuple[int, int]]
) -> None:
    found = standing([written(Turn(0, 1), steps, starts=restarts)], reported=bool(restarts))
    assert [(one.step, one.superseded) for one in found.resumptions] == expected
    behind = np.count_nonzero(~found.kept[0]) - sum(one.superseded for one in found.resumptions)
    assert behind == sum(restart.position >= len(steps) for restart in restarts) * (
        len(steps) - sum(n for _, n in expected)
    )


@pytest.mark.parametrize(
    ("spans", "expected", "at_once"),
    [
        ([], [], 0),
        ([(1, 5)], [(0, 1)], 1),
        # One after the other, even if the next begins at the very moment when the last one ends.
        ([(1, 5), (5, 6), (7, 9)], [(0, 1), (1, 2), (2, 3)], 1),
        # In time order; in the given order if all times are the same.
        ([(7, 9), (1, 5)], [(1, 2), (0, 1)], 1),
        ([(1, 1), (1, 1), (1, 1)], [(0, 1), (1, 2), (2, 3)], 1),
        # The first is at work while two others come and go.
        ([(0, 9), (1, 2), (3, 4), (9, 10)], [(0, 3), (1, 2), (2, 3), (3, 4)], 2),
        ([(0, 9), (1, 9), (2, 9), (3, 9)], [(0, 4), (1, 4), (2, 4), (3, 4)], 4),
        # If a time is NaN, nothing can be determined.
        ([(0, 9), (1, math.nan), (2, 9)], [(0, 1), (1, 2), (2, 3)], 1),
    ],
)
def test_files_follow_each_other_or_are_written_at_once(
    spans: list[tuple[float, float]], expected: list[tuple[int, int]], at_once: int
) -> None:
    found = turns(spans)
    assert found == [Turn(*turn) for turn in expected]
    assert writers_at_once(sorted(found)) == at_once
    consecutive = [
        all(other is turn or other.precedes(turn) or turn.precedes(other) for other in found) for turn in sorted(found)
    ]
    assert [not each for each in are_written_at_once(sorted(found))] == consecutive


@given(st.lists(st.lists(st.integers(0, 6), max_size=6), min_size=1, max_size=5), st.data())
def test_files_one_after_the_other_are_as_one_file(files: list[list[int]], data: st.DataObject) -> None:
    ends = np.cumsum([len(steps) for steps in files])
    starts = data.draw(
        st.lists(st.tuples(st.integers(0, len(files) - 1), st.integers(0, 6), st.integers(0, 6)), max_size=4)
    )
    by_file = [
        sorted(
            (Restart(min(position, len(steps)), step) for number, position, step in starts if number == place),
            key=lambda restart: restart.position,
        )
        for place, steps in enumerate(files)
    ]
    found = standing(
        [
            written(Turn(place, place + 1), steps, starts=by_file[place])
            for place, steps in enumerate(files)
            if steps or starts
        ],
        reported=bool(starts),
    )
    whole = np.array([step for steps in files for step in steps], np.int64)
    begins = [0, *ends.tolist()]
    reported = [
        Restart(begins[place] + one.position, one.step) for place in range(len(files)) for one in by_file[place]
    ]
    assert np.concatenate([np.empty(0, np.bool_), *found.kept]).tolist() == kept_points(whole, reported).tolist()


@given(st.lists(st.lists(st.integers(0, 9), min_size=1).map(sorted), min_size=2, max_size=5))
def test_of_writers_at_once_every_point_is_shown(files: list[list[int]]) -> None:
    together = [written(Turn(rank, len(files)), steps) for rank, steps in enumerate(files)]
    found = standing(together, reported=False)
    assert all(mask.all() for mask in found.kept)
    order = shown_order(together, found.kept)
    assert sorted(order.tolist()) == list(range(sum(map(len, files))))
    points = [(step, time) for steps in files for time, step in enumerate(steps)]
    assert [points[place] for place in order.tolist()] == sorted(points)


def test_a_restart_of_all_writers_overwrites_what_each_of_them_wrote_before() -> None:
    before = [written(Turn(rank, 2), [0, 1, 2, 3 + rank]) for rank in range(2)]
    after = [written(Turn(2 + rank, 4), [2, 3, 9]) for rank in range(2)]
    found = standing([*before, *after], reported=False)
    assert [mask.tolist() for mask in found.kept] == [[True, True, False, False]] * 2 + [[True, True, True]] * 2
    assert [(one.step, one.superseded) for one in found.resumptions] == [(2, 4)]
    steps = np.concatenate([file.steps for file in (*before, *after)])
    assert steps[shown_order([*before, *after], found.kept)].tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 9, 9]


def test_a_start_overwrites_nothing_of_a_file_that_is_being_written() -> None:
    files = [
        written(Turn(0, 1), [0, 1, 2]),
        written(Turn(1, 3), [1, 2], starts=[Restart(0, 1)]),
        written(Turn(2, 3), [1, 2], starts=[Restart(0, 1)]),
    ]
    found = standing(files, reported=True)
    assert [mask.tolist() for mask in found.kept] == [[True, False, False], [True, True], [True, True]]


# ---- log directories ------------------------------------------------------------------------------------------------


def losses(snapshot: Snapshot) -> list[tuple[int, float]]:
    series = snapshot.series(".", "loss")
    assert series is not None
    return list(zip(series.steps.tolist(), series.values.tolist(), strict=True))


def ranks(folder: Path, count: int, steps: int) -> None:
    """The files left by ``count`` processes that log into one folder at the same time."""
    for rank in range(count):
        times = [1000.0 + rank / 100 + step for step in range(steps)]
        events = [scalar(step, 10 * rank + step, wall_time=time) for step, time in enumerate(times)]
        version = Event(wall_time=times[0], file_version="brain.Event:2")
        write(folder / f"events.out.tfevents.1000.host.{7 + rank}.0", version, *events)


def test_writers_at_once_are_told_from_restarts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Four processes of distributed training were once shown as three restarts, with 150 of 200 points superseded.
    monkeypatch.setattr("stepscope.summary.kept_files.LEAST_CACHED", 1)
    ranks(tmp_path / "logs", 4, 50)
    everything = [(step, float(10 * rank + step)) for step in range(50) for rank in range(4)]
    for _ in range(2):
        logdir = Logdir(tmp_path / "logs", cache=ColumnCache(tmp_path / "cache"))
        snapshot = logdir.update()
        logdir.wait_until_stored()
        assert losses(snapshot) == everything
        assert (snapshot.superseded, snapshot.written_at_once) == (0, {".": 4})
        assert [file.writers for file in snapshot.health] == [4, 4, 4, 4]
    # Nothing is hidden, so there is nothing more to keep.
    assert losses(open_logdir(tmp_path / "logs", keep_superseded=True)) == everything


def test_writers_of_different_tags_do_not_meet(tmp_path: Path) -> None:
    write(tmp_path / "events.out.tfevents.1", *(scalar(s, s, "loss", 100.0 + s) for s in range(5)))
    write(tmp_path / "events.out.tfevents.2", *(scalar(s, s, "accuracy", 102.5 + s) for s in range(5)))
    snapshot = open_logdir(tmp_path)
    assert (snapshot.written_at_once, [file.writers for file in snapshot.health]) == ({}, [1, 1])


def test_a_file_that_goes_on_turns_a_restart_into_a_second_writer(tmp_path: Path) -> None:
    first, second = tmp_path / "events.out.tfevents.1", tmp_path / "events.out.tfevents.2"
    write(first, *(scalar(s, s, wall_time=100.0 + s) for s in range(3)))
    logdir = Logdir(tmp_path)
    logdir.update()
    write(second, scalar(1, 10.0, wall_time=110.0), scalar(2, 20.0, wall_time=111.0))
    assert (losses(logdir.update()), logdir.snapshot.superseded) == ([(0, 0.0), (1, 10.0), (2, 20.0)], 2)
    # The first writer was merely slow to flush.
    write(first, scalar(3, 3.0, wall_time=110.5))
    assert losses(logdir.update()) == [(0, 0.0), (1, 1.0), (1, 10.0), (2, 2.0), (2, 20.0), (3, 3.0)]
    assert (logdir.snapshot.superseded, logdir.snapshot.written_at_once) == (0, {".": 2})


def test_files_of_one_second_are_in_the_order_of_their_events(tmp_path: Path) -> None:
    # By name, the second file once came first, and the point at which it had resumed was hidden.
    write(tmp_path / "events.out.tfevents.100.host.9.1", *(scalar(s, s, wall_time=100.0) for s in range(4)))
    write(tmp_path / "events.out.tfevents.100.host.10.0", scalar(2, 20.0, wall_time=100.5))
    assert losses(open_logdir(tmp_path)) == [(0, 0.0), (1, 1.0), (2, 20.0)]


def test_the_first_start_of_a_run_may_come_late(tmp_path: Path) -> None:
    # A supervisor marks its start after others have logged already; their points were once superseded.
    file = tmp_path / "events.out.tfevents.1"
    write(file, scalar(0, 0.0), scalar(1, 1.0), start(0, 100.0), scalar(2, 2.0))
    assert losses(open_logdir(tmp_path)) == [(0, 0.0), (1, 1.0), (2, 2.0)]
    # The second start restarts the run.
    write(file, start(1, 100.0), scalar(1, 10.0))
    assert losses(open_logdir(tmp_path)) == [(0, 0.0), (1, 10.0)]


def test_writers_at_once_that_mark_their_starts(tmp_path: Path) -> None:
    for rank in range(2):
        time = 100.0 + rank / 10
        events = [scalar(step, 10.0 * rank + step, wall_time=time + step) for step in range(3)]
        write(tmp_path / f"events.out.tfevents.{rank}", start(0, time), *events)
    assert losses(open_logdir(tmp_path)) == [(0, 0.0), (0, 10.0), (1, 1.0), (1, 11.0), (2, 2.0), (2, 12.0)]


def test_points_of_one_file_stay_as_written_where_another_file_has_none_of_their_tag(tmp_path: Path) -> None:
    # They were once sorted by step if the other file marked a start of its own.
    before = [start(0, 100.0), scalar(8, 1.0, wall_time=100.0), scalar(20, 2.0, wall_time=101.0)]
    write(tmp_path / "events.out.tfevents.1", *before, start(10, 102.0), scalar(-5, 3.0, wall_time=110.0))
    write(tmp_path / "events.out.tfevents.2", start(0, 105.0), scalar(0, 0.0, "accuracy", 105.0), start(50, 106.0))
    assert losses(open_logdir(tmp_path)) == [(8, 1.0), (-5, 3.0)]
