"""Jobs of the projector: real worker processes on a few points."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from stepscope.dashboard.embeddings.job import JobError, Plan, PlannedPicture, Prepared, planned
from stepscope.dashboard.embeddings.job_queue import Jobs
from stepscope.dashboard.embeddings.point_files import PointFiles
from stepscope.dashboard.embeddings.results import Result, ResultFiles, key_of
from stepscope.dashboard.embeddings.worker import NICENESS
from stepscope.dashboard.embeddings.worker_pool import Timeouts
from stepscope.dashboard.embeddings.worker_protocol import Arrays

pytestmark = pytest.mark.long

ENDLESS = 1_000_000
POINTS = np.random.default_rng(1).normal(size=(60, 5)).astype(np.float32)


@pytest.fixture
def make_jobs() -> Iterator[Callable[..., Jobs]]:
    made: list[Jobs] = []

    def make(files: ResultFiles | None = None, **timeouts: float) -> Jobs:
        made.append(Jobs(files, timeouts=Timeouts(**{"look": 0.02} | timeouts)))
        return made[-1]

    yield make
    for jobs in made:
        jobs.close()


def until(holds: Callable[[], bool], what: str = "") -> None:
    """Waits for a condition, at most until the test's timeout."""
    while not holds():
        time.sleep(0.01)


def settled(jobs: Jobs, key: str) -> dict[str, Any]:
    until(lambda: jobs.reported(key)[0]["state"] in ("done", "failed", "cancelled"))
    return jobs.reported(key)[0]


def tsne_plan(iterations: int, *, pictures: int = 1, **settings: Any) -> Plan:
    values = {"iterations": iterations, "exaggeration_iterations": 10, "perplexity": 5.0, **settings}

    def prepare(holder: str, files: PointFiles) -> Prepared:
        path = files.hold(holder, "points", lambda: POINTS)
        order = {
            "do": "project",
            "method": "tsne",
            "settings": values,
            "pictures": [{"index": index, "points": path} for index in reversed(range(pictures))],
        }
        rows = {f"rows.{index}": np.arange(len(POINTS)) for index in range(pictures)}
        return Prepared(order, rows, {pictures - 1: POINTS[:, :2]})

    facts = {"kind": "project", "projection": "tsne", "settings": values, "seed": 0, "dimensions": 2}
    steps = [None] if pictures == 1 else list(range(pictures))
    return Plan(key_of(values, pictures), facts, tuple(PlannedPicture(s, len(POINTS), None) for s in steps), prepare)


def running(jobs: Jobs, plan: Plan) -> str:
    """Submits a plan and waits until its iterations are under way."""
    job, _ = jobs.submit(plan)
    until(lambda: jobs.reported(job.key)[0]["iteration"] > 0)
    return job.key


def test_a_projection_is_shown_at_once_and_streams_until_it_is_done(make_jobs: Callable[..., Jobs]) -> None:
    jobs = make_jobs()
    job, cached = jobs.submit(tsne_plan(300))
    assert not cached
    until(lambda: jobs.reported(job.key)[1] is not None)
    first = jobs.reported(job.key)
    assert first[0]["state"] in ("queued", "running")
    assert (first[0]["kind"], first[0]["seed"], first[0]["frames"], first[0]["step"]) == ("project", 0, None, None)
    done = settled(jobs, job.key)
    assert (done["state"], done["phase"], done["iteration"], done["total"]) == ("done", "done", 300, 300)
    assert done["message"] == ""
    assert done["loss"] > 0
    _, picture, version, rows = jobs.reported(job.key)
    assert picture is not None
    assert rows is None
    assert picture.shape == (60, 2)
    assert picture.dtype == np.float32
    assert np.isfinite(picture).all()
    assert version > first[2]


