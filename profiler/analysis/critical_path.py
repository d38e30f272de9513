"""The chain of work and waiting that determined how long a stretch of a trace took, and how much of it that explains.

The graph is HolisticTraceAnalysis' plus the waits that it leaves out: a node at the start and the end of each slice,
and edges

- along each host thread, from boundary to boundary: the time inside a slice is explained, the time between slices is
  not;
- from start to end of each device activity;
- to the start of a device activity: from the call that launched it, if its stream was idle then (launch delay), else
  from the end of the previous activity on the stream (gap between kernels), or from the start of the previous one if
  that was still running and this one was allowed to begin early. Work that a stream still had to do from before the
  stretch is its backlog, which is explained too;
- from the device activity that a synchronizing call, or a copy that blocks its call, waited for to the end of that
  call, and to the first activity after a stream's wait for an event. The waiting call's own time is not explained;
- from thread to thread, where one continues when another has ended (`stepscope.profiler.analysis.handovers`), and from
  forward operators to backward ones on another thread.

The critical path is the one that explains most; the time after its end counts against it. Its parts cover the whole
stretch: unexplained time is a part too, named for what was recorded of it. If the trace has no ``cuda_sync`` events, a
synchronizing call is recognized by its name and waits for the activity that ended last before it returned. Edges that
would go back in time are left out, and so are slices that extend beyond the stretch.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.analysis.classify import Kind
from stepscope.profiler.analysis.facts import Device, Facts, facts_of
from stepscope.profiler.analysis.longest_path import longest_path
from stepscope.profiler.analysis.path_graph import BOUNDS, EXPLAINED, Bound, Edges, edges_of, node_times
from stepscope.profiler.analysis.reasons import NO_PATH
from stepscope.profiler.analysis.records import SLICE, START, Analysis
from stepscope.profiler.analysis.records import Column as TableColumn
from stepscope.profiler.analysis.stretches import stretches_of
from stepscope.profiler.trace import Trace
from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.distinct import running_count

if TYPE_CHECKING:
    import polars as pl

__all__ = ["BOUNDS", "EXPLAINED", "Bound", "Path", "critical_path", "critical_path_summary", "path_of"]

Column = NDArray[np.int64]
MEANINGS: Final[dict[Bound, str]] = {
    "host": "operators and runtime calls",
    "kernel": "kernels",
    "memory": "copies and memsets",
    "communication": "collectives on devices",
    "launch_delay": "from a launch to its start on an idle stream",
    "kernel_gap": "between an activity and the next one, which was already launched",
    "backlog": "a stream was busy with what was launched before",
    "python": "not explained: in Python functions, outside of operators",
    "idle": "not explained: nothing is recorded on the thread",
    "wait": "not explained: in a blocking call, waiting for something that was not recorded",
    "dependency": "not explained: between the end of a wait and the work that resumed after it",
}
"""The meaning of each of `BOUNDS`."""


class Path(NamedTuple):
    """The parts of a critical path in order of time, as parallel columns; neighboring parts of one slice are merged.

    Each part begins when the previous one ends, so that together they are the stretch.
    """

    bound: Column
    """Indices into `BOUNDS`."""
    slice: Column
    """The slice that the part belongs to; for delays, gaps and unexplained time, the slice that they led to."""
    origin: Column
    """The slice at whose start or end the part begins; at the beginning of the stretch, the slice that it led to."""
    start: Column
    end: Column

    @property
    def explained(self) -> NDArray[np.bool_]:
        """Which parts are explained."""
        return self.bound < len(EXPLAINED)

    @property
    def duration(self) -> Column:
        """Durations in nanoseconds."""
        return self.end - self.start


def path_of(trace: Trace | Facts, *, step: int | None = None, inferred: bool = True) -> Path:
    """Return the critical path of a step, or of the whole trace, as columns.

    A step is what the host did between the step's marks, with everything launched there, until both have ended.

    Args:
        trace: the trace.
        step: the number of a step.
        inferred: also follow waits that the trace does not record as such. Without them, the graph is that of
            HolisticTraceAnalysis plus the backlog.

    Raises:
        ValueError: the trace has no such step.
    """
    facts = facts_of(trace)
    # Several tables are made from the path of the whole trace, which takes long to find.
    return facts.once(_whole_path) if step is None and inferred else _found_path(facts, step, inferred)


def _whole_path(facts: Facts) -> Path:
    return _found_path(facts, None, inferred=True)


def _found_path(facts: Facts, step: int | None, inferred: bool) -> Path:
    begin, end = _stretch(facts, step)
    host = _host_slices(facts, begin, end)
    device = _device_part(facts, host)
    check_cancelled()
    edges = edges_of(facts, host, device, inferred=inferred)
    check_cancelled()
    return _in_python(facts, _walk(facts, edges, begin, max(end, int(device.end.max(initial=end)))))


def critical_path(trace: Trace | Facts, *, step: int | None = None) -> "pl.DataFrame":
    """Return the critical path of a step, or of the whole trace, in order of time; see `path_of`.

    Columns: bound (one of `BOUNDS`), name (text, of the slice), slice, start_ns, duration_ns (int64). Neighboring parts
    of one slice are one row.

    Raises:
        ValueError: the trace has no such step.
    """
    import polars as pl

    facts = facts_of(trace)
    path = path_of(facts, step=step)
    return pl.DataFrame(
        {
            "bound": pl.Series(BOUNDS, dtype=pl.String)[path.bound],
            "name": pl.Series(facts.trace.names, dtype=pl.String)[facts.trace.name_id[path.slice]],
            "slice": path.slice,
            "start_ns": path.start,
            "duration_ns": path.duration,
        }
    )


def critical_path_summary(trace: Trace | Facts, *, step: int | None = None) -> "pl.DataFrame":
    """Return the critical path by what bounds it: explained time first, longest first, then unexplained time.

    Columns: bound (text), duration_ns, parts (int64), percent of the stretch (float64), explained (bool), meaning
    (text).

    Raises:
        ValueError: the trace has no such step.
    """
    import polars as pl

    path = path_of(trace, step=step)
    duration = np.bincount(path.bound, path.duration, len(BOUNDS))
    return (
        pl.DataFrame(
            {
                "bound": BOUNDS,
                "duration_ns": duration.astype(np.int64),
                "parts": np.bincount(path.bound, minlength=len(BOUNDS)),
                "percent": 100 * duration / max(1, duration.sum()),
                "explained": [bound in EXPLAINED for bound in BOUNDS],
                "meaning": [MEANINGS[bound] for bound in BOUNDS],
            }
        )
        .filter(pl.col("parts") > 0)
        .sort("explained", "duration_ns", "bound", descending=[True, True, False])
    )


def _stretch(facts: Facts, step: int | None) -> tuple[int, int]:
    if step is None:
        real = facts.slices("other", on_device=None)
        chosen = np.ones(len(facts.trace), np.bool_)
        chosen[real] = False
        if not chosen.any():
            return 0, 0
        return int(facts.trace.start_ns[chosen].min()), int(facts.end_ns[chosen].max())
    for each in facts.trace.steps:
        if each.number == step:
            return each.start_ns, each.start_ns + each.duration_ns
    known = ", ".join(str(each.number) for each in facts.trace.steps) or "none"
    raise ValueError(f"The trace has no step {step}. It has: {known}.")


def _host_slices(facts: Facts, begin: int, end: int) -> Column:
    kinds: tuple[Kind, ...] = ("operator", "runtime", "synchronization", "communication", "data_loading")
    chosen = facts.slices(*kinds, on_device=False)
    return chosen[(facts.trace.start_ns[chosen] >= begin) & (facts.end_ns[chosen] <= end)]


def _device_part(facts: Facts, host: Column) -> Device:
    """Return the device activities that the host slices launched; all of them if no launch is known."""
    every = facts.every_device_activity
    every = every.where(every.of("kernel", "memcpy", "memset", "communication"))
    if not (every.launch >= 0).any():
        return every
    return every.where(np.isin(every.launch, host))


def _walk(facts: Facts, edges: Edges, begin: int, end: int) -> Path:
    """Return the path along the edges that explains most, with neighbors of one slice and bound merged."""
    times = node_times(facts)
    used = np.zeros(len(times), np.bool_)
    used[edges.source] = used[edges.target] = True
    number = running_count(used) - 1
    length = np.where(edges.bound < len(EXPLAINED), times[edges.target] - times[edges.source], 0)
    found = longest_path(number[edges.source], number[edges.target], length, times[used])
    source, target, bound, slices = (column[found] for column in edges)
    if not len(found):
        return Path(*(np.empty(0, np.int64) for _ in Path._fields))
    changes = np.flatnonzero((np.diff(bound) != 0) | (np.diff(slices) != 0)) + 1
    first = np.concatenate([[0], changes])
    last = np.concatenate([changes, [len(found)]]) - 1
    path = Path(bound[first], slices[first], source[first] // 2, times[source[first]], times[target[last]])
    lane = facts.trace.lane
    path = Path(*(column[(path.duration > 0) | (lane[path.origin] != lane[path.slice])] for column in path))
    return _reaching(path, int(slices[0]), begin, int(slices[-1]), end)


def _reaching(path: Path, first: int, begin: int, last: int, end: int) -> Path:
    """Return the path extended by the time before and after it in the stretch."""
    idle = BOUNDS.index("idle")
    parts = [path]
    if len(path.start) and begin < path.start[0]:
        parts.insert(0, Path(*(np.array([value]) for value in (idle, first, first, begin, int(path.start[0])))))
    if len(path.end) and path.end[-1] < end:
        parts.append(Path(*(np.array([value]) for value in (idle, last, last, int(path.end[-1]), end))))
    return Path(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _in_python(facts: Facts, path: Path) -> Path:
    """Return the path with idle time marked as Python if the thread was mostly in Python functions then."""
    python = stretches_of(facts, facts.slices("python", on_device=False))
    idle = np.flatnonzero(path.bound == BOUNDS.index("idle"))
    lane = facts.trace.lane[path.slice[idle]].astype(np.int64)
    busy = python.busy(lane, path.start[idle], path.end[idle])
    bound = path.bound.copy()
    bound[idle[2 * busy > path.duration[idle]]] = BOUNDS.index("python")
    return path._replace(bound=bound)


CRITICAL_PATH: Final = Analysis(
    "critical_path",
    "the critical path by what bounds it",
    critical_path_summary,
    (
        TableColumn("bound", "what the time was spent on", "word"),
        TableColumn("duration_ns", "time of the path", adds_up=True),
        TableColumn("parts", "number of parts of the path", adds_up=True),
        TableColumn("percent", "share of the time range", adds_up=True),
        TableColumn("explained", "whether it is known what the time was spent on"),
        TableColumn("meaning", "what such a part means"),
    ),
    title="What bounds the time",
    description="The chain of work and waits that determined how long the trace took.",
    empty=NO_PATH,
)
"""The critical path by what bounds it."""
CRITICAL_PATH_PARTS: Final = Analysis(
    "critical_path_parts",
    "the critical path, part by part",
    critical_path,
    (
        TableColumn("bound", "what the time was spent on", "word"),
        TableColumn("name", "name of the slice; for delays and gaps, of the slice they led to"),
        SLICE,
        START,
        TableColumn("duration_ns", "how long the part took"),
    ),
    title="Part by part",
    description="The critical path in order of time.",
    empty=NO_PATH,
)
"""The path itself, part by part."""
