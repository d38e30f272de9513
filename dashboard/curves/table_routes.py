"""Routes shared by panels of scalars: names of tags, and points of cards as files."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import Response

from stepscope.dashboard.curves.messages import NamesAnswer
from stepscope.dashboard.curves.spec import ChartSpec
from stepscope.dashboard.export.tables import TableFormat, csv_pieces, json_pieces, write_table
from stepscope.dashboard.page.state import MAX_QUERY, View, decode
from stepscope.dashboard.panels.cards import tag_keys
from stepscope.dashboard.runs.table import RunTable
from stepscope.dashboard.server.headers import attachment
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.work import LightRoute, Pieces, heavy
from stepscope.summary.series import SCALARS
from stepscope.summary.snapshot import Snapshot

if TYPE_CHECKING:
    import polars as pl

MOST_NAMES: Final = 5_000
MEDIA_TYPES: Final[dict[TableFormat, str]] = {
    "csv": "text/csv",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
}


def scalar_routes(live: Live, spec_of: Callable[[str, Snapshot, View], ChartSpec]) -> APIRouter:
    """Return the routes ``GET /names`` and ``GET /table`` of a panel whose cards have the lines of ``spec_of``."""
    routes = APIRouter(route_class=LightRoute)

    @routes.get("/names")
    def names(
        view: Annotated[str, Query(max_length=MAX_QUERY, description="The page's query string.")] = "",
    ) -> NamesAnswer:
        """Return at most 5,000 scalar tags of the shown runs, regardless of the tag filter."""
        snapshot = live.snapshot()
        return {"tags": RunTable(snapshot, decode(view)).shown_tags(SCALARS)[:MOST_NAMES]}

    @routes.get("/table")
    @heavy
    def table(
        view: Annotated[str, Query(max_length=MAX_QUERY, description="The page's query string.")] = "",
        key: Annotated[str | None, Query(max_length=65_536, description="A card; without one, all of them.")] = None,
        format: TableFormat = "csv",
    ) -> Response:
        """Return every point of the shown runs, for one card or for all tags that pass the filter."""
        snapshot, seen = live.snapshot(), decode(view)
        runs = RunTable(snapshot, seen)
        if key is None:
            tags: Iterable[str] = (tag for _, tag in tag_keys(snapshot, seen, SCALARS))
        else:
            tags = (
                tag for line in spec_of(key, snapshot, seen).lines for tag in (line.tag, line.low_tag, line.high_tag)
            )
        known = set(runs.shown_tags(SCALARS))
        wanted = list(dict.fromkeys(tag for tag in tags if tag in known))
        if not wanted:
            raise HTTPException(
                404, "None of the visible runs has such a scalar. Show more runs, or change the filter."
            )
        frame = snapshot.scalars(runs.shown, wanted)
        name = "scalars" if key is None else wanted[0]
        headers = attachment(name, format)
        if format == "parquet":
            return Response(_parquet(frame), media_type=MEDIA_TYPES[format], headers=headers)
        pieces = csv_pieces(frame) if format == "csv" else json_pieces(frame)
        return Pieces(pieces, media_type=MEDIA_TYPES[format], headers=headers)

    return routes


def _parquet(frame: "pl.DataFrame") -> bytes:
    from io import BytesIO

    stream = BytesIO()
    write_table(frame, "parquet", stream)
    return stream.getvalue()
