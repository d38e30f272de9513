"""Divisible work on a real Dask cluster."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import LocalCluster

from stepscope.summary import SummaryWriter
from stepscope.summary.engine import Engine, Outcome, Progress
from stepscope.summary.errors import UserError
from stepscope.summary.index_building import fill_index
from stepscope.summary.log_index import LogIndex
from stepscope.summary.logdir import Logdir
from tests.summary import engine_work
from tests.summary.test_log_index import let_age, read_anew, shown

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two workers with a process each, which are restarted if they are lost."""
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None, "host": "127.0.0.1"}
    # A busy machine takes longer to restart a worker than Dask waits for it; where one was killed, nobody answers.
    patience = dask.config.set(
        {"distributed.deploy.lost-worker-timeout": "1h", "distributed.comm.timeouts.connect": "5s"}
    )
    with patience, LocalCluster(n_workers=2, silence_logs=50, **options) as found:
        yield found


def address(cluster: Any) -> str:
    return f"dask://{cluster.scheduler_address.removeprefix('tcp://')}"


def test_a_worker_that_is_killed_half_way_costs_nothing_but_time(cluster: Any, tmp_path: Path) -> None:
    parts = [tmp_path / name for name in ("a", "b", "c", "waits", "d", "e", "f", "g")]
    fatal = parts[3]
    killed: list[int] = []

    def kill() -> None:
        while not fatal.exists():
            time.sleep(0.01)
        killed.append(int(fatal.read_text()))
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    with Engine(address(cluster)) as engine:
        found = list(engine.map(engine_work.waits_to_be_killed, parts))
    killer.join()
    assert killed != [os.getpid()]
    assert sorted(found, key=lambda each: parts.index(each.part)) == [Outcome(path, path.name) for path in parts]


def test_one_worker_does_the_work_too() -> None:
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None, "host": "127.0.0.1"}
    with LocalCluster(n_workers=1, silence_logs=50, **options) as alone, Engine(address(alone)) as engine:
        found = {each.result for each in engine.map(engine_work.process, range(4))}
    assert len(found) == 1
    assert os.getpid() not in found


def test_a_worker_of_this_machine_may_take_long_to_start_again(tmp_path: Path) -> None:
    path = tmp_path / "fatal"
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "1ms"}), Engine("dask", 1) as engine:
        found = list(engine.map(engine_work.ends_its_worker_once, [path]))
    assert found == [Outcome(path, path.name)]


def test_an_index_is_whole_though_a_worker_that_filled_it_was_killed(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepscope.summary.log_parts.PART_FILES", 2)
    logs, index = tmp_path / "logs", str(tmp_path / "index")
    for number in range(40):
        with SummaryWriter(logs / f"run_{number:02d}") as writer:
            writer.add_scalar("loss", number, 0)
    let_age(logs)
    progress = Progress(0, 0)
    with Engine(address(cluster)) as engine:
        steps = fill_index([str(logs)], LogIndex(index), engine, progress)
        assert [next(steps).taken, next(steps).taken] == [0, 0]
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
        *_, totals = steps
    assert (totals.runs, progress.done, progress.failures) == (40, 40, {})
    started = Logdir(logs, index=LogIndex(index))
    assert shown(started.update()) == read_anew(logs)
    assert started.taken_files == 40


def test_a_part_that_fails_there_is_named_and_the_others_go_on(cluster: Any) -> None:
    with Engine(address(cluster)) as engine:
        found = list(engine.map(engine_work.doubled_but_seven, list(range(12))))
    assert sorted(found, key=lambda each: each.part) == [
        Outcome(n, None, "seven is refused") if n == 7 else Outcome(n, 2 * n) for n in range(12)
    ]


def test_a_cluster_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepscope.summary.engine._WAIT_SECONDS", 0.5)
    with (
        Engine("dask://127.0.0.1:1") as engine,
        pytest.raises(UserError, match=r"--engine dask://127\.0\.0\.1:1 cannot be"),
    ):
        list(engine.map(engine_work.doubled, [1]))
