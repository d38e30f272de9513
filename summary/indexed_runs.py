"""The runs of a log directory according to its index, before anything has looked at the directory itself.

Names of runs and tags, and summaries of scalars, come from the index. So do points if the event file is still as it was
when it was read, which is checked at each request; otherwise, they are read from the event file, and are gone if that
is another file.
"""

import errno
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

import msgspec

from stepscope.summary.blob_cache import BlobCache
from stepscope.summary.event_file import EventFile
from stepscope.summary.index_lists import IndexedFile, SegmentFiles
from stepscope.summary.local_source import look_at
from stepscope.summary.log_index import IndexedFiles
from stepscope.summary.packed_points import PackedTable
from stepscope.summary.points import TagState
from stepscope.summary.restarts import turns
from stepscope.summary.scalar_summaries import ScalarSummary
from stepscope.summary.series import LazySeries, Run, Series
from stepscope.summary.source import Opener, Source, readable
from stepscope.summary.stored_points import NONE_SAID, StoredPoints, Texts
from stepscope.summary.stored_series import StoredFile, StoredSeries, are_plain

_MAKING: Final = threading.Lock()


class _File(NamedTuple):
    """An event file, by its place in a segment's list, and the data needed to put it in its run."""

    path: str
    files: SegmentFiles
    place: int
    table: PackedTable
    first_wall_time: float
    span: tuple[float, float]
    session_starts: int

    @property
    def texts(self) -> Texts:
        """The texts in the first values of its tags."""
        try:
            return self.files.texts(self.place)
        except msgspec.DecodeError:
            return NONE_SAID


class IndexedRuns(Mapping[str, Run]):
    """The runs in the index, in order of first event; any thread may read it.

    A run is left out if all its points must be examined to know which of them are shown: a step goes back, files were
    written at once, or a session was restarted.

    Args:
        files: the files in the index.
        source: where the event files are, some of which are on this machine.
        blobs: keeps payloads that were read.
        number: returns the numbers by which ``blobs`` distinguishes event files.
        version: the version of all series.
        keep_superseded: show points that a restart overwrote.
        before: the runs shown when the index had less; runs with the same files are reused.
    """

    def __init__(
        self,
        files: IndexedFiles,
        source: Source,
        blobs: BlobCache,
        number: Callable[[], int],
        version: int,
        *,
        keep_superseded: bool,
        before: "IndexedRuns | None" = None,
    ) -> None:
        self.version: Final = version
        self._source: Final = source
        self._blobs: Final = blobs
        self._number: Final = number
        by_folder: dict[str, list[_File]] = {}
        for file in _files(files):
            by_folder.setdefault(file.path.rpartition("/")[0] or ".", []).append(file)
        runs: list[Run] = []
        for folder, of_run in by_folder.items():
            known = None if before is None else before.with_files(readable(folder), {file.path for file in of_run})
            if known is not None:
                runs.append(known)
                continue
            in_order = _in_order(of_run, keep_superseded=keep_superseded)
            if in_order:
                firsts = [file.first_wall_time for file in in_order if not math.isnan(file.first_wall_time)]
                name = readable(folder)
                runs.append(Run(name, min(firsts, default=math.inf), _IndexedSeries(self, name, in_order)))
        runs.sort(key=lambda run: (run.first_wall_time, run.name))
        self._runs: Final = {run.name: run for run in runs}

    def __getitem__(self, name: str) -> Run:
        return self._runs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    def version_of(self, run: str, paths: Iterable[PurePosixPath]) -> int | None:
        """Return the version of a run's series if the run has exactly these files."""
        found = self.with_files(run, set(map(str, paths)))
        return found.series.version if found is not None and isinstance(found.series, _IndexedSeries) else None

    def with_files(self, run: str, paths: Set[str]) -> Run | None:
        """Return a run if it has exactly these files."""
        found = self._runs.get(run)
        series = None if found is None else found.series
        return found if isinstance(series, _IndexedSeries) and series.paths == paths else None

    def stored(self, run: str, files: Iterable[_File]) -> StoredSeries:
        """Return the series of a run, given its files in order."""
        found = [self._stored_file(file) for file in files]
        return StoredSeries(run, found, self.version, self._source, self._blobs)

    def _stored_file(self, file: _File) -> StoredFile:
        path, number, table = PurePosixPath(file.path), self._number(), file.table
        try:
            indexed = file.files.file(file.place)
        except msgspec.DecodeError:
            return StoredFile(path, number, StoredPoints(table.tags, _NoPoints(), _gone, table.places))
        events = EventFile(path, Opener(self._source, path), number)
        events.restore(
            indexed.state,
            table.tags,
            _IfUnchanged(indexed, self._source),
            changed=False,
            trusted=True,
            places=table.places,
        )
        assert events.stored is not None
        return StoredFile(path, number, events.stored)


class _NoPoints:
    """The points of a file for which the index has nothing usable."""

    texts = NONE_SAID

    def load(self, place: int) -> TagState | None:
        return None

    def has_picture(self, place: int) -> bool:
        return False

    def picture(self, place: int) -> TagState | None:
        return None

    def summary(self, place: int) -> ScalarSummary | None:
        return None


