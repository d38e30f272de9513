"""Facts of many ranks as they arrive: kept ones first, then a sample, then the rest."""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.analysis.rank_outliers import rank_outliers, rank_steps
from stepscope.profiler.analysis.report import analyses
from stepscope.profiler.ranks import collection
from stepscope.profiler.ranks.collection import SAMPLE, CollectedRanks, gather
from stepscope.profiler.ranks.files import spread
from stepscope.profiler.ranks.store import FactStore
from stepscope.profiler.traces import load_trace
from stepscope.summary.engine import Engine, Progress
from tests.profiler.ranks.jobs import STRAGGLER, write_job

RANKS = 40


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return write_job(tmp_path_factory.mktemp("job"), RANKS)


@pytest.fixture
def store(tmp_path: Path) -> FactStore:
    return FactStore(str(tmp_path / "facts"))


def last_of(paths: list[str], store: FactStore, engine: str | None = None) -> CollectedRanks:
    *_, last = gather(paths, store, engine=engine)
    return last


def test_the_first_answer_is_of_a_spread_sample(paths: list[str], store: FactStore) -> None:
    progress = Progress(0, 0)
    steps = gather(paths, store, engine="threads", progress=progress)
    first = next(steps)
    assert (first.words, first.complete, first.missing) == ("16 of 40 ranks", False, RANKS - SAMPLE)
    assert (progress.done, progress.parts) == (SAMPLE, RANKS)
    # The sample covers the whole job, not only its beginning.
    gaps = [after - before for before, after in itertools.pairwise(first.ranks)]
    assert max(gaps) <= 4
    assert first.ranks[-1] >= RANKS - 4
    *_, last = steps
    assert (last.words, last.complete, last.ranks) == ("40 ranks", True, tuple(range(RANKS)))
    assert progress.ended
    assert progress.done_bytes == progress.bytes


def sizes_of(collected: CollectedRanks) -> list[int]:
    return [len(segment.traces) for segment in collected.segments]


def test_facts_of_many_ranks_are_in_few_segments(
    paths: list[str], store: FactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection, "_SEGMENT", 4)
    seen = list(gather(paths, store, engine="threads"))
    known = [len(each.ranks) for each in seen]
    assert [each.complete for each in seen] == [ranks == RANKS for ranks in known]
    # Progress is reported more often than new ranks arrive.
    assert known == [16, 20, 20, 25, 25, 32, 32, 40, 40]
    assert sorted(sizes_of(last_of(paths, store))) == [4, 5, 7, 8, 16]


def test_facts_that_took_long_to_read_are_kept_at_once(
    paths: list[str], store: FactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection, "_SEGMENT_BYTES", 1)
    assert sizes_of(last_of(paths[:5], store)) == [1] * 5


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_reductions_of_kept_facts_are_those_of_whole_traces_in_memory(
    paths: list[str], store: FactStore, engine: str
) -> None:
    kept = last_of(paths, store, engine)
    whole = {rank: Facts(load_trace(path)) for rank, path in enumerate(paths)}
    for name, analysis in analyses("ranks").items():
        assert len(analysis.table(kept)), name
        assert_frame_equal(analysis.table(kept), analysis.table(whole))


def test_the_straggler_is_found(paths: list[str], store: FactStore) -> None:
    ranks = last_of(paths, store)
    assert rank_outliers(ranks).filter(pl.col("figure") == "computation")["rank"].to_list() == [STRAGGLER]
    assert set(rank_steps(ranks)["slowest_rank"].to_list()) == {STRAGGLER}


def test_the_second_question_reads_no_trace(tmp_path: Path, store: FactStore) -> None:
    paths = write_job(tmp_path / "job", 5)
    before = last_of(paths, store)
    for path in paths:
        # The file keeps its size and time, but can no longer be read.
        file = Path(path)
        status = file.stat()
        file.write_bytes(b"x" * status.st_size)
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    progress = Progress(0, 0)
    (again,) = gather(paths, store, progress=progress)
    assert again.ranks == before.ranks
    assert (progress.done, progress.bytes) == (5, 0)


