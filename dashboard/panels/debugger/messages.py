"""Responses to the Debugger panel, as JSON and packed columns; the page's types are generated from these classes."""

from collections.abc import Sequence
from typing import Final, Literal, TypedDict

from stepscope.summary.debugger.model import FIGURES, Figure, Phase

Number = float | str | None
"""A figure: null if it was not measured, "Infinity" or "-Infinity" if it is infinite."""
Health = Literal["good", "not_finite", "infinite", "nan"]
"""The worst of a value's elements; "not_finite" if their kind is unknown."""

MOST_LINES: Final = 2_000
MOST_COLUMNS: Final = 4_000
MOST_ROWS: Final = 1_000
"""Number of rows in one response of a list."""


class Recording(TypedDict):
    """A recording or dump of the log directory."""

    id: str
    run: str
    title: str
    label: str
    kind: Literal["recording", "tfdbg"]
    modified: float
    scalars: bool
    """Whether its run has curves."""


class Recordings(TypedDict):
    """All recordings and dumps."""

    revision: int
    recordings: Sequence[Recording]


class Operation(TypedDict):
    """A kind of operation, and the number of tensors it makes."""

    name: str
    tensors: int


class Overview(TypedDict):
    """Overview of an opened recording; if it cannot be shown, `problem` is the reason and the rest is empty."""

    id: str
    problem: str
    source: str
    version: str
    tensors: int
    observations: int
    bad: int
    """Number of observations with an element that is not finite."""
    steps: int
    """Number of observed steps."""
    first_step: int
    last_step: int
    phases: Sequence[Phase]
    operations: Sequence[Operation]
    modules: Sequence[str]
    devices: Sequence[str]
    """Known devices."""
    figures: Sequence[Figure]
    """Figures that were measured."""
    figure: Figure
    """The most informative figure."""
    problems: Sequence[str]
    files: int
    """Number of source files that were kept."""


class TensorFacts(TypedDict):
    """Facts about a tensor that do not depend on its value."""

    number: int
    name: str
    phase: Phase
    module: str
    op: str
    slot: int
    dtype: str
    shape: str
    graph: str


class CodeLine(TypedDict):
    """A line of code on the call stack of an operation."""

    path: str
    line: int
    function: str
    code: str
    library: bool
    kept: bool
    """Whether the file was kept."""


class AlertRow(TypedDict):
    """Something that went wrong."""

    rule: str
    title: str
    """The rule in words."""
    step: int
    wall: Number
    message: str
    tensor: TensorFacts | None
    observation: int | None
    line: CodeLine | None
    """The program's own line that made the tensor."""


class RuleCount(TypedDict):
    """Number of alerts that a rule raised."""

    rule: str
    title: str
    alerts: int


class Verdict(TypedDict):
    """Verdict on what went bad first."""

    sentence: str
    good: bool
    tensor: TensorFacts | None
    observation: int | None
    step: int
    line: CodeLine | None


class Alerts(TypedDict):
    """Everything that went wrong, first to last."""

    verdict: Verdict
    alerts: Sequence[AlertRow]
    total: int
    rules: Sequence[RuleCount]


class MapRow(TypedDict):
    """The first tensor of a line of the map."""

    number: int
    name: str
    phase: Phase
    module: str
    op: str


class MapCell(TypedDict):
    """A cell of the map."""

    row: int
    """Index among all shown rows."""
    step: int
    tensor: int
    observation: int


class MapAnswer(TypedDict):
    """A part of the map. `worst`, `mean`, `bad`, `rows` and `steps` are places of columns in `arrays`."""

    search_problem: str
    """Why the search is not a valid regular expression; in this case, all else is missing."""
    figure: Figure
    total: int
    """Rows that pass the filter."""
    begin: int
    end: int
    """Range of these rows in the response."""
    names: Sequence[MapRow]
    """First tensor of each line; empty if there are more lines than fit on a screen."""
    all_steps: int
    step_begin: int
    step_end: int
    """Indices among the observed steps."""
    low: Number
    high: Number
    """Minimum and maximum finite value of the whole map."""
    least: Number
    """The least magnitude above zero."""
    signed: bool
    first_bad: MapCell | None
    """First cell that has something not finite, in the rows that pass the filter."""
    lines: int
    columns: int
    worst: int
    """float32, line by line."""
    mean: int
    bad: int
    """uint8: 1 for infinite, 2 for NaN."""
    rows: int
    """int32: the index of the first row of each line."""
    edges: int
    """int32: where each column begins among the observed steps, followed by the end of the last column."""
    steps: int
    """float64: the first step of each column, followed by the last step of all."""


class Curve(TypedDict):
    """A figure of a tensor over steps. `steps`, `high`, `low`, `mean` and `bad` are places of columns in `arrays`."""

    tensor: TensorFacts
    figure: Figure
    observations: int
    not_finite: int
    exact: bool
    """Whether each point is one step."""
    steps: int
    high: int
    low: int
    mean: int
    bad: int
    latest: int | None
    """The last observation of the tensor."""
    first_bad: int | None


