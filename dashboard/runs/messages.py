"""What the page is told of runs, as JSON; its types of it are made from these."""

from typing import Final, Literal, TypedDict

from stepscope.dashboard.runs.examples import Example
from stepscope.dashboard.runs.expression import BuiltIn
from stepscope.dashboard.runs.facts import Statistic
from stepscope.dashboard.runs.search import HitKind


class Painted(TypedDict):
    """What is drawn in one color in the light scheme, and in another in the dark one."""

    light: str
    dark: str


class RunRow(Painted):
    """A run; of its values, numbers that JSON has not are "NaN", "Infinity" and "-Infinity"."""

    run: str
    label: str
    """What it is called on the screen."""
    parent: str | None
    """The run that it belongs to, as lines of ``add_scalars`` do."""
    order: int
    """Its place among the runs that belong to no other, by their first events; that of its parent where it has one."""
    started: float
    """Seconds since 1970 of its first event."""
    group: int | None
    """Its place among the groups."""
    values: list[float | str | bool | None]
    """One for each column."""


class RunColumn(TypedDict):
    """A hyperparameter or metric that runs are described by."""

    spec: str
    label: str
    kind: Literal["hparam", "metric"]


class RunGroup(Painted):
    """A group of runs."""

    label: str
    count: int
    """Runs that it has, whether or not they pass the search."""
    found: int
    """Runs that pass the search."""
    order: int
    """Place of the first of these."""
    started: float
    """When that began."""
    values: list[float | str | bool | None]
    """For each column what its runs have in common, or the mean of a metric."""
    means: list[bool]
    """Where its runs differ."""


class ScaleLegend(TypedDict):
    """What colors tell: a scale of numbers, with the colors along it, light and dark."""

    label: str
    low: float
    high: float
    logarithmic: bool
    light: list[str]
    dark: list[str]


class PaintedValue(Painted):
    """A value, and its color."""

    value: str


class ValuesLegend(TypedDict):
    """What colors tell: some values, and how many there are besides."""

    label: str
    entries: list[PaintedValue]
    more: int


class Seeds(TypedDict):
    """How many settings were trained with several seeds, and with how many runs."""

    settings: int
    runs: int


class Surroundings(TypedDict):
    """What surrounds the rows of runs."""

    columns: list[RunColumn]
    groups: list[RunGroup]
    group_error: str
    legend: ScaleLegend | ValuesLegend | None
    seeds: Seeds
    placeholder: str
    """What stands in the empty search: a search that finds something."""
    total: int
    loading: bool
    found: int
    """Runs that belong to no other, and pass the search with what belongs to them."""
    whole_table: bool
    """Whether the page has all rows that pass the search."""
    unlisted: list[str]
    """Runs whose rows the page has, that are not among the first ones of the table."""
    searched: bool
    """Whether a search that is understood chose the rows."""
    last_default: int
    """The place of the last run that is on by default, among all that belong to no other."""


class ChangedRows(TypedDict):
    """All rows that pass the search, or those that changed, and the runs that are gone."""

    whole: bool
    rows: list[RunRow]
    gone: list[str]


class Listing(ChangedRows, Surroundings):
    """What the table of runs shows; where it is not whole, what changed since the version ``base``."""

    base: str
    version: str


class RunField(RunColumn):
    """A hyperparameter that runs can be described by; one that differs has not one value in all runs."""

    differs: bool


class MetricField(TypedDict):
    """A metric that runs can be described by, and how its last value is written in the address."""

    tag: str
    spec: str


class RunFields(TypedDict):
    """What runs can be described by."""

    built_in: list[BuiltIn]
    hparams: list[RunField]
    metrics: list[MetricField]
    statistics: list[Statistic]
    examples: list[Example]
    depth: int


class Hit(TypedDict):
    """A run or a tag that was found, a tag with its kind of data; and where in the name the letters are."""

    kind: HitKind
    name: str
    data: str
    places: tuple[int, ...]


MESSAGES: Final = (Listing, RunFields, Hit)
