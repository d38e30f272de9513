import json
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from stepscope.dashboard.panels.timeline.routes_steps import make_router
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.traces.messages import Joined
from stepscope.dashboard.traces.sources import (
    OpenedTrace,
    TraceSource,
    TraceUnavailableError,
    open_trace,
    trace_sources,
)
from stepscope.dashboard.traces.step_ranges import (
    MarkedSteps,
    StepRanges,
    curve_runs,
    join,
    joined_steps,
    marked_steps,
    unpacked_size,
)
from stepscope.summary.contents import Companion
from stepscope.summary.series import Columns, Run, Series
from stepscope.summary.snapshot import Snapshot
from tests.dashboard.test_timeline_api import NoFollower, companion, metadata_of_one_node, run_metadata_series

WALL = 1_700_000_000.0
"""When the runs of these tests began."""


class CountedRuns(dict[str, Run]):
    """Runs that count how often all of them are looked at."""

    walks = 0

    def __iter__(self) -> Iterator[str]:
        self.walks += 1
        return super().__iter__()


def test_the_runs_are_walked_once_for_all_traces() -> None:
    names = [f"run_{number}/{part}" for number in range(9) for part in ("train", "validation")]
    snapshot = snapshot_of(*(scalar(name, "loss", SECONDS) for name in names))
    runs = CountedRuns(snapshot.runs)
    snapshot = replace(snapshot, runs=runs)
    found = [curve_runs(snapshot, f"run_{number}") for number in range(9)]
    assert found == [(f"run_{number}/train", f"run_{number}/validation") for number in range(9)]
    assert runs.walks == 1


def columns(*points: tuple[int, float]) -> Columns:
    """Points as (step, seconds since `WALL`)."""
    steps, seconds = zip(*points, strict=True)
    return Columns(np.array(steps, np.int64), np.array(seconds, np.float64) + WALL, np.zeros(len(steps)))


def scalar(run: str, tag: str, points: Columns, version: int = 1) -> Series:
    return Series(run, tag, "scalars", "", "", b"", version, 0, lambda: points, lambda _index: None)


def snapshot_of(*series: Series, files: Iterable[Companion] = ()) -> Snapshot:
    runs: dict[str, dict[str, Series]] = {}
    for one in series:
        runs.setdefault(one.run, {})[one.tag] = one
    return Snapshot(
        1,
        MappingProxyType({name: Run(name, WALL, MappingProxyType(tags)) for name, tags in runs.items()}),
        tuple(files),
    )


def trace_file(folder: Path, name: str, steps: dict[int, tuple[float, float]], *, wall: bool = True) -> Path:
    """A trace with steps as number -> (begin, end) in seconds since `WALL`."""
    path = folder / name
    events = [
        {"ph": "X", "pid": 1, "tid": 1, "ts": begin * 1e6, "dur": (end - begin) * 1e6, "name": f"ProfilerStep#{number}"}
        for number, (begin, end) in steps.items()
    ]
    base = {"baseTimeNanoseconds": int(WALL) * 10**9} if wall else {}
    path.write_text(json.dumps({"traceEvents": events, **base}))
    return path


SECONDS = columns(*((step, float(step)) for step in range(100, 200)))
"""A run that logged step 100 + n after 100 + n seconds."""