def test_only_what_changed_is_read_again(tmp_path: Path, store: FactStore) -> None:
    paths = write_job(tmp_path / "job", 5)
    last_of(paths, store)
    Path(paths[3]).write_bytes(Path(paths[4]).read_bytes())
    progress = Progress(0, 0)
    known, last = gather(paths, store, progress=progress)
    assert (known.words, known.ranks) == ("4 of 5 ranks", (0, 1, 2, 4))
    assert progress.bytes == Path(paths[3]).stat().st_size
    assert len(last.ranks) == 5


def test_damaged_facts_are_made_again(tmp_path: Path, store: FactStore) -> None:
    paths = write_job(tmp_path / "job", 4)
    before = rank_steps(last_of(paths, store))
    for path in (tmp_path / "facts").rglob("*.steps.parquet"):
        path.write_bytes(b"PAR1")
    again = last_of(paths, store)
    assert (again.words, again.complete) == ("4 ranks", True)
    assert_frame_equal(rank_steps(again), before)


def test_a_trace_that_cannot_be_read_is_named_and_the_others_are_there(tmp_path: Path, store: FactStore) -> None:
    paths = write_job(tmp_path / "job", 6)
    Path(paths[1]).write_bytes(b"no trace")
    Path(paths[4]).unlink()
    last = last_of(paths, store)
    assert (last.words, last.complete, last.missing) == ("4 of 6 ranks", False, 0)
    assert sorted(last.failures) == [paths[1], paths[4]]
    assert "is not a trace" in last.failures[paths[1]]
    assert last.failures[paths[4]].startswith(f"{paths[4]} cannot be read: No such file")


def test_who_leaves_keeps_what_was_read(paths: list[str], store: FactStore) -> None:
    steps = gather(paths, store, engine="threads")
    next(steps)
    steps.close()
    known = next(gather(paths, store, engine="threads"))
    assert len(known.ranks) >= SAMPLE


def test_who_interrupts_is_told_of_all_that_was_read(
    paths: list[str], store: FactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Engine.map

    def interrupted(engine: Engine, *given: Any) -> Iterator[Any]:
        yield from itertools.islice(whole(engine, *given), SAMPLE + 4)
        raise KeyboardInterrupt

    monkeypatch.setattr(Engine, "map", interrupted)
    steps = gather(paths, store, engine="threads")
    assert [len(next(steps).ranks) for _ in range(2)] == [SAMPLE, SAMPLE + 4]
    with pytest.raises(KeyboardInterrupt):
        next(steps)


def test_whole_traces_are_read_when_they_are_asked_for(paths: list[str], store: FactStore) -> None:
    ranks = last_of(paths[:3], store)
    assert list(ranks) == [0, 1, 2]
    assert ranks[STRAGGLER].trace.metadata["distributedInfo"]["rank"] == STRAGGLER
    with pytest.raises(KeyError):
        ranks[7]


def test_ranks_are_those_that_traces_state_or_in_order(paths: list[str], store: FactStore) -> None:
    assert last_of([paths[7], paths[3]], store).ranks == (3, 7)
    # A trace that is named twice does not count as two ranks of that number.
    twice = last_of([paths[7], paths[3], paths[7]], store)
    assert twice.ranks == (0, 1, 2)


def test_traces_and_facts_may_lie_in_a_store(paths: list[str]) -> None:
    addresses = [f"memory://store/job/{Path(path).name}" for path in paths[:6]]
    for path, address in zip(paths, addresses, strict=False):
        with fsspec.open(address, "wb") as stream:
            stream.write(Path(path).read_bytes())
    last = last_of(addresses, FactStore("memory://store/facts"))
    assert (last.words, last.complete) == ("6 ranks", True)
    (again,) = gather(addresses, FactStore("memory://store/facts"))
    assert_frame_equal(rank_steps(again), rank_steps(last))


def test_every_beginning_of_an_order_is_spread() -> None:
    for count in (0, 1, 2, 5, 16, 1000):
        assert sorted(spread(count)) == list(range(count))
    assert spread(8) == [0, 4, 2, 6, 1, 5, 3, 7]
