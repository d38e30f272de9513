"""Which steps of a run its traces cover, in the step numbers of its curves, joined by number or by time.

A trace counts steps as its profiler does, which may differ from how the program logs them: a profiler that was
restarted counts from 0, and one that counts batches is ahead of epochs. Wall times decide; see `join`.
"""

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.server.live import Live
from stepscope.dashboard.traces.messages import Joined, SentStep, State, StepsOfTrace
from stepscope.dashboard.traces.sources import (
    OpenedTrace,
    TraceSource,
    TraceUnavailableError,
    open_trace,
    trace_sources,
)
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.series import SCALARS, Columns, Series
from stepscope.summary.snapshot import Snapshot

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_BYTES: Final = 200_000_000
"""Larger traces are not read in the background."""
COMPRESSED: Final = 15
"""A compressed trace counts as this many times its size; those of PyTorch are 20 to 30 times as long unpacked."""
MOST_TRACES: Final = 4_096
"""Maximum traces reported, the newest ones."""
MOST_STEPS: Final = 2_000
"""Maximum steps of one trace; the first ones are kept."""
MOST_NUMBER: Final = 2**53
"""A page has no larger integers."""
_LARGEST_STEP: Final = 2**63 - 1024
"""The largest float64 that is an int64."""
MOST_ROWS: Final = 20_000
"""Maximum steps in one response."""
MOST_SERIES: Final = 4
"""Maximum scalars of a run whose points tell when its steps were."""
MOST_INSIDE: Final = 8
"""Maximum runs in a folder that has a trace; with more, the run of the trace cannot be determined."""
SLACK_S: Final = 60.0
_RUNS_BY_FOLDER: Final = "_runs_by_folder"


@dataclass(frozen=True)
class MarkedSteps:
    """The steps that a trace marks, in order of time; arrays of equal length."""

    numbers: Ints
    start_ns: Ints
    """Relative to the trace's beginning, as in the Timeline."""
    duration_ns: Ints
    began: float | None
    """Wall time of the trace's beginning in seconds; None if the trace does not record it."""
    left_out: int = 0


@dataclass(frozen=True)
class Unreadable:
    """A trace that cannot be read, and why."""

    problem: str


def marked_steps(opened: OpenedTrace) -> MarkedSteps:
    """Return the first `MOST_STEPS` steps of an opened trace, without those whose number is not a step number."""
    trace = opened.trace
    steps = [step for step in trace.steps if abs(step.number) <= MOST_NUMBER][:MOST_STEPS]
    return MarkedSteps(
        numbers=np.array([step.number for step in steps], np.int64),
        start_ns=np.array([step.start_ns - opened.start_ns for step in steps], np.int64),
        duration_ns=np.array([step.duration_ns for step in steps], np.int64),
        began=None if trace.epoch_ns is None else (trace.epoch_ns + opened.start_ns) / 1e9,
        left_out=len(trace.steps) - len(steps),
    )


@dataclass(frozen=True)
class JoinedSteps:
    """The steps of a trace on the curves of a run; arrays of equal length."""

    steps: Ints
    begins: Floats
    """Wall times in seconds; NaN if unknown."""
    ends: Floats
    joined: Joined
    settled: bool
    """Whether later points cannot change it."""


