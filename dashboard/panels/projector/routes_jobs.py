"""Routes that start computations, follow them and control them, mounted under ``/api/projector``.

Routes that wait are coroutines and occupy no thread while waiting.
"""

from time import monotonic
from typing import Annotated, Any, Final, cast

import msgspec
import numpy as np
from fastapi import APIRouter, HTTPException, Query, Request, Response
from numpy.typing import NDArray

from stepscope.dashboard.embeddings.job import UNFINISHED, Job, JobError, Plan
from stepscope.dashboard.embeddings.job_queue import Action
from stepscope.dashboard.embeddings.plans import ProjectOrder, plan_projection
from stepscope.dashboard.embeddings.quality_and_clusters import (
    ClusterOrder,
    listed,
    picture_of,
    plan_clusters,
    plan_quality,
)
from stepscope.dashboard.embeddings.requests import (
    LONGEST,
    Components,
    EmbeddingRequests,
    JobKey,
    PictureIndex,
)
from stepscope.dashboard.panels.projector.messages import BegunJob, ChangedJob, FrameHeader, QualityHeader
from stepscope.dashboard.server.binary import ColumnPack
from stepscope.dashboard.server.bodies import JsonBody, parsed
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.sentence_routes import SentenceRoute, body_answer, json_answer
from stepscope.dashboard.server.work import HEAVY, LIGHT, run

LONGEST_WAIT: Final = 30.0
MOST_MORE: Final = 100_000
"""Maximum number of iterations that can be added at once."""
PACK: Final = "application/octet-stream"
RATED: Final = ("trustworthiness", "continuity", "hit", "neighbors_kept")
"""Quality measures of each point of a projection, in the order of the arrays."""

Wait = Annotated[float, Query(ge=0, le=LONGEST_WAIT, description="Seconds to wait for updates.")]


class ActOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An action on a job."""

    job: Annotated[str, msgspec.Meta(max_length=64)]
    action: Action
    iterations: Annotated[int, msgspec.Meta(ge=1, le=MOST_MORE)] = 500


def make_router(live: Live) -> APIRouter:
    """Return the routes for the log directory that ``live`` follows."""
    router = APIRouter(tags=["projector"], route_class=SentenceRoute)
    requested = EmbeddingRequests(live)
    _add_beginnings(router, requested)
    _add_news(router, requested)
    return router


def _add_beginnings(router: APIRouter, requested: EmbeddingRequests) -> None:
    def begun(request: Request, plan: Plan) -> Response:
        job, cached = submitted(requested, plan)
        reported: BegunJob = {"job": job.key, "state": job.state, "cached": cached, "notes": job.notes}
        return json_answer(request, reported)

    @router.post("/project")
    def project(request: Request, body: JsonBody) -> Response:
        """Start a projection, or find the one that was started with the same points and settings.

        The body is a `ProjectOrder`. With "only_if_known", the job may be null.
        """
        order = parsed(body, ProjectOrder)
        plan = plan_projection(requested, order)
        if order.only_if_known and not requested.jobs.is_known(plan):
            none: BegunJob = {"job": None}
            return json_answer(request, none)
        return begun(request, plan)

    @router.post("/clusters")
    def clusters(request: Request, body: JsonBody) -> Response:
        """Start clustering; the clusters become a column of the embedding. The body is a `ClusterOrder`."""
        return begun(request, plan_clusters(requested, parsed(body, ClusterOrder)))

    @router.post("/job")
    def act(request: Request, body: JsonBody) -> Response:
        """Pause, resume, perturb, extend or cancel a job; the body is an `ActOrder`."""
        order = parsed(body, ActOrder)
        found(requested, order.job)
        try:
            reported: ChangedJob = {"state": requested.jobs.act(order.job, order.action, order.iterations)}
        except JobError as error:
            raise HTTPException(409, str(error)) from error
        return json_answer(request, reported)


def _add_news(router: APIRouter, requested: EmbeddingRequests) -> None:
    @router.get("/frame")
    async def picture(
        job: JobKey,
        after: Annotated[int, Query(ge=-1, lt=1 << 62, description="The version that the page has.")] = -1,
        wait: Wait = 10.0,
        index: PictureIndex = None,
    ) -> Response:
        """Return a job's progress and projection as soon as its version differs from ``after``.

        Array 0 has the coordinates, point by point; array 1 has the indices of the points in the dataset if they are
        not all of it. There are no arrays if the projection is that of version ``after``.
        """
        await run(LIGHT, found, requested, job)
        await requested.jobs.wait_beyond(job, after, wait)
        return await run(LIGHT, picture_answer, requested, job, index, after)

    @router.get("/quality")
    async def quality(
        request: Request,
        job: JobKey,
        count: Annotated[int, Query(ge=1, le=1_000, description="Neighbors of each point.")] = 12,
        column: Annotated[str | None, Query(max_length=LONGEST, description="For the neighborhood hit.")] = None,
        index: PictureIndex = None,
        components: Components = None,
        wait: Wait = 10.0,
    ) -> Response:
        """Return how well a projection preserves the neighbors of its points; without arrays until this is known.

        The header has "state" as in ``frame`` and, once it is "done", trustworthiness, continuity, hit and
        neighbors_kept; "arrays_of" names the arrays.
        """

        def begin() -> Job:
            picture = picture_of(requested, job, index, listed(components))
            return submitted(requested, plan_quality(requested, picture, count, column))[0]

        judged = await run(HEAVY, begin)
        end = monotonic() + wait
        while judged.state in UNFINISHED and (left := end - monotonic()) > 0:
            await requested.jobs.wait_beyond(judged.key, judged.version, left)
        return await run(LIGHT, quality_answer, request, requested, judged.key)


def submitted(requested: EmbeddingRequests, plan: Plan) -> tuple[Job, bool]:
    """Return the job of a plan, and whether its result was known; `HTTPException` 503 if too many are waiting."""
    try:
        return requested.jobs.submit(plan)
    except JobError as error:
        raise HTTPException(503, str(error)) from error


def found(requested: EmbeddingRequests, key: str) -> Job:
    """Return a job by its key; `HTTPException` 404 if there is none."""
    try:
        return requested.jobs.find(key)
    except JobError as error:
        raise HTTPException(404, str(error)) from error


def picture_answer(requested: EmbeddingRequests, key: str, index: int | None, after: int) -> Response:
    """Return a job, packed as in `stepscope.dashboard.server.binary`.

    Raises:
        HTTPException: 404 if there is no such job or picture.
    """
    try:
        reported, coordinates, version, rows = requested.jobs.reported(key, index)
    except JobError as error:
        raise HTTPException(404, str(error)) from error
    header = cast(FrameHeader, reported)
    pack = ColumnPack()
    if coordinates is not None and version > after:
        pack.add(np.ascontiguousarray(coordinates, np.float32).reshape(-1))
        header["dimensions"] = coordinates.shape[1]
        if rows is not None:
            pack.add(rows)
    # Not compressed: numbers like these hardly shrink.
    return Response(pack.body(header), media_type=PACK, headers={"Cache-Control": "no-store"})


def quality_answer(request: Request, requested: EmbeddingRequests, key: str) -> Response:
    """Return the result of a quality job as far as it is known."""
    header, arrays = requested.jobs.result(key)
    pack = ColumnPack()
    names = [name for name in RATED if name in arrays]
    for name in names:
        each: NDArray[Any] = arrays[name]
        pack.add(each.astype(np.float32))
    return body_answer(request, pack.body(cast(QualityHeader, header | {"arrays_of": names})), PACK)
