"""Routes that read embeddings, mounted under ``/api/projector``: lists, columns, tables, neighbors and searches.

Every route is a plain function: FastAPI runs it in a thread, so that reading a large file never blocks the event loop.
Client errors are answered with a 4xx status and ``{"detail": <sentence>}``.
"""

import zlib
from time import perf_counter
from typing import Annotated, Any, Final
from urllib.parse import urlencode

import msgspec
import numpy as np
from fastapi import APIRouter, HTTPException, Query, Request, Response

from stepscope.dashboard.embeddings.dataset import Column, Dataset
from stepscope.dashboard.embeddings.job_queue import Picture
from stepscope.dashboard.embeddings.methods import MOST_POINTS
from stepscope.dashboard.embeddings.quality_and_clusters import check_picture, listed, picture_of
from stepscope.dashboard.embeddings.requests import (
    LONGEST,
    ColumnName,
    Components,
    EmbeddingId,
    EmbeddingRequests,
    PictureIndex,
    RowsKey,
    SomeJobKey,
    Step,
    check_row,
    finite,
)
from stepscope.dashboard.embeddings.search import EVERYWHERE, Match, search, texts_of
from stepscope.dashboard.embeddings.selections import Rows, RowsError, decoded_rows
from stepscope.dashboard.embeddings.tables import ROW, Orders, table_rows, text_values
from stepscope.dashboard.panels.projector import messages
from stepscope.dashboard.projections.neighbors import Metric, neighbors_of
from stepscope.dashboard.server.binary import ColumnPack
from stepscope.dashboard.server.bodies import JsonBody, parsed
from stepscope.dashboard.server.headers import LOOK_AGAIN, SAFE_HEADERS
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.sentence_routes import SentenceRoute, body_answer, json_answer
from stepscope.summary.safe_regex import LONGEST_PATTERN, PatternError

MOST_TABLE_ROWS: Final = 500
MOST_LABELS: Final = 2_000
MOST_NEIGHBORS: Final = 10_000
PACK: Final = "application/octet-stream"

Row = Annotated[int, Query(ge=0, lt=1 << 32, description="The point's place in the dataset.")]


class LabelsOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Request for the labels of some points."""

    id: Annotated[str, msgspec.Meta(max_length=LONGEST)]
    name: Annotated[str, msgspec.Meta(max_length=LONGEST)]
    rows: Annotated[list[int], msgspec.Meta(max_length=MOST_LABELS)]
    step: int | None = None


class RowsOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Points to keep under a key."""

    id: Annotated[str, msgspec.Meta(max_length=LONGEST)]
    rows: str
    """Little-endian uint32, as base64."""
    step: int | None = None


def make_router(live: Live) -> APIRouter:
    """Return the routes for the log directory that ``live`` follows."""
    router = APIRouter(tags=["projector"], route_class=SentenceRoute)
    requested = EmbeddingRequests(live)
    _add_lists(router, requested)
    _add_columns(router, requested)
    _add_tables(router, live, requested)
    _add_searches(router, requested)
    _add_assets(router, requested)
    return router


def _add_lists(router: APIRouter, requested: EmbeddingRequests) -> None:
    @router.get("/embeddings")
    def embeddings(request: Request) -> Response:
        """Return the embeddings of the log directory by run, and those that were dropped on the page.

        "unlisted" counts the series of checkpoints whose matrices are left out because there are too many.
        """
        rows: list[messages.EmbeddingRow] = [
            {
                "id": source.id,
                "run": source.run,
                "label": source.label,
                "kind": source.kind,
                "steps": source.steps,
                "shape": source.shape,
                "problem": source.problem,
            }
            for source in requested.sources()
        ]
        reported: messages.EmbeddingsAnswer = {"embeddings": rows, "unlisted": requested.unlisted()}
        return json_answer(request, reported)

    @router.get("/dataset")
    def dataset(request: Request, embedding_id: EmbeddingId, step: Step = None) -> Response:
        """Return one embedding at one step: its size, its columns, and problems with its files."""
        source = requested.source(embedding_id)
        found = requested.opened(source, step)
        # A user who looks at points will have them projected.
        requested.jobs.warm()
        sprite = found.sprite
        at = {"id": embedding_id} | ({} if step is None else {"step": step})
        reported: messages.DatasetInfo = {
            "id": found.id,
            "label": found.label,
            "run": found.run,
            "step": found.step,
            "steps": source.steps,
            "count": len(found.points),
            "dimensions": found.points.shape[1],
            "digest": found.digest,
            "left_out": np.setdiff1d(np.arange(found.rows[-1] + 1), found.rows, assume_unique=True).tolist()
            if len(found.rows)
            else [],
            "problems": [{"kind": p.kind, "message": p.message, "count": p.count} for p in found.problems],
            "columns": [
                *(_described(column, derived=False) for column in found.columns),
                *(_described(column, derived=True) for column in requested.derived.of(found)),
            ],
            "sprite": None
            if sprite is None
            else {
                "width": sprite.width,
                "height": sprite.height,
                "across": sprite.across,
                # Another image has another URL, so that neither the page nor the browser shows an earlier one.
                "url": f"api/projector/sprite?{urlencode(at | {'content': zlib.crc32(sprite.content)})}",
            },
            "bookmarks": found.bookmarks,
            "limits": {str(method): most for method, most in MOST_POINTS.items()},
        }
        return json_answer(request, reported)


