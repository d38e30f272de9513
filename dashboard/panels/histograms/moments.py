"""Histograms as they are read, how they are drawn, and where they stand on the axis of steps or time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.page.colors import RunColor
from stepscope.dashboard.panels.histograms.buckets import Cleaned, clean
from stepscope.dashboard.panels.steps import pick
from stepscope.dashboard.server.numbers import count, counted

Mode = Literal["offset", "overlay", "heatmap", "bands", "runs"]
Axis = Literal["step", "relative", "wall"]
Bins = Literal["written", "even"]
Height = Literal["count", "density"]

EVEN_BINS: Final = 30
"""As many as TensorBoard's page shows."""
MOST_EVEN_BINS: Final = 500
MOST_TICKS: Final = 6
_UNITS: Final = ((172_800.0, 86_400.0, "d"), (7_200.0, 3_600.0, "h"), (120.0, 60.0, "min"))


@dataclass(frozen=True)
class Moment:
    """One histogram as it was read."""

    step: int
    wall_time: float
    buckets: NDArray[np.float64] | None
    """float64[k, 3] of left edge, right edge, count; None where the record is damaged."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """How many values are in no bucket, by what they are called: "NaN", "+inf"; what there is none of is absent."""
    index: int = 0
    """Place in the series."""

    def cleaned(self) -> Cleaned:
        """Return the buckets that can be drawn."""
        return clean(self.buckets) if self.buckets is not None else Cleaned(np.empty((0, 3)), 0)


@dataclass(frozen=True)
class RunMoment:
    """The histogram of one run at the step that a card shows, or why there is none."""

    run: str
    color: RunColor
    moment: Moment | None
    said: str = ""
    """What is to be said of it; empty if nothing is."""


@dataclass(frozen=True)
class ChartSettings:
    """How histograms are drawn."""

    mode: Mode = "offset"
    axis: Axis = "step"
    bins: Bins = "written"
    bin_count: int = EVEN_BINS
    """How many bins there are if ``bins`` is "even"."""
    height: Height = "count"
    """Whether heights are counts, or shares of all values per unit of the axis."""
    log: bool = False
    """Whether heights are drawn by their logarithm."""
    reach: tuple[float, float] | None = None
    """The range of values that a chart shows at least, so that several have one scale; None for that of its own."""
    utc_offset: float = 0.0
    """Seconds to add to a wall time so that Plotly, which knows no time zones, prints local time."""


def places(moments: Sequence[Moment], first: float, settings: ChartSettings) -> tuple[list[float], str]:
    """Return where moments stand on the axis, and the unit of relative time.

    Args:
        moments: in order.
        first: wall time at which relative time begins.
        settings: which axis.
    """
    match settings.axis:
        case "step":
            return [float(m.step) for m in moments], ""
        case "relative":
            seconds = [m.wall_time - first for m in moments]
            longest = max(seconds, default=0.0)
            divisor, unit = next(((size, name) for least, size, name in _UNITS if longest >= least), (1.0, "s"))
            return [s / divisor for s in seconds], unit
        case "wall":
            return [(m.wall_time + settings.utc_offset) * 1000.0 for m in moments], ""
        case _:
            assert_never(settings.axis)


def moment_axis(at: Sequence[float], settings: ChartSettings, unit: str) -> dict[str, Any]:
    """Return ticks at moments that have a histogram."""
    distinct = sorted(set(at))
    marked = [distinct[i] for i in pick(len(distinct), MOST_TICKS).tolist()]
    if settings.axis == "wall":
        return {
            "type": "date",
            "tickvals": marked,
            "tickformat": "%H:%M:%S\n%d %b %Y" if len(marked) < 2 else "%H:%M:%S",
        }
    labels = [count(int(place)) if settings.axis == "step" else f"{place:.3g} {unit}" for place in marked]
    return {"tickvals": marked, "ticktext": labels}


def note(moments: Sequence[Moment], cleaned: Sequence[Cleaned], total: int, bins_said: str = "") -> str:
    """Return what a chart of histograms leaves out or changes; empty if nothing.

    Args:
        moments: those that are drawn.
        cleaned: their buckets.
        total: how many there are in the range of steps.
        bins_said: what has to be said of the bins, where they are not those that were asked for.
    """
    parts = _left_out(moments, cleaned)
    if total > len(moments):
        parts.append(f"{count(len(moments))} of {count(total)} steps shown, evenly spread, first and last among them")
    if bins_said and any(len(c.buckets) for c in cleaned):
        parts.append(bins_said)
    damaged = sum(m.buckets is None for m in moments)
    if damaged:
        parts.append(f"{counted(damaged, 'damaged step')} left out")
    empty = sum(len(c.buckets) == 0 for c in cleaned) - damaged
    if empty:
        parts.append(f"empty at {counted(empty, 'step')}")
    dropped = sum(c.dropped for c in cleaned)
    if dropped:
        parts.append(f"{counted(dropped, 'bin')} not finite, not drawn")
    return " · ".join(parts)


def _left_out(moments: Sequence[Moment], cleaned: Sequence[Cleaned]) -> list[str]:
    """Return what the newest histogram with values in no bucket left out, and how many others did."""
    found = [(m, c) for m, c in zip(moments, cleaned, strict=True) if m.left_out]
    if not found:
        return []
    newest, buckets = found[-1]
    what = ", ".join(f"{count(number)} {name}" for name, number in newest.left_out.items())
    total = int(buckets.total) + sum(newest.left_out.values())
    others = f", some at {counted(len(found) - 1, 'other step')}" if len(found) > 1 else ""
    return [f"step {count(newest.step)}: {what} of {counted(total, 'value')}{others}"]
