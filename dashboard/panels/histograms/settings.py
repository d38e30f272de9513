"""URL parameters of the histograms panel."""

from collections.abc import Sequence
from typing import Any, Final, get_args

from stepscope.dashboard.page.state import Setting, choice, flag, names, number
from stepscope.dashboard.panels.histograms.moments import EVEN_BINS, MOST_EVEN_BINS, Axis, Bins, Height, Mode


def optional_step(name: str) -> Setting[int | None]:
    """Return a setting that is a step or None."""

    def parse(raw: Sequence[str]) -> int | None:
        if len(raw[-1]) > 19:
            raise ValueError(f"{name} is not a step: {raw[-1]!r}")
        return int(raw[-1])

    return Setting(name, None, parse, lambda value: () if value is None else (str(value),), kind="names")


MODE: Final = choice("histograms.mode", "offset", get_args(Mode))
AXIS: Final = choice("histograms.axis", "step", get_args(Axis))
BINS: Final = choice("histograms.bins", "even", get_args(Bins))
BIN_COUNT: Final = number("histograms.bin_count", EVEN_BINS, 1, MOST_EVEN_BINS)
HEIGHT: Final = choice("histograms.height", "count", get_args(Height))
LOG: Final = flag("histograms.log", False)
ONE_SCALE: Final = flag("histograms.one_scale", True)
FIRST: Final = optional_step("histograms.first")
LAST: Final = optional_step("histograms.last")
STEPS: Final = names("histograms.step")
"""``TAG:STEP`` for every card of several runs whose slider is not at the end."""

SETTINGS: Final[tuple[Setting[Any], ...]] = (MODE, AXIS, BINS, BIN_COUNT, HEIGHT, LOG, ONE_SCALE, FIRST, LAST, STEPS)
