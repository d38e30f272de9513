"""Stable colors of runs: a run has the same color in every chart, and later runs do not change it."""

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

Scheme = Literal["light", "dark"]


@dataclass(frozen=True)
class RunColor:
    """One color in two shades, each readable on its scheme's background; CSS hexadecimal."""

    light: str
    dark: str

    def on(self, scheme: Scheme) -> str:
        """Return the shade for a scheme."""
        return self.light if scheme == "light" else self.dark


# Ten hues, with lightness found by search: any two differ by a CIEDE2000 of about 10 for every kind of color vision,
# and by 20 in CIELAB for normal vision; any two of the first twenty by 17 (`tests/dashboard/test_colors.py` simulates
# them). The second and third rings are similar hues, darker and lighter, for more than ten runs.
PALETTE: Final[tuple[RunColor, ...]] = (
    RunColor("#5b74f8", "#819ffa"),
    RunColor("#b48600", "#ed9865"),
    RunColor("#0f846f", "#23fbe2"),
    RunColor("#dc387b", "#ff588c"),
    RunColor("#7645c2", "#9479bc"),
    RunColor("#1b99bc", "#62c5dd"),
    RunColor("#a05b05", "#a99400"),
    RunColor("#6a7f4a", "#ebec6b"),
    RunColor("#b10781", "#ca90b3"),
    RunColor("#7f3b2d", "#c7c9a8"),
    RunColor("#16449b", "#a6c7ff"),
    RunColor("#ab4301", "#ffc799"),
    RunColor("#095b3f", "#90e7c6"),
    RunColor("#8a1038", "#fea7be"),
    RunColor("#481daa", "#d8c3ff"),
    RunColor("#065f78", "#a8effe"),
    RunColor("#7c5a00", "#f8dc92"),
    RunColor("#455400", "#d5e59a"),
    RunColor("#85085c", "#fac6e7"),
    RunColor("#5b392a", "#eac9bd"),
    RunColor("#6c9cf0", "#3f78dd"),
    RunColor("#f5a25c", "#cf6a14"),
    RunColor("#56c29f", "#1a9a72"),
    RunColor("#e5759b", "#cc3d6d"),
    RunColor("#a98af0", "#8257e0"),
    RunColor("#5bbdd8", "#1593b5"),
    RunColor("#d9b24a", "#a8831a"),
    RunColor("#a3b54e", "#75891c"),
    RunColor("#ea8fcb", "#c9509f"),
    RunColor("#bd9580", "#966a54"),
)
RING: Final = 10


def color_at(place: int, name: str) -> RunColor:
    """Return the color at a place in the palette; beyond its end, a color derived from the hash of the name."""
    if place < len(PALETTE):
        return PALETTE[place]
    return PALETTE[zlib.crc32(name.encode("utf-8", "surrogatepass")) % len(PALETTE)]


def assign_colors(names: Iterable[str], first: int = 0) -> Mapping[str, RunColor]:
    """Assign a color to every name: the colors of the palette in order, starting at the place ``first``.

    Names must be in order of first appearance, so that later names never change the colors of earlier ones.
    """
    return {name: color_at(place, name) for place, name in enumerate(dict.fromkeys(names), first)}
