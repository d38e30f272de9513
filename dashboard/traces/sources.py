"""Where traces come from: a pure listing of those in a snapshot, and a bounded cache of opened ones.

A request names a trace by the readable id of the listing and is answered only if the current snapshot lists it;
no part of an id is ever used as a path.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Final, Literal

import numpy as np

from stepscope.dashboard.server.opened_cache import OpenedCache
from stepscope.dashboard.traces.folders import DroppedTrace, is_trace, same_recording
from stepscope.profiler.lod import LevelOfDetail, extent_ns
from stepscope.profiler.trace import Trace
from stepscope.profiler.traces import KERNELS, TraceError, read_trace, trace_of_step_stats
from stepscope.summary.contents import Companion
from stepscope.summary.errors import reason_of
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.series import Series
from stepscope.summary.snapshot import Snapshot
from stepscope.summary.source import readable

RUN_METADATA_KINDS = ("graph_run_metadata", "graph_tagged_run_metadata")
LATEST_NS = (1 << 62) - (1 << 20)
"""Times beyond 146 years are damage, and arithmetic with them would need more than 64 bits."""

LONGEST_COMPILATION = 120.0
"""Seconds."""

SourceKind = Literal["run_metadata", "file", "dropped"]
DROPPED: Final = "Dropped"
"""Shown in place of the run of a dropped trace."""

_DATED: Final = re.compile(r"plugins/profile/(\d{4}(?:_\d\d){5})/[^/]*$")
"""Where profilers put the traces of one recording, each named after its host."""
_LONGEST_RECORDING: Final = 3600.0
"""Seconds from the date of a folder until its traces are written; those with later modification times are copies."""


class TraceUnavailableError(Exception):
    """A trace cannot be shown; the message is a human-readable reason."""


@dataclass(frozen=True)
class TraceSource:
    """One trace of a snapshot, not yet opened."""

    id: str
    """``<run>|tag|<tag>|<index>``, ``<run>|file|<relative path>`` or ``|dropped|<name>``."""
    run: str
    label: str
    kind: SourceKind
    step: int | None
    size: int | None
    """Bytes on disk, if known."""
    recorded: float
    """Seconds since the epoch: the point's wall time, or when the file was first written, as far as known."""
    version: tuple[int, ...]
    """Equal for equal content: a cached trace with another version is read again."""
    origin: Series | Companion
    left_out: tuple[str, ...] = ()
    """Names of files of the same recording that are not listed because they have less."""
    run_title: str = ""
    """Display name of the run."""

    @property
    def file_name(self) -> str | None:
        """Name of the file, if the trace is a file."""
        return readable(PurePosixPath(self.origin.relative_path.name)) if isinstance(self.origin, Companion) else None


def has_traces(snapshot: Snapshot) -> bool:
    """Return whether the snapshot lists any trace."""
    return not snapshot.kinds.isdisjoint(RUN_METADATA_KINDS) or any(map(is_trace, snapshot.companions))


def trace_sources(snapshot: Snapshot) -> tuple[TraceSource, ...]:
    """Return all traces of the snapshot: by run in the snapshot's order, and newest first within each run."""
    found = [*_run_metadata(snapshot), *_files(snapshot), *_dropped(snapshot)]
    order = {name: position for position, name in enumerate(snapshot.runs)}
    found.sort(key=lambda s: (order.get(s.run, len(order)), s.run, -s.recorded, -(s.step or 0), s.id))
    return tuple(found)


def find_source(snapshot: Snapshot, trace_id: str) -> TraceSource:
    """Return the listed trace with this id.

    Raises:
        TraceUnavailableError: the snapshot lists no such trace.
    """
    for source in trace_sources(snapshot):
        if source.id == trace_id:
            return source
    if snapshot.loading or not snapshot.revision:
        raise TraceUnavailableError(f"There is no trace {trace_id!r} yet: the log directory is still being read.")
    raise TraceUnavailableError(
        f"There is no trace {trace_id!r} in the log directory; it may have been moved or deleted. "
        "Choose another one from the list."
    )


def _run_metadata(snapshot: Snapshot) -> Iterator[TraceSource]:
    for run in snapshot.runs.values():
        for kind in RUN_METADATA_KINDS:
            for series in run.of_kind(kind):
                # As integers, which are equal to themselves whatever the times are.
                written = np.ascontiguousarray(series.wall_times, np.float64).view(np.int64)
                for index in range(len(series)):
                    step = int(series.steps[index])
                    yield TraceSource(
                        id=f"{run.name}|tag|{series.tag}|{index}",
                        run=run.name,
                        label=series.tag if len(series) == 1 else f"{series.tag} (step {step})",
                        kind="run_metadata",
                        step=step,
                        size=None,
                        recorded=float(series.wall_times[index]),
                        # Not that of the series: a trace, once written, does not change when further steps arrive.
                        version=(step, int(written[index])),
                        origin=series,
                        run_title=snapshot.run_title(run.name),
                    )


