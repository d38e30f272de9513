"""Pages of observations, and those before and after a given one."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stepscope.dashboard.debugger.filters import ObservationFilter, TensorFilter
from stepscope.dashboard.debugger.index import CHUNK
from stepscope.dashboard.debugger.opened import OpenedDebug
from stepscope.dashboard.debugger.sources import DebugCache, find_debug_source
from stepscope.summary.debugger.model import WatchedTensor
from stepscope.summary.logdir import Logdir
from stepscope.summary.safe_regex import PatternError
from tests.dashboard.debugger.recorded import Recorded, many, observed, write

TENSORS = [
    WatchedTensor("conv", "forward", "encoder.conv", "aten.conv2d"),
    WatchedTensor("log", "forward", "encoder", "aten.log", inputs=(0,)),
    WatchedTensor("log", "backward", "encoder", "aten.div", inputs=(1, 0)),
    WatchedTensor("head", "forward", "encoders", "aten.mm", inputs=(1,)),
]


def opened() -> OpenedDebug:
    rows = [(tensor, step, {"nan": float(step == 2 and tensor == 1)}) for step in range(4) for tensor in range(4)]
    return OpenedDebug(Recorded(TENSORS, observed(rows)))


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (ObservationFilter(), list(range(16))),
        (ObservationFilter(bad=True), [9]),
        (ObservationFilter(tensor=3), [3, 7, 11, 15]),
        (ObservationFilter(first_step=1, last_step=1), [4, 5, 6, 7]),
        (ObservationFilter(TensorFilter(phase="backward")), [2, 6, 10, 14]),
        (ObservationFilter(TensorFilter(module="encoder"), first_step=3), [12, 13, 14]),
        (ObservationFilter(TensorFilter(operation="aten.mm")), [3, 7, 11, 15]),
        (ObservationFilter(TensorFilter(text="^LOG$"), last_step=0), []),
        (ObservationFilter(TensorFilter(text="(?m)^log$"), last_step=0), [1, 2]),
        (ObservationFilter(TensorFilter(text="conv2")), [0, 4, 8, 12]),
        (ObservationFilter(TensorFilter(text="nowhere")), []),
    ],
)
def test_observations_pass_by_what_they_are(wanted: ObservationFilter, expected: list[int]) -> None:
    found = opened().page(wanted, 0, 100)
    assert found.numbers.tolist() == expected
    assert found.total == len(expected)
    assert found.observed.steps.tolist() == [number // 4 for number in expected]


def test_what_is_no_expression_is_said() -> None:
    with pytest.raises(PatternError):
        opened().page(ObservationFilter(TensorFilter(text="(")), 0, 10)


def test_pages_lie_one_behind_the_other_over_chunks() -> None:
    found = OpenedDebug(many(3, 3 * CHUNK // 3 + 100))
    count = found.data.observation_count
    for wanted, expected in (
        (ObservationFilter(), np.arange(count)),
        (ObservationFilter(tensor=1), np.arange(1, count, 3)),
    ):
        pages = [found.page(wanted, offset, 1_000) for offset in range(0, len(expected) + 1_000, 1_000)]
        np.testing.assert_array_equal(np.concatenate([page.numbers for page in pages]), expected)
        assert {page.total for page in pages} == {len(expected)}
        assert len(pages[-1].numbers) == 0
        assert all((page.observed.tensors == page.numbers % 3).all() for page in pages)


def test_the_place_of_an_observation_is_how_many_come_before_it() -> None:
    found = OpenedDebug(many(3, CHUNK))
    for number in (0, 4, CHUNK, CHUNK + 1, 3 * CHUNK - 2):
        assert found.place(ObservationFilter(), number) == number
        assert found.place(ObservationFilter(tensor=1), number) == len(range(1, number, 3))


def test_what_a_tensor_was_before_and_what_was_made_of_it() -> None:
    found = opened()
    assert found.latest([0, 1], 6) == {0: 4, 1: 5}
    assert found.latest([3], 3) == {}
    assert found.following([2, 3], 5) == {2: 6, 3: 7}
    assert found.following([0], 15) == {}
    assert found.consumers == {0: [1, 2], 1: [2, 3]}


def test_what_did_not_run_in_a_step_made_nothing_of_it() -> None:
    branches = [WatchedTensor(f"cond[{number}]/log", "forward") for number in range(2)]
    tensors = [*branches, WatchedTensor("cond", "forward", inputs=(0, 1))]
    found = OpenedDebug(Recorded(tensors, observed([(0, 0, {}), (2, 0, {}), (1, 1, {}), (2, 1, {})])))
    assert [found.made_of(number) for number in (1, 3)] == [[(0, 0), (1, None)], [(0, None), (1, 2)]]
    assert not found.knows_inputs(3)


def test_a_longer_recording_goes_on_with_what_is_known() -> None:
    whole = many(2, 2 * CHUNK)
    short = OpenedDebug(Recorded(whole.tensors, whole.observations(0, CHUNK + 5)))
    short.matrix("l2")
    whole.reads.clear()
    longer = OpenedDebug(whole, short)
    assert whole.reads[1][0] == CHUNK
    assert longer.matrix("l2").observations == whole.observation_count


def test_another_recording_of_the_same_name_begins_anew() -> None:
    whole = many(2, 100)
    other = many(2, 100, every=3)
    assert OpenedDebug(other, OpenedDebug(whole)).index.steps.tolist() == list(range(0, 300, 3))


def test_a_recording_written_again_into_the_same_folder_is_read_again(tmp_path: Path) -> None:
    run = tmp_path / "run"
    logdir, cache = Logdir(tmp_path), DebugCache()

    def written(name: str, began: float) -> tuple[list[str], list[float]]:
        shutil.rmtree(run, ignore_errors=True)
        whole = many(1, 2)
        again = replace(whole.observed, wall_times=whole.observed.wall_times + began)
        write(run, Recorded([WatchedTensor(name, "forward", name)], again))
        found = cache.get(find_debug_source(logdir.update(), "run|recording"))
        return [tensor.name for tensor in found.data.tensors], found.read(0, 2).wall_times.tolist()

    assert written("first", 0) == (["first"], [1e9, 1e9 + 1])
    assert written("second", 5_000) == (["second"], [1e9 + 5_000, 1e9 + 5_001])
