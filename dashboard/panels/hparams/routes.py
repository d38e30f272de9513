"""``/api/hparams``: the content of the table as CSV, JSON or LaTeX."""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from itertools import pairwise
from typing import Annotated, Final, Literal

import msgspec
from fastapi import APIRouter, HTTPException
from fastapi.responses import Response

from stepscope.dashboard.page.state import decode
from stepscope.dashboard.panels.hparams.density import Axis, density
from stepscope.dashboard.panels.hparams.messages import SentDensity
from stepscope.dashboard.panels.hparams.sessions import Column, read_sessions, text_of
from stepscope.dashboard.panels.hparams.settings import TableRequest
from stepscope.dashboard.panels.hparams.table import MOST_ROWS, Row, all_rows, build_table, row_of, shown_columns
from stepscope.dashboard.server.binary import ColumnPack
from stepscope.dashboard.server.bodies import Body, parsed
from stepscope.dashboard.server.headers import attachment
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.work import LightRoute, Pieces, heavy
from stepscope.dashboard.tensorboard.hparams.download import MEDIA_TYPES, Cell, Format, encoded

FACTS: Final[Mapping[str, tuple[str, Callable[[Row], Cell]]]] = {
    "@run": ("run", lambda row: row.name),
    "@group": ("group", lambda row: row.group),
    "@sessions": ("sessions", lambda row: row.sessions),
    "@status": ("status", lambda row: row.status),
    "@start": ("start", lambda row: row.start),
    "@duration": ("duration", lambda row: row.duration),
}
"""Columns of the table that are neither hyperparameters nor metrics, as header and cell; times are in seconds."""


MOST_BINS: Final = 512
MOST_AXES: Final = 200
MOST_PAIRS: Final = 1_000
MOST_COUNTS: Final = 4_000_000
"""Maximum number of pairs of bins over all pairs of axes: 16 MB."""


class AskedTable(msgspec.Struct):
    """What the page shows."""

    view: str
    """The query string of the address bar."""
    columns: list[str]
    """Keys of the columns, and keys of `FACTS`, from left to right."""
    rows: list[str] | None = None
    """Names of the rows from top to bottom; None for all that pass and that the search finds, in the view's order."""


Cuts = Annotated[list[float], msgspec.Meta(max_length=MOST_BINS)]
Labels = Annotated[list[str], msgspec.Meta(max_length=MOST_BINS)]


class AskedAxis(msgspec.Struct):
    """A column of the page's charts, cut into bins."""

    key: str
    cuts: Cuts = []
    """Of numbers, where one bin ends and the next begins, ascending."""
    positive: bool = False
    """Only numbers above 0 have a place on it."""
    labels: Labels | None = None
    """Of texts, a bin each."""


class AskedDensity(msgspec.Struct):
    """What the page's charts are to show of all sessions."""

    view: str
    """The query string of the address bar."""
    axes: Annotated[list[AskedAxis], msgspec.Meta(max_length=MOST_AXES)]
    pairs: Annotated[list[tuple[int, int]], msgspec.Meta(max_length=MOST_PAIRS)]
    """Two places in ``axes`` each."""


def make_router(live: Live) -> APIRouter:
    """Return the panel's routes for the latest snapshot."""
    routes = APIRouter(route_class=LightRoute)

    @routes.post("/table.{extension}")
    def table_as_file(extension: Literal["csv", "json", "tex"], body: Body) -> Response:
        """Return rows and columns of the table of sessions, in the order given.

        The body is JSON: ``view``, the query string of the page; ``columns`` and ``rows``, the names of the requested
        ones. Names that the view does not have are left out, as are repetitions. Without ``rows``, return all that pass
        the filters and the search.
        """
        requested = parsed(body, AskedTable, "Expected view, columns and rows as JSON")
        file_format: Format = "latex" if extension == "tex" else extension
        content = encoded(*cells(live, requested), file_format)
        return Pieces(content, media_type=MEDIA_TYPES[file_format], headers=attachment("hparams", extension))

    @routes.post("/density", response_class=Response)
    @heavy
    def density_of_sessions(body: Body) -> Response:
        """Return the distribution of sessions on pairs of columns, packed as in `stepscope.dashboard.server.binary`.

        The body is JSON: ``view``, the query string of the page; ``axes``, each with the ``key`` of a column, and
        the ``cuts`` between its bins or the ``labels`` that are its bins; and ``pairs`` of indices into ``axes``. The
        header has "sessions", the number that pass the filters and the search, and "ends", the minimum and maximum
        by column. There is one column of counts per pair, uint32 ``[(bins + 1) * (bins + 1)]``: the last bin is for
        sessions without a place on the axis.
        """
        return Response(_density(live, parsed(body, AskedDensity)), media_type="application/octet-stream")

    return routes


