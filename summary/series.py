"""Runs and their series, as immutable objects for readers of a log directory."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.counts import counted
from stepscope.summary.kinds.base import Payload
from stepscope.summary.scalar_summaries import ScalarSummary, summary_of

SCALARS: Final = "scalars"


@dataclass(frozen=True)
class Columns:
    """The points of one tag, in file order, as parallel columns of equal length.

    All arrays are read-only views whose values never change, although the writer may append after them.
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
    """Where a run resumed after a restart that overwrote points of the tag."""

    step: int
    """The first step after the restart."""
    wall_time: float
    superseded: int
    """Number of points that the restart overwrote."""


@dataclass(frozen=True, init=False)
class Series:
    """One tag of one run.

    ``kind`` is the plugin name ("scalars", "images", ...); the first value of the tag determines it, as
    well as ``display_name``, ``description`` and ``plugin_content``. ``version`` increases whenever a point is added or
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
    """Number of points that a restart overwrote; the columns omit them unless the log directory keeps them."""
    load_columns: Callable[[], Columns] = field(repr=False, compare=False)
    read_payload: Callable[[int], Payload] = field(repr=False, compare=False)
    count: int | None = field(default=None, repr=False, compare=False)
    """Number of points, if known without the columns."""
    resumptions: tuple[Resumption, ...] = field(default=(), repr=False, compare=False)
    """The restarts that overwrote points, in order; at most `stepscope.summary.restarts.MOST_RESUMPTIONS`."""
    summarize: Callable[[], ScalarSummary | None] | None = field(default=None, repr=False, compare=False)
    """Returns `summary` if it is known without the columns."""
    writers: int = field(default=1, repr=False, compare=False)
    """Maximum number of files with points of the tag that were written at the same time; points of such files are
    ordered by step, then by wall time."""
    load_picture: Callable[[], Columns | None] | None = field(default=None, repr=False, compare=False)
    """Returns `picture`, if there may be one."""

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
        # At once: setting them singly, as a frozen class would, takes a tenth of the time to open a thousand runs.
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
    def epoch(self) -> tuple[bytes, int]:
        """Equal as long as points were only appended, so that every point keeps its index and content.

        It includes the bytes of the first wall time, which differs if the run was deleted and written again.
        """
        return self.wall_times[:1].tobytes(), self.superseded if self.writers == 1 else -self.version

    @cached_property
    def columns(self) -> Columns:
        """All points; joined from the run's files on first access."""
        return self.load_columns()

    @property
    def picture(self) -> Columns | None:
        """A few points that look like all of them in a chart; None if they are no faster to get than all points.

        Raises:
            PayloadError: the points no longer exist.
        """
        return self.load_picture() if self.load_picture is not None and self.may_have_picture else None

    @property
    def may_have_picture(self) -> bool:
        """Whether `picture` is worth requesting; determined without reading anything."""
        return self.load_picture is not None and "columns" not in self.__dict__

    def with_points(self, columns: Columns) -> "Series":
        """Return the series with these points only."""
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
        """Summary of the points of a scalar tag, which are read only if necessary; None if there is no summary.

        Raises:
            PayloadError: the points no longer exist.
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
            PayloadError: the record no longer exists, is damaged, or is not what the kind expects.
        """
        if not 0 <= index < len(self):
            raise IndexError(
                f"{self.run!r} has {counted(len(self), 'point')} of {self.tag!r}; the index {index} is out of range"
            )
        return self.read_payload(index)


class LazySeries(Mapping[str, Series]):
    """Series by tag, created on access.

    No restart overwrote any of their points, and none has several concurrent writers.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def kinds(self) -> frozenset[str]:
        """The kinds of the series, determined without creating any."""

    @abstractmethod
    def of_kind(self, kind: str) -> list[Series]:
        """Return the series of one kind, in order of first appearance, without creating others."""

    @property
    @abstractmethod
    def described_by(self) -> object | None:
        """The source of their tags and kinds, the same object for similar runs; None if there is none."""

    @abstractmethod
    def has_texts(self, kind: str) -> bool:
        """Return whether any series of a kind has a display name, a description or plugin content."""

    @property
    @abstractmethod
    def version(self) -> int:
        """The version that every series has."""

    def kind_of(self, tag: str) -> str | None:
        """Return the kind of a tag's series, if possible without creating it; None if there is none."""
        series = self.get(tag)
        return None if series is None else series.kind

    def plugin_content(self, tag: str, kind: str) -> bytes | None:
        """Return the plugin content of a tag's series, if possible without creating it; None if not of the kind."""
        series = self.get(tag)
        return series.plugin_content if series is not None and series.kind == kind else None

    def summary(self, tag: str) -> ScalarSummary | None:
        """Return the summary of an existing series, if possible without creating it; raises as `Series.summary`."""
        return self[tag].summary

    def tags_of_kind(self, kind: str) -> list[str]:
        """Return the tags of one kind, in order of first appearance, if possible without creating any series."""
        return [series.tag for series in self.of_kind(kind)]

    def furthest_step(self, kind: str) -> int | None:
        """Return the greatest step of a kind, if possible without creating any series; None if there is none."""
        return _furthest_step(self.of_kind(kind))


@dataclass(frozen=True)
class Run:
    """One directory with event files or a dump of TensorFlow's debugger.

    Its name is the path relative to the log directory, or "." for the log directory itself.
    """

    name: str
    first_wall_time: float
    """Wall time of the first event, or of the start of the dump.

    Runs are ordered by it, so that later runs do not move earlier ones.
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
        """Number of points that restarts overwrote."""
        return 0 if isinstance(self.series, LazySeries) else sum(s.superseded for s in self.series.values())

    @property
    def writers(self) -> int:
        """Maximum number of files with points of the same tag that were written at the same time."""
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
        """Return the kind of a tag's series; None if there is none."""
        if isinstance(self.series, LazySeries):
            return self.series.kind_of(tag)
        series = self.series.get(tag)
        return None if series is None else series.kind

    def furthest_step(self, kind: str) -> int | None:
        """Return the greatest step of the series of one kind; None if they have no points."""
        if isinstance(self.series, LazySeries):
            return self.series.furthest_step(kind)
        return _furthest_step(self.of_kind(kind))

    def summary(self, tag: str) -> ScalarSummary | None:
        """Return the summary of a scalar tag's points; None if there are none.

        Raises:
            PayloadError: the points no longer exist.
        """
        if isinstance(self.series, LazySeries):
            return self.series.summary(tag) if self.series.kind_of(tag) == SCALARS else None
        series = self.series.get(tag)
        return series.summary if series is not None and series.kind == SCALARS else None

    def plugin_content(self, tag: str, kind: str) -> bytes | None:
        """Return the plugin content of a tag's series; None if there is no such series of the kind."""
        if isinstance(self.series, LazySeries):
            return self.series.plugin_content(tag, kind)
        series = self.series.get(tag)
        return series.plugin_content if series is not None and series.kind == kind else None


def _furthest_step(series: Iterable[Series]) -> int | None:
    return max((int(each.steps.max()) for each in series if len(each)), default=None)
