"""One run in the following thread: its files, and the series made from them for snapshots."""

import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from stepscope.summary.blob_cache import BlobCache
from stepscope.summary.contents import Damage, FileHealth
from stepscope.summary.counts import counted
from stepscope.summary.errors import reason_of
from stepscope.summary.event_file import EventFile, FileState
from stepscope.summary.packed_points import PackedPoints
from stepscope.summary.payload_locations import Content
from stepscope.summary.points import Part, TagPoints
from stepscope.summary.restarts import (
    Restart,
    Turn,
    Written,
    are_written_at_once,
    shown_order,
    standing,
    turns,
    writers_at_once,
)
from stepscope.summary.series import Resumption, Run, Series
from stepscope.summary.source import FoundFile, Source, readable
from stepscope.summary.stored_series import StoredFile, StoredSeries, are_plain

GROWING_SECONDS: Final = 60.0
"""Seconds since the last write within which a file counts as growing."""
_CONFLICTS_SHOWN: Final = 100
_ONLY: Final = Turn(0, 1)
"""The turn of the only file of a run."""
_NO_STEPS: Final = np.empty(0, np.int64)
_NO_TIMES: Final = np.empty(0, np.float64)
_NONE_SUPERSEDED: Final[Mapping[PurePosixPath, int]] = MappingProxyType({})


@dataclass(eq=False, slots=True)
class StagedFile:
    """An event file, with its listing entry from the last read."""

    found: FoundFile
    events: EventFile
    run: str
    error: str = ""
    cached_bytes: int = 0
    """Number of bytes of the file that are stored for the next start."""
    as_indexed: bool = False
    """Whether the file was taken from the index and is certainly unchanged."""
    packed: tuple[FileState, PackedPoints] | None = None
    """The file's data for the index, if available."""

    def need_points(self) -> None:
        """Load the points; if they are lost, set the file's error, and it is read again next time."""
        try:
            self.events.points  # noqa: B018
        except OSError as error:
            self.error = reason_of(error)
            self.cached_bytes = 0


class _Made(NamedTuple):
    """A series and what it was made from."""

    state: object
    """Equal as long as the series need not be recreated."""
    series: Series
    superseded: Mapping[PurePosixPath, int]
    """Number of points that a restart overwrote, by file."""


_Turns: TypeAlias = Mapping[EventFile, Turn]
"""The files of a run, ordered by rank."""