class _IfUnchanged:
    """The points of a file in the index, unless it may be another file by now."""

    def __init__(self, file: IndexedFile, source: Source) -> None:
        self._file: Final = file
        self._source: Final = source

    @property
    def texts(self) -> Texts:
        return self._file.points.texts

    def load(self, place: int) -> TagState | None:
        return self._file.points.load(place) if self._is_unchanged() else None

    def has_picture(self, place: int) -> bool:
        return self._file.points.has_picture(place)

    def picture(self, place: int) -> TagState | None:
        return self._file.points.picture(place) if self._is_unchanged() else None

    def _is_unchanged(self) -> bool:
        path = self._file.found.path
        try:
            return self._file.is_certainly(look_at(path, self._source.locate(path)))
        except (OSError, ValueError):
            return False

    def summary(self, place: int) -> ScalarSummary | None:
        return self._file.points.summary(place)


class _IndexedSeries(LazySeries):
    """The series of a run, whose files are looked up when the first series is requested."""

    __slots__ = ("_files", "_made", "_run", "_runs")

    def __init__(self, runs: IndexedRuns, run: str, files: Sequence[_File]) -> None:
        self._runs = runs
        self._run = run
        self._files = files
        self._made: StoredSeries | None = None

    @property
    def paths(self) -> set[str]:
        """The paths of its files."""
        return {file.path for file in self._files}

    @property
    def _stored(self) -> StoredSeries:
        with _MAKING:
            if self._made is None:
                self._made = self._runs.stored(self._run, self._files)
            return self._made

    @property
    def _tags(self) -> Mapping[str, object]:
        if len(self._files) == 1:
            return self._files[0].table.places
        return dict.fromkeys(tag for file in self._files for tag in file.table.places)

    def __getitem__(self, tag: str) -> Series:
        return self._stored[tag]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tags)

    def __len__(self) -> int:
        return len(self._tags)

    def __contains__(self, tag: object) -> bool:
        return tag in self._tags

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset[str]().union(*(file.table.tags.kinds for file in self._files))

    def of_kind(self, kind: str) -> list[Series]:
        return self._stored.of_kind(kind)

    def has_texts(self, kind: str) -> bool:
        return any(file.table.tags.kinds[place] == kind for file in self._files for place in file.texts)

    @property
    def described_by(self) -> object | None:
        return self._files[0].table.tags if len(self._files) == 1 else None

    @property
    def version(self) -> int:
        return self._runs.version

    def kind_of(self, tag: str) -> str | None:
        if len(self._files) > 1:
            return super().kind_of(tag)
        table = self._files[0].table
        return table.tags.kind_of(table.places.get(tag))

    def summary(self, tag: str) -> ScalarSummary | None:
        if len(self._files) > 1:
            return super().summary(tag)
        file = self._files[0]
        return file.files.summary(file.place, file.table.places[tag])

    def plugin_content(self, tag: str, kind: str) -> bytes | None:
        if len(self._files) > 1:
            return super().plugin_content(tag, kind)
        file = self._files[0]
        return file.table.tags.plugin_content(file.texts, file.table.places.get(tag), kind)

    def tags_of_kind(self, kind: str) -> list[str]:
        return super().tags_of_kind(kind) if len(self._files) > 1 else self._files[0].table.tags.tags_of_kind(kind)

    def furthest_step(self, kind: str) -> int | None:
        table = self._files[0].table.tags
        if len(self._files) > 1 or table.going_back:
            return super().furthest_step(kind)
        return table.furthest_step(kind)


def _files(indexed: IndexedFiles) -> Iterator[_File]:
    """Yield the files that have an event."""
    columns: dict[SegmentFiles, tuple[list[Any], ...]] = {}
    names = ("has_events", "table", "first_wall_time", "begun", "ended", "session_starts")
    for path, (files, place) in indexed.places.items():
        if files not in columns:
            columns[files] = tuple(files.entries[name].tolist() for name in names)
        has_events, table, first, begun, ended, starts = (column[place] for column in columns[files])
        if has_events:
            yield _File(path, files, place, files.tables[table], first, (begun, ended), starts)


def _in_order(files: Sequence[_File], *, keep_superseded: bool) -> Sequence[_File]:
    """Return the files of a run in order of rank; none if its series are not just their points one after the other."""
    if len(files) == 1:
        (file,) = files
        as_it_is = file.session_starts <= 1 and (keep_superseded or not file.table.tags.going_back)
        return files if as_it_is else ()
    if any(file.session_starts for file in files):
        return ()
    files = sorted(files)
    found = zip(files, turns([file.span for file in files]), strict=True)
    ranked = sorted(found, key=lambda pair: pair[1].rank)
    tables = [(file.table.tags, turn) for file, turn in ranked]
    return tuple([file for file, _ in ranked]) if are_plain(tables, keep_superseded=keep_superseded) else ()


def _gone() -> Sequence[TagState]:
    raise OSError(errno.EIO, "what the index has of the file is damaged")