def _described(column: Column, *, derived: bool) -> messages.ColumnInfo:
    low = high = None
    if column.numbers is not None:
        known = column.numbers[np.isfinite(column.numbers)]
        low, high = (float(known.min()), float(known.max())) if len(known) else (None, None)
        missing = len(column.numbers) - len(known)
    elif column.codes is not None:
        missing = int((column.codes < 0).sum())
    else:
        missing = sum(text == "" for text in column.texts or ())
    return {
        "name": column.name,
        "kind": column.kind,
        "categories": len(column.categories) or None,
        "minimum": low,
        "maximum": high,
        "missing": missing,
        "derived": derived,
    }


def _add_columns(router: APIRouter, requested: EmbeddingRequests) -> None:
    @router.get("/column")
    def column(
        request: Request, embedding_id: EmbeddingId, name: ColumnName, step: Step = None, codes: bool = False
    ) -> Response:
        """Return a column, packed as in `stepscope.dashboard.server.binary`: numbers, or each point's category, -1 for
        none.

        With ``codes``, a column with few distinct numbers is returned as categories too. A column with too many texts
        has no array.
        """
        found = requested.column(requested.dataset(embedding_id, step), name)
        pack = ColumnPack()
        header: messages.ColumnHeader = {"name": found.name, "kind": found.kind, "categories": None}
        if found.codes is not None and (codes or found.numbers is None):
            header["categories"] = found.categories
            pack.add(found.codes.astype(np.int32))
        elif found.numbers is not None:
            pack.add_numbers(found.numbers)
        return body_answer(request, pack.body(header), PACK)

    @router.get("/labels")
    def labels(
        request: Request,
        embedding_id: EmbeddingId,
        name: ColumnName,
        rows: Annotated[str, Query(max_length=16_384, description="Comma-separated places of points.")],
        step: Step = None,
    ) -> Response:
        """Return the values of a column for some points, as texts."""
        try:
            wanted = [int(part) for part in rows.split(",") if part.strip()]
        except ValueError as error:
            raise HTTPException(
                422, f"Parameter 'rows' must be comma-separated numbers, but is {rows[:80]!r}."
            ) from error
        return json_answer(request, texts(LabelsOrder(embedding_id, name, wanted, step)))

    @router.post("/labels")
    def many_labels(request: Request, body: JsonBody) -> Response:
        """Return the values of a column for some points, as texts; the body is a `LabelsOrder`."""
        return json_answer(request, texts(parsed(body, LabelsOrder)))

    def texts(order: LabelsOrder) -> messages.LabelsAnswer:
        dataset = requested.dataset(order.id, order.step)
        column = requested.column(dataset, order.name)
        if len(order.rows) > MOST_LABELS:
            raise HTTPException(422, f"A response has the labels of at most {MOST_LABELS:,} points.")
        for row in order.rows:
            check_row(dataset, row)
        return {"texts": texts_of(column, np.array(order.rows, np.uint32))}


def _add_tables(router: APIRouter, live: Live, requested: EmbeddingRequests) -> None:
    orders = live.shared(Orders)

    @router.get("/table")
    def table(
        request: Request,
        embedding_id: EmbeddingId,
        step: Step = None,
        offset: Annotated[int, Query(ge=0, lt=1 << 32)] = 0,
        limit: Annotated[int, Query(ge=1, le=MOST_TABLE_ROWS)] = 100,
        sort: Annotated[str | None, Query(max_length=LONGEST, description="A column; '#' or none for places.")] = None,
        descending: bool = False,
        rows_of: RowsKey = None,
    ) -> Response:
        """Return points as rows of a table: "#" is the index; the other keys are the columns."""
        dataset = requested.dataset(embedding_id, step)
        count = len(dataset.points)
        chosen = requested.rows(dataset, rows_of)
        if sort is None or sort == ROW:
            order = np.arange(count, dtype=np.uint32) if chosen is None else chosen
            order = order[::-1] if descending else order
        else:
            order = orders.of(dataset.digest, requested.column(dataset, sort), descending=descending)
            if chosen is not None:
                order = order[np.isin(order, chosen)]
        shown = order[offset : offset + limit]
        reported: messages.TableAnswer = {
            "count": len(order),
            "rows": table_rows(requested.derived.all_of(dataset), shown),
        }
        return json_answer(request, reported)

    @router.post("/rows")
    def keep_rows(request: Request, body: JsonBody) -> Response:
        """Keep points under a key, for tables, projections and exports; the body is a `RowsOrder`."""
        order = parsed(body, RowsOrder)
        dataset = requested.dataset(order.id, order.step)
        try:
            rows = decoded_rows(order.rows, len(dataset.points))
        except RowsError as error:
            raise HTTPException(422, str(error)) from error
        reported: messages.RowsKept = {"key": requested.row_sets.keep(rows), "count": len(rows)}
        return json_answer(request, reported)

    @router.get("/row")
    def row(request: Request, embedding_id: EmbeddingId, row: Row, step: Step = None) -> Response:
        """Return the details of one point."""
        dataset = requested.dataset(embedding_id, step)
        check_row(dataset, row)
        reported: messages.RowAnswer = {
            "row": row,
            "file_row": int(dataset.rows[row]),
            "values": text_values(requested.derived.all_of(dataset), row),
            "norm": finite(np.linalg.norm(dataset.points[row].astype(np.float64))),
        }
        return json_answer(request, reported)


