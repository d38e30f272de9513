"""The contents of a log directory at one moment: runs, other files, and what could not be read."""

import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from stepscope.summary.names import readable_name
from stepscope.summary.series import LazySeries, Run, Series
from stepscope.summary.storage import read_at

LARGEST_FRAME: Final = 1 << 30
"""Default maximum for the bytes of images, histograms and similar data in a table."""


@dataclass(frozen=True)
class Damage:
    """A stretch of a file that could not be read."""

    offset: int
    length: int
    reason: str


@dataclass(frozen=True, slots=True)
class FileHealth:
    """What was read from one event file, and what was not."""

    path: str
    run: str
    bytes_read: int
    """Offset up to which the file was read."""
    size: int
    records: int
    damages: tuple[Damage, ...]
    """The first damages; ``damage_count`` counts all of them."""
    damage_count: int
    waiting: bool
    """The file ends inside a record, which is read when the rest arrives."""
    error: str = ""
    """Why the file cannot be opened; empty if it can."""
    superseded: int = 0
    """Points of the file that a restart overwrote."""
    skipped_bytes: int = 0
    """Bytes covered by all damages, including those that ``damages`` leaves out."""
    writers: int = 1
    """Maximum number of files of the run, including this one, that were written at one time with the same tags."""
    growing: bool = False
    """The file was written to within `stepscope.summary.staged_run.GROWING_SECONDS`."""
    is_folder: bool = False
    """The path is a folder that cannot be listed; ``error`` says why."""
    modified: float | None = field(default=None, compare=False)
    """Time of the last write, in seconds since 1970; None for a folder, or if it is not known.

    A file that was only touched compares equal.
    """


class LeftOut(NamedTuple):
    """How much of a log directory cannot be shown or is not shown."""

    damages: int = 0
    """Damaged stretches of files."""
    files: int = 0
    """Files that cannot be read."""
    folders: int = 0
    """Folders that cannot be listed."""
    points: int = 0
    """Points that restarts overwrote."""

    def plus(self, other: "LeftOut") -> "LeftOut":
        """Return the sum of both."""
        return LeftOut(*map(operator.add, self, other))


@dataclass(frozen=True)
class Companion:
    """A file in the log directory that is not an event file but belongs to a run, such as a trace."""

    run: str
    relative_path: PurePosixPath
    path: str
    """The local path, or the address."""
    size: int
    modified_ns: int
    root: str = ""
    """The path or the address of the log directory; empty if it is not known."""
    recognized: str = ""
    """Its kind by content, as named by a `stepscope.summary.recognition.Recognizer`; empty if it was not checked."""

    def read(self) -> bytes:
        """Return the whole content; raises OSError."""
        return read_at(self.path)


@dataclass(frozen=True)
class Contents:
    """A log directory at one moment."""

    revision: int
    """Grows whenever anything below differs from the previous contents."""
    runs: Mapping[str, Run]
    companions: tuple[Companion, ...] = ()
    health: tuple[FileHealth, ...] = ()
    loading: bool = False
    """The first pass over the files is still under way; more is to come."""
    name: str = ""
    """The log directory's own name, without the path to it; empty if it is not known."""

    def run_title(self, run: str) -> str:
        """Return the title of a run: its name, or the directory's name for the run of the log directory itself."""
        return self.name or run if run == "." else run

    @cached_property
    def kinds(self) -> frozenset[str]:
        """All kinds that any run has."""
        return frozenset[str]().union(*(run.kinds for run in self._different_runs))

    @cached_property
    def tags(self) -> frozenset[str]:
        """All tags that any run has."""
        return frozenset[str]().union(*(run.series for run in self._different_runs))

    @property
    def _different_runs(self) -> Iterator[Run]:
        """Yield the runs, but only one of those that have the same tags of the same kinds."""
        seen: set[int] = set()
        for run in self.runs.values():
            described_by = run.series.described_by if isinstance(run.series, LazySeries) else None
            if described_by is None or id(described_by) not in seen:
                yield run
            seen.add(id(described_by))

    @property
    def damage_count(self) -> int:
        return sum(h.damage_count for h in self.health)

    @property
    def superseded(self) -> int:
        return sum(run.superseded for run in self.runs.values())

    @property
    def left_out(self) -> LeftOut:
        """What is missing from the series."""
        folders = sum(file.is_folder for file in self.health)
        closed = sum(bool(file.error) for file in self.health) - folders
        return LeftOut(self.damage_count, closed, folders, self.superseded)

    @property
    def written_at_once(self) -> dict[str, int]:
        """The runs that several writers wrote to at once, with the number of writers."""
        return {run.name: writers for run in self.runs.values() if (writers := run.writers) > 1}

    def series(self, run: str, tag: str) -> Series | None:
        """Return the series of a tag, given as it was written or as it is shown.

        Return None if the run or the tag does not exist.
        """
        found = self.runs.get(run)
        if found is None:
            return None
        series = found.series.get(tag)
        return found.series.get(readable_name(tag)) if series is None else series
