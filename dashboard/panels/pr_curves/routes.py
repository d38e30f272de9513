"""The curves of a card as a file."""

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal

import orjson
from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import Response

from stepscope.dashboard.export.tables import csv_lines
from stepscope.dashboard.server.errors import find_series
from stepscope.dashboard.server.headers import attachment
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.numbers import json_number
from stepscope.dashboard.server.parameters import MOST_RUNS, Index, TagName
from stepscope.dashboard.server.work import LightRoute, Pieces
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.pr_curve import PLUGIN_NAME, PrCurve
from stepscope.summary.series import Series

COLUMNS: Final = (
    "run",
    "step",
    "wall_time",
    "threshold",
    "true_positives",
    "false_positives",
    "true_negatives",
    "false_negatives",
    "precision",
    "recall",
)


def read(series: Series, index: int) -> PrCurve:
    """Return a curve of a series.

    Raises:
        HTTPException: 404 if the point does not exist; 422 if it cannot be read.
    """
    try:
        found: PrCurve = series.read(index)
    except IndexError as error:
        raise HTTPException(404, f"{error}.") from error
    except PayloadError as error:
        raise HTTPException(422, f"No PR curve of {series.run!r}: {error}.") from error
    return found


def rows(series: Series, index: int, found: PrCurve) -> Iterator[tuple[Any, ...]]:
    """Yield one row of `COLUMNS` for every threshold, as written."""
    step, wall_time = int(series.steps[index]), float(series.wall_times[index])
    for threshold, numbers in zip(found.thresholds.tolist(), found.table.T.tolist(), strict=True):
        yield (series.run, step, wall_time, threshold, *numbers)


def make_router(live: Live) -> APIRouter:
    """Return the panel's routes for the latest snapshot."""
    routes = APIRouter(route_class=LightRoute)

    @routes.get("/download", response_class=Response)
    def download(
        tag: TagName,
        run: Annotated[list[str], Query(max_length=MOST_RUNS)],
        index: Annotated[list[Index], Query(max_length=MOST_RUNS)],
        format: Literal["csv", "json"] = "csv",
    ) -> Response:
        """Return one curve of each run, by its index in the series: one row per threshold, as CSV or a JSON array."""
        if len(run) != len(index):
            raise HTTPException(422, f"Expected one index for each run, got {len(run)} runs and {len(index)} indices.")
        snapshot = live.snapshot()
        chosen = [(find_series(snapshot, name, tag, PLUGIN_NAME), at) for name, at in zip(run, index, strict=True)]
        read_now = [(series, at, read(series, at)) for series, at in chosen]
        table = (row for series, at, found in read_now for row in rows(series, at, found))
        headers = attachment(tag, format)
        if format == "csv":
            return Pieces(csv_lines(list(COLUMNS), table), media_type="text/csv", headers=headers)
        objects = [
            dict(zip(COLUMNS, (json_number(cell) if isinstance(cell, float) else cell for cell in row), strict=True))
            for row in table
        ]
        return Response(orjson.dumps(objects), media_type="application/json", headers=headers)

    return routes
