"""The health map: its rows in order, and the part that a screen shows."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.debugger.filters import TensorFilter
from stepscope.dashboard.debugger.heat import RULES, SIGNED, Matrix, window
from stepscope.dashboard.debugger.opened import OpenedDebug
from stepscope.dashboard.panels.debugger.facts import sent, tensor_facts
from stepscope.dashboard.panels.debugger.messages import Curve, MapAnswer, MapCell, MapRow
from stepscope.dashboard.panels.debugger.settings import Order
from stepscope.dashboard.server.binary import ColumnPack
from stepscope.summary.debugger.model import Figure

_RARE: Final = 0.01
"""Fraction of values at either end that the color scale ignores: a few exploding values would hide all others."""
MOST_NAMED: Final = 1_000
"""Maximum number of rows sent with names; no screen has more."""
MOST_POINTS: Final = 2_000
"""Maximum number of points of a curve."""


@dataclass(frozen=True)
class Steps:
    """A range of steps: from first to last, or by position among the observed steps."""

    first: int | None = None
    last: int | None = None
    begin: int | None = None
    end: int | None = None

    def places(self, steps: NDArray[np.int64]) -> tuple[int, int]:
        """Return where the range begins and ends among all steps."""
        begin = 0 if self.first is None else int(np.searchsorted(steps, self.first, "left"))
        end = len(steps) if self.last is None else int(np.searchsorted(steps, self.last, "right"))
        begin = begin if self.begin is None else min(self.begin, len(steps))
        end = end if self.end is None else min(self.end, len(steps))
        return begin, max(begin, end)


def rows_in_order(opened: OpenedDebug, wanted: TensorFilter, order: Order, figure: Figure) -> NDArray[np.int64]:
    """Return the observed tensors that pass the filter, in the order of the map's rows; raises PatternError."""

    def make() -> NDArray[np.int64]:
        rows = np.flatnonzero(opened.passing(wanted) & (opened.index.counts > 0))
        tensors = opened.data.tensors
        if order == "name":
            return np.array(sorted(rows.tolist(), key=lambda row: (tensors[row].name, row)), np.int64)
        if order == "module":
            first: dict[str, int] = {}
            for row in rows.tolist():
                first.setdefault(tensors[row].module, row)
            return np.array(sorted(rows.tolist(), key=lambda row: (first[tensors[row].module], row)), np.int64)
        if order == "worst":
            return rows[_worst_first(opened, opened.matrix(figure), rows)]
        return rows

    return opened.kept(("rows", wanted, order, figure if order == "worst" else ""), make)