def join(numbers: Ints, begins: Floats, ends: Floats, columns: Columns) -> JoinedSteps:
    """Return the steps on the curves that were trained while the steps of a trace ran.

    A number is right unless the last point logged before a step or the first one after it contradicts it, give or take
    1: programs log a step before or after they tell the profiler about the next. If that holds for half of the steps,
    the numbers are those of the curves. Otherwise a step is the last one logged while it ran or, if none was, the step
    between the points around it.

    Args:
        numbers: the steps as the trace counts them, int64[n].
        begins: wall times in seconds, float64[n].
        ends: as ``begins``.
        columns: the points of a scalar of the run.
    """
    known = np.isfinite(columns.wall_times)
    if not known.any() or not len(numbers):
        return JoinedSteps(numbers, begins, ends, "marked", False)
    order = np.argsort(columns.wall_times[known], kind="stable")
    walls, steps = columns.wall_times[known][order], columns.steps[known][order]
    slack = max(SLACK_S, 2.0 * float(np.diff(walls).max(initial=0.0)))
    settled = bool(ends.max() < walls[-1])
    near = (ends >= walls[0] - slack) & (begins <= walls[-1] + slack)
    if not near.any():
        return JoinedSteps(numbers, begins, ends, "marked", settled)
    before = np.searchsorted(walls, begins, side="left") - 1
    after = np.searchsorted(walls, ends, side="right")
    last = len(walls) - 1
    low = np.where(before >= 0, steps[np.maximum(before, 0)] - 1, np.iinfo(np.int64).min)
    high = np.where(after <= last, steps[np.minimum(after, last)] + 1, np.iinfo(np.int64).max)
    if float(((numbers >= low) & (numbers <= high)).mean()) >= 0.5:
        return JoinedSteps(numbers, begins, ends, "step", settled)
    between = np.ceil(np.interp((begins + ends) / 2, walls, steps.astype(np.float64)))
    between = np.minimum(between, _LARGEST_STEP).astype(np.int64)
    mapped = np.where(after > before + 1, steps[np.maximum(after - 1, 0)], between)
    return JoinedSteps(mapped, begins, ends, "time", settled)


def joined_steps(marked: MarkedSteps, series: Sequence[Columns]) -> JoinedSteps:
    """Return a trace's steps on the curves of a run: from a scalar that has their numbers, else from the first.

    Args:
        marked: what the trace marks.
        series: points of scalars of the run, the most informative first.
    """
    numbers = marked.numbers
    if marked.began is None:
        walls = _walls_at(numbers, series[0]) if series else np.full(len(numbers), np.nan)
        return JoinedSteps(numbers, walls, walls, "marked", False)
    begins = marked.began + marked.start_ns / 1e9
    ends = begins + marked.duration_ns / 1e9
    found = [join(numbers, begins, ends, columns) for columns in series]
    for how in ("step", "time"):
        for one in found:
            if one.joined == how:
                return one
    return JoinedSteps(numbers, begins, ends, "marked", False)


def _walls_at(numbers: Ints, columns: Columns) -> Floats:
    """Return when steps were logged, as far as the points of a scalar tell; NaN outside them."""
    steps, first = np.unique(columns.steps, return_index=True)
    walls = columns.wall_times[first]
    return np.interp(numbers.astype(np.float64), steps, walls, left=np.nan, right=np.nan)


def curve_runs(snapshot: Snapshot, run: str) -> tuple[str, ...]:
    """Return the runs whose curves a trace of ``run`` may belong to.

    The run itself; if it has no scalars, the nearest one above it that has, else the runs in it: programs often profile
    into a folder beside or above the one that they log into.
    """
    parts = [] if run == "." else run.split("/")
    for length in range(len(parts), -1, -1):
        above = "/".join(parts[:length]) or "."
        if _has_scalars(snapshot, above):
            return (above,)
    inside = _runs_by_folder(snapshot).get(run, [])
    return tuple(inside) if len(inside) <= MOST_INSIDE else ()


def _runs_by_folder(snapshot: Snapshot) -> dict[str, list[str]]:
    """Return the first runs with scalars in each folder, one more than `MOST_INSIDE`; found once per snapshot."""
    if _RUNS_BY_FOLDER not in vars(snapshot):
        found: dict[str, list[str]] = {}
        for name in snapshot.runs:
            if not _has_scalars(snapshot, name):
                continue
            for folder in (".", *(name[: slash.start()] for slash in re.finditer("/", name))):
                inside = found.setdefault(folder, [])
                if len(inside) <= MOST_INSIDE:
                    inside.append(name)
        vars(snapshot)[_RUNS_BY_FOLDER] = found
    known: dict[str, list[str]] = vars(snapshot)[_RUNS_BY_FOLDER]
    return known


def _has_scalars(snapshot: Snapshot, run: str) -> bool:
    return run in snapshot.runs and SCALARS in snapshot.runs[run].kinds


