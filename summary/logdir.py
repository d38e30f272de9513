"""A log directory: runs, tags and series, read piece by piece and handed out as immutable snapshots."""

import itertools
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Final

import numpy as np
from google.protobuf.message import DecodeError

from summary import kinds
from summary.event_file import EventFile, value_of_event
from summary.kinds.base import Payload, PayloadError
from summary.points import Part, Restart, join, kept_points
from summary.proto.event_pb2 import Event
from summary.records import FOOTER_BYTES, masked_crc
from summary.snapshot import EMPTY_SNAPSHOT, Columns, Companion, Damage, FileHealth, Run, Series, Snapshot
from summary.source import FoundFile, LocalSource, Source, read_up_to, readable

_PROFILE_FOLDERS: Final = ("plugins", "profile")
_SECONDS_BETWEEN_PARTIAL_SNAPSHOTS: Final = 0.5
_CONFLICTS_SHOWN: Final = 100


@dataclass
class _File:
    """An event file of the stage, with what the listing said when it was last read."""

    found: FoundFile
    events: EventFile
    error: str = ""


@dataclass
class _Run:
    """A run of the stage: its files by path, and the series made of them last."""

    files: dict[PurePosixPath, _File] = field(default_factory=dict)
    series: dict[str, tuple[tuple[object, ...], Series]] = field(default_factory=dict)


