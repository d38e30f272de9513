"""What readers of a log directory get: immutable runs, tags and series under one revision number."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from summary.kinds.base import Payload

SCALARS = "scalars"


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

    @cached_property
    def columns(self) -> Columns:
        """All points; joined from the run's files when first asked for."""
        return self.load_columns()

    @property
    def steps(self) -> NDArray[np.int64]:
        return self.columns.steps

    @property
    def wall_times(self) -> NDArray[np.float64]:
        return self.columns.wall_times

    @property
    def values(self) -> NDArray[np.float64]:
        return self.columns.values

    def __len__(self) -> int:
        return len(self.columns)

    def read(self, index: int) -> Payload:
        """Reads and decodes the payload of point ``index`` from its file.

        Raises:
            IndexError: there is no such point.
            PayloadError: the record is gone, damaged, or not what the kind expects.
        """
        if not 0 <= index < len(self):
            raise IndexError(f"{self.run!r} has {len(self)} points of {self.tag!r}; there is no number {index}")
        return self.read_payload(index)


@dataclass(frozen=True)
class Run:
    """One directory that holds event files; its name is the path relative to the log directory, "." for itself."""

    name: str
    first_wall_time: float
    """Wall time of the first event; runs are ordered by it, so that later runs leave earlier ones in place."""
    series: Mapping[str, Series]

    def of_kind(self, kind: str) -> list[Series]:
        """The series of one kind, in order of first appearance."""
        return [s for s in self.series.values() if s.kind == kind]


@dataclass(frozen=True)
class Damage:
    """A stretch of a file that could not be read."""

    offset: int
    length: int
    reason: str


@dataclass(frozen=True)
class FileHealth:
    """What was read from one event file, and what was not."""

    path: str
    run: str
    bytes_read: int
    """Offset up to which the file was read."""
    size: int
    records: int
    damages: tuple[Damage, ...]
    """The first of them; ``damage_count`` has them all."""
    damage_count: int
    waiting: bool
    """The file ends inside a record, which is read when the rest arrives."""
    error: str = ""
    """Why the file cannot be opened, if it cannot."""


@dataclass(frozen=True)
class Companion:
    """A file in the log directory that is no event file but belongs to a run, such as a trace."""

    run: str
    relative_path: PurePosixPath
    path: str
    size: int
    modified_ns: int


@dataclass(frozen=True)
class Snapshot:
    """A log directory at one moment."""

    revision: int
    """Grows whenever anything below differs from the snapshot before."""
    runs: Mapping[str, Run]
    companions: tuple[Companion, ...] = ()
    health: tuple[FileHealth, ...] = ()
    loading: bool = False
    """The first pass over the files is still under way; more is to come."""

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Every kind that some run has."""
        return frozenset(series.kind for run in self.runs.values() for series in run.series.values())

    @property
    def damage_count(self) -> int:
        return sum(h.damage_count for h in self.health)

    @property
    def superseded(self) -> int:
        return sum(s.superseded for run in self.runs.values() for s in run.series.values())

    def series(self, run: str, tag: str) -> Series | None:
        """The series of a tag, or None where the run or the tag does not exist."""
        found = self.runs.get(run)
        return found.series.get(tag) if found is not None else None


EMPTY_SNAPSHOT = Snapshot(revision=0, runs=MappingProxyType({}))
