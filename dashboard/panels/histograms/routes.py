"""Routes for one histogram with its statistics, and for the histograms of a card as a file."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final, Literal

import orjson
from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import Response

from stepscope.dashboard.export.tables import csv_lines
from stepscope.dashboard.panels.histograms.buckets import clean, statistics
from stepscope.dashboard.panels.histograms.messages import DamagedHistogram, DescribedHistogram, HistogramPlace
from stepscope.dashboard.panels.histograms.moments import EVEN_BINS, MOST_EVEN_BINS, Bins, ChartSettings, Height
from stepscope.dashboard.panels.histograms.reading import StepRange, everything, left_out
from stepscope.dashboard.panels.histograms.shapes import make_shapes
from stepscope.dashboard.server.arrays import typed
from stepscope.dashboard.server.errors import find_series
from stepscope.dashboard.server.headers import attachment
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.numbers import json_number
from stepscope.dashboard.server.parameters import MOST_RUNS, Index, RunName, Step, TagName
from stepscope.dashboard.server.work import LightRoute, Pieces
from stepscope.summary.counts import counted
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.histogram import PLUGIN_NAME, Histogram
from stepscope.summary.series import Series

COLUMNS: Final = ("run", "step", "wall_time", "left", "right", "count", "error")

BinCount = Annotated[int, Query(ge=1, le=MOST_EVEN_BINS)]
Row = tuple[str, int, float, Histogram | None, str]
"""Run, step, wall time, histogram, error."""


def describe(series: Series, index: int, settings: ChartSettings) -> DescribedHistogram | DamagedHistogram:
    """Return a histogram's outline and statistics, or why it cannot be read.

    Raises:
        HTTPException: 404 if the point does not exist.
    """
    if index >= len(series):
        raise HTTPException(
            404,
            f"{series.run!r} has {counted(len(series), 'point')} of {series.tag!r}; "
            f"expected a number from 0 to {len(series) - 1}, got {index}.",
        )
    known: HistogramPlace = {
        "index": index,
        "points": len(series),
        "step": int(series.steps[index]),
        "wall": json_number(float(series.wall_times[index])),
    }
    try:
        histogram: Histogram = series.read(index)
    except PayloadError as error:
        return {**known, "error": str(error)}
    cleaned = clean(histogram.buckets)
    made = make_shapes([cleaned], settings)
    shape = made.shapes[0]
    reported = statistics(cleaned)
    return {
        **known,
        "error": "",
        "x": typed(shape.x),
        "y": typed(shape.y),
        "counts": typed(shape.counts),
        "low": made.low,
        "high": made.high,
        "foot": made.foot,
        "bins": len(histogram.buckets),
        "dropped": cleaned.dropped,
        "statistics": {
            "count": json_number(reported.count),
            "smallest": json_number(reported.smallest),
            "largest": json_number(reported.largest),
            "mean": json_number(reported.mean),
        },
        "left_out": left_out(histogram),
    }


def rows(chosen: Sequence[Series], within: StepRange) -> Iterator[Row]:
    """Yield every histogram of the given series in a range of steps."""
    for series in chosen:
        for step, wall_time, histogram, error in everything(series, within):
            yield series.run, step, wall_time, histogram, error


def csv_rows(found: Iterator[Row]) -> Iterator[tuple[Any, ...]]:
    """Yield one row per bucket as written; for an unreadable histogram, one row that says why."""
    for run, step, wall_time, histogram, error in found:
        if histogram is None:
            yield run, step, wall_time, "", "", "", error
            continue
        for left, right, number in histogram.buckets.tolist():
            yield run, step, wall_time, left, right, number, ""


def json_pieces(found: Iterator[Row]) -> Iterator[bytes]:
    """Yield a JSON array with an object per histogram."""
    before = b"[\n"
    for run, step, wall_time, histogram, error in found:
        known: dict[str, Any] = {"run": run, "step": step, "wall_time": json_number(wall_time)}
        if histogram is None:
            known["error"] = error
        else:
            known["buckets"] = [[json_number(value) for value in row] for row in histogram.buckets.tolist()]
            known["left_out"] = left_out(histogram)
        yield before + orjson.dumps(known)
        before = b",\n"
    yield b"\n]\n" if before != b"[\n" else b"[]\n"


def make_router(live: Live) -> APIRouter:
    """Return the panel's routes for the latest snapshot."""
    routes = APIRouter(route_class=LightRoute)

    @routes.get("/point")
    def point(
        run: RunName,
        tag: TagName,
        index: Index,
        height: Height = "count",
        log: bool = False,
        bins: Bins = "written",
        bin_count: BinCount = EVEN_BINS,
    ) -> Response:
        """Return one histogram: the outline of its bins, its statistics, and the values in no bucket."""
        series = find_series(live.snapshot(), run, tag, PLUGIN_NAME)
        body = describe(series, index, ChartSettings(bins=bins, bin_count=bin_count, height=height, log=log))
        return Response(orjson.dumps(body), media_type="application/json")

    @routes.get("/download", response_class=Response)
    def download(
        tag: TagName,
        run: Annotated[list[str], Query(max_length=MOST_RUNS)],
        first: Step | None = None,
        last: Step | None = None,
        format: Literal["csv", "json"] = "csv",
    ) -> Response:
        """Return every histogram of a tag of the given runs from step ``first`` to ``last``, with buckets as written.

        CSV has one row per bucket; JSON has one object per histogram, which also gives the values in no bucket.
        """
        snapshot = live.snapshot()
        chosen = [find_series(snapshot, name, tag, PLUGIN_NAME) for name in dict.fromkeys(run)]
        found = rows(chosen, StepRange(first, last))
        headers = attachment(tag if len(chosen) != 1 else f"{chosen[0].run}_{tag}", format)
        if format == "csv":
            return Pieces(csv_lines(list(COLUMNS), csv_rows(found)), media_type="text/csv", headers=headers)
        return Pieces(json_pieces(found), media_type="application/json", headers=headers)

    return routes
