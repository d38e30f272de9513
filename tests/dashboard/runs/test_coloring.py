import math

from hypothesis import given
from hypothesis import strategies as st

from dashboard.page.colors import PALETTE
from dashboard.runs.coloring import MISSING, ColorScale, colors_by_value, scale_of


def test_a_scale_spans_the_finite_values_and_is_logarithmic_over_many_powers() -> None:
    assert scale_of([2, math.nan, 1, math.inf]) == ColorScale(1, 2, False)
    assert scale_of([0.001, 1]) == ColorScale(0.001, 1, True)
    assert scale_of([0.01, 1]) == ColorScale(0.01, 1, False)
    assert scale_of([-1, 1000]) == ColorScale(-1, 1000, False)
    assert scale_of([math.nan]) is None
    assert scale_of([]) is None


def test_numbers_are_coloured_along_the_scale() -> None:
    low, middle, high = (ColorScale(0, 2, False).at(value) for value in (0, 1, 2))
    assert (low.light, middle.light, high.light) == ("#440f6b", "#23868c", "#9cb726")
    assert ColorScale(0.01, 100, True).at(1) == middle
    assert ColorScale(5, 5, False).at(5) == middle
    assert ColorScale(0, 2, False).at(math.nan) == MISSING


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_any_finite_number_has_a_colour(values: list[float]) -> None:
    scale = scale_of(values)
    assert scale is not None
    for value in values:
        assert scale.at(value) != MISSING


def test_colours_by_value() -> None:
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
