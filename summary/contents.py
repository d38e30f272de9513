"""What a log directory holds at one moment: runs, other files, and what could not be read."""

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
"""Bytes of images, histograms and the like that a table may hold unless told otherwise."""


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
    """The first of them; ``damage_count`` has them all."""
    damage_count: int
    waiting: bool
    """The file ends inside a record, which is read when the rest arrives."""
    error: str = ""
    """Why the file cannot be opened, if it cannot."""
    superseded: int = 0
    """Points of the file that a restart overwrote."""
    skipped_bytes: int = 0
    """How many bytes all damages cover, those that ``damages`` leaves out too."""
    writers: int = 1
    """How many files of the run, this one among them, were written at one time with the same tags, at most."""
    growing: bool = False
    """Something was written to it within `stepscope.summary.staged_run.GROWING_SECONDS`."""
    is_folder: bool = False
    """It is a folder that cannot be listed; ``error`` says why."""
    modified: float | None = field(default=None, compare=False)
    """When it was last written to, in seconds since 1970; None where it is a folder, or that is not known.

    A file that was only touched is no news.
    """


class LeftOut(NamedTuple):
    """How much of a log directory cannot be shown, or is not."""

    damages: int = 0
    """Stretches of files."""
    files: int = 0
    """That cannot be read."""
    folders: int = 0
    """That cannot be listed."""
    points: int = 0
    """That restarts overwrote."""

    def plus(self, other: "LeftOut") -> "LeftOut":
        """Return both together."""
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
    """The path or the address of the log directory; empty where it is not known."""
    recognized: str = ""
    """What its content says it is, as a `stepscope.summary.recognition.Recognizer` says; empty if nobody looked."""

    def read(self) -> bytes:
        """Return the whole content; raises OSError."""
        return read_at(self.path)


@dataclass(frozen=True)
class Contents:
    """A log directory at one moment."""

    revision: int
    """Grows whenever anything below differs from the contents before."""
    runs: Mapping[str, Run]
    companions: tuple[Companion, ...] = ()
    health: tuple[FileHealth, ...] = ()
    loading: bool = False
    """The first pass over the files is still under way; more is to come."""
    name: str = ""
    """The log directory's own name, without the path to it; empty where it is not known."""

    def run_title(self, run: str) -> str:
        """Return what a run is called: the one of the log directory itself by the directory's name."""
        return self.name or run if run == "." else run

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Every kind that some run has."""
        return frozenset[str]().union(*(run.kinds for run in self._different_runs))

    @cached_property
    def tags(self) -> frozenset[str]:
        """Every tag that some run has."""
        return frozenset[str]().union(*(run.series for run in self._different_runs))

    @property
    def _different_runs(self) -> Iterator[Run]:
        """Yield runs, of those that have the same tags of the same kinds only one."""
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
        """What is not in the series."""
        folders = sum(file.is_folder for file in self.health)
        closed = sum(bool(file.error) for file in self.health) - folders
        return LeftOut(self.damage_count, closed, folders, self.superseded)

    @property
    def written_at_once(self) -> dict[str, int]:
        """The runs that several writers wrote to at once, with how many."""
        return {run.name: writers for run in self.runs.values() if (writers := run.writers) > 1}

    def series(self, run: str, tag: str) -> Series | None:
        """Return the series of a tag, as it was written or as it is shown.

        None where the run or the tag does not exist.
        """
        found = self.runs.get(run)
        if found is None:
            return None
        series = found.series.get(tag)
        return found.series.get(readable_name(tag)) if series is None else series