def telling_series(snapshot: Snapshot, run: str) -> list[Series]:
    """Return the scalars of a run with the most points, at most `MOST_SERIES`."""
    found = snapshot.runs[run].of_kind(SCALARS) if run in snapshot.runs else ()
    return sorted(found, key=len, reverse=True)[:MOST_SERIES]


@dataclass(frozen=True)
class Listing:
    """What pages are told about the traces of a snapshot."""

    pending: bool
    """Whether traces are still being read."""
    traces: list[StepsOfTrace]


class StepRanges:
    """The steps of all traces of a log directory, by trace; safe to use from many threads.

    A separate thread reads the traces one at a time, the newest first; little is kept of each. The thread rests as long
    as it read, so that those who wait for a page go first, and ends when nothing is left to read.

    Args:
        opener: opens a trace.
        rest: waits for a number of seconds.
        most_bytes: larger traces are left until they are opened.
    """

    def __init__(
        self,
        opener: Callable[[TraceSource], OpenedTrace] = open_trace,
        rest: Callable[[float], None] = time.sleep,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._opener = opener
        self._rest = rest
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, tuple[int, ...]], MarkedSteps | Unreadable] = OrderedDict()
        self._joined: OrderedDict[tuple[str, tuple[int, ...]], tuple[object, StepsOfTrace]] = OrderedDict()
        self._waiting: list[TraceSource] = []
        self._reader: threading.Thread | None = None

    def listing(self, snapshot: Snapshot) -> Listing:
        """Return what is known now about the newest traces; unknown ones are read from here on."""
        written = (source for source in trace_sources(snapshot) if source.kind != "dropped")
        sources = sorted(written, key=lambda source: -source.recorded)[:MOST_TRACES]
        waiting = [source for source in sources if self._state(source) == "waiting"]
        self._read(waiting)
        rows = [self.row(snapshot, source) for source in sources]
        left = MOST_ROWS
        for index, row in enumerate(rows):
            over = max(0, len(row["steps"]) - left)
            if over:
                rows[index] = {**row, "steps": row["steps"][:left], "left_out": row["left_out"] + over}
            left -= len(rows[index]["steps"])
        return Listing(bool(waiting), rows)

    def learn(self, opened: OpenedTrace) -> None:
        """Keep the steps of a trace that was opened anyway."""
        self._keep(opened.source, marked_steps(opened))

    def row(self, snapshot: Snapshot, source: TraceSource) -> StepsOfTrace:
        """Return the steps of one trace."""
        state = self._state(source)
        known = self._find(source)
        problem = known.problem if isinstance(known, Unreadable) else ""
        about = _About(source, state, problem)
        if source.kind == "run_metadata" and source.step is not None:
            wall = source.recorded if np.isfinite(source.recorded) else None
            rows: list[SentStep] = [(source.step, None, None, source.step, wall, wall)]
            return _complete(about, (source.run,), "step", rows, 0)
        if state != "ready" or not isinstance(known, MarkedSteps):
            return _complete(about, (), "marked", [], 0)
        return self._joined_row(snapshot, source, known, about)

    def _joined_row(
        self, snapshot: Snapshot, source: TraceSource, marked: MarkedSteps, about: "_About"
    ) -> StepsOfTrace:
        key = (source.id, source.version)
        runs = () if source.kind == "dropped" else curve_runs(snapshot, source.run)
        with self._lock:
            before = self._joined.get(key)
        if before is not None and before[0] == runs:
            return before[1]
        series = {run: telling_series(snapshot, run) for run in runs}
        versions = [(one.run, one.tag, one.version) for found in series.values() for one in found]
        if before is not None and before[0] == versions:
            return before[1]
        found = {run: joined_steps(marked, _columns(series[run])) for run in runs}
        if len(runs) > 1 or not all(_holds(run, source.run) for run in runs):
            # Of the runs in a folder, only those that ran at the time are meant.
            found = {run: one for run, one in found.items() if one.joined != "marked"}
        first = next(iter(found.values()), None) or joined_steps(marked, [])
        made = _complete(about, tuple(found), first.joined, _rows(marked, first), marked.left_out)
        with self._lock:
            self._joined[key] = (runs if first.settled else versions, made)
            while len(self._joined) > MOST_TRACES:
                self._joined.popitem(last=False)
        return made

    def _state(self, source: TraceSource) -> State:
        if source.kind == "run_metadata":
            return "ready"
        known = self._find(source)
        if isinstance(known, Unreadable):
            return "unreadable"
        if known is not None:
            return "ready" if len(known.numbers) else "none"
        return "large" if unpacked_size(source) > self._most_bytes else "waiting"

    def _find(self, source: TraceSource) -> MarkedSteps | Unreadable | None:
        with self._lock:
            return self._known.get((source.id, source.version))

    def _keep(self, source: TraceSource, found: MarkedSteps | Unreadable) -> None:
        with self._lock:
            self._known[source.id, source.version] = found
            while len(self._known) > 2 * MOST_TRACES:
                self._known.popitem(last=False)

    def _read(self, sources: Sequence[TraceSource]) -> None:
        """Have traces read, in this order, instead of those requested before."""
        with self._lock:
            self._waiting = list(sources)
            if self._waiting and self._reader is None:
                self._reader = threading.Thread(target=self._read_all, name="steps of traces", daemon=True)
                self._reader.start()

    def _read_all(self) -> None:
        while True:
            with self._lock:
                waiting = [one for one in self._waiting if (one.id, one.version) not in self._known]
                if not waiting:
                    self._reader = None
                    return
            began = time.perf_counter()
            self._look_at(waiting[0])
            self._rest(time.perf_counter() - began)

    def _look_at(self, source: TraceSource) -> None:
        try:
            found: MarkedSteps | Unreadable = marked_steps(self._opener(source))
        except TraceUnavailableError as error:
            found = Unreadable(str(error))
        except Exception as error:  # The reader goes on to the other traces, whatever one contains.
            found = Unreadable(f"{source.label} of run {source.run!r} cannot be read: {error!r}.")
        self._keep(source, found)


