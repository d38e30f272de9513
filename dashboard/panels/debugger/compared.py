"""The comparison of two recordings, as sent to the page."""

from typing import Final

from stepscope.dashboard.debugger.comparison import Comparison, Difference
from stepscope.dashboard.debugger.opened import OpenedDebug
from stepscope.dashboard.panels.debugger.facts import sent, tensor_facts
from stepscope.dashboard.panels.debugger.messages import MOST_ROWS, CompareAnswer, DifferenceRow
from stepscope.summary.counts import counted

MOST_NAMES: Final = 100
_FIGURES: Final = {"nan": "NaN", "positive_infinity": "+Inf", "negative_infinity": "-Inf", "l2": "L2 norm"}


def compare_answer(first: OpenedDebug, second: OpenedDebug, found: Comparison, tolerance: float) -> CompareAnswer:
    """Return the tensors that differ, the first difference first."""
    tensors, others = first.data.tensors, second.data.tensors
    return {
        "sentence": _sentence(first, found, tolerance),
        "differences": [_row(first, each) for each in found.differences[:MOST_ROWS]],
        "total": len(found.differences),
        "matched": found.matched,
        "only_first": [tensors[number].name for number in found.only_first[:MOST_NAMES]],
        "only_second": [others[number].name for number in found.only_second[:MOST_NAMES]],
        "only_first_total": len(found.only_first),
        "only_second_total": len(found.only_second),
        "compared": found.compared,
        "left_out": found.left_out,
    }


def _sentence(first: OpenedDebug, found: Comparison, tolerance: float) -> str:
    if not found.compared:
        return "Nothing can be compared: no tensor was observed in both at the same step."
    if not found.differences:
        return (
            f"No difference above {tolerance:g} in {counted(found.compared, 'pair')} of values of "
            f"{counted(found.matched, 'tensor')}."
        )
    each = found.differences[0]
    name = first.data.tensors[each.tensor].name
    figure = _FIGURES.get(each.figure, each.figure.replace("_", " "))
    return (
        f"Step {each.step}: {name} is the first that differs: {figure} {each.value:.6g} against "
        f"{each.other_value:.6g}, by {each.relative:.2%}."
    )


def _row(first: OpenedDebug, each: Difference) -> DifferenceRow:
    return {
        "tensor": tensor_facts(first.data.tensors, each.tensor),
        "step": each.step,
        "observation": each.observation,
        "other_observation": each.other_observation,
        "figure": each.figure,
        "value": sent(each.value),
        "other_value": sent(each.other_value),
        "relative": each.relative,
        "largest": each.largest,
        "differing": each.differing,
        "compared": each.compared,
    }