class Logdir:
    """Follows the event files below a directory.

    One thread calls `update`; the snapshots it returns may be read by any.

    Args:
        path: the directory; it may come into being later.
        companion_patterns: file names, with wildcards, of other files that snapshots should list.
        keep_superseded: show points that a restart overwrote.
        source: where the bytes come from; the local directory ``path`` unless given.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        companion_patterns: Sequence[str] = (),
        keep_superseded: bool = False,
        source: Source | None = None,
    ) -> None:
        self.path = Path(path)
        self._source: Source = source if source is not None else LocalSource(self.path)
        self._companion_patterns = tuple(companion_patterns)
        self._keep_superseded = keep_superseded
        self._runs: dict[str, _Run] = {}
        # One count for all, so that a series that was deleted and came back is not taken for the one it was.
        self._versions = itertools.count(1)
        self._snapshot = EMPTY_SNAPSHOT

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot of the last update."""
        return self._snapshot

    def update(self, publish: Callable[[Snapshot], None] | None = None) -> Snapshot:
        """Lists the directory, reads what is new in it, and returns a snapshot.

        The snapshot is the one before, with the same revision, where nothing changed. While many files are still to
        be read, partial snapshots, marked as loading, go to ``publish``.
        """
        event_files, companions = self._list()
        changed = self._stage(event_files)
        self._read(changed, publish, companions)
        return self._commit(companions, loading=False)

    def _list(self) -> tuple[list[FoundFile], tuple[Companion, ...]]:
        event_files: list[FoundFile] = []
        companions: list[Companion] = []
        for found in self._source.list():
            name = found.path.name
            if is_event_file(name):
                event_files.append(found)
            elif any(fnmatch(name, pattern) for pattern in self._companion_patterns):
                companions.append(
                    Companion(
                        run_of_companion(found.path),
                        found.path,
                        str(self.path / found.path),
                        found.size,
                        found.modified_ns,
                    )
                )
        companions.sort(key=lambda c: (c.run, str(c.relative_path)))
        return sorted(event_files, key=lambda f: str(f.path)), tuple(companions)

    def _stage(self, event_files: Iterable[FoundFile]) -> list[_File]:
        """Brings the stage's runs and files in line with a listing; returns the files to read."""
        to_read: list[_File] = []
        runs: dict[str, _Run] = {}
        for found in event_files:
            name = readable(found.path.parent)
            run = runs.get(name)
            if run is None:
                run = runs[name] = _Run(series=self._runs[name].series if name in self._runs else {})
            known = self._runs[name].files.get(found.path) if name in self._runs else None
            if known is None or self._was_replaced(known, found):
                known = _File(found, self._event_file(found.path))
                to_read.append(known)
            elif known.found != found or known.error:
                known.found = found
                to_read.append(known)
            run.files[found.path] = known
        self._runs = runs
        return to_read

    def _event_file(self, path: PurePosixPath) -> EventFile:
        return EventFile(path, lambda offset: self._source.open(path, offset))

    @staticmethod
    def _was_replaced(known: _File, found: FoundFile) -> bool:
        if found == known.found:
            return False
        if found.identity != known.found.identity or found.size < known.events.position:
            return True
        try:
            return not known.events.begins_as_before()
        except OSError:
            return False

    def _read(
        self,
        files: Sequence[_File],
        publish: Callable[[Snapshot], None] | None,
        companions: tuple[Companion, ...],
    ) -> None:
        if len(files) < 2:
            for file in files:
                _read_file(file)
            return
        published = time.monotonic()
        with ThreadPoolExecutor(min(len(files), os.cpu_count() or 1)) as pool:
            # A commit looks only at files that no thread reads, so partial snapshots come between batches.
            for batch in _batches(files):
                for done in as_completed([pool.submit(_read_file, file) for file in batch]):
                    done.result()
                if publish is not None and time.monotonic() - published > _SECONDS_BETWEEN_PARTIAL_SNAPSHOTS:
                    publish(self._commit(companions, loading=True))
                    published = time.monotonic()

    def _commit(self, companions: tuple[Companion, ...], *, loading: bool) -> Snapshot:
        runs = [
            Run(name, _first_wall_time(run), MappingProxyType(self._series_of(name, run)))
            for name, run in self._runs.items()
            if any(file.events.first_wall_time is not None for file in run.files.values())
        ]
        runs.sort(key=lambda run: (run.first_wall_time, run.name))
        health = tuple(_health(name, file, run) for name, run in self._runs.items() for file in run.files.values())
        before = self._snapshot
        same = (
            loading == before.loading
            and companions == before.companions
            and health == before.health
            and [run.name for run in runs] == list(before.runs)
            and all(_same_series(run.series, before.runs[run.name].series) for run in runs)
        )
        if not same:
            self._snapshot = Snapshot(
                before.revision + 1,
                MappingProxyType({run.name: run for run in runs}),
                companions,
                health,
                loading,
            )
        return self._snapshot

    def _series_of(self, name: str, run: _Run) -> dict[str, Series]:
        files = [file.events for file in run.files.values()]
        tags = dict.fromkeys(tag for events in files for tag in events.points)
        for tag in run.series.keys() - tags.keys():
            del run.series[tag]
        starts = tuple((events, len(events.session_starts)) for events in files if events.session_starts)
        series: dict[str, Series] = {}
        for tag in tags:
            state = (starts, *((events, len(events.points[tag])) for events in files if tag in events.points))
            known = run.series.get(tag)
            if known is None or known[0] != state:
                known = (state, self._make_series(name, tag, files, next(self._versions)))
                run.series[tag] = known
            series[tag] = known[1]
        return series

    def _make_series(self, run: str, tag: str, files: Sequence[EventFile], version: int) -> Series:
        holding = [events for events in files if tag in events.points]
        described = next((e.points[tag] for e in holding if e.points[tag].kind), holding[0].points[tag])
        kind = described.kind
        parts = [events.points[tag].part(events.path) for events in holding if events.points[tag].kind in (kind, "")]
        kept = None
        superseded = 0
        if not self._keep_superseded:
            steps = parts[0].steps if len(parts) == 1 else np.concatenate([part.steps for part in parts])
            mask = kept_points(steps, _restarts_of(tag, files))
            superseded = int(len(mask) - np.count_nonzero(mask))
            kept = mask if superseded else None

        def load_columns() -> Columns:
            return join(parts, kept)

        def read_payload(index: int) -> Payload:
            position = index if kept is None else int(np.flatnonzero(kept)[index])
            for part in parts:
                if position < len(part):
                    return self._read_payload(kind, part, position)
                position -= len(part)
            raise IndexError(index)

        return Series(
            run,
            tag,
            kind,
            described.display_name,
            described.description,
            described.plugin_content,
            version,
            superseded,
            load_columns,
            read_payload,
        )

    def _read_payload(self, kind: str, part: Part, index: int) -> Payload:
        if len(part.values) and not len(part.offsets):
            return float(part.values[index])
        offset, length = int(part.offsets[index]), int(part.lengths[index])
        where = f"the record at offset {offset} of {readable(part.path)}"
        try:
            with self._source.open(part.path, offset) as stream:
                content = read_up_to(stream, length + FOOTER_BYTES)
        except OSError as error:
            raise PayloadError(f"{where} cannot be read: {error}") from error
        data = content[:length]
        if len(content) < length + FOOTER_BYTES or masked_crc(data) != int.from_bytes(content[length:], "little"):
            raise PayloadError(f"{where} has changed since it was read first")
        try:
            event = Event.FromString(data)
        except DecodeError as error:
            raise PayloadError(f"{where} is no Event message: {error}") from error
        # A run that was written anew may have another record of the same length in the same place.
        point = np.array([event.wall_time]).tobytes(), event.step
        if point != (part.wall_times[index : index + 1].tobytes(), part.steps[index]):
            raise PayloadError(f"{where} has changed since it was read first")
        return kinds.decode(kind, value_of_event(event, int(part.indices[index])))


