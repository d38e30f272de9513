"""Routes for the list of executions: its pages, one observation, and its value."""

from typing import Annotated

import numpy as np
from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response
from numpy.typing import NDArray

from stepscope.dashboard.debugger.filters import ObservationFilter
from stepscope.dashboard.debugger.opened import OpenedDebug
from stepscope.dashboard.debugger.values import shown_value
from stepscope.dashboard.graphs.sources import GraphCache, GraphUnavailableError
from stepscope.dashboard.panels.debugger.details import details_of
from stepscope.dashboard.panels.debugger.facts import observation_row
from stepscope.dashboard.panels.debugger.graph_places import graph_for, place_of
from stepscope.dashboard.panels.debugger.messages import (
    MOST_ROWS,
    GraphPlace,
    ObservationPage,
    ObservationPlace,
    ValueAnswer,
)
from stepscope.dashboard.panels.debugger.requests import (
    DebugRequests,
    ObservationNumber,
    RecordingId,
    check_number,
    observation_filter,
    search_problem,
)
from stepscope.dashboard.server.binary import ColumnPack
from stepscope.dashboard.server.headers import attachment
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.pieces import npy_pieces
from stepscope.dashboard.server.sentence_routes import SentenceRoute, body_answer, json_answer
from stepscope.dashboard.server.work import Pieces
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.safe_regex import PatternError

Wanted = Annotated[ObservationFilter, Depends(observation_filter)]


def make_router(live: Live) -> APIRouter:
    """Return the routes for the log directory that ``live`` follows."""
    router = APIRouter(tags=["debugger"], route_class=SentenceRoute)
    requests = DebugRequests(live)

    @router.get("/observations")
    def observations(
        request: Request,
        recording: RecordingId,
        wanted: Wanted,
        offset: Annotated[int, Query(ge=0, lt=1 << 53)] = 0,
        limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 100,
    ) -> Response:
        """Return a page of the observations that pass a filter, in order.

        An invalid regular expression is not a client error, since the user may still be typing it: the answer then has
        no observations, and a sentence that explains why.
        """
        opened = requests.opened(recording)
        try:
            found = opened.page(wanted, offset, limit)
        except PatternError as error:
            return json_answer(request, not_searchable(error))
        answer: ObservationPage = {
            "search_problem": "",
            "total": found.total,
            "offset": offset,
            "rows": [
                observation_row(opened, number, found.observed, place)
                for place, number in enumerate(found.numbers.tolist())
            ],
        }
        return json_answer(request, answer)

    @router.get("/place")
    def place(request: Request, recording: RecordingId, wanted: Wanted, number: ObservationNumber) -> Response:
        """Return an observation's position among those that pass a filter; none pass if the search is invalid."""
        opened = requests.opened(recording)
        check_number(opened, number)
        try:
            answer: ObservationPlace = {
                "place": opened.place(wanted, number),
                "total": opened.page(wanted, 0, 1).total,
            }
        except PatternError:
            answer = {"place": 0, "total": 0}
        return json_answer(request, answer)

    @router.get("/observation")
    def observation(request: Request, recording: RecordingId, number: ObservationNumber) -> Response:
        """Return the details of one observation."""
        source = requests.source(recording)
        opened = requests.opened(recording)
        check_number(opened, number)
        try:
            return json_answer(request, details_of(opened, number, live.snapshot(), source.run))
        except PayloadError as error:
            raise HTTPException(422, f"This value cannot be read: {error}") from error

    @router.get("/graph_place")
    def graph_place(request: Request, recording: RecordingId, number: ObservationNumber) -> Response:
        """Return the operation, in a graph of the log directory, that created an observed tensor, else its module."""
        source = requests.source(recording)
        opened = requests.opened(recording)
        check_number(opened, number)
        tensor = opened.data.tensors[int(opened.one(number).tensors[0])]
        graph = graph_for(live.snapshot(), source.run)
        if graph is None:
            raise HTTPException(404, "The log directory has no graph.")
        try:
            node = place_of(live.shared(GraphCache).get(graph).tree(None), tensor)
        except GraphUnavailableError as error:
            raise HTTPException(422, str(error)) from error
        what = f"module {tensor.module!r}" if tensor.module and tensor.phase != "graph" else f"node {tensor.name!r}"
        problem = "" if node else f"The {graph.label} of {graph.run_title or graph.run} has no {what}."
        answer: GraphPlace = {"graph": graph.id, "node": node, "problem": problem}
        return json_answer(request, answer)

    @router.get("/value")
    def value(
        request: Request,
        recording: RecordingId,
        number: ObservationNumber,
        at: Annotated[str, Query(pattern=r"^(\d{1,9}(,\d{1,9})*)?$", max_length=200)] = "",
    ) -> Response:
        """Return a saved value as a flat slice, statistics and a histogram, in packed columns."""
        found = _value(requests.opened(recording), number)
        shown = shown_value(found, [int(part) for part in at.split(",")] if at else ())
        pack = ColumnPack()
        answer: ValueAnswer = {
            "shape": shown.shape,
            "dtype": shown.dtype,
            "leading": shown.leading,
            "at": shown.at,
            "rows": shown.slice.shape[0],
            "columns": shown.slice.shape[1],
            "block": shown.block,
            "nan": shown.nan,
            "infinite": shown.infinite,
            "spread_of": shown.spread_of,
            "slice": pack.add(shown.slice.reshape(-1)),
            "numbers": pack.add(shown.numbers),
            "edges": pack.add(shown.edges),
            "counts": pack.add(shown.counts.astype(np.float64)),
        }
        return body_answer(request, pack.body(answer), "application/octet-stream")

    @router.get("/value.npy")
    def value_file(recording: RecordingId, number: ObservationNumber) -> Response:
        """Return a saved value as a NumPy file."""
        opened = requests.opened(recording)
        found = _value(opened, number)
        observed = opened.one(number)
        name = f"{opened.data.tensors[int(observed.tensors[0])].name}_{int(observed.steps[0])}"
        return Pieces(npy_pieces(found), media_type="application/octet-stream", headers=attachment(name, "npy"))

    return router


def _value(opened: OpenedDebug, number: int) -> NDArray[np.generic]:
    check_number(opened, number)
    try:
        found = opened.data.value(number)
    except (PayloadError, OSError) as error:
        raise HTTPException(422, f"This value cannot be read: {error}") from error
    if found is None:
        raise HTTPException(404, "The value of this observation was not recorded.")
    if found.dtype.kind not in "biufc":
        raise HTTPException(422, f"Values of type {found.dtype} cannot be shown as numbers.")
    return found


def not_searchable(error: PatternError) -> ObservationPage:
    """Return the answer to an invalid search."""
    return {"search_problem": search_problem(error), "total": 0, "offset": 0, "rows": []}