def unpacked_size(source: TraceSource) -> int:
    """Return the approximate number of bytes to parse in a trace."""
    name = (source.file_name or "").lower()
    return (source.size or 0) * (COMPRESSED if name.endswith((".gz", ".zst", ".sstrace")) else 1)


def step_ranges_of(live: Live) -> StepRanges:
    """Return the steps of traces, shared by all pages of a log directory."""
    return live.shared(StepRanges)


def _holds(run: str, other: str) -> bool:
    return run in (".", other) or other.startswith(run + "/")


def _rows(marked: MarkedSteps, found: JoinedSteps) -> list[SentStep]:
    walls = [[None if np.isnan(wall) else wall for wall in column.tolist()] for column in (found.begins, found.ends)]
    columns = (found.steps.tolist(), marked.start_ns.tolist(), marked.duration_ns.tolist(), marked.numbers.tolist())
    return list(zip(*columns, *walls, strict=True))


def _columns(series: Sequence[Series]) -> list[Columns]:
    """Return the points of scalars, without those that cannot be read."""
    found: list[Columns] = []
    for one in series:
        try:
            if len(one.columns):
                found.append(one.columns)
        except PayloadError:
            continue
    return found


class _About(NamedTuple):
    source: TraceSource
    state: State
    problem: str


def _complete(about: _About, runs: Sequence[str], joined: Joined, rows: list[SentStep], left_out: int) -> StepsOfTrace:
    steps = [row[0] for row in rows]
    walls = [wall for row in rows for wall in row[4:6] if wall is not None]
    source = about.source
    return {
        "id": source.id,
        "run": source.run,
        "label": source.label,
        "kind": source.kind,
        "state": about.state,
        "problem": about.problem,
        "runs": list(runs),
        "joined": joined,
        "steps": rows,
        "left_out": left_out,
        "range": (min(steps), max(steps)) if steps else None,
        "wall": (min(walls), max(walls)) if walls else None,
    }
