"""Shared parts of routes about traces: parameters, how a trace is found, and how answers are written."""

from typing import Annotated, Final

from fastapi import HTTPException, Query

from stepscope.dashboard.server.live import Live
from stepscope.dashboard.traces.analyzed_traces import AnalyzedTrace, AnalyzedTraces, analyzed_traces_of
from stepscope.dashboard.traces.sources import (
    LATEST_NS,
    OpenedTrace,
    TraceCache,
    TraceSource,
    TraceUnavailableError,
    find_source,
)
from stepscope.summary.counts import counted

MAX_BUCKETS = 8_192
MAX_LANES = 2_000
TraceId = Annotated[str, Query(alias="id", max_length=4_096, description="An id of the listing.")]
Start = Annotated[int, Query(description="Nanoseconds since the trace's start.", ge=-LATEST_NS, le=LATEST_NS)]
End = Annotated[int, Query(description="Nanoseconds since the trace's start.", ge=-LATEST_NS, le=LATEST_NS)]
Width = Annotated[int, Query(ge=1, le=MAX_BUCKETS, description="Buckets that the window is divided into.")]
Numbers = Annotated[str | None, Query(max_length=16_384, description="Comma-separated numbers.")]


class TraceRequests:
    """Finds the traces that requests name, and only those in the log directory."""

    def __init__(self, live: Live) -> None:
        self._live: Final = live
        self._cache: Final = live.shared(TraceCache)
        self._analyzed: Final[AnalyzedTraces] = analyzed_traces_of(live)

    def source(self, trace_id: str) -> TraceSource:
        """Return the listed trace; `HTTPException` 404 if none has that id."""
        try:
            return find_source(self._live.snapshot(), trace_id)
        except TraceUnavailableError as error:
            raise HTTPException(404, str(error)) from error

    def opened(self, trace_id: str) -> OpenedTrace:
        """Return the trace, reading it now if need be; `HTTPException` 404 or 422 if it cannot be shown."""
        source = self.source(trace_id)
        try:
            return self._cache.get(source)
        except TraceUnavailableError as error:
            raise HTTPException(422, str(error)) from error

    def analyzed(self, trace_id: str) -> AnalyzedTrace:
        """Return the trace with its facts; raises as `opened` does."""
        source = self.source(trace_id)
        try:
            return self._analyzed.get(source)
        except TraceUnavailableError as error:
            raise HTTPException(422, str(error)) from error


def check_range(start: int, end: int) -> None:
    if end <= start:
        raise HTTPException(422, f"The window ends at {end} ns, which is not after its start at {start} ns.")


def parse_numbers(text: str | None, name: str, limit: int) -> list[int] | None:
    if text is None:
        return None
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError as error:
        raise HTTPException(422, f"Parameter {name!r} must be comma-separated numbers, but is {text!r}.") from error
    if len(numbers) > MAX_LANES:
        raise HTTPException(422, f"Parameter {name!r} has {len(numbers)} numbers; at most {MAX_LANES} are allowed.")
    for number in numbers:
        if not 0 <= number < limit:
            wrong = f"expected numbers from 0 to {limit - 1}, got {number}" if limit else f"there is no number {number}"
            raise HTTPException(404, f"The trace has {counted(limit, name.removesuffix('s'))}; {wrong}.")
    return sorted(set(numbers))
