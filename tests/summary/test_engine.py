"""Divisible work, in threads and processes on this machine."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stepscope.summary.cancellation import Cancellation, Cancelled, cancellable
from stepscope.summary.engine import MANY_PARTS, Engine, Outcome, Progress, engine_at
from stepscope.summary.errors import UserError
from tests.summary import engine_work

LOCAL = ("threads", "processes")


def outcomes(spec: str, function: Callable[[Any], Any], parts: list[Any]) -> list[Outcome[Any, Any]]:
    """The outcomes of parts, in the order of the parts."""
    with Engine(spec, 2) as engine:
        found = list(engine.map(function, parts))
    return sorted(found, key=lambda outcome: parts.index(outcome.part))


@pytest.mark.parametrize("spec", LOCAL)
def test_every_part_has_its_result_once(spec: str) -> None:
    assert outcomes(spec, engine_work.doubled, list(range(20))) == [Outcome(n, 2 * n) for n in range(20)]


@pytest.mark.parametrize("spec", LOCAL)
def test_a_part_that_fails_is_named_and_the_others_go_on(spec: str) -> None:
    assert outcomes(spec, engine_work.doubled_but_seven, list(range(12))) == [
        Outcome(n, None, "seven is refused") if n == 7 else Outcome(n, 2 * n) for n in range(12)
    ]


def test_an_error_that_cannot_be_pickled_is_a_sentence_all_the_same() -> None:
    assert outcomes("processes", engine_work.raises_what_cannot_be_pickled, [1]) == [Outcome(1, None, "odd")]


def test_no_parts_are_no_work() -> None:
    assert outcomes("threads", engine_work.doubled, []) == []


def test_what_a_lost_process_had_is_done_again(tmp_path: Path) -> None:
    parts = [tmp_path / name for name in ("a", "fatal", "b", "c", "fatal too", "d")]
    assert outcomes("processes", engine_work.ends_its_worker_once, parts) == [
        Outcome(path, path.name) for path in parts
    ]


def test_a_part_that_ends_each_process_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    parts = [tmp_path / name for name in ("a", "fatal", "b", "c", "d")]
    reason = "its worker was lost every time; it may have too little memory"
    assert outcomes("processes", engine_work.ends_its_worker, parts) == [
        Outcome(path, None, reason) if path.name == "fatal" else Outcome(path, path.name) for path in parts
    ]


@pytest.mark.parametrize("spec", LOCAL)
def test_who_leaves_ends_the_work(spec: str, tmp_path: Path) -> None:
    parts = [tmp_path / f"{number}" for number in range(500)]
    cancellation = Cancellation()
    with Engine(spec, 2) as engine, cancellable(cancellation):
        work = engine.map(engine_work.noted, parts)
        next(work)
        cancellation.cancel()
        with pytest.raises(Cancelled):
            next(work)
    assert len(list(tmp_path.iterdir())) < len(parts)


def test_a_closed_iteration_ends_the_work(tmp_path: Path) -> None:
    parts = [tmp_path / f"{number}" for number in range(500)]
    with Engine("threads", 2) as engine:
        work = engine.map(engine_work.noted, parts)
        next(work)
        work.close()
    assert len(list(tmp_path.iterdir())) < len(parts)


def test_an_engine_serves_one_work_after_the_other() -> None:
    with Engine("processes", 2) as engine:
        assert sorted(each.result or 0 for each in engine.map(engine_work.doubled, [1, 2])) == [2, 4]
        assert sorted(each.result or 0 for each in engine.map(engine_work.doubled, [3])) == [6]


def test_the_engine_is_chosen_by_the_number_of_parts_unless_named() -> None:
    assert engine_at(None, parts=MANY_PARTS - 1, workers=2).spec == "threads"
    assert engine_at(None, parts=MANY_PARTS, workers=2).spec == "processes"
    assert engine_at(None, parts=MANY_PARTS, workers=1).spec == "threads"
    assert engine_at("threads", parts=MANY_PARTS).spec == "threads"


@pytest.mark.parametrize("spec", ["", "thread", "dask:8786", "dask://host", "spark://host:1", "ray://a b:1"])
def test_what_is_no_engine_is_refused(spec: str) -> None:
    with pytest.raises(UserError) as refused:
        engine_at(spec)
    assert str(refused.value) == (
        f"--engine {spec}: there is no such engine. "
        "Expected threads, processes, dask, ray, dask://HOST:8786 or ray://HOST:10001."
    )


def test_progress_tells_the_time_that_is_left() -> None:
    progress = Progress(4, 400, began=time.monotonic())
    assert progress.seconds_left() is None
    progress.done, progress.done_bytes = 1, 100
    assert progress.seconds_left(progress.began + 10) == 30
    assert not progress.ended
    progress.failures |= {"a": "broken", "b": "broken"}
    progress.done = 2
    assert (progress.ended, progress.complete) == (True, False)
