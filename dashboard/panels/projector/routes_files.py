"""Routes for uploads from the page and downloads to it, mounted under ``/api/projector``."""

from typing import Annotated, Final

import numpy as np
from fastapi import APIRouter, HTTPException, Query, Request, Response

from stepscope.dashboard.embeddings.quality_and_clusters import check_picture, listed, picture_of
from stepscope.dashboard.embeddings.requests import (
    Components,
    EmbeddingId,
    EmbeddingRequests,
    PictureIndex,
    RowsKey,
    SomeJobKey,
    Step,
)
from stepscope.dashboard.embeddings.tables import Format, export_table
from stepscope.dashboard.embeddings.uploads import Sources
from stepscope.dashboard.panels.projector.messages import Dropped
from stepscope.dashboard.server.dropped_files import LARGEST_UPLOAD
from stepscope.dashboard.server.headers import attachment
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.sentence_routes import SentenceRoute
from stepscope.dashboard.server.upload_route import FileName, taken

MEDIA_TYPES: Final[dict[Format, str]] = {
    "csv": "text/csv; charset=utf-8",
    "tsv": "text/tab-separated-values; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}

UPLOADS: Final = dict.fromkeys(
    (f"/api/projector/{route}" for route in ("drop", "drop_metadata", "drop_sprite")), LARGEST_UPLOAD
)
"""Paths of the upload routes, with the maximum size of a file in bytes; the registry of panels tells the server."""
Pixels = Annotated[int | None, Query(ge=1, le=100_000)]


def make_router(live: Live) -> APIRouter:
    """Return the routes for the log directory that ``live`` follows."""
    router = APIRouter(tags=["projector"], route_class=SentenceRoute)
    requested = EmbeddingRequests(live)
    _add_drops(router, requested)
    _add_export(router, requested)
    return router


def _add_drops(router: APIRouter, requested: EmbeddingRequests) -> None:
    @router.post("/drop")
    async def drop(request: Request, name: FileName) -> Dropped:
        """Accept a file with points; "id" is its first embedding, and "ids" are all of them.

        The body is the file, as application/octet-stream.
        """
        return _told(await taken(request, lambda: requested.uploads.begin(name)))

    @router.post("/drop_metadata")
    async def drop_metadata(request: Request, embedding_id: EmbeddingId, name: FileName) -> Dropped:
        """Accept the metadata of a dropped file; answer as ``drop`` does."""
        return _told(await taken(request, lambda: requested.uploads.begin_metadata(embedding_id, name)))

    @router.post("/drop_sprite")
    async def drop_sprite(
        request: Request,
        embedding_id: EmbeddingId,
        name: FileName,
        width: Pixels = None,
        height: Pixels = None,
    ) -> Dropped:
        """Accept the sprite of a dropped file, with the size of one image in it; answer as ``drop`` does."""
        sizes = () if width is None or height is None else (width, height)
        return _told(await taken(request, lambda: requested.uploads.begin_sprite(embedding_id, name, sizes)))


def _told(sources: Sources) -> Dropped:
    return {"id": sources[0].id, "ids": [source.id for source in sources]}


def _add_export(router: APIRouter, requested: EmbeddingRequests) -> None:
    @router.get("/export", response_class=Response)
    def export(
        embedding_id: EmbeddingId,
        step: Step = None,
        job: SomeJobKey = None,
        index: PictureIndex = None,
        components: Components = None,
        format: Format = "csv",
        rows_of: RowsKey = None,
    ) -> Response:
        """Return points as a file: their rows, their coordinates in the projection of a job, and their columns.

        With a job, only the points of its projection are written; with ``rows_of``, only those of the set.
        """
        dataset = requested.dataset(embedding_id, step)
        rows = requested.rows(dataset, rows_of)
        chosen = np.arange(len(dataset.points), dtype=np.uint32) if rows is None else rows
        coordinates = None
        if job is not None:
            picture = picture_of(requested, job, index, listed(components))
            check_picture(dataset, picture)
            shown = np.arange(len(dataset.points), dtype=np.uint32) if picture.rows is None else picture.rows
            chosen, places, _ = np.intersect1d(shown, chosen, assume_unique=True, return_indices=True)
            coordinates = picture.coordinates[places]
        if not len(chosen):
            raise HTTPException(422, "There are no points to write. Choose others.")
        body = export_table(requested.derived.all_of(dataset), dataset.rows, chosen, coordinates, format)
        return Response(body, media_type=MEDIA_TYPES[format], headers=attachment(dataset.label, format))
