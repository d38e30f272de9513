"""``/data/plugin/pr_curves``: TensorBoard's routes."""

import math
from collections.abc import Iterator
from typing import Annotated, Any, Final

import numpy as np
from fastapi import APIRouter, Query
from fastapi.responses import Response
from numpy.typing import NDArray

from stepscope.dashboard.server.errors import find_series
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.numbers import json_number
from stepscope.dashboard.server.parameters import MOST_RUNS, TagName
from stepscope.dashboard.server.pieces import json_answer, listed, named
from stepscope.dashboard.server.work import LightRoute
from stepscope.dashboard.tensorboard.plugin import TensorboardPlugin
from stepscope.dashboard.tensorboard.tag_indexes import TagIndexes
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.pr_curve import PLUGIN_NAME, PrCurve
from stepscope.summary.series import Series

_COUNTS: Final = ("true_positives", "false_positives", "true_negatives", "false_negatives")
_RATIOS: Final = ("precision", "recall")


def shown_thresholds(table: NDArray[np.float64]) -> int:
    """Return the number of thresholds left after dropping those at the end at which nothing counts as positive.

    Precision is undefined there. The first threshold always stays; counts are truncated to integers (TensorBoard's
    ``plugins/pr_curve/pr_curves_plugin.py``).
    """
    positives = np.trunc(table[0]) + np.trunc(table[1])
    reached = np.flatnonzero(positives != 0)
    return int(reached[-1]) + 1 if len(reached) else min(1, table.shape[1])


def curve(found: PrCurve) -> dict[str, list[Any]]:
    """Return the curve's rows and thresholds by name, with counts as integers."""
    shown = shown_thresholds(found.table)
    rows: dict[str, list[Any]] = {"thresholds": found.thresholds[:shown].tolist()}
    for name, row in zip(_COUNTS, found.table[:4, :shown].tolist(), strict=True):
        rows[name] = [int(value) if math.isfinite(value) else json_number(value) for value in row]
    for name, row in zip(_RATIOS, found.table[4:, :shown].tolist(), strict=True):
        rows[name] = [json_number(value) for value in row]
    return rows


def points(series: Series) -> Iterator[dict[str, Any]]:
    """Yield the wall time, step, and curve of every point that can be decoded."""
    for index, (wall_time, step) in enumerate(zip(series.wall_times.tolist(), series.steps.tolist(), strict=True)):
        try:
            found = series.read(index)
        except PayloadError:
            continue
        yield {"wall_time": json_number(wall_time), "step": step, **curve(found)}


def router(live: Live) -> APIRouter:
    """Return the routes, over the latest snapshot."""
    routes = APIRouter(tags=["pr_curves"], route_class=LightRoute)
    indexes = TagIndexes(PLUGIN_NAME)

    @routes.get("/data/plugin/pr_curves/tags")
    def tags() -> Response:
        """Run -> tag -> display name and description."""
        return indexes.answer(live.snapshot())

    @routes.get("/data/plugin/pr_curves/pr_curves")
    def pr_curves(tag: TagName, run: Annotated[list[str], Query(max_length=MOST_RUNS)]) -> Response:
        """Return one tag's curves in each requested run: run -> points of counts, precision, recall, and thresholds."""
        snapshot = live.snapshot()
        found = {name: find_series(snapshot, name, tag, PLUGIN_NAME) for name in dict.fromkeys(run)}
        return json_answer(named((name, listed(points(series))) for name, series in found.items()))

    return routes


PLUGIN: Final = TensorboardPlugin(name="pr_curves", tab="PR Curves", kinds=(PLUGIN_NAME,), router=router)
