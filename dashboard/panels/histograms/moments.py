"""Histograms as read, their drawing settings, and their positions on the axis of steps or time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.page.colors import RunColor
from stepscope.dashboard.panels.histograms.buckets import Cleaned, clean
from stepscope.dashboard.panels.steps import pick
from stepscope.dashboard.server.numbers import count
from stepscope.summary.counts import counted

Mode = Literal["offset", "overlay", "heatmap", "bands", "runs"]
Axis = Literal["step", "relative", "wall"]
Bins = Literal["written", "even"]
Height = Literal["count", "density"]

EVEN_BINS: Final = 30
"""The number of bins on TensorBoard's page."""
MOST_EVEN_BINS: Final = 500
MOST_TICKS: Final = 6
_CLOCKS: Final = (
    (604_800_000.0, "%d %b"),
    (86_400_000.0, "%a %H:%M"),
    (10_000.0, "%H:%M:%S"),
    (0.0, "%M:%S.%2f"),
)
"""From how many milliseconds on the labels of wall times are in which of Plotly's formats."""
_UNITS: Final = ((172_800.0, 86_400.0, "d"), (7_200.0, 3_600.0, "h"), (120.0, 60.0, "min"))


@dataclass(frozen=True)
class Moment:
    """One histogram as read."""

    step: int
    wall_time: float
    buckets: NDArray[np.float64] | None
    """float64[k, 3] of left edge, right edge, count; None if the record is damaged."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Number of values in no bucket, by kind: "NaN", "+inf"; kinds without values are absent."""
    index: int = 0
    """Index in the series."""

    def cleaned(self) -> Cleaned:
        """Return the buckets that can be drawn."""
        return clean(self.buckets) if self.buckets is not None else Cleaned(np.empty((0, 3)), 0)


@dataclass(frozen=True)
class RunMoment:
    """The histogram of one run at the step that a card shows, or the reason why there is none."""

    run: str
    color: RunColor
    moment: Moment | None
    said: str = ""
    """A remark about it; empty if there is none."""


@dataclass(frozen=True)
class ChartSettings:
    """How histograms are drawn."""

    mode: Mode = "offset"
    axis: Axis = "step"
    bins: Bins = "written"
    bin_count: int = EVEN_BINS
    """The number of bins if ``bins`` is "even"."""
    height: Height = "count"
    """Whether heights are counts, or fractions of all values per unit of the axis."""
    log: bool = False
    """Whether heights are on a logarithmic scale."""
    reach: tuple[float, float] | None = None
    """Minimum range of values that a chart shows, so that several share one scale; None for the chart's own range."""


def places(moments: Sequence[Moment], first: float, settings: ChartSettings) -> tuple[list[float], str]:
    """Return the positions of moments on the axis, and the unit of relative time.

    Wall times are in milliseconds since 1970, which Plotly shows in the browser's time zone.

    Args:
        moments: the moments, in order.
        first: wall time at which relative time begins.
        settings: determine the axis.
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
            return [m.wall_time * 1000.0 for m in moments], ""
        case _:
            assert_never(settings.axis)


def moment_axis(
    at: Sequence[float], settings: ChartSettings, unit: str, direction: Literal["across", "down"]
) -> dict[str, Any]:
    """Return an axis with ticks at moments that have a histogram, as many as their labels have room for."""
    if direction == "down":
        marked = _marked(at, MOST_TICKS, 1 / 12)
    else:
        # Times are twice as wide as most steps; a card may be as narrow as a phone.
        most = MOST_TICKS if settings.axis == "step" else 4
        marked = _marked(at, most, 1 / most)
    if settings.axis == "wall":
        span = marked[-1] - marked[0] if marked else 0.0
        clock = next(text for least, text in _CLOCKS if span >= least) if len(marked) > 1 else "%H:%M:%S\n%d %b %Y"
        return {"type": "date", "tickvals": marked, "tickformat": clock, "tickangle": 0}
    labels = [count(int(place)) if settings.axis == "step" else f"{place:.3g} {unit}" for place in marked]
    return {"tickvals": marked, "ticktext": labels, "tickangle": 0}


def _marked(at: Sequence[float], most: int, least: float) -> list[float]:
    """Return some of the places, the first and the last among them, each ``least`` of the whole range apart."""
    distinct = sorted(set(at))
    picked = [distinct[i] for i in pick(len(distinct), most).tolist()]
    found = picked[:1]
    # Not quite as much, so that places at equal distances are not told apart by rounding.
    gap = (picked[-1] - picked[0]) * least * (1 - 1e-6) if picked else 0.0
    for place in picked[1:-1]:
        if min(place - found[-1], picked[-1] - place) >= gap:
            found.append(place)
    return found + picked[1:][-1:]


def note(moments: Sequence[Moment], cleaned: Sequence[Cleaned], total: int, bins_said: str = "") -> str:
    """Return a note on what a chart of histograms leaves out or changes; empty if nothing.

    Args:
        moments: the drawn moments.
        cleaned: their buckets.
        total: the number of moments in the range of steps.
        bins_said: a remark about the bins, if they are not the requested ones.
    """
    parts = _left_out(moments, cleaned)
    if total > len(moments):
        parts.append(
            f"{count(len(moments))} of {count(total)} steps shown, evenly spaced, including the first and last"
        )
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
    """Return what the newest histogram with values in no bucket leaves out, and how many others leave out values."""
    found = [(m, c) for m, c in zip(moments, cleaned, strict=True) if m.left_out]
    if not found:
        return []
    newest, buckets = found[-1]
    what = ", ".join(f"{count(number)} {name}" for name, number in newest.left_out.items())
    total = int(buckets.total) + sum(newest.left_out.values())
    others = f", some at {counted(len(found) - 1, 'other step')}" if len(found) > 1 else ""
    return [f"step {count(newest.step)}: {what} of {counted(total, 'value')}{others}"]
