"""What readers of a log directory get: immutable runs, tags and series under one revision number."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from summary.kinds.base import Payload
from summary.names import readable_name
from summary.storage import read_at

if TYPE_CHECKING:
    import polars as pl

    from summary.frames.selection import Names

SCALARS = "scalars"
LARGEST_FRAME = 1 << 30
"""Bytes of images, histograms and the like that a table may hold unless told otherwise."""


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
    """The restarts that overwrote points, in order; at most `summary.restarts.MOST_RESUMPTIONS`."""
    writers: int = field(default=1, repr=False, compare=False)
    """How many files with points of the tag were written at one time, at most; the points of such files are in order of
    their steps, and of their wall times where steps are equal."""

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
    def steps(self) -> NDArray[np.int64]:
        return self.columns.steps

    @property
    def wall_times(self) -> NDArray[np.float64]:
        return self.columns.wall_times

    @property
    def values(self) -> NDArray[np.float64]:
        return self.columns.values

    def __len__(self) -> int:
        return len(self.columns) if self.count is None else self.count

    def read(self, index: int) -> Payload:
        """Reads and decodes the payload of point ``index`` from its file.

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

    @property
    @abstractmethod
    def kinds(self) -> frozenset[str]:
        """Their kinds, without a look at any of them."""


@dataclass(frozen=True)
class Run:
    """One directory that holds event files; its name is the path relative to the log directory, "." for itself."""

    name: str
    first_wall_time: float
    """Wall time of the first event; runs are ordered by it, so that later runs leave earlier ones in place."""
    series: Mapping[str, Series]

    @property
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
    superseded: int = 0
    """Points of the file that a restart overwrote."""
    skipped_bytes: int = 0
    """How many bytes all damages cover, those that ``damages`` leaves out too."""
    writers: int = 1
    """How many files of the run, this one among them, were written at one time with the same tags, at most."""
    growing: bool = False
    """Something was written to it within `summary.staged_run.GROWING_SECONDS`."""
    is_folder: bool = False
    """It is a folder that cannot be listed; ``error`` says why."""


