"""Divisible work on a real Ray cluster on this machine; ``make test-engines`` installs Ray."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stepscope.profiler.ranks.collection import gather
from stepscope.profiler.ranks.store import FactStore
from stepscope.summary import SummaryWriter
from stepscope.summary.cancellation import Cancellation, Cancelled, cancellable
from stepscope.summary.engine import Engine, Outcome, Progress
from stepscope.summary.errors import UserError
from stepscope.summary.index_building import fill_index
from stepscope.summary.log_index import LogIndex
from tests.profiler.ranks.jobs import write_job
from tests.summary import engine_work
from tests.summary.index_parts import files_of

pytest.importorskip("ray", reason="Ray is not installed: make test-engines")
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine("ray", 2) as found:
        yield found


def test_every_part_has_its_result_or_its_error(engine: Engine) -> None:
    found = sorted(engine.map(engine_work.doubled_but_seven, list(range(40))), key=lambda each: each.part)
    assert found == [Outcome(n, None, "seven is refused") if n == 7 else Outcome(n, 2 * n) for n in range(40)]


def test_what_a_lost_worker_had_is_done_again(engine: Engine, tmp_path: Path) -> None:
    parts = [tmp_path / name for name in ("a", "fatal", "b", "c")]
    found = sorted(engine.map(engine_work.ends_its_worker_once, parts), key=lambda each: parts.index(each.part))
    assert found == [Outcome(path, path.name) for path in parts]


def test_who_leaves_ends_the_work(engine: Engine, tmp_path: Path) -> None:
    parts = [tmp_path / f"{number}" for number in range(200)]
    cancellation = Cancellation()
    with cancellable(cancellation):
        work = engine.map(engine_work.noted, parts)
        next(work)
        cancellation.cancel()
        with pytest.raises(Cancelled):
            next(work)
    assert len(list(tmp_path.iterdir())) < len(parts)


def test_traces_of_ranks_are_read_by_ray(tmp_path: Path) -> None:
    paths = write_job(tmp_path / "job", 20)
    *_, last = gather(paths, FactStore(str(tmp_path / "facts")), engine="ray")
    assert (last.words, last.complete) == ("20 ranks", True)


def test_an_index_is_filled_by_ray(tmp_path: Path, engine: Engine) -> None:
    for run in ("a", "b"):
        with SummaryWriter(tmp_path / "logs" / run) as writer:
            writer.add_scalar("loss", 1.0, 0)
    index = str(tmp_path / "index")
    *_, totals = fill_index([str(tmp_path / "logs")], LogIndex(index), engine, Progress(0, 0))
    assert (totals.runs, {path.parts[0] for path in files_of(index, tmp_path / "logs")}) == (2, {"a", "b"})


def test_a_cluster_that_does_not_answer_is_named() -> None:
    with (
        Engine("ray://127.0.0.1:1") as engine,
        pytest.raises(UserError, match=r"--engine ray://127\.0\.0\.1:1 cannot be"),
    ):
        list(engine.map(engine_work.doubled, [1]))
