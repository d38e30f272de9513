"""One run as the following thread holds it: its files, and the series that snapshots get of them."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from summary.blob_cache import BlobCache
from summary.content import Content
from summary.event_file import EventFile, SessionStart
from summary.points import Part, Restart, TagPoints, kept_points, resumptions
from summary.snapshot import Damage, FileHealth, Resumption, Run, Series
from summary.source import FoundFile, Source, readable
from summary.stored_series import StoredFile, StoredSeries, are_plain

_CONFLICTS_SHOWN: Final = 100
_NONE_SUPERSEDED: Final[Mapping[PurePosixPath, int]] = MappingProxyType({})


@dataclass(eq=False)
class StagedFile:
    """An event file, with what the listing said when it was last read."""

    found: FoundFile
    events: EventFile
    error: str = ""
    cached_bytes: int = 0
    """How much of the file the cache has."""

    def need_points(self) -> None:
        """Sees to it that the points are there; a file of which they are lost says why, and is read anew next time."""
        try:
            self.events.points  # noqa: B018
        except OSError as error:
            self.error = error.strerror or str(error)
            self.cached_bytes = 0


class _Made(NamedTuple):
    """A series, and of what it was made."""

    state: object
    """Equal as long as the series needs not be made anew."""
    series: Series
    superseded: Mapping[PurePosixPath, int]
    """Points that a restart overwrote, by file."""


class StagedRun:
    """The files of a run, and what was made of them last.

    Args:
        name: the run's.
        source: where payloads are read from.
        blobs: keeps payloads that were read.
        versions: numbers for series; one count for all runs, so that a series that was deleted and came back is not
            taken for the one it was.
        keep_superseded: show points that a restart overwrote.
    """

    def __init__(
        self,
        name: str,
        source: Source,
        blobs: BlobCache,
        versions: "itertools.count[int]",
        *,
        keep_superseded: bool,
    ) -> None:
        self.name: Final = name
        self.files: dict[PurePosixPath, StagedFile] = {}
        self.dirty = True
        """A file was added, removed or read since the run was committed."""
        self.committed: Run | None = None
        """None for a run without events."""
        self.health: tuple[FileHealth, ...] = ()
        self._source: Final = source
        self._blobs: Final = blobs
        self._versions: Final = versions
        self._keep_superseded: Final = keep_superseded
        self._made: dict[str, _Made] = {}
        self._stored: tuple[StoredSeries, object] | None = None
        """The series of files that the cache had, and the session starts that they were made with."""

    def commit(self) -> bool:
        """Makes anew what snapshots hold of the run, and returns whether it differs from before."""
        series = self._stored_series()
        if series is None:
            for file in self.files.values():
                file.need_points()
            series = MappingProxyType(self._series())
        committed = None
        if any(file.events.first_wall_time is not None for file in self.files.values()):
            committed = Run(self.name, self._first_wall_time(), series)
        health = tuple(self._health(file) for file in self.files.values())
        same = health == self.health and _same_run(committed, self.committed)
        if not same:
            self.committed, self.health = committed, health
        self.dirty = False
        return not same

    def _stored_series(self) -> Mapping[str, Series] | None:
        """The series, if they are what the cache has of the files and no more; without a look at any point."""
        files = [file.events for file in self.files.values()]
        stored = [
            StoredFile(events.path, events.number, events.stored) for events in files if events.stored is not None
        ]
        if self._stored is not None:
            series, starts = self._stored
            if stored == series.files:
                return series
            self._take_over(series, starts)
            self._stored = None
        if (
            self._made
            or len(stored) < len(files)
            or any(True for _ in _restarting(files))
            or not are_plain([file.points for file in stored], keep_superseded=self._keep_superseded)
        ):
            return None
        series = StoredSeries(self.name, stored, next(self._versions), self._source, self._blobs)
        self._stored = series, _starts(files)
        return series

    def _take_over(self, stored: StoredSeries, starts: object) -> None:
        """Keeps the series that snapshots have, for as long as their tags get no points."""
        by_number = {file.events.number: file.events for file in self.files.values()}
        if not all(file.number in by_number for file in stored.files):
            return
        for tag, series in stored.items():
            holding = [
                (by_number[file.number], file.points.table.counts[file.points.places[tag]])
                for file in stored.files
                if tag in file.points.places
            ]
            self._made[tag] = _Made((starts, 0, holding), series, _NONE_SUPERSEDED)

    def _series(self) -> dict[str, Series]:
        files = [file.events for file in self.files.values()]
        tags = dict.fromkeys(tag for events in files for tag in events.points)
        for tag in self._made.keys() - tags.keys():
            del self._made[tag]
        starts = _starts(files)
        # A start that begins the run may come to restart it, when another file gets points before it.
        restarting = sum(1 for _ in _restarting(files))
        series: dict[str, Series] = {}
        for tag in tags:
            holding = [(events, events.points[tag]) for events in files if tag in events.points]
            state = (starts, restarting, [(events, len(points)) for events, points in holding])
            known = self._made.get(tag)
            if known is None or known.state != state:
                restarts = _restarts_of(tag, _described(holding).kind, files) if restarting else []
                known = self._made[tag] = _Made(state, *self._make_series(tag, holding, restarts))
            series[tag] = known.series
        return series

    def _make_series(
        self, tag: str, holding: Sequence[tuple[EventFile, TagPoints]], restarts: Sequence[Restart]
    ) -> tuple[Series, Mapping[PurePosixPath, int]]:
        described = _described(holding)
        kind = described.kind
        parts: list[Part] = []
        numbers: list[int] = []
        count = 0
        for events, points in holding:
            if points.kind in (kind, ""):
                parts.append(points.part(events.path))
                numbers.append(events.number)
                count += len(points)
        kept = None
        superseded = _NONE_SUPERSEDED
        resumed: tuple[Resumption, ...] = ()
        in_order = not restarts and len(parts) == 1 and not described.goes_back
        if not self._keep_superseded and not in_order:
            steps = parts[0].steps if len(parts) == 1 else np.concatenate([part.steps for part in parts])
            mask = kept_points(steps, restarts)
            if not mask.all():
                kept, superseded = mask, _superseded_by_file(parts, mask)
                resumed = resumptions(steps, np.concatenate([part.wall_times for part in parts]), restarts)
        content = Content(self._source, self._blobs, kind, parts, numbers, kept)
        hidden = sum(superseded.values()) if superseded else 0
        series = Series(
            self.name,
            tag,
            kind,
            described.display_name,
            described.description,
            described.plugin_content,
            next(self._versions),
            hidden,
            content.columns,
            content.payload,
            count - hidden,
            resumed,
        )
        return series, superseded

    def _first_wall_time(self) -> float:
        firsts = [f.events.first_wall_time for f in self.files.values() if f.events.first_wall_time is not None]
        # NaN has no place in an order: a run that has no other time comes last.
        return min((first for first in firsts if not math.isnan(first)), default=math.inf)

    def _health(self, file: StagedFile) -> FileHealth:
        events = file.events
        # Files of which all is stored were found to agree.
        conflicts = self._conflicts(events) if len(self.files) > 1 and self._stored is None else []
        return FileHealth(
            readable(events.path),
            self.name,
            events.position,
            file.found.size,
            events.records,
            (*events.all_damages, *conflicts[:_CONFLICTS_SHOWN]),
            events.all_damage_count + len(conflicts),
            events.waiting,
            file.error,
            sum(made.superseded.get(events.path, 0) for made in self._made.values() if made.superseded),
            events.all_skipped_bytes,
        )

    def _conflicts(self, events: EventFile) -> list[Damage]:
        """The tags of a file that another file of the run holds as another kind; their points are not shown."""
        conflicts: list[Damage] = []
        for tag, points in events.points.items():
            kind = self._made[tag].series.kind if tag in self._made else points.kind
            if points.kind and points.kind != kind and len(points):
                reason = (
                    f"{len(points)} points of {tag!r} are {points.kind}, but another file of the run began it as {kind}"
                )
                conflicts.append(Damage(points.first_offset, 0, reason))
        return conflicts


def _superseded_by_file(parts: Sequence[Part], kept: NDArray[np.bool_]) -> Mapping[PurePosixPath, int]:
    ends = np.cumsum([len(part.steps) for part in parts])
    counts = [int(np.count_nonzero(~piece)) for piece in np.split(kept, ends[:-1])]
    return {part.path: count for part, count in zip(parts, counts, strict=True) if count}


def _same_run(one: Run | None, other: Run | None) -> bool:
    if one is None or other is None:
        return one is other
    return (
        len(one.series) == len(other.series)
        and one.first_wall_time == other.first_wall_time
        and (
            one.series is other.series
            or all(a is b for a, b in zip(one.series.values(), other.series.values(), strict=True))
        )
    )


def _described(holding: Sequence[tuple[EventFile, TagPoints]]) -> TagPoints:
    """The points of the file that says what the tag is."""
    for _, points in holding:
        if points.kind:
            return points
    return holding[0][1]


def _starts(files: Sequence[EventFile]) -> tuple[tuple[EventFile, int], ...]:
    """How many session starts each file has, of those that have any."""
    return tuple([(events, len(events.session_starts)) for events in files if events.session_starts])


def _restarting(files: Sequence[EventFile]) -> Iterator[tuple[EventFile, SessionStart]]:
    """The session starts that restart a run: all but the first, which begins it unless the run has points already."""
    begun = False
    for events in files:
        for start in events.session_starts:
            if begun or any(start.points_before.values()):
                yield events, start
            begun = True
        begun = begun or events.has_points


def _restarts_of(tag: str, kind: str, files: Sequence[EventFile]) -> list[Restart]:
    """The session starts that restart a run, as the points of ``tag`` see them, without those of another kind."""
    restarts: list[Restart] = []
    points_before: dict[int, int] = {}
    count = 0
    of_kind = {id(events): _is_of(events.points.get(tag), kind) for events in files}
    for events in files:
        points_before[id(events)] = count
        count += len(events.points[tag]) if of_kind[id(events)] else 0
    for events, start in _restarting(files):
        here = start.points_before.get(tag, 0) if of_kind[id(events)] else 0
        restarts.append(Restart(points_before[id(events)] + here, start.step))
    return restarts


def _is_of(points: TagPoints | None, kind: str) -> bool:
    return points is not None and points.kind in (kind, "")
