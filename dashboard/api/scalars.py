"""``/data/plugin/scalars``: TensorBoard's routes."""

from collections.abc import Iterable
from typing import Literal

import numpy as np
import orjson
from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response
from numpy.typing import NDArray

from dashboard.api.bodies import Body, form_fields, values_of
from dashboard.api.downloads import csv_lines
from dashboard.api.errors import find_series
from dashboard.api.parameters import MOST_RUNS, RunName, TagName
from dashboard.live import Live
from dashboard.numbers import json_number
from dashboard.panels.text.rendering import markdown_html
from dashboard.work import LightRoute, Pieces
from summary.snapshot import SCALARS, Series, Snapshot

Format = Literal["json", "csv"]

Row = tuple[float | str, int, float | str]
"""Wall time, step and value."""


def json_column(numbers: NDArray[np.float64]) -> list[float | str]:
    """A column as JSON has it; NaN and the infinities are strings, as TensorBoard writes them."""
    column: list[float | str] = numbers.tolist()
    return column if np.isfinite(numbers).all() else [json_number(number) for number in numbers.tolist()]


def points(series: Series) -> list[Row]:
    """All points as wall time, step and value, for JSON."""
    columns = series.columns
    return list(zip(json_column(columns.wall_times), columns.steps.tolist(), json_column(columns.values), strict=True))


def csv_rows(series: Series) -> Iterable[Row]:
    """All points for CSV, where TensorBoard writes numbers that are not finite as ``nan``, ``inf`` and ``-inf``."""
    columns = series.columns
    return zip(columns.wall_times.tolist(), columns.steps.tolist(), columns.values.tolist(), strict=True)


def scalar_series(snapshot: Snapshot, runs: Iterable[str], tag: str) -> list[Series]:
    """The scalars of one tag in those of the runs that have it, each run once."""
    found = (snapshot.series(run, tag) for run in dict.fromkeys(runs))
    return [series for series in found if series is not None and series.kind == SCALARS]


def tag_index(series: Iterable[Series]) -> dict[str, dict[str, str]]:
    """Tags with their display name and description as sanitised HTML, as TensorBoard's ``tags`` routes have them."""
    return {
        s.tag: {"displayName": s.display_name or s.tag, "description": markdown_html(s.description)} for s in series
    }


def scalars_answer(series: Series, format: Format) -> Response:
    """Every point of a series, as TensorBoard sends it."""
    if format == "csv":
        return Pieces(csv_lines(["Wall time", "Step", "Value"], csv_rows(series)), media_type="text/csv")
    return Response(orjson.dumps(points(series)), media_type="application/json")


def router(live: Live) -> APIRouter:
    """The routes, over the latest snapshot."""
    routes = APIRouter(tags=["scalars"], route_class=LightRoute)

    @routes.get("/data/plugin/scalars/tags")
    def tags() -> dict[str, dict[str, dict[str, str]]]:
        """Run -> tag -> display name and description."""
        snapshot = live.snapshot()
        return {name: tag_index(run.of_kind(SCALARS)) for name, run in snapshot.runs.items() if run.of_kind(SCALARS)}

    @routes.get("/data/plugin/scalars/scalars")
    def scalars(
        run: RunName,
        tag: TagName,
        format: Format = "json",
    ) -> Response:
        """Every point of one tag of one run."""
        return scalars_answer(find_series(live.snapshot(), run, tag, SCALARS), format)

    @routes.post("/data/plugin/scalars/scalars_multirun")
    def scalars_multirun(request: Request, body: Body) -> Response:
        """Every point of one tag in several runs: a form with ``tag`` once and ``runs`` as often as there are runs.

        The answer maps run -> points as ``scalars`` gives them, and leaves out runs without the tag.
        """
        fields = form_fields(request.headers.get("content-type", ""), body)
        tags, runs = values_of(fields, "tag"), values_of(fields, "runs")
        if len(tags) != 1 or len(runs) > MOST_RUNS:
            raise HTTPException(400, f"Expected one tag and up to {MOST_RUNS} runs, got {len(tags)} and {len(runs)}.")
        found = scalar_series(live.snapshot(), runs, tags[0])
        answer = orjson.dumps({series.run: points(series) for series in found})
        return Response(answer, media_type="application/json")

    return routes
