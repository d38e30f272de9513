"""``/data/plugin/histograms`` and ``/data/plugin/distributions``: TensorBoard's routes."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from fastapi import APIRouter
from fastapi.responses import Response
from numpy.typing import NDArray

from stepscope.dashboard.server.errors import find_series
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.numbers import json_number
from stepscope.dashboard.server.parameters import RunName, TagName
from stepscope.dashboard.server.pieces import json_answer, listed
from stepscope.dashboard.server.work import LightRoute
from stepscope.dashboard.tensorboard.compressor import compress
from stepscope.dashboard.tensorboard.plugin import TensorboardPlugin
from stepscope.dashboard.tensorboard.tag_indexes import TagIndexes
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.histogram import PLUGIN_NAME
from stepscope.summary.series import Series

Buckets = NDArray[np.float64]


def readable(series: Series) -> Iterator[tuple[float, int, Buckets]]:
    """Yield the wall time, step, and buckets of every point that can be decoded; the page reports the others."""
    for index, (wall_time, step) in enumerate(zip(series.wall_times.tolist(), series.steps.tolist(), strict=True)):
        try:
            buckets = series.read(index).buckets
        except PayloadError:
            continue
        yield wall_time, step, buckets


def as_rows(buckets: Buckets) -> list[list[float | str]]:
    """Return rows of left edge, right edge, count."""
    return [[json_number(value) for value in row] for row in buckets.tolist()]


def as_percentiles(buckets: Buckets) -> list[list[float | str]]:
    """Return rows of basis point and value."""
    return [[point, json_number(value)] for point, value in compress(buckets)]


def points(series: Series, convert: Callable[[Buckets], Any]) -> Response:
    """Return rows of wall time, step, and what ``convert`` makes of the buckets."""
    return json_answer(
        listed([json_number(wall_time), step, convert(buckets)] for wall_time, step, buckets in readable(series))
    )


def router(live: Live) -> APIRouter:
    """Return the routes, over the latest snapshot."""
    routes = APIRouter(tags=["histograms"], route_class=LightRoute)
    indexes = TagIndexes(PLUGIN_NAME)

    @routes.get("/data/plugin/histograms/tags")
    @routes.get("/data/plugin/distributions/tags")
    def tags() -> Response:
        """Run -> tag -> display name and description."""
        return indexes.answer(live.snapshot())

    @routes.get("/data/plugin/histograms/histograms")
    def histograms(run: RunName, tag: TagName) -> Response:
        """Return every histogram of one tag of one run, its buckets as written: [wall time, step, [[left, right,
        count]]].
        """
        return points(find_series(live.snapshot(), run, tag, PLUGIN_NAME), as_rows)

    @routes.get("/data/plugin/distributions/distributions")
    def distributions(run: RunName, tag: TagName) -> Response:
        """Return percentiles of every histogram of one tag of one run: [wall time, step, [[basis point, value]]]."""
        return points(find_series(live.snapshot(), run, tag, PLUGIN_NAME), as_percentiles)

    return routes


PLUGIN: Final = TensorboardPlugin(name="histograms", tab="histograms", kinds=(PLUGIN_NAME,), router=router)
DISTRIBUTIONS: Final = TensorboardPlugin(name="distributions", tab="distributions", kinds=(PLUGIN_NAME,), router=None)
