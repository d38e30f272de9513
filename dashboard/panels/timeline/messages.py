"""JSON responses of the Timeline panel's routes; the page's types are generated from these classes.

Times are in nanoseconds since the beginning of their trace.
"""

from typing import Any, Final, Literal, NotRequired, TypedDict

from stepscope.profiler.trace import LaneKind

GroupKind = Literal["host", "device", "counters", "tensors", "profiler"]


class TraceRow(TypedDict):
    """A trace to choose."""

    id: str
    run: str
    label: str
    kind: str
    step: int | None
    size: int | None
    recorded: float | None


class LaneRow(TypedDict):
    """A lane; ``lane`` is its number in the trace, and ``depths`` are the rows that are drawn."""

    lane: int
    process: str
    name: str
    pid: int | str
    tid: int | str
    kind: LaneKind
    depths: int


class LaneGroup(TypedDict):
    """Lanes and counters that belong together, in display order."""

    title: str
    short: str
    kind: GroupKind
    lanes: list[int]
    counters: list[int]


class LanesAnswer(TypedDict):
    """Some lanes of a trace, with labels for them and for all counters."""

    lanes: list[LaneRow]
    lanes_total: int
    groups: list[LaneGroup]
    lane_labels: list[str]
    counter_labels: list[str]


class CounterRow(TypedDict):
    """A counter of a trace."""

    process: str
    name: str
    series: str
    points: int
    min: float | None
    max: float | None


class Strip(TypedDict):
    """How busy a lane or process is along the trace, from 0 to 100."""

    kind: LaneKind
    busy: list[int]


class Coverage(TypedDict):
    """Strips of the minimap."""

    start: int
    end: int
    strips: list[Strip]


class TraceSummary(LanesAnswer):
    """Facts about a trace that the panel needs before drawing."""

    id: str
    label: str
    run: str
    start_ns: str
    end: int
    work: tuple[int, int]
    slices: int
    steps: list[tuple[int, str, int, int]]
    """Number, name, start and duration."""
    steps_total: int
    counters: list[CounterRow]
    categories: list[str]
    longest: int
    losses: dict[str, int]
    counted: dict[str, str]
    """By reason, the number of occurrences, in words."""
    examples: dict[str, str]
    meanings: dict[str, str]
    notes: list[str]
    coverage: Coverage


class WindowHeader(TypedDict):
    """The header of a window of slices, whose columns follow."""

    n: int
    start: int
    end: int
    bucket: float
    names: list[str]
    categories: list[str]
    value: bool
    rows: list[int]
    """Triples of lane, depth and offset of the row's first slice."""
    rows_left_out: int


class Matches(TypedDict):
    """The slices that a search found, ordered by start: their number, a page of them, and their positions."""

    count: int
    rank: int
    offset: int
    index: list[int]
    start: list[int]
    duration: list[int]
    lane: list[int]
    depth: list[int]
    names: list[str]
    minimap: list[int]


class CounterWindow(TypedDict):
    """A counter between two times: all points, or the extremes per bucket."""

    counter: int
    time: list[int]
    value: list[float | None]
    points: int
    reduced: bool


class SliceRow(TypedDict):
    """A slice as shown in lists and tables."""

    index: int
    name: str
    lane: int
    depth: int
    start: int
    duration: int


class FlowEnd(SliceRow):
    """A slice at the other end of an arrow."""

    category: str
    kind: str | None


class FlowEnds(TypedDict):
    """Arrows to or from a slice; if there are many, the first ones."""

    total: int
    slices: list[FlowEnd]


class Occurrences(TypedDict):
    """Durations of the slices of one name."""

    count: int
    total: int
    mean: float
    min: int
    max: int


class Children(TypedDict):
    """Direct children of a slice on its lane, longest first."""

    count: int
    own_ns: int
    slices: list[SliceRow]


class SliceDetails(SliceRow):
    """A slice: its arguments, the slices around and in it, the occurrences of its name, flows and neighbors."""

    category: str
    process: str
    lane_name: str
    arguments: dict[str, Any]
    occurrences: Occurrences
    incoming: FlowEnds
    outgoing: FlowEnds
    previous: int | None
    next: int | None
    step: int | None
    stack: list[SliceRow]
    children: Children


class Launched(TypedDict):
    """Slices that a slice launched on devices, in order of start."""

    count: int
    total_ns: int
    slices: list[SliceRow]


class TableRow(TypedDict):
    """Location of a slice in the Profile panel."""

    page: str
    row: str


class Relations(TypedDict):
    """Relations of a slice to others."""

    index: int
    kind: str
    launch: SliceRow | None
    launched: Launched
    operator: SliceRow | None
    call_stack: list[str]
    queue_ns: int | None
    table: TableRow | None


