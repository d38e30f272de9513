"""JSON messages for cards of curves; the page's types are generated from these classes."""

from typing import Final, Literal, NotRequired, TypedDict

from stepscope.dashboard.curves.settings import Scale, XAxis
from stepscope.dashboard.curves.spec import Side
from stepscope.dashboard.traces.messages import StepsNews

NotFinite = Literal["NaN", "+Inf", "-Inf"]


class AxisAbout(TypedDict):
    """A horizontal axis; for a metric, the label is its tag."""

    kind: XAxis
    scale: Scale | Literal["time"]
    suffix: str
    integer: bool
    label: str


class Shades(TypedDict):
    """A color for the light and for the dark scheme."""

    light: str
    dark: str


class LineAbout(Shades):
    """A line without its points."""

    id: str
    kind: Literal["run", "group", "member"]
    label: str
    tag: str
    side: Side
    dash: int
    run: NotRequired[str]
    """Name of the run; for lines of runs and of group members."""
    first: NotRequired[float | None]
    """Time of the first point, in Unix seconds."""
    runs: NotRequired[list[str]]
    """Names of the runs; for lines of groups."""


class SentLine(LineAbout):
    """A line: its number of points, in total and in the visible part, and the places of its columns in the pack."""

    total: int
    visible: int
    columns: dict[str, int]


class Rule(Shades):
    """A vertical rule with a title, at a position on the horizontal axis."""

    x: float
    title: str


class Drawing(TypedDict):
    """A chart: its horizontal axis, lines, marks and remarks."""

    is_picture: bool
    """Whether a sample of the points stands for all until all are requested."""
    x: AxisAbout
    lines: list[SentLine]
    marks: list[tuple[int, float, NotFinite]]
    """Points that are not finite: index of the line, x, and kind of value."""
    best: list[tuple[int, float, float]]
    """Best point of each line: index of the line, x and y."""
    rules: list[Rule]
    """Where runs were resumed."""
    note: str
    """Remarks, such as what the chart leaves out."""
    empty: str
    """Why the chart is empty; "" if it is not."""


class SentChart(Drawing):
    """A chart with its version; ``raw_version`` is the same if only the smoothing differs."""

    version: str
    raw_version: str
    points: int
    """Requested number of points per line."""


class ChartsAnswer(TypedDict):
    """The requested charts that changed, and whether the log directory has traces."""

    revision: int
    traces: bool
    charts: dict[str, SentChart]


class PointAt(TypedDict, total=False):
    """A line's point at a position; numbers that JSON cannot represent are strings."""

    x: float | str
    value: float | str
    """The value as stored."""
    y: float | str
    """The value as drawn, smoothed."""
    low: float | str
    high: float | str
    seconds: float | str
    step: float | str
    members: float | str


class ValuesAnswer(TypedDict):
    """By line id, the point nearest to a position, among all points of the line."""

    points: dict[str, PointAt]


class NamesAnswer(TypedDict):
    """Scalar tags of the shown runs."""

    tags: list[str]


MESSAGES: Final = (LineAbout, ChartsAnswer, ValuesAnswer, NamesAnswer, StepsNews)
