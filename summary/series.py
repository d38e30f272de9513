"""Runs and the series in them, as readers of a log directory get them: immutable."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.kinds.base import Payload
from stepscope.summary.scalar_summaries import ScalarSummary, summary_of

SCALARS: Final = "scalars"


@dataclass(frozen=True)
class Columns:
    """The points of one tag, in file order, as parallel columns of equal length.

    All arrays are read-only views; what they show never changes, although the writer may append behind them.
    """

    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]
    """Seconds since the epoch, as written."""
    values: NDArray[np.float64]
    """The numbers of a scalar tag; empty for every other kind, whose payloads are read on demand."""

    def __len__(self) -> int:
        return len(self.steps)


@dataclass(frozen=True)
class Resumption:
    """Where a run went on after points of the tag that a restart overwrote."""

    step: int
    """The first step after it."""
    wall_time: float
    superseded: int
    """Points that it overwrote."""


@dataclass(frozen=True, init=False)
class Series:
    """One tag of one run.

    ``kind`` is the plugin name ("scalars", "images", ...); it is fixed by the first value of the tag, as are
    ``display_name``, ``description`` and ``plugin_content``. ``version`` grows whenever a point is added or
    superseded, so equal versions of the same run and tag mean equal points.
    """

    run: str
    tag: str
    kind: str
    display_name: str
    description: str
    plugin_content: bytes
    version: int
    superseded: int
    """Points that a restart overwrote; they are not in the columns unless the log directory keeps them."""
    load_columns: Callable[[], Columns] = field(repr=False, compare=False)
    read_payload: Callable[[int], Payload] = field(repr=False, compare=False)
    count: int | None = field(default=None, repr=False, compare=False)
    """How many points there are, where that is known without the columns."""
    resumptions: tuple[Resumption, ...] = field(default=(), repr=False, compare=False)
    """The restarts that overwrote points, in order; at most `stepscope.summary.restarts.MOST_RESUMPTIONS`."""
    summarize: Callable[[], ScalarSummary | None] | None = field(default=None, repr=False, compare=False)
    """Gives `summary` where that is known without the columns."""
    writers: int = field(default=1, repr=False, compare=False)
    """How many files with points of the tag were written at one time, at most; the points of such files are in order of
    their steps, and of their wall times where steps are equal."""
    load_picture: Callable[[], Columns | None] | None = field(default=None, repr=False, compare=False)
    """Gives `picture` where there may be one."""

    def __init__(
        self,
        run: str,
        tag: str,
        kind: str,
        display_name: str,
        description: str,
        plugin_content: bytes,
        version: int,
        superseded: int,
        load_columns: Callable[[], Columns],
        read_payload: Callable[[int], Payload],
        count: int | None = None,
        resumptions: tuple[Resumption, ...] = (),
        writers: int = 1,
        summarize: Callable[[], ScalarSummary | None] | None = None,
        load_picture: Callable[[], Columns | None] | None = None,
    ) -> None:
        # At once: set one by one, as a frozen class would, they take a tenth of the time to open a thousand runs.
        self.__dict__.update(
            run=run,
            tag=tag,
            kind=kind,
            display_name=display_name,
            description=description,
            plugin_content=plugin_content,
            version=version,
            superseded=superseded,
            load_columns=load_columns,
            read_payload=read_payload,
            count=count,
            resumptions=resumptions,
            writers=writers,
            summarize=summarize,
            load_picture=load_picture,
        )

    @property
    def epoch(self) -> int:
        """Equal as long as points were only added behind those that there were: an index stays that of its point."""
        return self.superseded if self.writers == 1 else -self.version

    @cached_property
    def columns(self) -> Columns:
        """All points; joined from the run's files when first asked for."""
        return self.load_columns()

    @property
    def picture(self) -> Columns | None:
        """Few points that look like all of them in a chart, where they are sooner there than all; None where not.

        Raises:
            PayloadError: they are gone.
        """
        return self.load_picture() if self.load_picture is not None and self.may_have_picture else None

    @property
    def may_have_picture(self) -> bool:
        """Whether `picture` is worth asking for; nothing is read to tell."""
        return self.load_picture is not None and "columns" not in self.__dict__

    def with_points(self, columns: Columns) -> "Series":
        """Return the series as if it had no other points."""
        return Series(
            self.run,
            self.tag,
            self.kind,
            self.display_name,
            self.description,
            self.plugin_content,
            self.version,
            self.superseded,
            lambda: columns,
            self.read_payload,
            len(columns),
            self.resumptions,
            self.writers,
        )

    @property
    def steps(self) -> NDArray[np.int64]:
        return self.columns.steps

    @property
    def wall_times(self) -> NDArray[np.float64]:
        return self.columns.wall_times

    @property
    def values(self) -> NDArray[np.float64]:
        return self.columns.values

    @cached_property
    def summary(self) -> ScalarSummary | None:
        """What sums up the points of a scalar tag, with a look at them only where it must be; None where there is none.

        Raises:
            PayloadError: they are gone.
        """
        if self.summarize is not None and "columns" not in self.__dict__:
            return self.summarize()
        return summary_of(self.steps, self.wall_times, self.values)

    def __len__(self) -> int:
        return len(self.columns) if self.count is None else self.count

    def read(self, index: int) -> Payload:
        """Read and decode the payload of point ``index`` from its file.

        Raises:
            IndexError: there is no such point.
            PayloadError: the record is gone, damaged, or not what the kind expects.
        """
        if not 0 <= index < len(self):
            raise IndexError(f"{self.run!r} has {len(self)} points of {self.tag!r}; there is no number {index}")
        return self.read_payload(index)


