"""One run as the following thread holds it: its files, and the series that snapshots get of them."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from summary.blob_cache import BlobCache, BlobKey
from summary.event_file import EventFile, value_of_event
from summary.kinds.base import Payload, PayloadError
from summary.kinds.registry import decode
from summary.points import Part, Restart, TagPoints, join, kept_points
from summary.proto.event_pb2 import Event
from summary.records import FOOTER_BYTES, masked_crc
from summary.snapshot import Columns, Damage, FileHealth, Run, Series
from summary.source import FoundFile, Source, read_up_to, readable

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

    def commit(self) -> bool:
        """Makes anew what snapshots hold of the run, and returns whether it differs from before."""
        series = self._series()
        committed = None
        if any(file.events.first_wall_time is not None for file in self.files.values()):
            committed = Run(self.name, self._first_wall_time(), MappingProxyType(series))
        health = tuple(self._health(file) for file in self.files.values())
        same = health == self.health and _same_run(committed, self.committed)
        if not same:
            self.committed, self.health = committed, health
        self.dirty = False
        return not same

    def _series(self) -> dict[str, Series]:
        files = [file.events for file in self.files.values()]
        tags = dict.fromkeys(tag for events in files for tag in events.points)
        for tag in self._made.keys() - tags.keys():
            del self._made[tag]
        starts = tuple([(events, len(events.session_starts)) for events in files if events.session_starts])
        # A start that begins the run may come to restart it, when another file gets points before it.
        restarting = len(_restarts_of("", "", files)) if starts else 0
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
        in_order = not restarts and len(parts) == 1 and not described.goes_back
        if not self._keep_superseded and not in_order:
            steps = parts[0].steps if len(parts) == 1 else np.concatenate([part.steps for part in parts])
            mask = kept_points(steps, restarts)
            if not mask.all():
                kept, superseded = mask, _superseded_by_file(parts, mask)
        content = _Content(self._source, self._blobs, kind, parts, numbers, kept)
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
        )
        return series, superseded

    def _first_wall_time(self) -> float:
        firsts = [f.events.first_wall_time for f in self.files.values() if f.events.first_wall_time is not None]
        # NaN has no place in an order: a run that has no other time comes last.
        return min((first for first in firsts if not math.isnan(first)), default=math.inf)

    def _health(self, file: StagedFile) -> FileHealth:
        events = file.events
        conflicts = self._conflicts(events) if len(self.files) > 1 else []
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


class _Content:
    """Where the points of a series are.

    Args:
        source: where payloads are read from.
        blobs: keeps payloads that were read.
        kind: the series'.
        parts: the points of each file.
        numbers: of the files.
        kept: which of all points no restart has overwritten; None for all.
    """

    __slots__ = ("_blobs", "_kept", "_kind", "_numbers", "_parts", "_positions", "_source")

    def __init__(
        self,
        source: Source,
        blobs: BlobCache,
        kind: str,
        parts: Sequence[Part],
        numbers: Sequence[int],
        kept: NDArray[np.bool_] | None,
    ) -> None:
        self._source = source
        self._blobs = blobs
        self._kind = kind
        self._parts = parts
        self._numbers = numbers
        self._kept = kept
        self._positions: NDArray[np.intp] | None = None

    def columns(self) -> Columns:
        """All points."""
        return join(self._parts, self._kept)

    def payload(self, index: int) -> Payload:
        """What a point holds."""
        position = index
        if self._kept is not None:
            if self._positions is None:
                self._positions = np.flatnonzero(self._kept)
            position = int(self._positions[index])
        for part, number in zip(self._parts, self._numbers, strict=True):
            if position < len(part.steps):
                return _read_payload(self._source, self._blobs, self._kind, part, number, position)
            position -= len(part.steps)
        raise IndexError(index)


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
        and all(a is b for a, b in zip(one.series.values(), other.series.values(), strict=True))
    )


def _described(holding: Sequence[tuple[EventFile, TagPoints]]) -> TagPoints:
    """The points of the file that says what the tag is."""
    for _, points in holding:
        if points.kind:
            return points
    return holding[0][1]


def _restarts_of(tag: str, kind: str, files: Sequence[EventFile]) -> list[Restart]:
    """The session starts that restart a run, as the points of ``tag`` see them, without those of another kind.

    The first start of a run begins it, unless the run has points already.
    """
    restarts: list[Restart] = []
    points_before = 0
    begun = False
    for events in files:
        points = events.points.get(tag)
        of_kind = points is not None and points.kind in (kind, "")
        for start in events.session_starts:
            if begun or any(start.points_before.values()):
                here = start.points_before.get(tag, 0) if of_kind else 0
                restarts.append(Restart(points_before + here, start.step))
            begun = True
        points_before += len(points) if points is not None and of_kind else 0
        begun = begun or any(map(len, events.points.values()))
    return restarts


def _read_payload(source: Source, blobs: BlobCache, kind: str, part: Part, number: int, index: int) -> Payload:
    """Decodes what a record holds, which is read unless it was lately."""
    if len(part.values) and not len(part.offsets):
        return float(part.values[index])
    offset = int(part.offsets[index])
    where = f"the record at offset {offset} of {readable(part.path)}"
    key = BlobKey(number, offset)
    data = blobs.get(key)
    if data is None:
        data = _read_record(source, part, offset, int(part.lengths[index]), where)
    try:
        event = Event.FromString(data)
    except DecodeError as error:
        raise PayloadError(f"{where} is no Event message: {error}") from error
    # A run that was written anew may have another record of the same length in the same place.
    point = np.array([event.wall_time]).tobytes(), event.step
    if point != (part.wall_times[index : index + 1].tobytes(), part.steps[index]):
        raise PayloadError(f"{where} has changed since it was read first")
    blobs.put(key, data)
    return decode(kind, value_of_event(event, int(part.indices[index])))


def _read_record(source: Source, part: Part, offset: int, length: int, where: str) -> bytes:
    try:
        with source.open(part.path, offset) as stream:
            content = read_up_to(stream, length + FOOTER_BYTES)
    except OSError as error:
        raise PayloadError(f"{where} cannot be read: {error}") from error
    data = content[:length]
    if len(content) < length + FOOTER_BYTES or masked_crc(data) != int.from_bytes(content[length:], "little"):
        raise PayloadError(f"{where} has changed since it was read first")
    return data
