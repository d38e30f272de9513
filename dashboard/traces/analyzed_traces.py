"""The most recently opened traces, with their facts and the tables made of them."""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, Final, TypeVar

from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.numbers import file_size
from stepscope.dashboard.server.work import held
from stepscope.dashboard.traces.sources import OpenedTrace, TraceCache, TraceSource
from stepscope.profiler.analysis import report
from stepscope.profiler.analysis.facts import Facts
from stepscope.summary.contents import Companion

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")

MOST_ANALYZED: Final = 8
"""Maximum traces whose facts are kept; facts can take as much memory as their trace."""
MOST_RESULTS: Final = 64
"""Maximum results kept per trace."""


class Progress:
    """Work in progress, for people who wait; safe to use from many threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._lock = Lock()
        self._clock = clock
        self._doing: dict[object, tuple[str, float]] = {}

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Report ``what`` as in progress inside the block."""
        key = object()
        with self._lock:
            self._doing[key] = (what, self._clock())
        try:
            yield
        finally:
            with self._lock:
                del self._doing[key]

    def now(self) -> list[tuple[str, float]]:
        """Return what is in progress and for how many seconds, the latest first."""
        with self._lock:
            now = self._clock()
            return [(what, now - since) for what, since in reversed(self._doing.values())]


class AnalyzedTrace:
    """One trace with its facts and whatever was computed from it."""

    def __init__(self, opened: OpenedTrace, progress: Progress) -> None:
        self.source: Final = opened.source
        self.start_ns: Final = opened.start_ns
        """The trace's beginning; the Timeline's times are relative to it."""
        self.facts: Final = Facts(opened.trace)
        self._progress = progress
        # Facts are computed on demand; two threads would do it twice. Someone who leaves meanwhile leaves behind what
        # is done by then, and the next one continues.
        self._lock = RLock()
        self._kept: OrderedDict[object, Any] = OrderedDict()

    def kept(self, key: object, what: str, make: Callable[[], T]) -> T:
        """Return what ``make`` gave when ``key`` was first requested.

        ``what`` describes the work to people who wait.
        """
        with held(self._lock):
            if key not in self._kept:
                with self._progress.doing(f"Computing {what}"):
                    self._kept[key] = make()
                while len(self._kept) > MOST_RESULTS:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            result: T = self._kept[key]
            return result

    def table(self, name: str) -> "pl.DataFrame":
        """Return the table of one of Stepscope's own trace analyses."""
        analysis = report.analyses("trace")[name]
        return self.kept(name, analysis.about, lambda: analysis.table(self.facts))

    def span(self, slice_index: int) -> tuple[int, int]:
        """Return the start and end of a slice, in nanoseconds since the trace's beginning."""
        trace = self.facts.trace
        start = int(trace.start_ns[slice_index]) - self.start_ns
        return start, start + int(trace.duration_ns[slice_index])


class AnalyzedTraces:
    """The most recently opened traces, with their facts; safe to use from many threads.

    Args:
        traces: opens traces and keeps them.
        most: maximum number of traces kept.
    """

    def __init__(self, traces: TraceCache, most: int = MOST_ANALYZED) -> None:
        self.progress: Final = Progress()
        self._traces = traces
        self._most = most
        self._lock = Lock()
        self._analyzed: OrderedDict[tuple[str, tuple[int, ...]], AnalyzedTrace] = OrderedDict()

    def get(self, source: TraceSource) -> AnalyzedTrace:
        """Return a trace with its facts, opening it if need be.

        Raises:
            TraceUnavailableError: it cannot be shown.
        """
        key = (source.id, source.version)
        with self._lock:
            known = self._analyzed.get(key)
            if known is not None:
                self._analyzed.move_to_end(key)
                return known
        size = f", {file_size(source.size)}" if source.size is not None else ""
        with self.progress.doing(f"Reading {source.label} of run {source.run}{size}"):
            opened = self._traces.get(source)
        with self._lock:
            analyzed = self._analyzed.setdefault(key, AnalyzedTrace(opened, self.progress))
            self._analyzed.move_to_end(key)
            while len(self._analyzed) > self._most:
                self._analyzed.popitem(last=False)
        return analyzed


def folder_of(source: TraceSource) -> tuple[str, PurePosixPath | None]:
    """Return the location of a trace; the traces in one folder are the ranks of one job."""
    origin = source.origin
    return source.run, origin.relative_path.parent if isinstance(origin, Companion) else None


def analyzed_traces_of(live: Live) -> AnalyzedTraces:
    """Return the traces with their facts, shared by callbacks and routes; the Timeline opens them too."""
    traces = live.shared(TraceCache)
    return live.shared(AnalyzedTraces, lambda: AnalyzedTraces(traces))
