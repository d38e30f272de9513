from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stepscope.dashboard.page.colors import PALETTE, RING, Scheme, assign_colors

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


def test_few_runs_have_the_first_colors_in_their_order() -> None:
    assert list(assign_colors(["z", "a", "m"]).values()) == list(PALETTE[:3])
    assert list(assign_colors(["z", "a"], RING).values()) == list(PALETTE[RING : RING + 2])


def luminance(color: str) -> float:
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_first_twenty_colors_stand_out_from_page_and_cards() -> None:
    # WCAG 2.2 requires 3:1 for graphics that carry meaning.
    assert [c.light for c in PALETTE[:20] if min(contrast(c.light, "#ffffff"), contrast(c.light, "#f6f7f9")) < 3] == []
    assert [c.dark for c in PALETTE[:20] if min(contrast(c.dark, "#181b21"), contrast(c.dark, "#101216")) < 3] == []


# Machado, Oliveira and Fernandes 2009, "A Physiologically-based Model for Simulation of Color Vision Deficiency",
# severity 1.0: what an eye without one kind of cone sees, in linear sRGB.
VISION = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def lab_seen(color: str, kind: str) -> NDArray[np.float64]:
    """CIELAB, under D65, of the color as seen."""
    channels = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    x, y, z = TO_XYZ @ np.clip(np.array(VISION[kind]) @ linear, 0, 1) / (0.95047, 1.0, 1.08883)
    fx, fy, fz = (v ** (1 / 3) if v > 216 / 24389 else (24389 / 27 * v + 16) / 116 for v in (x, y, z))
    return np.array([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)])


def ciede2000(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Sharma, Wu and Dalal 2005, "The CIEDE2000 Color-Difference Formula"."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    c = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    g = 1.5 - 0.5 * np.sqrt(c**7 / (c**7 + 25**7))
    c1, c2 = np.hypot(g * a1, b1), np.hypot(g * a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, g * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180
    h = (h1 + turn / 2) % 360
    lightness_mean, c = (l1 + l2) / 2, (c1 + c2) / 2
    waves = ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.2, 4, -63))
    t = 1 + sum(size * np.cos(np.radians(times * h + shift)) for size, times, shift in waves)
    lightness = (l2 - l1) / (1 + 0.015 * (lightness_mean - 50) ** 2 / np.sqrt(20 + (lightness_mean - 50) ** 2))
    chroma = (c2 - c1) / (1 + 0.045 * c)
    hue = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2)) / (1 + 0.015 * c * t)
    bend = -np.sin(np.radians(60 * np.exp(-(((h - 275) / 25) ** 2)))) * 2 * np.sqrt(c**7 / (c**7 + 25**7))
    return float(np.sqrt(lightness**2 + chroma**2 + hue**2 + bend * chroma * hue))


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 2.5, 0), (50, 0, -2.5), 4.3065),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_the_difference_is_that_of_the_paper(
    one: tuple[float, ...], other: tuple[float, ...], difference: float
) -> None:
    assert ciede2000(np.array(one), np.array(other)) == pytest.approx(difference, abs=1e-4)


@pytest.mark.parametrize("kind", VISION)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_first_ten_colors_differ_to_every_kind_of_vision(scheme: Scheme, kind: str) -> None:
    seen = [lab_seen(color.on(scheme), kind) for color in PALETTE[:RING]]
    # 2.3 is a just noticeable difference for areas side by side; lines far apart need several times that.
    assert min(ciede2000(one, other) for one, other in combinations(seen, 2)) > 9.9


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("count", "least"), [(RING, 20), (2 * RING, 17)])
def test_first_colors_are_far_apart(scheme: Scheme, count: int, least: float) -> None:
    seen = [lab_seen(color.on(scheme), "normal") for color in PALETTE[:count]]
    assert min(np.linalg.norm(one - other) for one, other in combinations(seen, 2)) >= least