@pytest.mark.parametrize(
    ("numbers", "begins", "logged", "expected"),
    [
        # Logged while the step ran, at its very end, and just after it: the number is right.
        ([120, 121], [119.5, 120.5], SECONDS, ([120, 121], "step", True)),
        ([120, 121], [119.0, 120.0], SECONDS, ([120, 121], "step", True)),
        ([121, 122], [119.5, 120.5], SECONDS, ([121, 122], "step", True)),
        # The profiler counts from 0: the number logged during a step is its number.
        ([3, 4], [119.5, 120.5], SECONDS, ([120, 121], "time", True)),
        # Logged once every 50 steps, so nothing contradicts the number.
        ([12, 13], [10.2, 11.2], columns((0, 0.0), (50, 40.0), (100, 80.0)), ([12, 13], "step", True)),
        # The same, resumed from 1,000: the steps between two points.
        ([12, 13], [10.0, 30.0], columns((1000, 0.0), (1050, 50.0)), ([1011, 1031], "time", True)),
        # Batch numbers, but epochs were logged: the next logged epoch.
        ([40, 41], [2.0, 12.0], columns((0, 5.0), (1, 15.0)), ([0, 1], "time", True)),
        # Before the first point, and behind the last one so far.
        ([7], [198.5], SECONDS, ([199], "time", False)),
        ([5], [250.0], SECONDS, ([199], "time", False)),
        # Between the largest possible steps, as far as float64 can tell them apart.
        ([5], [100.0], columns((2**63 - 1, 0.0), (2**63 - 1, 300.0)), ([2**63 - 1024], "time", True)),
        # Not at the time of the run.
        ([5], [9_000.0], SECONDS, ([5], "marked", False)),
        ([5], [1.0], columns((0, np.nan)), ([5], "marked", False)),
    ],
)
def test_steps_are_joined_by_number_or_by_time(
    numbers: list[int], begins: list[float], logged: Columns, expected: tuple[list[int], Joined, bool]
) -> None:
    start = np.array(begins) + WALL
    found = join(np.array(numbers), start, start + 1.0, logged)
    assert (found.steps.tolist(), found.joined, found.settled) == expected


def marked(*numbers: int, began: float | None) -> MarkedSteps:
    """Steps of a second each, from the beginning of the trace."""
    count = len(numbers)
    return MarkedSteps(
        np.array(numbers), np.arange(count) * 10**9, np.full(count, 10**9), None if began is None else WALL + began
    )


def test_the_scalar_that_has_the_numbers_wins_over_the_one_with_more_points() -> None:
    epochs = columns((0, 100.0), (1, 150.0), (2, 201.0))
    found = joined_steps(marked(120, 121, began=119.5), [epochs, SECONDS])
    assert (found.steps.tolist(), found.joined) == ([120, 121], "step")
    found = joined_steps(marked(3, 4, began=119.5), [epochs, SECONDS])
    assert (found.steps.tolist(), found.joined) == ([1, 1], "time")


def test_without_a_clock_the_numbers_stay_and_times_are_those_of_the_curve() -> None:
    found = joined_steps(marked(150, 500, began=None), [SECONDS])
    assert (found.steps.tolist(), found.joined) == ([150, 500], "marked")
    np.testing.assert_array_equal(found.begins, [WALL + 150, np.nan])
    assert np.isnan(joined_steps(marked(1, began=None), []).begins).all()


@pytest.mark.parametrize(
    ("run", "runs", "expected"),
    [
        ("a", ["a", "a/b"], ("a",)),
        ("a/profile/x", ["a", "a/b"], ("a",)),
        ("a", [".", "b"], (".",)),
        ("a", ["a/train", "a/validation", "b"], ("a/train", "a/validation")),
        (".", ["x", "y"], ("x", "y")),
        (".", [f"run_{n}" for n in range(9)], ()),
        ("a", ["b"], ()),
    ],
)
def test_the_runs_that_a_trace_belongs_to(run: str, runs: list[str], expected: tuple[str, ...]) -> None:
    assert curve_runs(snapshot_of(*(scalar(name, "loss", SECONDS) for name in runs)), run) == expected


def test_steps_count_from_the_beginning_of_the_trace(tmp_path: Path) -> None:
    path = trace_file(tmp_path, "a.trace.json", {4: (10.0, 11.0), 10**17: (11.0, 12.0), 5: (12.0, 14.0)})
    [source] = trace_sources(snapshot_of(files=[companion("r", path)]))
    found = marked_steps(open_trace(source))
    assert found.numbers.tolist() == [4, 5]
    assert (found.start_ns.tolist(), found.duration_ns.tolist()) == ([0, 2 * 10**9], [10**9, 2 * 10**9])
    assert (found.began, found.left_out) == (WALL + 10.0, 1)