def _density(live: Live, asked: AskedDensity) -> bytes:
    axes = [
        Axis(axis.key, tuple(axis.cuts), axis.positive, None if axis.labels is None else tuple(axis.labels))
        for axis in asked.axes
    ]
    if any(a >= b for axis in axes for a, b in pairwise(axis.cuts)):
        raise HTTPException(422, "Expected the cuts of each axis in ascending order.")
    if any(not 0 <= place < len(axes) for pair in asked.pairs for place in pair):
        raise HTTPException(422, f"Expected pairs of indices of {len(axes)} axes.")
    if sum((axes[a].bins + 1) * (axes[b].bins + 1) for a, b in asked.pairs) > MOST_COUNTS:
        raise HTTPException(413, f"Expected at most {MOST_COUNTS:,} pairs of bins.")
    wanted = TableRequest.of(decode(asked.view))
    found = density(read_sessions(live.snapshot(), wanted.folder), wanted, axes, asked.pairs)
    pack = ColumnPack()
    for counts in found.counts:
        pack.add(counts.reshape(-1))
    header: SentDensity = {"sessions": found.sessions, "ends": dict(found.ends)}
    return pack.body(header)


def cells(live: Live, requested: AskedTable) -> tuple[list[str], Iterable[list[Cell]]]:
    """Return the requested header and rows; if there are very many rows, each is made when it is sent."""
    wanted = TableRequest.of(decode(requested.view))
    found = read_sessions(live.snapshot(), wanted.folder)
    timed = "@duration" in requested.columns
    rows: Callable[[], Iterable[Row]]
    if requested.rows is None or len(found.sessions) > MOST_ROWS:
        columns = shown_columns(found.columns, wanted)
        rows = partial(all_rows, found, wanted, timed=timed)
        have_deviations = row_of(found, wanted) == "avg"
    else:
        table = build_table(found, wanted, len(found.sessions))
        columns, rows, have_deviations = table.columns, lambda: table.rows, True
    spread = {key for row in rows() for key in row.deviations} if have_deviations else set[str]()
    header, takes = _taken(dict.fromkeys(requested.columns), {column.key: column for column in columns}, spread)
    if requested.rows is None:
        return header, ([take(row) for take in takes] for row in rows())
    asked = frozenset(requested.rows)
    by_name = {row.name: [take(row) for take in takes] for row in rows() if row.name in asked}
    return header, [by_name[name] for name in dict.fromkeys(requested.rows) if name in by_name]


def _taken(
    keys: Iterable[str], columns: Mapping[str, Column], spread: Collection[str]
) -> tuple[list[str], list[Callable[[Row], Cell]]]:
    """Return the header of a file, and the functions that return the cells of a row."""
    header: list[str] = []
    takes: list[Callable[[Row], Cell]] = []
    for key in keys:
        if key not in FACTS and key not in columns:
            continue
        name, take = FACTS[key] if key in FACTS else (columns[key].label, partial(_cell, column=columns[key]))
        header.append(name)
        takes.append(take)
        if key in spread:
            header.append(f"{name} (standard deviation)")
            takes.append(lambda row, key=key: row.deviations.get(key))  # type: ignore[misc]
    return header, takes


def _cell(row: Row, column: Column) -> Cell:
    if column.kind == "metric":
        metric = row.metrics.get(column.key)
        return None if metric is None else metric[0]
    if column.key in row.several:
        return ", ".join(row.several[column.key])
    value = row.hparams.get(column.key)
    if value is None or column.type == "text":
        return text_of(value)
    # As written in the program: 64, not 64.0.
    return int(value) if isinstance(value, float) and value.is_integer() else value
