"""``/data/plugin/scalars``: TensorBoard's routes."""

from collections.abc import Iterable
from typing import Final, Literal

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response

from stepscope.dashboard.export.tables import csv_lines
from stepscope.dashboard.server.bodies import Body, form_fields, values_of
from stepscope.dashboard.server.errors import find_series
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.parameters import MOST_RUNS, RunName, TagName
from stepscope.dashboard.server.pieces import POINTS_A_PIECE, Row, columns_of, json_answer, named, point_list
from stepscope.dashboard.server.work import LightRoute, Pieces
from stepscope.dashboard.tensorboard.plugin import TensorboardPlugin
from stepscope.dashboard.tensorboard.tag_indexes import TagIndexes
from stepscope.summary.series import SCALARS, Series
from stepscope.summary.snapshot import Snapshot

Format = Literal["json", "csv"]


def csv_rows(series: Series) -> Iterable[Row]:
    """Return all points for CSV, in which TensorBoard writes non-finite numbers as ``nan``, ``inf``, and ``-inf``."""
    columns = columns_of(series)
    return (
        row
        for begin in range(0, len(columns), POINTS_A_PIECE)
        for row in zip(
            columns.wall_times[begin : begin + POINTS_A_PIECE].tolist(),
            columns.steps[begin : begin + POINTS_A_PIECE].tolist(),
            columns.values[begin : begin + POINTS_A_PIECE].tolist(),
            strict=True,
        )
    )


def scalar_series(snapshot: Snapshot, runs: Iterable[str], tag: str) -> list[Series]:
    """Return the scalars of one tag in the runs that have it, each run once."""
    found = (snapshot.series(run, tag) for run in dict.fromkeys(runs))
    return [series for series in found if series is not None and series.kind == SCALARS]


def scalars_answer(series: Series, format: Format) -> Response:
    """Return every point of a series, as TensorBoard sends it."""
    if format == "csv":
        return Pieces(csv_lines(["Wall time", "Step", "Value"], csv_rows(series)), media_type="text/csv")
    return json_answer(point_list(series))


def router(live: Live) -> APIRouter:
    """Return the routes, over the latest snapshot."""
    routes = APIRouter(tags=["scalars"], route_class=LightRoute)

    indexes = TagIndexes(SCALARS)

    @routes.get("/data/plugin/scalars/tags")
    def tags() -> Response:
        """Run -> tag -> display name and description."""
        return indexes.answer(live.snapshot())

    @routes.get("/data/plugin/scalars/scalars")
    def scalars(
        run: RunName,
        tag: TagName,
        format: Format = "json",
    ) -> Response:
        """Return every point of one tag of one run."""
        return scalars_answer(find_series(live.snapshot(), run, tag, SCALARS), format)

    @routes.post("/data/plugin/scalars/scalars_multirun")
    def scalars_multirun(request: Request, body: Body) -> Response:
        """Return every point of one tag in several runs: a form with ``tag`` once and ``runs`` once per run.

        The answer maps run -> points as ``scalars`` gives them, and leaves out runs without the tag.
        """
        fields = form_fields(request.headers.get("content-type", ""), body)
        tags, runs = values_of(fields, "tag"), values_of(fields, "runs")
        if len(tags) != 1 or len(runs) > MOST_RUNS:
            raise HTTPException(400, f"Expected one tag and up to {MOST_RUNS} runs, got {len(tags)} and {len(runs)}.")
        found = scalar_series(live.snapshot(), runs, tags[0])
        return json_answer(named([(series.run, point_list(series)) for series in found]))

    return routes


PLUGIN: Final = TensorboardPlugin(name="scalars", tab="scalars", kinds=(SCALARS,), router=router)