class LazySeries(Mapping[str, Series]):
    """Series by tag that are made when they are asked for.

    No restart overwrote any of their points, and none has several writers at once.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def kinds(self) -> frozenset[str]:
        """Their kinds, without a look at any of them."""

    @abstractmethod
    def of_kind(self, kind: str) -> list[Series]:
        """Return those of one kind, in order of first appearance; no other is made."""

    @property
    @abstractmethod
    def described_by(self) -> object | None:
        """What their tags and kinds come from, the same object for runs that are alike; None where there is none."""

    @abstractmethod
    def has_texts(self, kind: str) -> bool:
        """Return whether one of a kind has a display name, a description or a plugin's content."""

    @property
    @abstractmethod
    def version(self) -> int:
        """That of each of them."""

    def kind_of(self, tag: str) -> str | None:
        """Return the kind of the series of a tag, not made for it where that can be; None where there is none."""
        series = self.get(tag)
        return None if series is None else series.kind

    def plugin_content(self, tag: str, kind: str) -> bytes | None:
        """Return that of the series of a tag, not made for it where that can be; None where none is of the kind."""
        series = self.get(tag)
        return series.plugin_content if series is not None and series.kind == kind else None

    def summary(self, tag: str) -> ScalarSummary | None:
        """Return that of a series that is there, which is not made for it where that can be; raises as its own."""
        return self[tag].summary

    def tags_of_kind(self, kind: str) -> list[str]:
        """Return the tags of one kind, in order of first appearance; no series is made where that can be."""
        return [series.tag for series in self.of_kind(kind)]

    def furthest_step(self, kind: str) -> int | None:
        """Return the greatest step of those of a kind, None without any; no series is made where that can be."""
        return _furthest_step(self.of_kind(kind))


@dataclass(frozen=True)
class Run:
    """One directory with event files or a dump of TensorFlow's debugger.

    Its name is the path relative to the log directory, "." for itself.
    """

    name: str
    first_wall_time: float
    """Wall time of the first event, or when the dump was begun.

    Runs are ordered by it, so that later runs leave earlier ones in place.
    """
    series: Mapping[str, Series]

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds of its series."""
        if isinstance(self.series, LazySeries):
            return self.series.kinds
        return frozenset(series.kind for series in self.series.values())

    @property
    def superseded(self) -> int:
        """Points that restarts overwrote."""
        return 0 if isinstance(self.series, LazySeries) else sum(s.superseded for s in self.series.values())

    @property
    def writers(self) -> int:
        """How many files with points of the same tag were written at one time, at most."""
        return 1 if isinstance(self.series, LazySeries) else max((s.writers for s in self.series.values()), default=1)

    def of_kind(self, kind: str) -> list[Series]:
        """Return the series of one kind, in order of first appearance."""
        if isinstance(self.series, LazySeries):
            return self.series.of_kind(kind)
        return [s for s in self.series.values() if s.kind == kind]

    def tags_of_kind(self, kind: str) -> list[str]:
        """Return the tags of one kind, in order of first appearance."""
        if isinstance(self.series, LazySeries):
            return self.series.tags_of_kind(kind)
        return [tag for tag, series in self.series.items() if series.kind == kind]

    def kind_of(self, tag: str) -> str | None:
        """Return the kind of the series of a tag; None where there is none."""
        if isinstance(self.series, LazySeries):
            return self.series.kind_of(tag)
        series = self.series.get(tag)
        return None if series is None else series.kind

    def furthest_step(self, kind: str) -> int | None:
        """Return the greatest step of the series of one kind; None where they have no point."""
        if isinstance(self.series, LazySeries):
            return self.series.furthest_step(kind)
        return _furthest_step(self.of_kind(kind))

    def summary(self, tag: str) -> ScalarSummary | None:
        """Return what sums up the points of a scalar tag; None where there are none.

        Raises:
            PayloadError: they are gone.
        """
        if isinstance(self.series, LazySeries):
            return self.series.summary(tag) if self.series.kind_of(tag) == SCALARS else None
        series = self.series.get(tag)
        return series.summary if series is not None and series.kind == SCALARS else None

    def plugin_content(self, tag: str, kind: str) -> bytes | None:
        """Return that of the series of a tag; None where there is none of the kind."""
        if isinstance(self.series, LazySeries):
            return self.series.plugin_content(tag, kind)
        series = self.series.get(tag)
        return series.plugin_content if series is not None and series.kind == kind else None


def _furthest_step(series: Iterable[Series]) -> int | None:
    return max((int(each.steps.max()) for each in series if len(each)), default=None)
