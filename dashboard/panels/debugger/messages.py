"""What the server answers the Debugger panel, as JSON and packed columns; the page's types are made from these."""

from collections.abc import Sequence
from typing import Final, Literal, TypedDict

from stepscope.summary.debugger.model import FIGURES, Figure, Phase

Number = float | str | None
"""A figure: null where it was not measured, "Infinity" and "-Infinity" where it is infinite."""
Health = Literal["good", "not_finite", "infinite", "nan"]
"""The worst of a value's elements; "not_finite" where it is not known of which kind they are."""

MOST_LINES: Final = 2_000
MOST_COLUMNS: Final = 4_000
MOST_ROWS: Final = 1_000
"""Rows in one answer of a list."""


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
    """All of them."""

    revision: int
    recordings: Sequence[Recording]


class Operation(TypedDict):
    """A kind of operation, and how many tensors it makes."""

    name: str
    tensors: int


class Overview(TypedDict):
    """An opened recording in short; `problem` says why one cannot be shown, and then the rest is empty."""

    id: str
    problem: str
    source: str
    version: str
    tensors: int
    observations: int
    bad: int
    """Observations with an element that is not finite."""
    steps: int
    """Steps that were observed."""
    first_step: int
    last_step: int
    phases: Sequence[Phase]
    operations: Sequence[Operation]
    modules: Sequence[str]
    devices: Sequence[str]
    """Those that are known."""
    figures: Sequence[Figure]
    """Those that were measured."""
    figure: Figure
    """The one that tells most."""
    problems: Sequence[str]
    files: int
    """Files of code that were kept."""


class TensorFacts(TypedDict):
    """What is known of a tensor whatever its value."""

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
    """A line of code on the way to an operation."""

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
    """The program's own line that made it."""


class RuleCount(TypedDict):
    """How many alerts a rule gave."""

    rule: str
    title: str
    alerts: int


class Verdict(TypedDict):
    """What went bad first."""

    sentence: str
    good: bool
    tensor: TensorFacts | None
    observation: int | None
    step: int
    line: CodeLine | None


class Alerts(TypedDict):
    """What went wrong, first to last."""

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
    """The place among all rows that are shown."""
    step: int
    tensor: int
    observation: int


class MapAnswer(TypedDict):
    """A part of the map. `worst`, `mean`, `bad`, `rows` and `steps` are places of columns in `arrays`."""

    search_problem: str
    """Why the search is not a valid regular expression; all else is missing then."""
    figure: Figure
    total: int
    """Rows that pass the filter."""
    begin: int
    end: int
    """Which of them are in the answer."""
    names: Sequence[MapRow]
    """Of each line the first tensor; empty where there are more lines than a screen has."""
    all_steps: int
    step_begin: int
    step_end: int
    """Places among the observed steps."""
    low: Number
    high: Number
    """The least and the largest finite value of the whole map."""
    least: Number
    """The least magnitude above zero."""
    signed: bool
    first_bad: MapCell | None
    """The first cell of the rows that pass where something is not finite."""
    lines: int
    columns: int
    worst: int
    """float32, line by line."""
    mean: int
    bad: int
    """uint8: 1 for infinite, 2 for NaN."""
    rows: int
    """int32: the place of the first row of each line."""
    edges: int
    """int32: where each column begins among the observed steps, and behind the last where that ends."""
    steps: int
    """float64: the first step of each column, and behind them the last step of all."""


class Curve(TypedDict):
    """A figure of one tensor over steps; the fields are places of columns in `arrays`."""

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
    """How the elements of a tensor were spread at a step."""

    step: int
    edges: Sequence[float]
    counts: Sequence[float]
    nan: int
    infinite: int
    missing: str
    """What to record so that there is more than nothing; empty where there is."""


class ObservationRow(TypedDict):
    """A line of the list of executions."""

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
    """Where the value was; empty where that is not known."""
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
    """Why the search is not a valid regular expression; there are none then."""
    total: int
    offset: int
    rows: Sequence[ObservationRow]


class ObservationPlace(TypedDict):
    """Where an observation is among those that pass a filter."""

    place: int
    total: int


class Related(TypedDict):
    """A tensor that was taken, or made of it, with the observation that belongs to it; null where there is none."""

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
    """Lines of code around one."""

    path: str
    first: int
    """The number of the first of them."""
    line: int
    lines: Sequence[str]


class ObservationDetails(TypedDict):
    """All that is known of one observation."""

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
    """The first that is not finite inside of the function or the module that made it."""
    bad_input: int | None
    """Where a walk up to the first bad value goes next: inside, or to the first that was taken and is not finite."""
    previous: int | None
    """The observation of the same tensor before."""
    following: int | None
    verdict: str
    has_value: bool
    graph: str
    """The id of the graph in which its operation is looked for; empty for none."""


class GraphPlace(TypedDict):
    """Where in a graph a tensor is made."""

    graph: str
    node: str
    """Empty where it is not there."""
    problem: str
    """Why."""


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
    """A file of code."""

    index: int
    path: str
    host: str
    lines: int
    marked: int
    """Lines that made tensors."""
    bad: int
    """Observations that are not finite, of its worst line."""
    library: bool
    """Whether it is of a library, rather than of the program."""


class SourceList(TypedDict):
    """All that were kept."""

    files: Sequence[SourceRow]


class LineMark(TypedDict):
    """What was made on the way over a line."""

    line: int
    tensors: int
    observed: int
    bad: int
    first_bad: int | None
    first_tensor: int
    names: Sequence[str]


class SourceAnswer(TypedDict):
    """A file of code with its marks."""

    path: str
    host: str
    lines: Sequence[str]
    marks: Sequence[LineMark]
    left_out: int
    """Lines behind those in the answer."""


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
    """Two recordings compared, the first difference first."""

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