class StagedRun:
    """The files of a run and the results last made from them.

    Args:
        name: name of the run.
        source: source from which payloads are read.
        blobs: cache of payloads that were read.
        versions: version numbers for series; one count for all runs, so that a series that was deleted and recreated is
            not mistaken for the old one.
        keep_superseded: show points that a restart overwrote.
        clock: returns the current time in seconds since the epoch.
        shown: version of the series shown for these files before they were checked, if any.
    """

    __slots__ = (
        "_blobs",
        "_clock",
        "_keep_superseded",
        "_made",
        "_shown",
        "_source",
        "_stored",
        "_versions",
        "committed",
        "files",
        "health",
        "name",
    )

    def __init__(
        self,
        name: str,
        source: Source,
        blobs: BlobCache,
        versions: "itertools.count[int]",
        *,
        keep_superseded: bool,
        clock: Callable[[], float] = time.time,
        shown: int | None = None,
    ) -> None:
        self.name: Final = name
        self.files: dict[PurePosixPath, StagedFile] = {}
        self.committed: Run | None = None
        """None for a run without events."""
        self.health: tuple[FileHealth, ...] = ()
        self._source: Final = source
        self._blobs: Final = blobs
        self._versions: Final = versions
        self._keep_superseded: Final = keep_superseded
        self._clock: Final = clock
        self._shown = shown
        self._made: dict[str, _Made] = {}
        self._stored: tuple[StoredSeries, object, _Turns | None] | None = None
        """The series of cached files, and the session starts and turns with which they were made; turns are None for a
        single file, whose turn is known."""

    def commit(self) -> bool:
        """Recreate the snapshot data of the run, and return whether it changed."""
        series = self._stored_series()
        if series is None:
            for file in self.files.values():
                file.need_points()
            series = MappingProxyType(self._series())
        committed = None
        if any(file.events.first_wall_time is not None for file in self.files.values()):
            committed = Run(self.name, self._first_wall_time(), series)
        turns = self._turns()
        at_once = dict(zip(turns, are_written_at_once(turns.values()), strict=True))
        health = tuple(self._health(file, at_once=at_once[file.events]) for file in self.files.values())
        same = health == self.health and _same_run(committed, self.committed)
        if not same:
            self.committed, self.health = committed, health
        return not same

    @property
    def settles_at(self) -> float:
        """Time at which the first growing file will not have grown for `GROWING_SECONDS`; infinite if none grows."""
        pairs = zip(self.files.values(), self.health, strict=True)
        return min(
            (file.found.modified_ns / 1e9 + GROWING_SECONDS for file, health in pairs if health.growing),
            default=math.inf,
        )

    def _turns(self) -> _Turns:
        files = [file.events for file in self.files.values()]
        if len(files) == 1:
            return {files[0]: _ONLY}
        # A file without events neither precedes nor follows another; it has nothing to order.
        begun = [events for events in files if events.first_wall_time is not None]
        found = zip(begun, turns([events.span for events in begun]), strict=True)
        in_order = dict(sorted(found, key=lambda pair: pair[1].rank))
        empty = (events for events in files if events.first_wall_time is None)
        return in_order | {events: Turn(rank, rank + 1) for rank, events in enumerate(empty, len(begun))}

    def _stored_series(self) -> Mapping[str, Series] | None:
        """Return the series if they are exactly what the cache has of the files; no points are read."""
        turns = self._turns()
        stored = tuple(
            [StoredFile(events.path, events.number, events.stored) for events in turns if events.stored is not None]
        )
        if self._stored is not None:
            series, starts, turns_then = self._stored
            if stored == series.files and len(stored) == len(turns):
                return series
            self._take_over(series, starts, turns_then)
            self._stored = None
        if (
            self._made
            or len(stored) < len(turns)
            or any(True for _ in _restarting(turns))
            or not are_plain(
                [(file.points.table, turn) for file, turn in zip(stored, turns.values(), strict=True)],
                keep_superseded=self._keep_superseded,
            )
        ):
            return None
        # Clients with the points shown before the files were checked have the right ones.
        same = self._shown is not None and all(file.as_indexed for file in self.files.values())
        version = self._shown if self._shown is not None and same else next(self._versions)
        self._shown = None
        series = StoredSeries(self.name, stored, version, self._source, self._blobs)
        self._stored = series, _starts(turns), turns if len(turns) > 1 else None
        return series

    def _take_over(self, stored: StoredSeries, starts: object, turns: _Turns | None) -> None:
        """Keep the series of snapshots for as long as their tags get no new points."""
        by_number = {file.events.number: file.events for file in self.files.values()}
        if not all(file.number in by_number for file in stored.files):
            return
        for tag, series in stored.items():
            holding = [
                (events, file.points.table.counts[file.points.places[tag]], _ONLY if turns is None else turns[events])
                for file in stored.files
                if tag in file.points.places
                for events in [by_number[file.number]]
            ]
            self._made[tag] = _Made((starts, None, holding), series, _NONE_SUPERSEDED)

    def _series(self) -> dict[str, Series]:
        turns = self._turns()
        tags = dict.fromkeys(tag for events in turns for tag in events.points)
        for tag in self._made.keys() - tags.keys():
            del self._made[tag]
        starts = _starts(turns)
        # A start that begins the run may later restart it, when another file gets points before it.
        restarting = list(_restarting(turns))
        # If the run reports its restarts, those of files without the tag count too.
        reported = (restarting, list(turns.items())) if restarting else None
        series: dict[str, Series] = {}
        for tag in tags:
            holding = [(events, points) for events in turns if (points := events.points.get(tag)) is not None]
            state = (starts, reported, [(events, len(points), turns[events]) for events, points in holding])
            known = self._made.get(tag)
            if known is None or known.state != state:
                known = self._made[tag] = _Made(state, *self._make_series(tag, holding, turns, restarting))
            series[tag] = known.series
        return series

    def _make_series(
        self,
        tag: str,
        holding: Sequence[tuple[EventFile, TagPoints]],
        turns: _Turns,
        restarting: Sequence[tuple[EventFile, int]],
    ) -> tuple[Series, Mapping[PurePosixPath, int]]:
        described = _described(holding)
        kind = described.kind
        parts = {events: points.part(events.path) for events, points in holding if points.kind in (kind, "")}
        count = sum([len(part.steps) for part in parts.values()])
        shown = None
        superseded = _NONE_SUPERSEDED
        resumed: tuple[Resumption, ...] = ()
        at_once = 1
        if len(parts) > 1:
            at_once = max(1, writers_at_once([turns[events] for events, part in parts.items() if len(part.steps)]))
        if restarting or len(parts) > 1 or described.goes_back:
            written = _written(tag, parts, turns, restarting)
            kept = [np.ones(len(file.steps), np.bool_) for file in written.values()]
            if not self._keep_superseded:
                kept, resumed = standing(list(written.values()), reported=bool(restarting))
                counts = [int(np.count_nonzero(~mask)) for mask in kept]
                superseded = {events.path: count for events, count in zip(written, counts, strict=True) if count}
            if superseded or at_once > 1:
                shown = shown_order(list(written.values()), kept)
        numbers = [events.number for events in parts]
        content = Content(self._source, self._blobs, kind, list(parts.values()), numbers, shown)
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
            at_once,
        )
        return series, superseded

    def _first_wall_time(self) -> float:
        firsts = [f.events.first_wall_time for f in self.files.values() if f.events.first_wall_time is not None]
        # NaN cannot be ordered: a run without any other time comes last.
        return min((first for first in firsts if not math.isnan(first)), default=math.inf)

    def _health(self, file: StagedFile, *, at_once: bool) -> FileHealth:
        events = file.events
        # Files that are stored in full were found to agree.
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
            self._writers(events) if at_once and self._stored is None else 1,
            abs(self._clock() - file.found.modified_ns / 1e9) < GROWING_SECONDS and file.found.size > 0,
            modified=file.found.modified_ns / 1e9 or None,
        )

    def _writers(self, events: EventFile) -> int:
        return max((self._made[tag].series.writers for tag in events.points if tag in self._made), default=1)

    def _conflicts(self, events: EventFile) -> list[Damage]:
        """Return the tags of a file that have another kind in another file of the run; their points are not shown."""
        conflicts: list[Damage] = []
        for tag, points in events.points.items():
            kind = self._made[tag].series.kind if tag in self._made else points.kind
            if points.kind and points.kind != kind and len(points):
                points_of = counted(len(points), f"point of {tag!r} is", f"points of {tag!r} are")
                reason = f"{points_of} {points.kind}, but another file of the run began it as {kind}"
                conflicts.append(Damage(points.first_offset, 0, reason))
        return conflicts


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
    """Return the points of the file that defines the tag."""
    for _, points in holding:
        if points.kind:
            return points
    return holding[0][1]