class SpreadAnswer(TypedDict):
    """Distribution of a tensor's elements at a step."""

    step: int
    edges: Sequence[float]
    counts: Sequence[float]
    nan: int
    infinite: int
    missing: str
    """What to record to get a distribution; empty if there is one."""


class ObservationRow(TypedDict):
    """A row of the list of executions."""

    number: int
    step: int
    wall: Number
    tensor: int
    name: str
    phase: Phase
    module: str
    op: str
    dtype: str
    shape: str
    device: str
    """Device that held the value; empty if unknown."""
    health: Health
    nan: Number
    infinite: Number
    size: Number
    minimum: Number
    maximum: Number
    l2: Number


class ObservationPage(TypedDict):
    """Some of the observations that pass a filter."""

    search_problem: str
    """Why the search is not a valid regular expression; in this case, there are no rows."""
    total: int
    offset: int
    rows: Sequence[ObservationRow]


class ObservationPlace(TypedDict):
    """Position of an observation among those that pass a filter."""

    place: int
    total: int


class Related(TypedDict):
    """An input, or a tensor computed from the value, with the observation that belongs to it; null if there is none."""

    tensor: TensorFacts
    observation: int | None
    step: int
    health: Health | None
    minimum: Number
    maximum: Number
    l2: Number
    nan: Number


class FigureOf(TypedDict):
    """A figure of an observation."""

    name: Figure
    value: Number


class Excerpt(TypedDict):
    """Lines of code around a given line."""

    path: str
    first: int
    """Number of the first line."""
    line: int
    lines: Sequence[str]


class ObservationDetails(TypedDict):
    """Everything known about one observation."""

    number: int
    tensor: TensorFacts
    step: int
    wall: Number
    device: str
    health: Health
    figures: Sequence[FigureOf]
    stack: Sequence[CodeLine]
    excerpt: Excerpt | None
    inputs: Sequence[Related]
    consumers: Sequence[Related]
    inside: Related | None
    """The first value that is not finite inside the function or module that made it."""
    bad_input: int | None
    """Next observation on the way to the first bad value: `inside`, or the first input that is not finite."""
    previous: int | None
    """Previous observation of the same tensor."""
    following: int | None
    verdict: str
    has_value: bool
    graph: str
    """Id of the graph in which to look for its operation; empty for none."""


class GraphPlace(TypedDict):
    """The place in a graph where a tensor is made."""

    graph: str
    node: str
    """Empty if the graph does not have it."""
    problem: str
    """Why `node` is empty."""


class ValueAnswer(TypedDict):
    """A kept value. `slice`, `numbers`, `edges` and `counts` are places of columns in `arrays`."""

    shape: Sequence[int]
    dtype: str
    leading: Sequence[int]
    at: Sequence[int]
    rows: int
    columns: int
    block: tuple[int, int]
    nan: int
    infinite: int
    spread_of: int
    slice: int
    numbers: int
    edges: int
    counts: int


class SourceRow(TypedDict):
    """A source file."""

    index: int
    path: str
    host: str
    lines: int
    marked: int
    """Number of lines that made tensors."""
    bad: int
    """Number of observations of its worst line that are not finite."""
    library: bool
    """Whether it belongs to a library rather than to the program."""


class SourceList(TypedDict):
    """All source files that were kept."""

    files: Sequence[SourceRow]


class LineMark(TypedDict):
    """Tensors made with a line on the call stack."""

    line: int
    tensors: int
    observed: int
    bad: int
    first_bad: int | None
    first_tensor: int
    names: Sequence[str]


class SourceAnswer(TypedDict):
    """A source file with its marks."""

    path: str
    host: str
    lines: Sequence[str]
    marks: Sequence[LineMark]
    left_out: int
    """Number of lines after those in the response."""


class DifferenceRow(TypedDict):
    """A tensor that differs between two recordings."""

    tensor: TensorFacts
    step: int
    observation: int
    other_observation: int
    figure: Figure
    value: Number
    other_value: Number
    relative: float
    largest: float
    differing: int
    compared: int


class CompareAnswer(TypedDict):
    """Comparison of two recordings, first difference first."""

    sentence: str
    differences: Sequence[DifferenceRow]
    total: int
    matched: int
    only_first: Sequence[str]
    only_second: Sequence[str]
    only_first_total: int
    only_second_total: int
    compared: int
    left_out: int


MESSAGES: Final = (
    Recordings,
    Overview,
    Alerts,
    MapAnswer,
    Curve,
    SpreadAnswer,
    ObservationPage,
    ObservationPlace,
    ObservationDetails,
    GraphPlace,
    ValueAnswer,
    SourceList,
    SourceAnswer,
    CompareAnswer,
)
CONSTANTS: Final = {"FIGURES": list(FIGURES), "MOST_ROWS": MOST_ROWS}
