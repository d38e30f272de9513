"""One line of a chart: which of its points are drawn, and how they are smoothed."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.curves.messages import LineAbout, SentLine
from stepscope.dashboard.curves.smoothing import smooth
from stepscope.dashboard.server.binary import ColumnPack
from stepscope.dashboard.tensorboard.downsample import indices_to_draw
from stepscope.summary.distinct import running_count

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Line:
    """All points of a line in drawing order, as arrays of equal length."""

    about: LineAbout
    """Facts about the line that the page gets besides its points."""
    x: Floats
    y: Floats
    low: Floats | None = None
    high: Floats | None = None
    extra: dict[str, NDArray[Any]] = field(default_factory=dict)
    """More columns for the cursor's table: "step", "seconds", "members"."""

    def ordered(self, order: NDArray[np.intp]) -> "Line":
        """Return the line with its points in another order."""
        low, high = (None if edge is None else edge[order] for edge in (self.low, self.high))
        extra = {name: values[order] for name, values in self.extra.items()}
        return Line(self.about, self.x[order], self.y[order], low, high, extra)


@dataclass(frozen=True)
class DrawnLine:
    """The points of a line that are sent to the page."""

    line: Line
    chosen: NDArray[np.int64]
    """Indices of the sent points, ascending."""
    visible: int
    """Number of points in the visible part."""

    @property
    def whole(self) -> bool:
        """Whether all points are sent, so that the page itself can smooth them exactly."""
        return len(self.chosen) == len(self.line.x)


def choose(line: Line, window: tuple[float, float] | None, most: int) -> DrawnLine:
    """Choose the points that are drawn.

    Args:
        line: the line.
        window: the visible part of the horizontal axis; None for all of it. One more point on either side is included,
            so that the line reaches the edge of the chart.
        most: number of points to draw; if there are fewer than twice as many, all are drawn.
    """
    known = np.isfinite(line.x)
    inside = np.arange(len(line.x)) if known.all() else np.flatnonzero(known)
    if window is not None:
        x = line.x[inside]
        hit = np.flatnonzero((x >= window[0]) & (x <= window[1]))
        if len(hit):
            inside = inside[max(hit[0] - 1, 0) : hit[-1] + 2]
        else:
            # No point inside: the line crosses the window, from the last point before it to the first after it.
            before = np.flatnonzero(x < window[0])[-1:]
            behind = np.flatnonzero(x > window[1])[:1]
            inside = inside[np.concatenate([before, behind])]
    few = most if len(inside) >= 2 * most else len(inside)
    chosen = inside[indices_to_draw(line.x[inside], line.y[inside], few)]
    return DrawnLine(line, chosen, len(inside))


def nearest_point(places: Floats, x: float) -> int:
    """Return the index of the place nearest to ``x``, the first in a tie; -1 if no place is finite."""
    distance = np.abs(places - x)
    return int(np.nanargmin(distance)) if np.isfinite(distance).any() else -1


def packed(drawn: DrawnLine, smoothing: float, pack: ColumnPack) -> SentLine:
    """Return a line as sent: facts about it, its number of points, and where its columns are in the pack.

    "x" and "y" are the points as stored, with y NaN where it is not finite. If not all points are sent, "smooth" is the
    smoothed line, and "mean" and "count" are the mean and number of the finite points after the previous sent point, up
    to and including each sent point: with these, the page previews another smoothing until the server has answered.
    """
    line, chosen = drawn.line, drawn.chosen
    columns = {"x": pack.add_exactly(line.x[chosen]), "y": pack.add_numbers(_finite(line.y[chosen]))}
    if not drawn.whole:
        mean, count = gap_means(line.y, chosen)
        columns["mean"], columns["count"] = pack.add_numbers(mean), pack.add(count)
        columns["smooth"] = pack.add_numbers(_finite(smooth(line.y, smoothing)[chosen]))
    for name, edge in (("low", line.low), ("high", line.high)):
        if edge is not None:
            columns[name] = pack.add_numbers(_finite(smooth(edge, smoothing)[chosen]))
    for name, values in line.extra.items():
        columns[name] = pack.add(values[chosen])
    return {**line.about, "total": len(line.x), "visible": drawn.visible, "columns": columns}


def gap_means(y: Floats, chosen: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int32]]:
    """Return the mean and number of the finite values after the previous chosen point, up to and including each one.

    Args:
        y: float64[n].
        chosen: int64[k], ascending indices into ``y``.

    Returns:
        Means, float64[k], 0 where there is no finite value, and numbers, int32[k].
    """
    finite = np.isfinite(y)
    sums = np.concatenate([[0.0], np.cumsum(np.where(finite, y, 0.0))])
    counts = np.concatenate([[0], running_count(finite)])
    ends = chosen + 1
    begins = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    count = (counts[ends] - counts[begins]).astype(np.int32)
    with np.errstate(over="ignore", invalid="ignore"):
        total = sums[ends] - sums[begins]
    return np.where(count > 0, total / np.maximum(count, 1), 0.0), count


def _finite(values: Floats) -> Floats:
    return values if np.isfinite(values).all() else np.where(np.isfinite(values), values, np.nan)