def is_event_file(name: str) -> bool:
    """Whether a file of this name holds events, by TensorBoard's rule; ``.profile-empty`` files only mark a run."""
    return "tfevents" in name and not name.endswith(".profile-empty")


def run_of_companion(path: PurePosixPath) -> str:
    """The run that a file belongs to: its directory, or for ``RUN/plugins/profile/TIME/file`` the directory RUN."""
    folder = path.parent
    if len(folder.parts) >= 3 and folder.parts[-3:-1] == _PROFILE_FOLDERS:
        return readable(PurePosixPath(*folder.parts[:-3]))
    return readable(folder)


def open_logdir(path: str | os.PathLike[str], *, keep_superseded: bool = False) -> Snapshot:
    """Reads a log directory once, as it is now."""
    return Logdir(path, keep_superseded=keep_superseded).update()


def _read_file(file: _File) -> None:
    try:
        file.events.read_new(file.found.size)
        file.error = ""
    except OSError as error:
        file.error = error.strerror or str(error)


def _batches(files: Sequence[_File], batch_bytes: int = 64 << 20) -> Iterable[list[_File]]:
    batch: list[_File] = []
    size = 0
    for file in files:
        batch.append(file)
        size += file.found.size
        if size >= batch_bytes:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _first_wall_time(run: _Run) -> float:
    firsts = [f.events.first_wall_time for f in run.files.values() if f.events.first_wall_time is not None]
    # NaN has no place in an order: a run that has no other time comes last.
    return min((first for first in firsts if not math.isnan(first)), default=math.inf)


def _same_series(one: Mapping[str, Series], other: Mapping[str, Series]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one.values(), other.values(), strict=True))


def _restarts_of(tag: str, files: Sequence[EventFile]) -> list[Restart]:
    """The session starts that restart a run, as the points of ``tag`` see them.

    The first start of a run begins it, unless the run has points already.
    """
    restarts: list[Restart] = []
    points_before = 0
    begun = False
    for events in files:
        for start in events.session_starts:
            if begun or any(start.points_before.values()):
                restarts.append(Restart(points_before + start.points_before.get(tag, 0), start.step))
            begun = True
        points_before += len(events.points.get(tag, ()))
        begun = begun or any(map(len, events.points.values()))
    return restarts


def _health(name: str, file: _File, run: _Run) -> FileHealth:
    events = file.events
    conflicts = _conflicts(events, run) if len(run.files) > 1 else []
    return FileHealth(
        readable(events.path),
        name,
        events.position,
        file.found.size,
        events.records,
        (*events.all_damages, *conflicts[:_CONFLICTS_SHOWN]),
        events.all_damage_count + len(conflicts),
        events.waiting,
        file.error,
    )


def _conflicts(events: EventFile, run: _Run) -> list[Damage]:
    """The tags of a file that another file of the run holds as another kind; their points are not shown."""
    conflicts: list[Damage] = []
    for tag, points in events.points.items():
        kind = run.series[tag][1].kind if tag in run.series else points.kind
        if points.kind and points.kind != kind and len(points):
            offset = int(points.offsets.view()[0]) if len(points.offsets) else 0
            reason = (
                f"{len(points)} points of {tag!r} are {points.kind}, but another file of the run began it as {kind}"
            )
            conflicts.append(Damage(offset, 0, reason))
    return conflicts
