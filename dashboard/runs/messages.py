"""JSON messages about runs; the page's types are generated from these classes."""

from typing import Final, Literal, TypedDict

from stepscope.dashboard.runs.examples import Example
from stepscope.dashboard.runs.expression import BuiltIn
from stepscope.dashboard.runs.facts import Statistic
from stepscope.dashboard.runs.search import HitKind


class Painted(TypedDict):
    """Something drawn in one color in the light scheme and in another in the dark scheme."""

    light: str
    dark: str


class RunRow(Painted):
    """A run; values that JSON cannot represent are "NaN", "Infinity" and "-Infinity"."""

    run: str
    label: str
    """Displayed name."""
    parent: str | None
    """The run that it belongs to, for example if it is a line of ``add_scalars``."""
    order: int
    """Position by first event among the runs without a parent; the parent's position if it has a parent."""
    started: float
    """Time of its first event, in Unix seconds."""
    group: int | None
    """Index of its group."""
    values: list[float | str | bool | None]
    """One for each column."""


class RunColumn(TypedDict):
    """A hyperparameter or metric that describes runs."""

    spec: str
    label: str
    kind: Literal["hparam", "metric"]


class RunGroup(Painted):
    """A group of runs."""

    label: str
    count: int
    """Number of its runs, whether or not they pass the search."""
    found: int
    """Number of its runs that pass the search."""
    order: int
    """Position of the first run that passes the search."""
    started: float
    """Start time of that run."""
    values: list[float | str | bool | None]
    """For each column, the value that its runs share, or the mean of a metric."""
    means: list[bool]
    """For each column, whether the group's runs differ."""


class ScaleLegend(TypedDict):
    """Meaning of the colors: a numeric scale and the colors along it, for the light and the dark scheme."""

    label: str
    low: float
    high: float
    logarithmic: bool
    light: list[str]
    dark: list[str]


class PaintedValue(Painted):
    """A value and its color."""

    value: str


class ValuesLegend(TypedDict):
    """Meaning of the colors: some values, and the number of further values."""

    label: str
    entries: list[PaintedValue]
    more: int


class Seeds(TypedDict):
    """Number of settings that were trained with several seeds, and the number of their runs."""

    settings: int
    runs: int


class Surroundings(TypedDict):
    """The run table without its rows."""

    columns: list[RunColumn]
    groups: list[RunGroup]
    group_error: str
    legend: ScaleLegend | ValuesLegend | None
    seeds: Seeds
    placeholder: str
    """Placeholder of the empty search field: a search that finds something."""
    total: int
    loading: bool
    found: int
    """Number of runs without a parent that pass the search, themselves or through a run that belongs to them."""
    whole_table: bool
    """Whether the page has all rows that pass the search."""
    unlisted: list[str]
    """Runs whose rows the page has although they are not among the first rows of the table."""
    searched: bool
    """Whether a valid search selected the rows."""
    last_default: int
    """Position of the last run shown by default, among all runs without a parent."""


class ChangedRows(TypedDict):
    """All rows that pass the search, or those that changed, and the runs that are gone."""

    whole: bool
    rows: list[RunRow]
    gone: list[str]


class Listing(ChangedRows, Surroundings):
    """Content of the run table; if it is not whole, the changes since version ``base``."""

    base: str
    version: str


class RunField(RunColumn):
    """A hyperparameter that can describe runs; ``differs`` is true if it has more than one value."""

    differs: bool


class MetricField(TypedDict):
    """A metric that can describe runs; ``spec`` stands for its last value in the URL."""

    tag: str
    spec: str


class RunFields(TypedDict):
    """Fields that can describe runs."""

    built_in: list[BuiltIn]
    hparams: list[RunField]
    metrics: list[MetricField]
    statistics: list[Statistic]
    examples: list[Example]
    depth: int


class Hit(TypedDict):
    """A run or tag that was found, with a tag's kind of data and the positions of the matched letters in the name."""

    kind: HitKind
    name: str
    data: str
    places: tuple[int, ...]


MESSAGES: Final = (Listing, RunFields, Hit)