def _files(snapshot: Snapshot) -> Iterator[TraceSource]:
    traces = [each for each in snapshot.companions if is_trace(each) and not isinstance(each, DroppedTrace)]
    richer = same_recording(each.relative_path for each in traces)
    left_out: dict[PurePosixPath, list[str]] = {}
    for path, better in richer.items():
        left_out.setdefault(better, []).append(readable(PurePosixPath(path.name)))
    for companion in traces:
        if companion.relative_path not in richer:
            yield TraceSource(
                id=f"{companion.run}|file|{readable(companion.relative_path)}",
                run=companion.run,
                label=readable(PurePosixPath(companion.relative_path.name)),
                kind="file",
                step=None,
                size=companion.size,
                recorded=_recorded(companion),
                version=(companion.modified_ns, companion.size),
                origin=companion,
                left_out=tuple(left_out.get(companion.relative_path, ())),
                run_title=snapshot.run_title(companion.run),
            )


def recording_date(path: str) -> datetime | None:
    """Return when the recording of a trace began, as its folder says, in the local time of the recording machine."""
    dated = _DATED.search(path)
    try:
        return datetime.strptime(dated[1], "%Y_%m_%d_%H_%M_%S") if dated else None
    except ValueError:
        return None


def _recorded(companion: Companion) -> float:
    """Return when a file was first written; a copy of it has a later modification time.

    It counts as written as late as can be, after the points that the program logged while it was recorded.
    """
    modified = companion.modified_ns / 1e9
    date = recording_date(companion.relative_path.as_posix())
    try:
        return min(modified, date.timestamp() + _LONGEST_RECORDING) if date else modified
    except (OverflowError, ValueError):
        return modified


def dropped_id(trace: DroppedTrace) -> str:
    """Return the id of a dropped trace; no file of the log directory has the same one."""
    return f"|dropped|{trace.relative_path}"


def _dropped(snapshot: Snapshot) -> Iterator[TraceSource]:
    for companion in snapshot.companions:
        if isinstance(companion, DroppedTrace):
            yield TraceSource(
                id=dropped_id(companion),
                run=DROPPED,
                run_title=DROPPED,
                label=companion.relative_path.name,
                kind="dropped",
                step=None,
                size=companion.size,
                recorded=companion.modified_ns / 1e9,
                version=(companion.modified_ns, companion.size),
                origin=companion,
            )


@dataclass(frozen=True)
class OpenedTrace:
    """A trace in memory with its level of detail."""

    source: TraceSource
    trace: Trace
    lod: LevelOfDetail
    start_ns: int
    """The earliest moment of the trace; times sent to the browser are relative to it."""
    end_ns: int
    bytes: int
    """Estimate of the memory it holds."""


def read_source(source: TraceSource) -> Trace:
    """Read and parse a listed trace.

    Raises:
        TraceUnavailableError: it vanished, is damaged, or is not a trace.
    """
    try:
        if isinstance(source.origin, Companion):
            return read_trace(source.origin.read(), name=source.label)
        index = int(source.id.rsplit("|", 1)[1])
        return trace_of_step_stats(source.origin.read(index).step_stats)
    except TraceError as error:
        raise TraceUnavailableError(str(error)) from error
    except (OSError, IndexError, PayloadError) as error:
        reason = reason_of(error)
        raise TraceUnavailableError(f"{source.label} of run {source.run!r} cannot be read: {reason}.") from error


def open_trace(source: TraceSource) -> OpenedTrace:
    """Read a trace and prepare its level of detail; raises what `read_source` raises."""
    # If another process is compiling the loops, compiling them here too would take longer.
    KERNELS.wait(LONGEST_COMPILATION)
    trace = read_source(source)
    start_ns, end_ns = extent_ns(trace)
    if max(-start_ns, end_ns, end_ns - start_ns) > LATEST_NS:
        raise TraceUnavailableError(
            f"{source.label} of run {source.run!r} reaches from {start_ns:,} to {end_ns:,} ns; "
            "expected times and a duration below 146 years."
        )
    columns = (trace.start_ns, trace.duration_ns, trace.lane, trace.depth, trace.name_id, trace.category_id)
    held = sum(column.nbytes for column in columns) * 2 + (source.size or 0) * 4
    return OpenedTrace(source, trace, LevelOfDetail(trace), start_ns, end_ns, held)


class TraceCache(OpenedCache[TraceSource, OpenedTrace]):
    """The most recently opened traces."""

    def __init__(
        self,
        *,
        max_traces: int = 8,
        max_bytes: int = 4 << 30,
        opener: Callable[[TraceSource], OpenedTrace] = open_trace,
    ) -> None:
        super().__init__(opener, TraceUnavailableError, most=max_traces, max_bytes=max_bytes)
