from pathlib import Path

import numpy as np

from stepscope.dashboard.panels.steps import MOST_POSITIONS, chosen_steps, index_at, pick, slider
from stepscope.dashboard.server.arrays import TypedArray
from stepscope.summary import SummaryWriter
from stepscope.summary.logdir import open_logdir
from stepscope.summary.series import Series


def series_of(path: Path, runs: dict[str, list[int]]) -> list[Series]:
    for run, steps in runs.items():
        with SummaryWriter(str(path / run)) as writer:
            for step in steps:
                writer.add_scalar("a", 1.0, step, walltime=100.0 + step)
    snapshot = open_logdir(path)
    return [found for run in runs if (found := snapshot.series(run, "a")) is not None]


def values(spec: TypedArray) -> list[float]:
    import base64

    found: list[float] = np.frombuffer(base64.b64decode(spec["bdata"]), spec["dtype"]).tolist()
    return found


def test_pick_spreads_and_keeps_both_ends() -> None:
    assert pick(3, 5).tolist() == [0, 1, 2]
    assert pick(11, 3).tolist() == [0, 5, 10]
    assert pick(0, 3).tolist() == []


def test_chosen_steps_reads_what_it_understands() -> None:
    entries = ["a/b:5", "with:colon:-7", "no colon", "word:x", "half:1.5", "none:", "superscript:²", f"long:{'9' * 30}"]
    assert chosen_steps(entries) == {"a/b": 5, "with:colon": -7}


def test_a_run_without_the_step_has_its_nearest_earlier_one() -> None:
    steps = np.array([10, 20, 20, 40])
    assert [index_at(steps, step) for step in (9, 10, 19, 20, 39, 99, None)] == [None, 0, 0, 2, 2, 3, 3]
    assert index_at(np.array([30, 10, 20]), 25) == 2
    assert index_at(np.empty(0, np.int64), None) is None


def test_a_slider_offers_the_steps_of_all_runs(tmp_path: Path) -> None:
    offered = slider(series_of(tmp_path, {"a": [0, 10], "b": [5, 10]}))
    assert values(offered["steps"]) == [0, 5, 10]
    assert values(offered["walls"]) == [100, 105, 110]
    assert values(offered["seconds"]) == [0, 0, 10]
    assert offered["of"] == 3


def test_a_slider_offers_so_many_steps_at_most_and_says_how_many_there_are(tmp_path: Path) -> None:
    offered = slider(series_of(tmp_path, {"a": list(range(MOST_POSITIONS + 5))}))
    steps = values(offered["steps"])
    assert (len(steps), steps[0], steps[-1], offered["of"]) == (
        MOST_POSITIONS,
        0,
        MOST_POSITIONS + 4,
        MOST_POSITIONS + 5,
    )


def test_a_slider_over_nothing_is_empty() -> None:
    assert (values(slider([])["steps"]), slider([])["of"]) == ([], 0)