class DurationHistogram(TypedDict):
    """Number of durations between edges."""

    edges: list[int]
    counts: list[int]


class OccurrencesByStep(TypedDict):
    """The slices of one name per step, as parallel lists."""

    number: list[int]
    count: list[int]
    total: list[int]
    mean: list[float | None]


class InTime(TypedDict):
    """Position of a slice, from 0, among those of its name in order of time, and the ones before and after it."""

    place: int
    previous: int | None
    next: int | None


class OccurrencesAnswer(InTime):
    """Statistics of the slices that share a slice's name."""

    index: int
    name: str
    scope: Literal["all", "lane", "step"]
    count: int
    total: int
    mean: float
    median: float
    p95: float
    min: int
    max: int
    std: float
    histogram: DurationHistogram
    rank: int
    percentile: float
    longest: list[SliceRow]
    steps: OccurrencesByStep | None


class AlignedTrace(TypedDict):
    """Offset by which a trace is moved."""

    id: str
    offset: int


class AlignmentAnswer(TypedDict):
    """Alignment of traces."""

    by: str
    traces: list[AlignedTrace]
    notes: list[str]


class CollectiveRow(TypedDict):
    """A collective: for each trace, its slice, its duration, and how long it waited there for others."""

    name: str
    step: int | None
    number: int
    slices: list[SliceRow | None]
    duration: list[int | None]
    wait: list[int | None]


class CollectivesAnswer(TypedDict):
    """Collectives that at least two traces have."""

    traces: list[str]
    count: int
    rows: list[CollectiveRow]


class DifferencesAnswer(TypedDict):
    """Comparison of two traces by name, as parallel lists, largest change first."""

    window: int
    rows: int
    verdicts: dict[str, int]
    totals: dict[str, tuple[int, int]]
    name: list[str]
    category: list[str]
    side: list[str]
    count: tuple[list[int], list[int]]
    total: tuple[list[int], list[int]]
    mean: tuple[list[float | None], list[float | None]]
    change: list[float]
    verdict: list[str]


class SumOf(TypedDict):
    """Total nanoseconds, and the number of parts."""

    ns: int
    count: int


class CriticalPathWindow(TypedDict):
    """The parts of the critical path in a window, as parallel lists in order of time."""

    bounds: list[str]
    explained: list[str]
    names: list[str]
    slice: list[int]
    lane: list[int]
    depth: list[int]
    start: list[int]
    end: list[int]
    bound: list[int]
    name: list[int]
    count: list[int]
    origin: list[int]
    origin_lane: list[int]
    origin_depth: list[int]
    totals: dict[str, SumOf]
    parts: int
    total: int
    begin: int
    finish: int


class IdleWindow(TypedDict):
    """The idle gaps in a window, as parallel lists, by lane and time."""

    causes: list[str]
    lane: list[int]
    start: list[int]
    end: list[int]
    cause: list[int]
    share: list[float]
    count: list[int]
    slice: list[int]
    left_out: int
    totals: dict[str, SumOf]
    lanes: dict[str, list[int]]


class PathAnswer(CriticalPathWindow):
    """The critical path of one step or of all."""

    step: int | None


class IdleAnswer(IdleWindow):
    """Idle gaps of devices or lanes."""

    of: str
    scope: str


class AreaRow(TypedDict):
    """Totals of the slices of one name or one category in an area."""

    name: NotRequired[str]
    """Missing for a category."""
    category: str
    count: int
    total_ns: int
    own_ns: int
    mean_ns: float
    min_ns: int
    max_ns: int
    longest: int


class AreaLane(TypedDict):
    """Totals of the slices of a lane in an area."""

    lane: int
    count: int
    busy_ns: int
    share: float


class AreaCounter(TypedDict):
    """The values of a counter in an area; the mean is over time."""

    counter: int
    min: float
    mean: float
    max: float


class AreaAnswer(TypedDict):
    """Totals of the slices of some lanes between two times."""

    start: int
    end: int
    slices: int
    names_total: int
    categories_total: int
    by_name: list[AreaRow]
    by_category: list[AreaRow]
    lanes_total: int
    by_lane: list[AreaLane]
    counters: list[AreaCounter]


class TracesAnswer(TypedDict):
    """The traces of the log directory."""

    revision: int
    traces: list[TraceRow]


class ClosedTrace(TypedDict):
    """A trace that cannot be shown."""

    id: str
    problem: str


MESSAGES: Final = (
    TracesAnswer, ClosedTrace, TraceSummary, LanesAnswer, WindowHeader, Matches, CounterWindow, SliceDetails, Relations,
    OccurrencesAnswer, AlignmentAnswer, CollectivesAnswer, DifferencesAnswer, PathAnswer, IdleAnswer, AreaAnswer,
)  # fmt: skip
