"""``/data/plugin/scalars``: TensorBoard's routes, and ``/api/scalars/download`` for a whole chart."""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import Response, StreamingResponse

from dashboard.api.errors import find_series
from dashboard.api.parameters import RunName, TagName
from dashboard.live import Live
from dashboard.numbers import json_number
from dashboard.panels.text.rendering import markdown_html
from summary.snapshot import SCALARS, Series

Format = Literal["json", "csv"]


def points(series: Series) -> list[list[float | int | str]]:
    """All points as [wall time, step, value]; NaN and the infinities are strings, as TensorBoard writes them."""
    columns = series.columns
    return [
        [wall_time, step, json_number(value)]
        for wall_time, step, value in zip(
            columns.wall_times.tolist(), columns.steps.tolist(), columns.values.tolist(), strict=True
        )
    ]


def tag_index(series: Iterable[Series]) -> dict[str, dict[str, str]]:
    """Tags with their display name and description as sanitised HTML, as TensorBoard's ``tags`` routes have them."""
    return {
        s.tag: {"displayName": s.display_name or s.tag, "description": markdown_html(s.description)} for s in series
    }


def csv_lines(header: list[str], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """CSV with CRLF line ends, a few thousand rows at a time."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(header)
    for number, row in enumerate(rows):
        writer.writerow(row)
        if number % 4096 == 4095:
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()


def attachment(tag: str, extension: str) -> dict[str, str]:
    """The header that names a download after its tag."""
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in tag)[:100] or "scalars"
    return {"Content-Disposition": f'attachment; filename="{safe}.{extension}"'}


def router(live: Live) -> APIRouter:
    """The routes, over the latest snapshot."""
    routes = APIRouter(tags=["scalars"])

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
        rows = points(find_series(live.snapshot(), run, tag, SCALARS))
        if format == "csv":
            return StreamingResponse(csv_lines(["Wall time", "Step", "Value"], rows), media_type="text/csv")
        return Response(orjson.dumps(rows), media_type="application/json")

    @routes.get("/api/scalars/download")
    def download(
        tag: TagName,
        run: Annotated[list[str], Query(max_length=2000)],
        format: Format = "csv",
    ) -> Response:
        """Every point of one tag in the given runs, unsmoothed, as one file."""
        snapshot = live.snapshot()
        asked = dict.fromkeys(run)
        found = [s for s in (snapshot.series(name, tag) for name in asked) if s is not None and s.kind == SCALARS]
        if not found:
            raise HTTPException(404, f"None of the runs has a scalar {tag!r}.")
        if format == "csv":
            rows = ([series.run, *point] for series in found for point in points(series))
            lines = csv_lines(["Run", "Wall time", "Step", "Value"], rows)
            return StreamingResponse(lines, media_type="text/csv", headers=attachment(tag, "csv"))
        body = orjson.dumps({series.run: points(series) for series in found})
        return Response(body, media_type="application/json", headers=attachment(tag, "json"))

    return routes