def test_a_compressed_trace_is_as_large_as_what_is_in_it() -> None:
    def source(name: str) -> TraceSource:
        [found] = trace_sources(snapshot_of(files=[Companion("r", PurePosixPath(name), name, 1_000, 5)]))
        return found

    assert [unpacked_size(source(name)) for name in ("a.trace.json", "a.pt.trace.json.gz")] == [1_000, 15_000]


class Steps:
    """The routes for a snapshot, with a reader whose work can be waited for."""

    def __init__(self, snapshot: Snapshot, opener: Callable[[TraceSource], OpenedTrace] = open_trace, **more: Any):
        self.live = Live("logs", lambda _publish: NoFollower())
        self.live.publish(snapshot)
        self.rests = threading.Semaphore(0)
        self.live.shared(StepRanges, lambda: StepRanges(opener, lambda _seconds: self.rests.release(), **more))
        app = FastAPI()
        app.include_router(make_router(self.live))
        self.client = TestClient(app)

    def get(self, **query: str) -> Any:
        return self.client.get("/steps", params=query).json()

    def read(self, traces: int) -> Any:
        """The answer once that many traces have been read."""
        assert self.get()["pending"]
        for _ in range(traces):
            assert self.rests.acquire(timeout=60)
        return self.get()


def test_the_route_tells_of_a_trace_once_it_was_read(tmp_path: Path) -> None:
    path = trace_file(tmp_path, "a.trace.json", {3: (119.5, 120.25), 4: (120.5, 121.25)})
    requested = threading.Event()

    def opener(source: TraceSource) -> OpenedTrace:
        assert requested.wait(60)
        return open_trace(source)

    steps = Steps(snapshot_of(scalar("r", "loss", SECONDS), files=[companion("r", path)]), opener)
    known = {"id": "r|file|r/a.trace.json", "run": "r", "label": "a.trace.json", "kind": "file", "problem": ""}
    nothing = {"runs": [], "joined": "marked", "steps": [], "left_out": 0, "range": None, "wall": None}
    assert steps.get()["traces"] == [known | {"state": "waiting"} | nothing]
    requested.set()
    assert steps.rests.acquire(timeout=60)
    answer = steps.get()
    assert not answer["pending"]
    row = known | {
        "state": "ready",
        "runs": ["r"],
        "joined": "time",
        "steps": [
            [120, 0, 750_000_000, 3, WALL + 119.5, WALL + 120.25],
            [121, 1_000_000_000, 750_000_000, 4, WALL + 120.5, WALL + 121.25],
        ],
        "left_out": 0,
        "range": [120, 121],
        "wall": [WALL + 119.5, WALL + 121.25],
    }
    assert answer["traces"] == [row]
    assert steps.get(version=answer["version"]) == {"revision": 1, "version": answer["version"], "pending": False}
    assert steps.get(id="r|file|r/a.trace.json") == row


def test_points_behind_a_trace_settle_it_and_others_do_not(tmp_path: Path) -> None:
    path = trace_file(tmp_path, "a.trace.json", {1: (102.5, 103.4)})
    files = [companion("r", path)]

    def logged(last: int, version: int) -> Snapshot:
        points = columns(*((step, float(step)) for step in range(100, last)))
        return snapshot_of(scalar("r", "loss", points, version), files=files)

    steps = Steps(logged(102, 1))
    assert steps.read(1)["traces"][0]["range"] == [101, 101]
    steps.live.publish(logged(110, 2))
    assert steps.get()["traces"][0]["range"] == [103, 103]
    unreadable = Series(
        "r", "loss", "scalars", "", "", b"", 3, 0, lambda: pytest.fail("not needed"), lambda _i: None, 9
    )
    steps.live.publish(snapshot_of(unreadable, files=files))
    assert steps.get()["traces"][0]["range"] == [103, 103]


def test_run_metadata_is_a_step_without_being_read() -> None:
    def refuse(source: TraceSource) -> OpenedTrace:
        raise AssertionError(source.id)

    steps = Steps(snapshot_of(run_metadata_series("r", metadata_of_one_node())), refuse)
    answer = steps.get()
    assert not answer["pending"]
    assert answer["traces"][0]["steps"] == [[4, None, None, 4, 1.0, 1.0]]
    assert (answer["traces"][0]["runs"], answer["traces"][0]["joined"]) == (["r"], "step")


