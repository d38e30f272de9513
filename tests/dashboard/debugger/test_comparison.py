"""Two recordings of the same tensors, and lines of code by the values made there."""

import numpy as np
import pytest
from numpy.typing import NDArray

from stepscope.dashboard.debugger.comparison import compare
from stepscope.dashboard.debugger.lines import MarkedLine, code_of, marked_lines
from stepscope.dashboard.debugger.opened import OpenedDebug
from stepscope.dashboard.debugger.values import shown_value
from stepscope.summary.debugger.model import Frame, SourceFile, WatchedTensor
from stepscope.summary.debugger.own_frames import own_frame
from tests.dashboard.debugger.recorded import Recorded, many, observed

A, B, C = (WatchedTensor(name, "forward") for name in "abc")


def opened(tensors: list[WatchedTensor], rows: list[tuple[int, int, dict[str, float]]]) -> OpenedDebug:
    return OpenedDebug(Recorded(tensors, observed(rows)))


def test_a_recording_does_not_differ_from_itself() -> None:
    found = compare(OpenedDebug(many(5, 4)), OpenedDebug(many(5, 4)), 0.0)
    assert (found.differences, found.matched, found.compared, found.left_out) == ([], 5, 20, 0)


def test_the_first_difference_comes_first_with_what_differs_most() -> None:
    one = opened(
        [A, B], [(0, 0, {"l2": 1}), (1, 0, {"l2": 4}), (0, 1, {"l2": 2}), (1, 1, {"l2": 8, "mean": 1, "maximum": 1})]
    )
    other = opened(
        [C, B, A],
        [
            (2, 0, {"l2": 1}),
            (1, 0, {"l2": 4.0001}),
            (0, 0, {}),
            (1, 1, {"l2": 4, "mean": 0.9, "maximum": 1}),
            (2, 1, {"l2": 1}),
        ],
    )
    found = compare(one, other, 1e-3)
    assert [
        (each.tensor, each.other, each.step, each.observation, each.other_observation) for each in found.differences
    ] == [
        (0, 2, 1, 2, 4),
        (1, 1, 1, 3, 3),
    ]
    second = found.differences[1]
    assert (second.figure, second.value, second.other_value, second.relative) == ("l2", 8, 4, 0.5)
    assert (second.differing, second.compared, second.largest) == (1, 2, 0.5)
    assert (found.matched, found.only_first, found.only_second) == (2, [], [0])


@pytest.mark.parametrize(
    ("one", "other", "figure", "relative"),
    [
        ({"nan": 0, "l2": 1}, {"nan": 3, "l2": 1}, "nan", 1.0),
        # Near 0, a mean of values up to 100 has no significant digits.
        ({"minimum": -100, "maximum": 100, "mean": 1e-6}, {"minimum": -100, "maximum": 100, "mean": -1e-6}, None, 0),
        ({"minimum": -100, "maximum": 100}, {"minimum": -100, "maximum": 50}, "maximum", 0.5),
        # A figure that only one measured is no difference.
        ({"l2": 5}, {}, None, 0),
    ],
)
def test_how_much_two_values_differ(
    one: dict[str, float], other: dict[str, float], figure: str | None, relative: float
) -> None:
    found = compare(opened([A], [(0, 0, one)]), opened([A], [(0, 0, other)]), 1e-5).differences
    assert [(each.figure, each.relative) for each in found] == ([] if figure is None else [(figure, relative)])


def test_several_values_of_a_step_are_compared_in_their_order() -> None:
    one = opened([A], [(0, 0, {"l2": 1}), (0, 0, {"l2": 2}), (0, 0, {"l2": 3})])
    other = opened([A], [(0, 0, {"l2": 1}), (0, 0, {"l2": 1})])
    found = compare(one, other, 0.1)
    assert found.compared == 2
    assert [(each.observation, each.other_observation) for each in found.differences] == [(1, 1)]


def test_what_is_left_out_of_long_recordings_is_counted_and_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepscope.dashboard.debugger.comparison.MOST_OBSERVATIONS", 3)
    found = compare(OpenedDebug(many(5, 4)), OpenedDebug(many(5, 2)), 0.0)
    assert (found.compared, found.left_out) == (3, 17 + 7)


