"""Positions of a scalar's points on the horizontal axis."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, assert_never

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.curves.messages import AxisAbout
from stepscope.dashboard.curves.settings import CurveSettings, XAxis
from stepscope.summary.series import Columns

UNITS: Final = ((172_800.0, 86_400.0, "d"), (7_200.0, 3_600.0, "h"), (120.0, 60.0, "min"), (0.0, 1.0, "s"))
"""Units of relative time: minimum extent in seconds, seconds per unit, symbol."""


@dataclass(frozen=True)
class Axis:
    """The horizontal axis of one chart."""

    kind: XAxis
    divisor: float = 1.0
    """Seconds per unit of relative time."""
    unit: str = ""

    def described(self, settings: CurveSettings) -> AxisAbout:
        """Return what the page needs to draw the axis."""
        return {
            "kind": self.kind,
            "scale": "time" if self.kind == "wall" else settings.x_scale,
            "suffix": f" {self.unit}" if self.unit else "",
            "integer": self.kind == "step",
            "label": settings.x_tag if self.kind == "metric" else "",
        }


def axis_of(columns: Iterable[Columns], settings: CurveSettings) -> Axis:
    """Return the axis that suits all curves of a chart; the longest curve determines the unit of relative time."""
    if settings.x_axis != "relative":
        return Axis(settings.x_axis)
    finite = [c.wall_times[np.isfinite(c.wall_times)] for c in columns]
    longest = max((float(np.ptp(times)) for times in finite if len(times)), default=0.0)
    divisor, unit = next((seconds, unit) for least, seconds, unit in UNITS if longest >= least)
    return Axis("relative", divisor, unit)


def places(columns: Columns, axis: Axis, other: Columns | None) -> NDArray[np.float64]:
    """Return the position of each point on the axis, float64[n]; NaN where it is unknown.

    Positions are steps, units of relative time since the first point, seconds since the epoch, or the values of another
    scalar of the same run at the same step, else its last value before that step.

    Args:
        columns: the points.
        axis: the axis.
        other: the other scalar's points, for the kind "metric"; None where the run has none.
    """
    match axis.kind:
        case "step":
            return columns.steps.astype(np.float64)
        case "relative":
            return (columns.wall_times - float(columns.wall_times[0])) / axis.divisor
        case "wall":
            return columns.wall_times
        case "metric":
            return _values_at(columns.steps, other)
        case _:
            assert_never(axis.kind)


def _values_at(steps: NDArray[np.int64], other: Columns | None) -> NDArray[np.float64]:
    if other is None or not len(other):
        return np.full(len(steps), np.nan)
    known, values = other.steps, other.values
    if len(known) > 1 and not bool((np.diff(known) >= 0).all()):
        order = np.argsort(known, kind="stable")
        known, values = known[order], values[order]
    at = np.searchsorted(known, steps, side="right") - 1
    return np.where(at >= 0, values[np.maximum(at, 0)], np.nan)