@dataclass(frozen=True)
class Companion:
    """A file in the log directory that is no event file but belongs to a run, such as a trace."""

    run: str
    relative_path: PurePosixPath
    path: str
    """The local path, or the address."""
    size: int
    modified_ns: int
    root: str = ""
    """The path or the address of the log directory; empty where it is not known."""

    def read(self) -> bytes:
        """The whole content; raises OSError."""
        return read_at(self.path)


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
        return frozenset[str]().union(*(run.kinds for run in self.runs.values()))

    @property
    def damage_count(self) -> int:
        return sum(h.damage_count for h in self.health)

    @property
    def superseded(self) -> int:
        return sum(run.superseded for run in self.runs.values())

    @property
    def written_at_once(self) -> dict[str, int]:
        """The runs that several writers wrote to at once, with how many."""
        return {run.name: writers for run in self.runs.values() if (writers := run.writers) > 1}

    def series(self, run: str, tag: str) -> Series | None:
        """The series of a tag, as it was written or as it is shown; None where the run or the tag does not exist."""
        found = self.runs.get(run)
        if found is None:
            return None
        series = found.series.get(tag)
        return found.series.get(readable_name(tag)) if series is None else series

    def scalars(
        self, runs: "Names" = None, tags: "Names" = None, *, pivot: bool = False, wall_time: bool = True
    ) -> "pl.DataFrame":
        """Every point of every scalar, as a Polars table.

        Rows are in the order of runs, then of the tags' first appearance, then of the points. NaN and the infinities
        are as written; null is only what does not exist.

        Args:
            runs: a regular expression that is searched for anywhere in a name, ignoring case; or whole names in a
                collection; None for all.
            tags: the same for tags.
            pivot: one row per run and step, sorted by step, with a Float64 column per tag. Where a tag has a step
                several times, the step has several rows, and the n-th point of each tag is in the n-th of them. A tag
                named "run" or "step" gets the column "run (tag)" or "step (tag)".
            wall_time: with the column ``wall_time``; the pivot form has none, as tags differ in it.

        Returns:
            Columns run (Categorical), tag (Categorical), step (Int64), wall_time (Float64, seconds since the epoch),
            value (Float64).

        Raises:
            TypeError: ``runs`` or ``tags`` is neither a string nor a collection of strings.
            SelectionError: a `ValueError`; an expression is invalid or takes too long, or no such name exists.
        """
        from summary import frames

        return frames.scalars(self, runs, tags, pivot=pivot, wall_time=wall_time)

    def histograms(
        self, runs: "Names" = None, tags: "Names" = None, *, last: int | None = None, max_bytes: int = LARGEST_FRAME
    ) -> "pl.DataFrame":
        """Histograms as a Polars table, one row per point.

        The payloads are read from the files at once. One that cannot be read is null, and ``error`` says why.

        Args:
            runs: as for `scalars`.
            tags: as for `scalars`.
            last: only so many points of each series, from its end.
            max_bytes: how much payload the table may hold.

        Returns:
            Columns run, tag, step, wall_time; left, right, count (List of Float64: the buckets' edges and how many
            values are in each); nan, positive_infinite, negative_infinite, below, above (Int64: values in no bucket);
            error (String).

        Raises:
            TypeError, ValueError: as for `scalars`; or ``last`` is no whole number above 0.
            SelectionError: also, the payloads need more than ``max_bytes``.
        """
        from summary import frames

        return frames.histograms(self, runs, tags, last=last, max_bytes=max_bytes)

    def tensors(
        self, runs: "Names" = None, tags: "Names" = None, *, last: int | None = None, max_bytes: int = LARGEST_FRAME
    ) -> "pl.DataFrame":
        """Tensors, PR curves and meshes as a Polars table, one row per point; arguments and errors as `histograms`.

        Tensors of no kind, and of kinds that Stepscope does not know, are among them. `summary.frames.to_arrays` makes
        NumPy arrays of the rows.

        Returns:
            Columns run, tag, step, wall_time; kind (Categorical: "tensor", "pr_curves", "mesh", "" or another); dtype
            (String, NumPy's name); shape (List of Int64); content (Binary: the numbers, row-major, little endian);
            error (String).
        """
        from summary import frames

        return frames.tensors(self, runs, tags, last=last, max_bytes=max_bytes)

    def images(
        self, runs: "Names" = None, tags: "Names" = None, *, last: int | None = None, max_bytes: int = LARGEST_FRAME
    ) -> "pl.DataFrame":
        """Images as a Polars table, one row per picture; arguments and errors as `histograms`.

        Returns:
            Columns run, tag, step, wall_time; sample (Int64, from 0; null if the point has no picture or cannot be
            read); width, height (Int64, pixels); encoded (Binary: PNG, JPEG or GIF, as written); error (String).
        """
        from summary import frames

        return frames.images(self, runs, tags, last=last, max_bytes=max_bytes)

    def audio(
        self, runs: "Names" = None, tags: "Names" = None, *, last: int | None = None, max_bytes: int = LARGEST_FRAME
    ) -> "pl.DataFrame":
        """Audio as a Polars table, one row per clip; arguments and errors as `histograms`.

        Returns:
            Columns run, tag, step, wall_time; sample (Int64, as for `images`); content_type (String, such as
            "audio/wav"); label (String, Markdown); encoded (Binary, as written); error (String).
        """
        from summary import frames

        return frames.audio(self, runs, tags, last=last, max_bytes=max_bytes)

    def texts(
        self, runs: "Names" = None, tags: "Names" = None, *, last: int | None = None, max_bytes: int = LARGEST_FRAME
    ) -> "pl.DataFrame":
        """Text as a Polars table, one row per point; arguments and errors as `histograms`.

        Returns:
            Columns run, tag, step, wall_time; shape (List of Int64, empty for a single text); text (List of String,
            row-major); error (String).
        """
        from summary import frames

        return frames.texts(self, runs, tags, last=last, max_bytes=max_bytes)

    def hparams(self, runs: "Names" = None) -> "pl.DataFrame":
        """Hyperparameters and metrics as a Polars table, one row per session.

        A metric's value is the last point of its scalar, in the session's run or in the folder below it that the
        metric names as its group. The metrics are those that any experiment of the log directory declares; where none
        declares one, every scalar of the sessions.

        Args:
            runs: as for `scalars`: the sessions.

        Returns:
            Columns run (Categorical); group (String, the run where the session has none); status (Categorical:
            "running" until the session ended, "success", "failure" or "unknown"); start_time, end_time (Float64,
            seconds since the epoch, null where not given); one per hyperparameter (Boolean, Float64 or String; String
            where sessions differ in type); one per metric (Float64). A hyperparameter or metric whose column is taken
            gets "(hyperparameter)" or "(metric)" after its name.

        Raises:
            TypeError, SelectionError: as for `scalars`.
        """
        from summary import frames

        return frames.hparams(self, runs)

    def summaries(self, runs: "Names" = None, tags: "Names" = None) -> "pl.DataFrame":
        """What there is, as a Polars table: one row per series of any kind; arguments and errors as `scalars`.

        Returns:
            Columns run, tag, kind (Categorical); points (Int64); first_step, last_step (Int64); first_wall_time,
            last_wall_time (Float64, seconds since the epoch); superseded (Int64: points that a restart overwrote);
            writers (Int64: how many wrote the tag at once, at most); display_name, description (String).
        """
        from summary import frames

        return frames.summaries(self, runs, tags)

    def runs_frame(self, runs: "Names" = None) -> "pl.DataFrame":
        """The runs as a Polars table; arguments and errors as `scalars`.

        Returns:
            Columns run (Categorical); tags, points (Int64); last_step (Int64: the furthest of its series); start
            (Float64, seconds since the epoch: the earliest point); duration (Float64, seconds to the latest point);
            files, size (Int64: event files and their bytes); superseded, writers (at once, at most), damages (Int64).
        """
        from summary import frames

        return frames.runs_frame(self, runs)

    def health_frame(self) -> "pl.DataFrame":
        """What was read of each event file, and what was not, as a Polars table.

        Returns:
            Columns path (String); run (Categorical); records, bytes_read, size (Int64); waiting (Boolean: the file ends
            inside a record); superseded (Int64: points that a restart overwrote); writers (Int64: how many files of the
            run were written at once with the same tags, at most); damage_count, skipped_bytes (Int64); damages (List of
            Struct: offset, length, reason; the first of them); growing (Boolean: written to within the last minute);
            error (String: why the file cannot be opened, or the folder cannot be listed).
        """
        from summary import frames

        return frames.health_frame(self)


EMPTY_SNAPSHOT = Snapshot(revision=0, runs=MappingProxyType({}))