def test_lines_are_marked_by_what_was_made_there() -> None:
    stacks = [
        [Frame("train.py", 9, "main"), Frame("model.py", 2, "forward"), Frame("/x/site-packages/torch/f.py", 3, "f")],
        [Frame("train.py", 9, "main")],
    ]
    tensors = [WatchedTensor("a", "forward", stack=0), WatchedTensor("b", "forward", stack=1), C]
    rows = [(0, 0, {"nan": 0}), (1, 0, {"nan": 0}), (2, 0, {"nan": 1}), (0, 1, {"nan": 2}), (1, 1, {"nan": 1})]
    recorded = Recorded(
        tensors,
        observed(rows),
        stacks=stacks,
        sources=[SourceFile("model.py", ("def f(x):", "  return log(x)"))],
    )
    found = marked_lines(recorded, OpenedDebug(recorded).index)
    assert found == {
        "train.py": {9: MarkedLine([0, 1], 4, 2, 3)},
        "model.py": {2: MarkedLine([0], 2, 1, 3)},
        "/x/site-packages/torch/f.py": {3: MarkedLine([0], 2, 1, 3)},
    }
    own = own_frame(stacks[0])
    assert own is not None
    assert (own.path, code_of(own, recorded.sources)) == ("model.py", "return log(x)")
    assert code_of(stacks[0][0], recorded.sources) == ""
    assert own_frame([]) is None


def test_a_value_is_shown_slice_by_slice() -> None:
    value = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    value[1, 2, 3] = np.nan
    value[0, 0, 0] = -np.inf
    shown = shown_value(value, (7,))
    assert (shown.shape, shown.dtype, shown.leading, shown.at, shown.block) == (
        (2, 3, 4),
        "float32",
        (2,),
        (1,),
        (1, 1),
    )
    np.testing.assert_array_equal(shown.slice, value[1])
    assert (shown.nan, shown.infinite, int(shown.counts.sum()), shown.spread_of) == (1, 1, 22, 24)


def test_a_large_value_is_shown_by_the_worst_of_each_block() -> None:
    value = np.zeros((300, 5))
    value[7, 2], value[299, 4], value[3, 0] = -4, np.nan, 2
    shown = shown_value(value)
    assert (shown.slice.shape, shown.block) == ((100, 5), (3, 1))
    assert (shown.slice[1, 0], shown.slice[2, 2]) == (2, -4)
    assert np.isnan(shown.slice[99, 4])


@pytest.mark.parametrize(
    ("value", "edges", "counts"),
    [
        (np.array([3, np.nan]), [3, 3], [1]),
        (np.full(5, 1e20, np.float32), [np.float32(1e20)] * 2, [5]),
        (np.array([2**60, 2**60 + 1]), [2**60] * 2, [2]),
        (np.array([np.inf]), [], []),
    ],
)
def test_equal_elements_are_in_one_bin(value: NDArray[np.generic], edges: list[float], counts: list[int]) -> None:
    shown = shown_value(value)
    assert (shown.edges.tolist(), shown.counts.tolist()) == (edges, counts)


@pytest.mark.parametrize("ends", [(0.0, 1.0), (1 - 2**-53, 1.0), (-1.7e308, 1.7e308), (0.0, 5e-324)])
def test_elements_are_counted_in_even_bins_however_far_apart(ends: tuple[float, float]) -> None:
    shown = shown_value(np.array([ends[0], ends[0], ends[1]]))
    assert (shown.edges[0], shown.edges[-1], len(shown.edges)) == (*ends, 41)
    assert bool((np.diff(shown.edges / 4) >= 0).all())
    assert shown.counts.tolist() == [2, *[0] * 38, 1]


@pytest.mark.parametrize("value", [np.float32(3), np.zeros(0), np.zeros((2, 0, 3)), np.ones(3, bool), np.ones(2) * 1j])
def test_any_value_is_shown(value: np.generic) -> None:
    shown = shown_value(np.asarray(value))
    assert shown.slice.ndim == 2