def test_traces_that_say_nothing_of_steps_say_why(tmp_path: Path) -> None:
    broken, plain = tmp_path / "broken.trace.json", tmp_path / "plain.trace.json"
    broken.write_text("no trace")
    plain.write_text(json.dumps({"traceEvents": [{"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "name": "a"}]}))
    large = trace_file(tmp_path, "large.trace.json", {n: (100.0 + n, 100.5 + n) for n in range(50)})
    files = [companion("r", path) for path in (broken, plain, large)]
    most = plain.stat().st_size
    steps = Steps(snapshot_of(scalar("r", "loss", SECONDS), files=files), most_bytes=most)
    rows = {row["label"]: row for row in steps.read(2)["traces"]}
    assert {label: row["state"] for label, row in rows.items()} == {
        "broken.trace.json": "unreadable",
        "plain.trace.json": "none",
        "large.trace.json": "large",
    }
    assert "broken.trace.json" in rows["broken.trace.json"]["problem"]
    # Somebody opens the large one.
    assert steps.get(id="r|file|r/large.trace.json")["range"] == [100, 149]
    assert next(row for row in steps.get()["traces"] if "large" in row["label"])["state"] == "ready"


def test_an_unexpected_error_does_not_end_the_reader(tmp_path: Path) -> None:
    def opener(source: TraceSource) -> OpenedTrace:
        if "a." in source.id:
            raise TraceUnavailableError("gone")
        if "b." in source.id:
            raise ZeroDivisionError
        return open_trace(source)

    paths = [trace_file(tmp_path, f"{name}.trace.json", {101: (100.5, 101.5)}) for name in "abc"]
    files = [companion("r", path, 9 - place) for place, path in enumerate(paths)]
    rows = Steps(snapshot_of(scalar("r", "loss", SECONDS), files=files), opener).read(3)["traces"]
    assert [(row["state"], row["problem"]) for row in rows] == [
        ("unreadable", "gone"),
        ("unreadable", "b.trace.json of run 'r' cannot be read: ZeroDivisionError()."),
        ("ready", ""),
    ]


def test_a_trace_above_its_runs_belongs_to_those_that_ran_then(tmp_path: Path) -> None:
    path = trace_file(tmp_path, "a.trace.json", {1: (119.5, 120.25)})
    later = columns((0, 90_000.0), (1, 90_001.0))
    snapshot = snapshot_of(
        scalar("k/old", "loss", later), scalar("k/train", "loss", SECONDS), files=[companion("k", path)]
    )
    [row] = Steps(snapshot).read(1)["traces"]
    assert (row["runs"], row["joined"], row["range"]) == (["k/train"], "time", [120, 120])
    alone = snapshot_of(scalar("other", "loss", SECONDS), files=[companion("k", path)])
    [row] = Steps(alone).read(1)["traces"]
    assert (row["runs"], row["joined"], row["range"]) == ([], "marked", [1, 1])


def test_a_request_for_a_trace_that_is_not_there_is_answered_with_a_sentence() -> None:
    steps = Steps(snapshot_of())
    answer = steps.client.get("/steps", params={"id": "r|file|../secret"})
    assert (answer.status_code, steps.get()["traces"]) == (404, [])
    assert answer.json()["detail"].startswith("There is no trace")


def test_an_answer_has_a_bounded_number_of_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepscope.dashboard.traces.step_ranges.MOST_ROWS", 3)
    paths = [
        trace_file(tmp_path, f"{name}.trace.json", {101: (100.5, 101.5), 102: (101.5, 102.5)}) for name in ("a", "b")
    ]
    files = [companion("r", path, 9 - place) for place, path in enumerate(paths)]
    rows = Steps(snapshot_of(scalar("r", "loss", SECONDS), files=files)).read(2)["traces"]
    assert [(len(row["steps"]), row["left_out"]) for row in rows] == [(2, 0), (1, 1)]
