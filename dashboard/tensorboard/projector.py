"""``/data/plugin/projector``: TensorBoard's routes."""

from collections.abc import Callable, Iterator
from typing import Annotated, Final, TypeVar

import numpy as np
from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import Response
from google.protobuf import json_format
from numpy.typing import NDArray

from stepscope.dashboard.server.headers import LOOK_AGAIN, SAFE_HEADERS
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.parameters import MAX_NAME, RunName
from stepscope.dashboard.server.pictures import sniff
from stepscope.dashboard.server.work import HeavyRoute, Pieces
from stepscope.dashboard.tensorboard.plugin import TensorboardPlugin
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.memory_budget import Lease, MemoryBudget, NoMemoryError
from stepscope.summary.projector import (
    ProjectorError,
    ProjectorRun,
    find_embedding,
    has_points,
    projector_runs,
    read_asset,
    read_metadata,
    read_tensor,
    with_other_matrices,
)
from stepscope.summary.proto.projector_pb2 import EmbeddingInfo, ProjectorConfig
from stepscope.summary.snapshot import Snapshot

T = TypeVar("T")

_PIECE_BYTES: Final = 1 << 17

EmbeddingName = Annotated[str, Query(max_length=MAX_NAME, description="The tensor's name.")]
Rows = Annotated[int | None, Query(ge=1, le=1 << 31, description="How many points; all where it is not given.")]


def find_run(snapshot: Snapshot, run: str) -> ProjectorRun:
    """Return the embeddings of a run.

    Raises:
        HTTPException: 404 if it has none, 422 if its configuration cannot be read.
    """
    found = projector_runs(snapshot).get(run)
    if found is None:
        raise HTTPException(404, f"No embeddings in run {run!r}. See /data/plugin/projector/runs.")
    if found.problem:
        raise HTTPException(422, found.problem)
    return with_other_matrices(found)


def reading(memory: MemoryBudget | Lease, read: Callable[[], T]) -> T:
    """Return the result of ``read``, within the memory that reading may take.

    Raises:
        HTTPException: 404 if an embedding or its file does not exist or cannot be read; 503 if others take the memory.
    """
    try:
        with memory.reading():
            return read()
    except ProjectorError as error:
        raise HTTPException(404, str(error)) from error
    except NoMemoryError as error:
        raise HTTPException(503, str(error)) from error


def with_shapes(found: ProjectorRun, budget: MemoryBudget) -> ProjectorConfig:
    """Return the configuration, with a shape for every embedding that can be read."""
    config = ProjectorConfig()
    config.CopyFrom(found.config)
    for info in config.embeddings:
        if not info.tensor_shape:
            try:
                with budget.reading():
                    info.tensor_shape.extend(read_tensor(found, info).shape)
            except (ProjectorError, NoMemoryError):
                continue
    return config


def row_pieces(budget: MemoryBudget, read: Callable[[], NDArray[np.float32]]) -> Iterator[memoryview]:
    """Yield raw little-endian float32 [points, dimensions] from ``read``, which runs before the first piece.

    Its memory counts until everything is sent, or nobody waits for it any more.

    Raises:
        HTTPException: as `reading`.
    """
    lease = budget.lease()
    try:
        raw = np.ascontiguousarray(reading(lease, read), dtype="<f4").reshape(-1).view(np.uint8).data
        for begin in range(0, len(raw), _PIECE_BYTES):
            yield raw[begin : begin + _PIECE_BYTES]
    finally:
        lease.release()


def router(live: Live) -> APIRouter:
    """Return the routes, over the latest snapshot."""
    routes = APIRouter(tags=["projector"], route_class=HeavyRoute)
    budget = live.shared(MemoryBudget)

    def find(run: str, name: str) -> tuple[ProjectorRun, EmbeddingInfo]:
        found = find_run(live.snapshot(), run)
        return found, reading(budget, lambda: find_embedding(found, name))

    @routes.get("/data/plugin/projector/runs")
    def runs() -> list[str]:
        """Return the runs that have embeddings whose files exist."""
        return [name for name, found in projector_runs(live.snapshot()).items() if has_points(found)]

    @routes.get("/data/plugin/projector/info")
    def info(run: RunName) -> Response:
        """Return the projector configuration of a run as JSON, with the shapes of the embeddings."""
        found = find_run(live.snapshot(), run)
        config = with_shapes(found, budget)
        return Response(json_format.MessageToJson(config), media_type="application/json")

    @routes.get("/data/plugin/projector/tensor", response_class=Response)
    def tensor(run: RunName, name: EmbeddingName, num_rows: Rows = None) -> Response:
        """Return the points of an embedding as raw little-endian float32, row by row."""
        found, embedding = find(run, name)
        points = row_pieces(budget, lambda: read_tensor(found, embedding, num_rows))
        return Pieces(points, media_type="application/octet-stream")

    @routes.get("/data/plugin/projector/metadata", response_class=Response)
    def metadata(run: RunName, name: EmbeddingName, num_rows: Rows = None) -> Response:
        """Return the labels of an embedding's points, as in its TSV file."""
        found, embedding = find(run, name)
        return Response(reading(budget, lambda: read_metadata(found, embedding, num_rows)), media_type="text/plain")

    @routes.get("/data/plugin/projector/bookmarks", response_class=Response)
    def bookmarks(run: RunName, name: EmbeddingName) -> Response:
        """Return the bookmarks of an embedding, as in its JSON file."""
        found, embedding = find(run, name)
        if not embedding.bookmarks_path:
            raise HTTPException(404, f"The embedding {name!r} has no bookmarks.")
        content = reading(budget, lambda: read_asset(found, embedding.bookmarks_path))
        return Response(content, media_type="application/json", headers=SAFE_HEADERS)

    @routes.get("/data/plugin/projector/sprite_image", response_class=Response)
    def sprite_image(run: RunName, name: EmbeddingName) -> Response:
        """Return the picture that holds the pictures of all points of an embedding, row by row."""
        found, embedding = find(run, name)
        if not embedding.sprite.image_path:
            raise HTTPException(404, f"The embedding {name!r} has no sprite image.")
        content = reading(budget, lambda: read_asset(found, embedding.sprite.image_path))
        try:
            media_type = sniff(content)
        except PayloadError as error:
            raise HTTPException(422, f"No image: {error}.") from error
        return Response(content, media_type=media_type, headers={**SAFE_HEADERS, "Cache-Control": LOOK_AGAIN})

    return routes


def has_embeddings(snapshot: Snapshot) -> bool:
    """Return whether some run has embeddings."""
    return any(found.config.embeddings for found in projector_runs(snapshot).values())


PLUGIN: Final = TensorboardPlugin(
    name="projector", tab="projector", kinds=(), router=router, has_data=has_embeddings, reloads=False
)
