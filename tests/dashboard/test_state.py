from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.dashboard.page import state
from stepscope.dashboard.page.state import View, decode, encode

SMOOTHING = state.number("scalars.smoothing", 0.6, 0, 0.999)
AXIS = state.choice("scalars.axis", "step", ("step", "wall"))
OUTLIERS = state.flag("scalars.ignore_outliers", False)
WIDE = state.names("scalars.wide")
SETTINGS = (SMOOTHING, AXIS, OUTLIERS, WIDE)

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
nonempty = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
views = st.builds(
    View,
    tab=words,
    runs=st.sampled_from(["default", "found", "all", "none"]),
    show=st.lists(words, max_size=3).map(tuple),
    hide=st.lists(words, max_size=3).map(tuple),
    run_filter=words,
    tag_filter=words,
    settings=st.fixed_dictionaries(
        {}, optional={"scalars.wide": st.lists(nonempty, min_size=1, max_size=3).map(tuple)}
    ),
)


@given(views)
def test_what_is_encoded_is_decoded(view: View) -> None:
    assert decode(encode(view, SETTINGS), SETTINGS) == view


@given(st.text(max_size=200))
def test_any_query_is_some_view(query: str) -> None:
    view = decode(query)
    assert decode(encode(view)) == view


def test_addresses_are_readable_and_leave_defaults_out() -> None:
    view = View(
        tab="scalars",
        runs="none",
        show=("lr_0.1/seed 0",),
        tag_filter="loss|acc",
        settings={"scalars.smoothing": ("0.9",), "scalars.axis": ("step",)},
    )
    assert (
        encode(view, SETTINGS) == "tab=scalars&runs=none&show=lr_0.1/seed%200&tag_filter=loss|acc&scalars.smoothing=0.9"
    )
    assert encode(View(), SETTINGS) == ""


def test_names_and_values_of_earlier_versions_are_understood() -> None:
    shade = replace(
        state.choice("mesh.shade", "page", ("page", "gray")),
        former_names=("mesh.tint",),
        former_values={"grey": "gray"},
    )
    assert shade.of(decode("mesh.tint=grey", [shade])) == "gray"  # codespell:ignore
    assert shade.of(decode("mesh.tint=grey&mesh.shade=page", [shade])) == "page"  # codespell:ignore


@pytest.mark.parametrize("raw", ["nan", "-1", "1", "x", ""])
def test_what_a_setting_does_not_understand_is_its_default(raw: str) -> None:
    assert SMOOTHING.of(decode(f"scalars.smoothing={raw}")) == 0.6
    assert AXIS.of(decode(f"scalars.axis={raw}")) == "step"
    assert OUTLIERS.of(decode(f"scalars.ignore_outliers={raw}")) is False


def test_settings_read_their_own_format() -> None:
    view = View(
        settings={
            SMOOTHING.name: SMOOTHING.format(0.95),
            AXIS.name: AXIS.format("wall"),
            OUTLIERS.name: OUTLIERS.format(True),
            WIDE.name: WIDE.format(("a", "b/c")),
        }
    )
    assert [setting.of(decode(encode(view))) for setting in SETTINGS] == [0.95, "wall", True, ("a", "b/c")]


def test_unknown_parameters_are_dropped() -> None:
    assert decode("other=1&images.step=3&runs=some", SETTINGS) == View()


def test_a_pattern_that_is_none_filters_nothing_and_says_why() -> None:
    assert View(tag_filter="a[").shown_tags(["a", "b"]) == ["a", "b"]
    assert View(tag_filter="A").shown_tags(["a", "b"]) == ["a"]
    assert state.pattern_error("a[") == "unterminated character set at position 2"
    assert state.pattern_error("a" * 301) == "longer than 300 characters"
    assert state.pattern_error("a.*", ["a"]) == ""
    assert "takes too long" in state.pattern_error(r"(\w+\s?)+$", ["a " * 2000 + "!"])


def test_how_things_look_is_personal_and_names_are_not() -> None:
    assert [setting.name for setting in SETTINGS if setting.personal] == [SMOOTHING.name, AXIS.name, OUTLIERS.name]
