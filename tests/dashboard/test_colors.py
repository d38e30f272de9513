from hypothesis import given
from hypothesis import strategies as st

from dashboard.colors import PALETTE, RING, assign_colors

names = st.lists(st.text(max_size=8), unique=True, max_size=45)


@given(names, st.text(max_size=8))
def test_a_later_run_changes_no_color(runs: list[str], later: str) -> None:
    before = assign_colors(runs)
    after = assign_colors([*runs, later] if later not in runs else runs)
    assert {name: after[name] for name in runs} == before


@given(names)
def test_colors_differ_while_there_are_enough(runs: list[str]) -> None:
    few = runs[: len(PALETTE)]
    assert len(set(assign_colors(few).values())) == len(few)


@given(st.text(max_size=20))
def test_a_run_alone_has_the_same_color_everywhere(name: str) -> None:
    assert assign_colors([name])[name] == assign_colors([name, "another"])[name]
    assert assign_colors([name])[name] in PALETTE[:RING]


def luminance(color: str) -> float:
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_first_twenty_colors_stand_out_from_the_page() -> None:
    # WCAG 2.2 asks 3:1 of graphics that carry meaning.
    assert [c.light for c in PALETTE[:20] if contrast(c.light, "#ffffff") < 2.8] == []
    assert [c.dark for c in PALETTE[:20] if contrast(c.dark, "#181b21") < 3] == []