def _add_searches(router: APIRouter, requested: EmbeddingRequests) -> None:
    @router.get("/neighbors")
    def neighbors(
        request: Request,
        embedding_id: EmbeddingId,
        row: Row,
        step: Step = None,
        count: Annotated[int, Query(ge=1, le=MOST_NEIGHBORS)] = 100,
        metric: Metric = "cosine",
        job: SomeJobKey = None,
        index: PictureIndex = None,
        components: Components = None,
    ) -> Response:
        """Return the exact nearest neighbors of a point.

        With a job, return those nearest in its projection, by Euclidean distance.
        """
        dataset = requested.dataset(embedding_id, step)
        check_row(dataset, row)
        points, of, rows = dataset.points, row, None
        if job is not None:
            metric = "euclidean"
            points, of, rows = _in_picture(dataset, row, picture_of(requested, job, index, listed(components)))
        begin = perf_counter()
        found = neighbors_of(points, of, count, metric)
        milliseconds = 1e3 * (perf_counter() - begin)
        reported: messages.NeighborsAnswer = {
            "rows": (found.rows if rows is None else rows[found.rows]).tolist(),
            "distances": [finite(distance) for distance in found.distances],
            "metric": metric,
            "exact": True,
            "milliseconds": round(milliseconds, 2),
        }
        return json_answer(request, reported)

    @router.get("/search")
    def found(
        request: Request,
        embedding_id: EmbeddingId,
        q: Annotated[str, Query(min_length=1, max_length=LONGEST_PATTERN)],
        step: Step = None,
        match: Match = "text",
        within: Annotated[str, Query(alias="in", max_length=LONGEST, description="A column, or '*'.")] = EVERYWHERE,
    ) -> Response:
        """Return points that contain a text or match a regular expression, packed as in
        `stepscope.dashboard.server.binary`.

        A pattern that is invalid, or takes too long, is not a client error: "error" says what is wrong.
        """
        dataset = requested.dataset(embedding_id, step)
        error: str | None = None
        rows: Rows = np.empty(0, np.uint32)
        try:
            rows = search(requested.columns_in(dataset, within), q, match, len(dataset.points))
        except PatternError as problem:
            error = f"{str(problem)[:1].upper()}{str(problem)[1:]}."
        pack = ColumnPack()
        pack.add(rows)
        header: messages.SearchHeader = {
            "count": len(rows),
            "shown": len(rows),
            "error": error,
            "key": requested.row_sets.keep(rows),
        }
        return body_answer(request, pack.body(header), PACK)


def _in_picture(dataset: Dataset, row: int, picture: Picture) -> tuple[Any, int, Rows | None]:
    """Return the points of a projection, the index of a point among them, and their indices in the dataset."""
    check_picture(dataset, picture)
    points, rows = picture.coordinates, picture.rows
    if rows is None:
        return points, row, None
    place = int(np.searchsorted(rows, row))
    if place == len(rows) or rows[place] != row:
        raise HTTPException(404, f"The point {row} is not in the view.")
    return points, place, rows


def _add_assets(router: APIRouter, requested: EmbeddingRequests) -> None:
    @router.get("/sprite", response_class=Response)
    def sprite(embedding_id: EmbeddingId, step: Step = None) -> Response:
        """Return the sprite image, which holds the images of all points, row by row."""
        found = requested.dataset(embedding_id, step).sprite
        if found is None:
            raise HTTPException(404, "The embedding has no sprite image.")
        headers = {**SAFE_HEADERS, "Cache-Control": LOOK_AGAIN}
        return Response(found.content, media_type=found.media_type, headers=headers)

    @router.get("/bookmarks")
    def bookmarks(request: Request, embedding_id: EmbeddingId, step: Step = None) -> Response:
        """Return the bookmarks of the embedding, in TensorBoard's JSON format."""
        return json_answer(request, requested.dataset(embedding_id, step).bookmarks)
