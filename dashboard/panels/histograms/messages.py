"""Messages of the Histograms panel: the ``meta`` of its charts, and the responses of its routes.

The page's types are generated from these classes.
"""

from typing import Final, Literal, NotRequired, TypedDict

from stepscope.dashboard.panels.steps import StepData
from stepscope.dashboard.server.arrays import TypedArray


class LegendRun(TypedDict):
    """A run of a card with all runs."""

    run: str
    light: str
    dark: str
    said: str
    drawn: bool


class RunsMeta(TypedDict):
    """A chart of all runs of a tag at one step."""

    mode: Literal["runs"]
    tag: str
    runs: list[LegendRun]
    slider: StepData


class RunMeta(TypedDict):
    """A chart of one run over steps."""

    mode: Literal["offset", "overlay", "heatmap", "bands"]
    tag: str
    run: str
    color: str


class LineMeta(TypedDict):
    """A line of a chart with its baseline at ``at``; with its run if the chart has several."""

    step: int
    wall: float
    index: int
    total: float
    at: float
    counts: TypedArray
    run: NotRequired[str]


class ColumnMeta(TypedDict):
    """A chart with a column for every step; arrays have one number for each."""

    steps: TypedArray
    walls: TypedArray
    indices: TypedArray
    places: TypedArray
    totals: TypedArray


class HeatMeta(ColumnMeta):
    """The counts of a heat map, column by column, and the edges of its rows."""

    edges: TypedArray
    counts: TypedArray


class BandMeta(ColumnMeta):
    """The values at percentiles, column by column; the percentiles are in hundredths of a percent."""

    values: TypedArray
    points: list[int]


class StatisticsRow(TypedDict):
    """Statistics of the values of a histogram."""

    count: float | str
    smallest: float | str
    largest: float | str
    mean: float | str


class HistogramPlace(TypedDict):
    """Position of a histogram in its series."""

    index: int
    points: int
    step: int
    wall: float | str


class DescribedHistogram(HistogramPlace):
    """A histogram's outline and statistics; ``foot`` is the height that a logarithmic scale draws as 1, else 0."""

    error: Literal[""]
    x: TypedArray
    y: TypedArray
    counts: TypedArray
    low: float
    high: float
    foot: float
    bins: int
    dropped: int
    statistics: StatisticsRow
    left_out: dict[str, int]


class DamagedHistogram(HistogramPlace):
    """Why a histogram cannot be read."""

    error: str


MESSAGES: Final = (RunsMeta, RunMeta, LineMeta, HeatMeta, BandMeta, ColumnMeta, DescribedHistogram, DamagedHistogram)
