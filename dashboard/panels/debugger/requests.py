"""How requests name recordings, filters and observations."""

from typing import Annotated, Final

from fastapi import HTTPException, Query

from stepscope.dashboard.debugger.filters import ObservationFilter, TensorFilter
from stepscope.dashboard.debugger.opened import OpenedDebug
from stepscope.dashboard.debugger.sources import (
    DebugCache,
    DebugSource,
    DebugUnavailableError,
    find_debug_source,
)
from stepscope.dashboard.server.live import Live
from stepscope.summary.counts import counted
from stepscope.summary.safe_regex import LONGEST_PATTERN, PatternError

RecordingId = Annotated[str, Query(alias="id", max_length=4_096, description="An id of the listing.")]
SearchText = Annotated[str, Query(max_length=LONGEST_PATTERN, description="A regular expression.")]
Name = Annotated[str, Query(max_length=1_000)]
Step = Annotated[int | None, Query(ge=-(1 << 63), lt=1 << 63)]
ObservationNumber = Annotated[int, Query(ge=0, lt=1 << 53)]


class DebugRequests:
    """Finds recordings named by requests, limited to those in the log directory."""

    def __init__(self, live: Live) -> None:
        self._live: Final = live
        self.cache: Final = DebugCache.of(live)

    def source(self, recording: str) -> DebugSource:
        """Return the listed recording; `HTTPException` 404 if none has this id."""
        try:
            return find_debug_source(self._live.snapshot(), recording)
        except DebugUnavailableError as error:
            raise HTTPException(404, str(error)) from error

    def opened(self, recording: str) -> OpenedDebug:
        """Return the recording, reading it first if necessary; `HTTPException` 404 or 422 if it cannot be shown."""
        source = self.source(recording)
        try:
            return self.cache.get(source)
        except DebugUnavailableError as error:
            raise HTTPException(422, str(error)) from error


def observation_filter(
    q: SearchText = "",
    phase: Name = "",
    module: Name = "",
    op: Name = "",
    tensor: Annotated[int | None, Query(ge=0)] = None,
    first: Step = None,
    last: Step = None,
    bad: bool = False,
    device: Name = "",
) -> ObservationFilter:
    """Return the filter for the observations that a request asks for."""
    return ObservationFilter(TensorFilter(q, phase, module, op), tensor, first, last, bad, device)


def search_problem(error: PatternError) -> str:
    """Return the message that explains to the user why nothing is found."""
    return f"Not a regular expression: {error}."


def check_number(opened: OpenedDebug, number: int) -> None:
    """Raise `HTTPException` 404 if the observation does not exist."""
    if number >= opened.data.observation_count:
        there = opened.data.observation_count
        known = counted(there, "observation")
        raise HTTPException(404, f"The recording has {known}; expected a number from 0 to {there - 1}, got {number}.")
