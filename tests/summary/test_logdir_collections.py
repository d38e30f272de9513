"""What a log directory's objects cost Python's garbage collector."""

import subprocess
import sys
from pathlib import Path

import pytest

from stepscope.summary import collections_off
from stepscope.summary.collections_off import without_collections
from stepscope.summary.logdir import Logdir


class Collector:
    """Acts as the module ``gc`` after an update that created many objects."""

    def __init__(self, put_aside: int) -> None:
        self.put_aside = put_aside
        self.called: list[str] = []

    def isenabled(self) -> bool:
        return True

    def get_count(self) -> tuple[int, int, int]:
        return 1_000_000, 0, 0

    def get_freeze_count(self) -> int:
        return self.put_aside

    def __getattr__(self, name: str) -> object:
        return lambda: self.called.append(name)


@pytest.mark.parametrize(
    ("put_aside", "called"),
    [
        # In other programs: the oldest generation.
        (0, ["disable", "freeze", "unfreeze", "enable"]),
        (5, ["disable", "freeze", "enable"]),
    ],
)
def test_many_objects_are_put_aside_for_good_in_a_program_that_puts_objects_aside(
    put_aside: int, called: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A collection that examines the objects of 100,000 runs keeps every thread waiting for seconds."""
    collector = Collector(put_aside)
    monkeypatch.setattr(collections_off, "gc", collector)
    Logdir(tmp_path).update()
    assert collector.called == called


def test_collections_go_on_when_the_last_thread_wants_them_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries are imported while a log directory is read, each without collections."""
    collector = Collector(0)
    monkeypatch.setattr(collections_off, "gc", collector)
    first, second = without_collections(), without_collections()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert collector.called == ["disable"]
    second.__exit__(None, None, None)
    assert collector.called == ["disable", "enable"]


LEFT = """
import gc, sys
from pathlib import Path
from stepscope.summary import SummaryWriter
from stepscope.summary.logdir import Logdir
logs = Path(sys.argv[1])
for number in range(20):
    with SummaryWriter(logs / f"{number}") as writer:
        writer.add_scalar("loss", 1.0, 0)
followed = Logdir(logs)
print(sum(len(series.values) for run in followed.update().runs.values() for series in run.series.values()))
gc.collect()
for path in logs.glob("*/*"):
    path.unlink()
gc.disable()
for _ in range(3):
    snapshot = followed.update()
print(len(snapshot.runs), gc.collect() < 20)
"""


def test_runs_that_are_gone_leave_nothing_for_the_collector(tmp_path: Path) -> None:
    """Checked in a process of its own, because others leave something all the time."""
    done = subprocess.run([sys.executable, "-c", LEFT, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["20", "0 True"]
