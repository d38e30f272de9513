"""The curves of a chart."""

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
    """Tags of the scalars that form the lower and upper edge of the line's band; empty for none."""


@dataclass(frozen=True)
class ChartSpec:
    """One chart.

    Tags differ in dashes and runs in colors; tags differ in colors if one run has them all.
    """

    lines: tuple[LineSpec, ...]
    problems: tuple[str, ...] = ()
    """Descriptions of what was requested but cannot be shown."""
