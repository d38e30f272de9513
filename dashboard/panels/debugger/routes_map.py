"""Routes for the health map: a part of it, and the curve of a row."""

from typing import Annotated, Final

from fastapi import APIRouter, HTTPException, Query, Request, Response

from stepscope.dashboard.debugger.filters import TensorFilter
from stepscope.dashboard.debugger.opened import OpenedDebug
from stepscope.dashboard.debugger.spread import spread_at
from stepscope.dashboard.panels.debugger.map import Steps, curve_answer, map_answer
from stepscope.dashboard.panels.debugger.messages import MOST_COLUMNS, MOST_LINES, SpreadAnswer
from stepscope.dashboard.panels.debugger.overview import measured, telling
from stepscope.dashboard.panels.debugger.requests import (
    DebugRequests,
    Name,
    RecordingId,
    SearchText,
    Step,
    search_problem,
)
from stepscope.dashboard.panels.debugger.settings import Order
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.sentence_routes import SentenceRoute, body_answer, json_answer
from stepscope.summary.counts import counted
from stepscope.summary.debugger.model import FIGURES, Figure
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.safe_regex import PatternError

FigureName = Annotated[str, Query(max_length=40, description="A statistic, or auto for the most informative one.")]
Place = Annotated[int | None, Query(ge=0, lt=1 << 53, description="A place among the steps that were observed.")]
Tensor = Annotated[int, Query(ge=0)]
_WITHOUT: Final = {
    "recording": "No histogram of this tensor was recorded: "
    'debug.watch(..., tensors="histogram") records one for every value.',
    "tfdbg": "No value of this tensor was recorded: "
    'enable_dump_debug_info(..., tensor_debug_mode="FULL_TENSOR") keeps all.',
}
"""What to record to get histograms, by kind of recording."""
Row = Annotated[int, Query(ge=0, lt=1 << 31)]


def make_router(live: Live) -> APIRouter:
    """Return the routes for the log directory that ``live`` follows."""
    router = APIRouter(tags=["debugger"], route_class=SentenceRoute)
    requests = DebugRequests(live)

    @router.get("/map")
    def part_of_map(
        request: Request,
        recording: RecordingId,
        figure: FigureName = "auto",
        order: Order = "run",
        q: SearchText = "",
        phase: Name = "",
        row_begin: Row = 0,
        row_end: Row = (1 << 31) - 1,
        first: Step = None,
        last: Step = None,
        begin: Place = None,
        end: Place = None,
        lines: Annotated[int, Query(ge=1, le=MOST_LINES)] = 400,
        columns: Annotated[int, Query(ge=1, le=MOST_COLUMNS)] = 800,
    ) -> Response:
        """Return a part of the map as packed columns, with at most the requested number of lines and columns.

        If the search is not a valid regular expression, the answer is JSON, ``{"search_problem": <sentence>}``.
        """
        opened = requests.opened(recording)
        chosen = figure_named(opened, figure)
        try:
            body = map_answer(
                opened,
                TensorFilter(q, phase),
                order,
                chosen,
                (row_begin, max(row_begin, row_end)),
                Steps(first, last, begin, end),
                lines,
                columns,
            )
        except PatternError as error:
            return json_answer(request, {"search_problem": search_problem(error)})
        return body_answer(request, body, "application/octet-stream")

    @router.get("/curve")
    def curve(
        request: Request,
        recording: RecordingId,
        tensor: Tensor,
        figure: FigureName = "auto",
        first: Step = None,
        last: Step = None,
    ) -> Response:
        """Return a statistic of one tensor over steps as packed columns."""
        opened = requests.opened(recording)
        _check_tensor(opened, tensor)
        body = curve_answer(opened, tensor, figure_named(opened, figure), Steps(first, last))
        return body_answer(request, body, "application/octet-stream")

    @router.get("/spread")
    def spread(request: Request, recording: RecordingId, tensor: Tensor, step: Step = None) -> Response:
        """Return the distribution of a tensor's elements at a step or the nearest with data; by default the last."""
        opened = requests.opened(recording)
        _check_tensor(opened, tensor)
        try:
            found = spread_at(opened, tensor, step)
        except (PayloadError, OSError) as error:
            raise HTTPException(422, f"This value cannot be read: {error}") from error
        answer: SpreadAnswer = {
            "step": 0 if found is None else found.step,
            "edges": [] if found is None else found.edges.tolist(),
            "counts": [] if found is None else found.counts.tolist(),
            "nan": 0 if found is None else found.nan,
            "infinite": 0 if found is None else found.infinite,
            "missing": _WITHOUT[requests.source(recording).kind] if found is None else "",
        }
        return json_answer(request, answer)

    return router


def _check_tensor(opened: OpenedDebug, tensor: int) -> None:
    if tensor >= len(opened.data.tensors):
        there = len(opened.data.tensors)
        raise HTTPException(
            404, f"The recording has {counted(there, 'tensor')}; expected a number from 0 to {there - 1}, got {tensor}."
        )


def figure_named(opened: OpenedDebug, name: str) -> Figure:
    """Return the statistic with this name; `HTTPException` 422 if there is none."""
    if name == "auto":
        return telling(measured(opened))
    for figure in FIGURES:
        if figure == name:
            return figure
    raise HTTPException(422, f"There is no figure {name!r}; expected one of {', '.join(FIGURES)}.")
