import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from stepscope.dashboard.page.colors import PALETTE
from stepscope.dashboard.runs.coloring import MISSING, ColorScale, colors_by_value, colors_of_groups, scale_of


def test_a_scale_spans_the_finite_values_and_is_logarithmic_over_many_powers() -> None:
    assert scale_of([2, math.nan, 1, math.inf]) == ColorScale(1, 2, False)
    assert scale_of([0.001, 1]) == ColorScale(0.001, 1, True)
    assert scale_of([0.01, 1]) == ColorScale(0.01, 1, False)
    assert scale_of([-1, 1000]) == ColorScale(-1, 1000, False)
    assert scale_of([math.nan]) is None
    assert scale_of([]) is None


def test_numbers_are_colored_along_the_scale() -> None:
    low, middle, high = (ColorScale(0, 2, False).at(value) for value in (0, 1, 2))
    assert (low.light, middle.light, high.light) == ("#440f6b", "#23868c", "#9cb726")
    assert ColorScale(0.01, 100, True).at(1) == middle
    assert ColorScale(5, 5, False).at(5) == middle
    assert ColorScale(0, 2, False).at(math.nan) == MISSING


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_any_finite_number_has_a_color(values: list[float]) -> None:
    scale = scale_of(values)
    assert scale is not None
    for value in values:
        assert scale.at(value) != MISSING


def test_colors_by_value() -> None:
    colors, scale = colors_by_value({"a": 1.0, "b": 3.0, "c": None, "d": math.nan})
    assert scale == ColorScale(1, 3, False)
    assert (colors["a"], colors["b"]) == (scale.at(1), scale.at(3))
    assert colors["c"] == colors["d"] == MISSING
    colors, scale = colors_by_value({"a": "adam", "b": "sgd", "c": "adam", "d": None})
    assert scale is None
    assert colors["a"] == colors["c"] != colors["b"]
    assert {colors["a"], colors["b"]} <= set(PALETTE)
    assert colors["d"] == MISSING
    assert colors_by_value({"a": True, "b": False})[1] is None
    assert colors_by_value({"a": None, "b": math.nan}) == ({"a": MISSING, "b": MISSING}, None)


def test_groups_have_the_first_colors_that_no_single_run_has() -> None:
    runs = ["a0", "a1", "alone", "b0", "b1"]
    groups = {run: run[0] for run in runs if run != "alone"}
    assert colors_of_groups(runs, groups, 2) == {"a": PALETTE[0], "b": PALETTE[1]}
    assert colors_of_groups(runs[1:], groups, 2) == {"a": PALETTE[0], "b": PALETTE[2]}


@given(st.lists(st.sampled_from("abcdefgh"), max_size=40), st.integers(1, 2))
def test_a_later_run_changes_the_color_of_no_other_group(letters: list[str], least: int) -> None:
    runs = [f"{letter}{place}" for place, letter in enumerate(letters)]

    def groups(of: list[str]) -> dict[str, str]:
        counts = Counter(run[0] for run in of)
        return {run: run[0] for run in of if counts[run[0]] >= least}

    before, after = (colors_of_groups(of, groups(of), least) for of in (runs[:-1], runs))
    assert {group: after[group] for group in before} == before
    few = runs[: len(PALETTE)]
    alone = {PALETTE[place] for place, run in enumerate(few) if run not in groups(few)}
    colors = list(colors_of_groups(few, groups(few), least).values())
    assert len(set(colors)) == len(colors)
    assert not alone & set(colors)
