"""Which curves a chart has."""

from dataclasses import dataclass
from typing import Literal

Side = Literal["left", "right"]


@dataclass(frozen=True)
class LineSpec:
    """One scalar tag of every shown run."""

    tag: str
    side: Side = "left"
    """Which vertical axis it belongs to."""
    low_tag: str = ""
    high_tag: str = ""
    """Tags of the scalars that are the lower and upper edge of its band; empty for none."""


@dataclass(frozen=True)
class ChartSpec:
    """One chart.

    Tags are told apart by their dashes and runs by their colors; tags by colors where one run has them all.
    """

    lines: tuple[LineSpec, ...]
    problems: tuple[str, ...] = ()
    """What was asked for and cannot be shown, in words."""