def _starts(files: Iterable[EventFile]) -> tuple[tuple[EventFile, int], ...]:
    """Return the number of session starts of each file that has any."""
    return tuple([(events, len(events.session_starts)) for events in files if events.session_starts])


def _restarting(turns: _Turns) -> Iterator[tuple[EventFile, int]]:
    """Yield the files with session starts that restart a run, each with the index of the first that does.

    All do but the first of a file before which the run had not begun. That first one may come late: supervisors of
    TensorFlow 1 mark their start after the first points are written.
    """
    begun = False
    first_after: float = math.inf
    for events, turn in turns.items():
        begun = begun or first_after <= turn.rank
        first = 0 if begun else 1
        if len(events.session_starts) > first:
            yield events, first
        if events.session_starts or events.has_points:
            first_after = min(first_after, turn.after)


def _written(
    tag: str,
    parts: Mapping[EventFile, Part],
    turns: _Turns,
    restarting: Sequence[tuple[EventFile, int]],
) -> dict[EventFile, Written]:
    """Return the points of ``tag`` in each file that has any, or that restarts the run, ordered by rank of the
    files.
    """
    starts: dict[EventFile, list[Restart]] = {}
    for events, first in restarting:
        between = (start.points_between.get(tag, 0) if events in parts else 0 for start in events.session_starts)
        befores = itertools.accumulate(between)
        restarts = [Restart(before, start.step) for before, start in zip(befores, events.session_starts, strict=True)]
        starts[events] = restarts[first:]
    found: dict[EventFile, Written] = {}
    for events, turn in turns.items():
        part = parts.get(events)
        if events in starts or (part is not None and len(part.steps)):
            steps, times = (_NO_STEPS, _NO_TIMES) if part is None else (part.steps, part.wall_times)
            found[events] = Written(turn, steps, times, starts.get(events, ()))
    return found