def test_the_same_plan_is_the_same_job(make_jobs: Callable[..., Jobs]) -> None:
    jobs = make_jobs()
    first, _ = jobs.submit(tsne_plan(20))
    second, _ = jobs.submit(tsne_plan(20))
    assert first is second
    assert settled(jobs, first.key)["state"] == "done"
    third, cached = jobs.submit(tsne_plan(20))
    assert (third is first, cached) == (True, True)


def test_a_known_result_is_shown_again_in_place_of_another(make_jobs: Callable[..., Jobs]) -> None:
    jobs = make_jobs()
    columns: dict[str, list[int]] = {}

    def clusters(seed: int) -> Plan:
        def finish(found: Arrays) -> dict[str, Any]:
            columns["k-means"] = found["labels"].tolist()
            return {"column": "k-means"}

        labels = np.array([seed, 1 - seed])
        return Plan(key_of(seed), {}, (), lambda holder, files: Prepared(None, {"labels": labels}), finish)

    shown = []
    for seed in (0, 1, 0):
        job, cached = jobs.submit(clusters(seed))
        settled(jobs, job.key)
        shown.append((cached, columns["k-means"]))
    assert shown == [(False, [0, 1]), (False, [1, 0]), (True, [0, 1])]


def test_a_job_that_is_dropped_while_it_is_looked_up_is_still_found(
    make_jobs: Callable[..., Jobs], monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = make_jobs()
    job, _ = jobs.submit(Plan(key_of("a"), {}, (), lambda holder, files: Prepared(None)))
    settled(jobs, job.key)

    class Dropping:
        """The lock, with a thread that drops all jobs whenever it is released."""

        def __enter__(self) -> None:
            lock.acquire()

        def __exit__(self, *error: object) -> None:
            jobs._jobs.clear()
            lock.release()

    lock = jobs._lock
    monkeypatch.setattr(jobs, "_lock", Dropping())
    assert jobs.find(job.key) is job


def test_at_most_two_run_and_the_others_wait_in_order(make_jobs: Callable[..., Jobs]) -> None:
    jobs = make_jobs()
    first, second = (running(jobs, tsne_plan(ENDLESS, seed=seed)) for seed in (1, 2))
    waiting = []
    for seed in (3, 4):
        waiting.append(jobs.submit(tsne_plan(ENDLESS, seed=seed))[0].key)
        until(lambda: jobs.reported(waiting[-1])[0]["phase"] == "waiting")
    assert [jobs.reported(key)[0]["message"] for key in waiting] == [
        "Waiting for 2 other computations.",
        "Waiting for 3 other computations.",
    ]
    assert [jobs.reported(key)[0]["state"] for key in (first, second)] == ["running", "running"]
    jobs.act(first, "cancel")
    until(lambda: jobs.reported(waiting[0])[0]["iteration"] > 0)
    assert jobs.reported(waiting[1])[0]["state"] == "queued"
    assert len(jobs.workers()) == 2


def test_pause_stops_and_resume_goes_on(make_jobs: Callable[..., Jobs]) -> None:
    jobs = make_jobs()
    key = running(jobs, tsne_plan(ENDLESS))
    assert jobs.act(key, "pause") == "paused"
    # The next job gets a worker of its own.
    other = running(jobs, tsne_plan(ENDLESS, seed=5))
    at = jobs.reported(key)[0]["iteration"]
    moved = jobs.reported(other)[0]["iteration"]
    until(lambda: jobs.reported(other)[0]["iteration"] > moved)
    assert jobs.reported(key)[0]["iteration"] == at
    assert jobs.act(key, "resume") == "running"
    until(lambda: jobs.reported(key)[0]["iteration"] > at)


def test_who_goes_on_while_two_others_run_waits_in_the_queue(make_jobs: Callable[..., Jobs]) -> None:
    jobs = make_jobs()
    key = running(jobs, tsne_plan(ENDLESS))
    jobs.act(key, "pause")
    others = [running(jobs, tsne_plan(ENDLESS, seed=seed)) for seed in (5, 6)]
    assert jobs.act(key, "resume") == "queued"
    until(lambda: jobs.reported(key)[0]["phase"] == "waiting")
    at = jobs.reported(key)[0]["iteration"]
    jobs.act(others[0], "cancel")
    until(lambda: jobs.reported(key)[0]["iteration"] > at)


def test_a_long_pause_gives_the_worker_back_and_goes_on_from_the_state(make_jobs: Callable[..., Jobs]) -> None:
    jobs = make_jobs(parked=0.0)
    key = running(jobs, tsne_plan(ENDLESS))
    jobs.act(key, "pause")
    job = jobs.find(key)
    until(lambda: job.worker is None)
    at = job.iteration
    assert job.state == "paused"
    assert at > 0
    assert job.saved
    jobs.act(key, "resume")
    until(lambda: job.state == "running" and job.iteration > at)


def test_a_job_that_nobody_looks_at_is_paused_and_goes_on_when_asked_for(make_jobs: Callable[..., Jobs]) -> None:
    jobs = make_jobs(unwatched=0.3)
    plan = tsne_plan(ENDLESS)
    job, _ = jobs.submit(plan)
    until(lambda: job.state == "paused")
    assert job.message == "Paused: no page has it open."
    jobs.submit(plan)
    until(lambda: job.state == "running")


def test_a_finished_projection_is_extended_and_perturbed(make_jobs: Callable[..., Jobs]) -> None:
    jobs = make_jobs()
    job, _ = jobs.submit(tsne_plan(50))
    settled(jobs, job.key)
    jobs.act(job.key, "extend", 30)
    assert settled(jobs, job.key)["iteration"] == 80
    before = jobs.picture(job.key).coordinates
    jobs.act(job.key, "perturb")
    assert settled(jobs, job.key)["iteration"] == 280
    assert not np.array_equal(before, jobs.picture(job.key).coordinates)


def has_ended(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def test_pictures_are_worked_out_from_the_last_to_the_first(make_jobs: Callable[..., Jobs]) -> None:
    jobs = make_jobs()
    job, _ = jobs.submit(tsne_plan(400, pictures=3))
    done = settled(jobs, job.key)
    assert (done["state"], done["frames"], done["frames_done"]) == ("done", [0, 1, 2], 3)
    pictures = [jobs.picture(job.key, index).coordinates for index in range(3)]
    # Equal points each begin where their neighbor is. Nearly all stay close; which of them wander off depends on the
    # last digits of sums, and so on the processor.
    size = float(np.abs(pictures[2]).max())
    assert float(np.median(np.abs(pictures[1] - pictures[2]))) < size / 4
    with pytest.raises(JobError, match="The computation has 3 views; expected a number from 0 to 2, got 3"):
        jobs.reported(job.key, 3)


def test_the_time_that_is_left_is_that_of_all_pictures() -> None:
    job = planned(tsne_plan(100, pictures=3))
    job.state, job.place, job.iteration, job.total = "running", 1, 40, 100
    job.times.extend([(7.0, 20), (9.0, 40)])
    told = job.reported(1)
    assert {name: told[name] for name in ("progress", "updates_per_second", "seconds_left")} == {
        "progress": pytest.approx(1.4 / 3),
        "updates_per_second": 0.5,
        "seconds_left": 16.0,
    }


def test_a_cancelled_job_starts_anew(make_jobs: Callable[..., Jobs]) -> None:
    jobs = make_jobs()
    key = running(jobs, tsne_plan(ENDLESS))
    assert jobs.act(key, "cancel") == "cancelled"
    assert jobs.reported(key)[0]["message"] == "Canceled."
    assert jobs.act(key, "pause") == "cancelled"
    again, cached = jobs.submit(tsne_plan(ENDLESS))
    assert not cached
    until(lambda: again.state == "running" and again.iteration > 0)


def test_a_worker_that_is_killed_is_told_of_and_replaced(make_jobs: Callable[..., Jobs]) -> None:
    jobs = make_jobs()
    key = running(jobs, tsne_plan(ENDLESS))
    (pid,) = jobs.workers()
    psutil.Process(pid).kill()
    reported = settled(jobs, key)
    assert reported["state"] == "failed"
    assert reported["message"] == (
        "The worker process was killed, most likely because memory ran out. "
        "Choose fewer points, or close other programs, and start it again."
    )
    assert jobs.workers() == []
    assert settled(jobs, jobs.submit(tsne_plan(10))[0].key)["state"] == "done"


def test_a_job_for_which_no_worker_can_be_started_fails_and_can_be_started_again(
    make_jobs: Callable[..., Jobs], monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = make_jobs()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", "/no/python")
        jobs.warm()
        reported = settled(jobs, jobs.submit(tsne_plan(10))[0].key)
    assert (reported["state"], reported["message"]) == (
        "failed",
        "No process can be started for this ([Errno 2] No such file or directory: '/no/python'). Try again later.",
    )
    assert jobs.workers() == []
    assert settled(jobs, jobs.submit(tsne_plan(10))[0].key)["state"] == "done"


def test_what_goes_wrong_in_a_worker_is_a_sentence(make_jobs: Callable[..., Jobs]) -> None:
    jobs = make_jobs()

    def broken(message: dict[str, Any]) -> Plan:
        return Plan(key_of(message), {"kind": "quality"}, (), lambda holder, files: Prepared(message, {}))

    unknown = broken({"do": "nothing of the kind"})
    assert settled(jobs, jobs.submit(unknown)[0].key)["message"] == (
        "This failed (KeyError: 'nothing of the kind'). See the server's log."
    )
    plan = tsne_plan(10, perplexity=-1.0)
    assert settled(jobs, jobs.submit(plan)[0].key)["message"] == (
        "This cannot be computed: Settings: The perplexity of t-SNE must be from 1 to 1000, not -1.0."
    )


def test_what_goes_wrong_before_a_worker_has_it_is_a_sentence(make_jobs: Callable[..., Jobs]) -> None:
    jobs = make_jobs()

    def failing(error: Exception) -> Plan:
        def prepare(holder: str, files: PointFiles) -> Prepared:
            raise error

        return Plan(key_of(repr(error)), {"kind": "project"}, (), prepare)

    reported = [
        settled(jobs, jobs.submit(failing(error))[0].key)["message"]
        for error in (JobError("It is gone."), MemoryError(), OSError(28, "No space left on device"))
    ]
    assert reported == [
        "It is gone.",
        "There is not enough memory for this. Choose fewer points, or close other programs.",
        "The points cannot be written to the temporary folder (No space left on device). Free some space there.",
    ]


def test_results_are_kept_and_found_by_another_server(make_jobs: Callable[..., Jobs], tmp_path: Path) -> None:
    first = make_jobs(ResultFiles(tmp_path))
    job, _ = first.submit(tsne_plan(40))
    settled(first, job.key)
    until(lambda: (tmp_path / job.key).exists())
    second = make_jobs(ResultFiles(tmp_path))
    found, cached = second.submit(tsne_plan(40))
    assert (cached, found.state, found.iteration, second.workers()) == (True, "done", 40, [])
    np.testing.assert_array_equal(second.picture(job.key).coordinates, first.picture(job.key).coordinates)
    second.act(job.key, "extend", 10)
    assert settled(second, job.key)["iteration"] == 50
    third = make_jobs(ResultFiles(tmp_path))
    assert third.reported(job.key)[0]["state"] == "done"
    with pytest.raises(JobError, match="This computation no longer exists"):
        third.reported("0" * 32)


def test_a_damaged_result_is_worked_out_again(tmp_path: Path) -> None:
    files = ResultFiles(tmp_path)
    key = key_of("a")
    arrays: Arrays = {"x": np.arange(3, dtype=np.int64), "t": np.array(["a", "bc"])}
    files.store(key, Result({"state": "done"}, arrays))
    found = files.load(key)
    assert found is not None
    assert found.facts == {"state": "done"}
    assert {name: array.tolist() for name, array in found.arrays.items()} == {"x": [0, 1, 2], "t": ["a", "bc"]}
    content = bytearray((tmp_path / key).read_bytes())
    content[-3] ^= 1
    (tmp_path / key).write_bytes(content)
    assert files.load(key) is None
    assert not (tmp_path / key).exists()
    assert files.load("../../etc/passwd") is None


def test_the_results_used_longest_ago_are_deleted(tmp_path: Path) -> None:
    files = ResultFiles(tmp_path, most_bytes=5_000)
    keys = [key_of(number) for number in range(3)]
    for age, key in enumerate(keys):
        files.store(key, Result({}, {"x": np.zeros(500, np.float32)}))
        if (tmp_path / key).exists():
            os.utime(tmp_path / key, (age, time.time() - 100 + age))
    assert [files.load(key) is not None for key in keys] == [False, True, True]


def test_results_are_kept_while_another_server_deletes_files(tmp_path: Path) -> None:
    (tmp_path / "deleted meanwhile").symlink_to(tmp_path / "gone")
    files = ResultFiles(tmp_path)
    keys = [key_of(number) for number in range(2)]
    for key in keys:
        files.store(key, Result({}, {}))
    assert [files.load(key) for key in keys] == [Result({}, {})] * 2


def test_waiting_holds_no_thread_and_ends_with_news(make_jobs: Callable[..., Jobs]) -> None:
    jobs = make_jobs()
    key = running(jobs, tsne_plan(ENDLESS))

    async def follow() -> list[int]:
        versions = [jobs.reported(key)[0]["version"]]
        for _ in range(3):
            await jobs.wait_beyond(key, versions[-1], 60)
            versions.append(jobs.reported(key)[0]["version"])
        return versions

    versions = asyncio.run(follow())
    assert versions == sorted(set(versions))


def test_a_spare_worker_is_kept_and_ended_when_nobody_needs_it(make_jobs: Callable[..., Jobs]) -> None:
    jobs = make_jobs()
    jobs.warm()
    jobs.warm()
    (pid,) = jobs.workers()
    settled(jobs, jobs.submit(tsne_plan(10))[0].key)
    until(lambda: len(jobs.workers()) == 1)
    assert jobs.workers() == [pid]
    impatient = make_jobs(idle=0.0)
    impatient.warm()
    (pid,) = impatient.workers()
    until(lambda: has_ended(pid))
    assert impatient.workers() == []


def test_workers_let_others_go_first(make_jobs: Callable[..., Jobs]) -> None:
    jobs = make_jobs()
    running(jobs, tsne_plan(ENDLESS))
    (pid,) = jobs.workers()
    assert psutil.Process(pid).nice() == min(psutil.Process().nice() + NICENESS, 19)


def test_workers_end_when_the_dashboard_does(make_jobs: Callable[..., Jobs]) -> None:
    over = False
    jobs = Jobs(is_over=lambda: over, timeouts=Timeouts(look=0.02))
    key = running(jobs, tsne_plan(ENDLESS))
    (pid,) = jobs.workers()
    over = True
    until(lambda: not psutil.pid_exists(pid))
    assert jobs.reported(key)[0]["message"] == "The dashboard was stopped. Start it again."


SERVER = """
import json, sys, time
from stepscope.dashboard.embeddings.job_queue import Jobs
jobs = Jobs()
jobs.warm()
print(json.dumps(jobs.workers()), flush=True)
time.sleep(1000)
"""


def test_workers_end_when_the_server_is_killed() -> None:
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    with server.stdout:
        (pid,) = json.loads(server.stdout.readline())
        assert psutil.pid_exists(pid)
        server.kill()
        server.wait()
    until(lambda: has_ended(pid))
