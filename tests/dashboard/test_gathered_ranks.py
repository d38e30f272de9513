"""Ranks that are read in the background while the page shows what is known."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from stepscope.dashboard.traces import gathered_ranks
from stepscope.dashboard.traces.folders import TRACE_PATTERNS
from stepscope.dashboard.traces.gathered_ranks import MOST_JOBS, JobsOfRanks
from stepscope.dashboard.traces.rank_words import progress_words
from stepscope.dashboard.traces.sources import TraceSource, trace_sources
from stepscope.profiler.ranks.store import FactStore
from stepscope.summary.engine import Progress
from stepscope.summary.logdir import Logdir
from tests.profiler.ranks.jobs import write_job

PATIENCE = 60.0
RANKS = 20


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    write_job(folder / "job", RANKS)
    return folder


def sources_of(logs: Path) -> list[TraceSource]:
    return sorted(trace_sources(Logdir(logs, companion_patterns=TRACE_PATTERNS).update()), key=lambda source: source.id)


@pytest.fixture
def jobs(tmp_path: Path) -> JobsOfRanks:
    return JobsOfRanks(lambda: False, lambda: FactStore(str(tmp_path / "facts")))


def test_more_is_known_each_time_until_all_is(jobs: JobsOfRanks, logs: Path) -> None:
    job = jobs.get(sources_of(logs))
    first = job.now(wait=PATIENCE)
    assert first is not None
    assert len(first.ranks) > 1
    assert job.join(PATIENCE)
    whole = job.now()
    assert whole is not None
    assert (whole.words, whole.complete, job.running, job.problem) == (f"{RANKS} ranks", True, False, "")


def test_the_page_is_made_again_when_ranks_have_grown_by_a_quarter_and_at_the_end(
    jobs: JobsOfRanks, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = [SimpleNamespace(ranks=range(ranks)) for ranks in (0, 16, 18, 20, 21, 26, 27, 28)]
    monkeypatch.setattr(gathered_ranks, "gather", lambda *_args, **_kwargs: iter(known))
    job = jobs.get(sources_of(logs))
    assert job.join(PATIENCE)
    assert job.version == f"{job.id} 4"


def test_one_job_is_read_once(jobs: JobsOfRanks, logs: Path) -> None:
    job = jobs.get(sources_of(logs))
    assert jobs.get(sources_of(logs)) is job
    assert jobs.known(job.id) is job
    assert jobs.known("another") is None
    assert job.join(PATIENCE)


def test_what_was_looked_at_longest_ago_is_ended(jobs: JobsOfRanks, logs: Path) -> None:
    every = sources_of(logs)
    first = jobs.get(every)
    for more in range(MOST_JOBS):
        jobs.get(every[: 2 + more])
    assert jobs.known(first.id) is None
    assert first.join(PATIENCE)


def test_reading_ends_with_the_dashboard(tmp_path: Path, logs: Path) -> None:
    jobs = JobsOfRanks(lambda: True, lambda: FactStore(str(tmp_path / "facts")))
    job = jobs.get(sources_of(logs))
    assert job.join(PATIENCE)
    assert job.problem == "It was stopped before all ranks were read."


def test_a_trace_that_cannot_be_read_is_named(jobs: JobsOfRanks, tmp_path: Path) -> None:
    paths = write_job(tmp_path / "logs" / "job", 3)
    sources = sources_of(tmp_path / "logs")
    Path(paths[1]).write_bytes(b"no trace")
    job = jobs.get(sources)
    assert job.join(PATIENCE)
    found = job.now()
    assert found is not None
    assert found.words == "2 of 3 ranks"
    assert list(found.failures) == [paths[1]]


def test_how_far_it_is_in_words() -> None:
    progress = Progress(1024, 2_000_000, done=16, done_bytes=500_000, failures={"a": "gone"})
    progress.began -= 100
    words = progress_words(progress)
    assert words.startswith("16 of 1,024 ranks read, 500 kB of 2 MB, 1 failure, about 30")
    assert progress_words(Progress(1, 0)) == "0 of 1 rank read"
