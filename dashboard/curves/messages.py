"""What cards of curves are told, as JSON; the page's types of it are made from these."""

from typing import Final, Literal, NotRequired, TypedDict

from stepscope.dashboard.curves.settings import Scale, XAxis
from stepscope.dashboard.curves.spec import Side
from stepscope.dashboard.traces.messages import StepsNews

NotFinite = Literal["NaN", "+Inf", "-Inf"]


class AxisAbout(TypedDict):
    """What a horizontal axis is; of a metric its tag is the label."""

    kind: XAxis
    scale: Scale | Literal["time"]
    suffix: str
    integer: bool
    offset_seconds: float
    label: str


class Shades(TypedDict):
    """A color for the light and for the dark scheme."""

    light: str
    dark: str


class LineAbout(Shades):
    """What is told of a line besides its points."""

    id: str
    kind: Literal["run", "group", "member"]
    label: str
    tag: str
    side: Side
    dash: int
    run: NotRequired[str]
    """Of a run, and of a member of a group."""
    first: NotRequired[float | None]
    """When it began, Unix seconds."""
    runs: NotRequired[list[str]]
    """Of a group."""


class SentLine(LineAbout):
    """A line: how many points it has, in all and in the visible part, and where its columns are in the pack."""

    total: int
    visible: int
    columns: dict[str, int]


class Rule(Shades):
    """A place on the horizontal axis that something is to be said of."""

    x: float
    title: str


class Drawing(TypedDict):
    """A chart: what its horizontal axis is, its lines, and what is to be seen and said besides."""

    is_picture: bool
    """Whether some of the points stand for all, until these are asked for."""
    x: AxisAbout
    lines: list[SentLine]
    marks: list[tuple[int, float, NotFinite]]
    """Points that are not finite: index of the line, x, and what they are."""
    best: list[tuple[int, float, float]]
    """Index of the line, x and y."""
    rules: list[Rule]
    """Where runs were resumed."""
    note: str
    """What is not in the picture."""
    empty: str
    """Why there is nothing, else ""."""


class SentChart(Drawing):
    """A chart with its version; ``raw_version`` is equal where nothing but the smoothing differs."""

    version: str
    raw_version: str
    points: int
    """As many were asked for."""


class ChartsAnswer(TypedDict):
    """The charts that changed of those that were asked for; and whether the log directory has traces."""

    revision: int
    traces: bool
    charts: dict[str, SentChart]


class PointAt(TypedDict, total=False):
    """What a line has at a place; numbers that JSON has not are texts."""

    x: float | str
    value: float | str
    """As stored."""
    y: float | str
    """As drawn, smoothed."""
    low: float | str
    high: float | str
    seconds: float | str
    step: float | str
    members: float | str


class ValuesAnswer(TypedDict):
    """The points nearest to a place, among all of the lines, by the lines' ids."""

    points: dict[str, PointAt]


class NamesAnswer(TypedDict):
    """Scalar tags of the shown runs."""

    tags: list[str]


MESSAGES: Final = (LineAbout, ChartsAnswer, ValuesAnswer, NamesAnswer, StepsNews)