def _worst_first(opened: OpenedDebug, matrix: Matrix, rows: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the rows in order: those that went bad first come first, then those farthest from zero."""
    first = opened.index.first_bad[rows]
    cells = matrix.cells
    with np.errstate(invalid="ignore"):
        reach = np.fmax(
            np.fmax.reduce(np.abs(cells.high[rows]), axis=1, initial=0),
            np.fmax.reduce(np.abs(cells.low[rows]), axis=1, initial=0),
        )
    return np.lexsort((-reach, np.where(first < 0, np.iinfo(np.int64).max, first)))


def map_answer(
    opened: OpenedDebug,
    wanted: TensorFilter,
    order: Order,
    figure: Figure,
    rows: tuple[int, int],
    steps: Steps,
    most_lines: int,
    most_columns: int,
) -> bytes:
    """Return a part of the map as packed columns.

    Args:
        opened: the recording.
        wanted: filter of the tensors.
        order: order of the rows.
        figure: the statistic that is shown.
        rows: range of rows, from and up to.
        steps: range of steps.
        most_lines: number of lines on the screen.
        most_columns: number of columns on the screen.
    """
    ordered = rows_in_order(opened, wanted, order, figure)
    begin, end = min(rows[0], len(ordered)), min(rows[1], len(ordered))
    all_steps = opened.index.steps
    step_begin, step_end = steps.places(all_steps)
    matrix = opened.matrix(figure)
    chosen = ordered[begin:end]
    part = window(matrix, opened.read, opened.index, chosen, step_begin, step_end, most_lines, most_columns)
    least, low, high = _extent(opened, matrix)
    lines, columns = part.cells.bad.shape
    pack = ColumnPack()
    edges = np.minimum(part.columns, max(len(all_steps) - 1, 0))
    header: MapAnswer = {
        "search_problem": "",
        "figure": figure,
        "total": len(ordered),
        "begin": begin,
        "end": end,
        "names": [_map_row(opened, int(row)) for row in chosen[part.rows]] if lines <= MOST_NAMED else [],
        "all_steps": len(all_steps),
        "step_begin": step_begin,
        "step_end": step_end,
        "low": sent(low),
        "high": sent(high),
        "least": sent(least),
        "signed": figure in SIGNED,
        "first_bad": _first_bad(opened, ordered),
        "lines": lines,
        "columns": columns,
        "worst": pack.add(part.cells.worst(RULES.get(figure, "largest")).reshape(-1)),
        "mean": pack.add(part.cells.mean().reshape(-1)),
        "bad": pack.add(part.cells.bad.reshape(-1)),
        "rows": pack.add((begin + part.rows).astype(np.int32)),
        "edges": pack.add(part.columns.astype(np.int32)),
        "steps": pack.add(all_steps[edges].astype(np.float64) if len(all_steps) else np.zeros(0)),
    }
    return pack.body(header)


def _map_row(opened: OpenedDebug, number: int) -> MapRow:
    tensor = opened.data.tensors[number]
    return {
        "number": number,
        "name": tensor.name,
        "phase": tensor.phase,
        "module": tensor.module,
        "op": tensor.op_type,
    }


def _extent(opened: OpenedDebug, matrix: Matrix) -> tuple[float, float, float]:
    """Return the map's smallest nonzero magnitude and its minimum and maximum finite value, ignoring rare ones."""

    def look() -> tuple[float, float, float]:
        values = np.concatenate([each[np.isfinite(each)] for each in (matrix.cells.low, matrix.cells.high)])
        if not len(values):
            return (float("nan"),) * 3
        sizes = np.abs(values[values != 0])
        if not len(sizes):
            return float("nan"), 0.0, 0.0
        least = float(np.quantile(sizes, _RARE, method="lower"))
        most = float(np.quantile(sizes, 1 - _RARE, method="higher"))
        return least, max(float(values.min()), -most), min(float(values.max()), most)

    return opened.kept(("extent", matrix.figure), look)


def _first_bad(opened: OpenedDebug, ordered: NDArray[np.int64]) -> MapCell | None:
    first = opened.index.first_bad[ordered]
    bad = np.flatnonzero(first >= 0)
    if not len(bad):
        return None
    row = int(bad[np.argmin(first[bad])])
    observation = int(first[row])
    return {
        "row": row,
        "tensor": int(ordered[row]),
        "observation": observation,
        "step": int(opened.one(observation).steps[0]),
    }


def curve_answer(opened: OpenedDebug, tensor: int, figure: Figure, steps: Steps) -> bytes:
    """Return a statistic of one tensor over steps as packed columns."""
    index = opened.index
    begin, end = steps.places(index.steps)
    part = window(opened.matrix(figure), opened.read, index, [tensor], begin, end, 1, MOST_POINTS)
    cells = part.cells
    there = np.flatnonzero((cells.count[0] > 0) | (cells.bad[0] > 0)) if len(cells.bad) else np.zeros(0, np.int64)
    last = opened.latest([tensor], opened.data.observation_count).get(tensor)
    first_bad = int(index.first_bad[tensor])
    pack = ColumnPack()
    header: Curve = {
        "tensor": tensor_facts(opened.data.tensors, tensor),
        "figure": figure,
        "observations": int(index.counts[tensor]),
        "not_finite": int(index.bad[tensor]),
        "exact": bool((np.diff(part.columns) == 1).all()),
        "steps": pack.add(index.steps[part.columns[there]].astype(np.float64)),
        "high": pack.add(_line(cells.high, there)),
        "low": pack.add(_line(cells.low, there)),
        "mean": pack.add(_line(cells.mean(), there)),
        "bad": pack.add(cells.bad[0, there] if len(cells.bad) else np.zeros(0, np.uint8)),
        "latest": last,
        "first_bad": first_bad if first_bad >= 0 else None,
    }
    return pack.body(header)


def _line(values: NDArray[np.float32], there: NDArray[np.int64]) -> NDArray[np.float32]:
    return values[0, there] if len(values) else np.zeros(0, np.float32)
