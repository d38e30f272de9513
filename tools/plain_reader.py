"""A slow reader of event files, record by record through protobuf, with which the readers of `summary` are compared."""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from google.protobuf.message import DecodeError

from stepscope.summary import kinds
from stepscope.summary.event_file import EventFile, value_of_event
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.names import readable_name
from stepscope.summary.proto.event_pb2 import Event, SessionLog
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.records import FOOTER_BYTES, HEADER_BYTES, masked_crc
from stepscope.summary.series import SCALARS

LARGEST_RECORD: Final = 2**31


class FindingError(Exception):
    """The result differs from what is expected; ``content`` is the file that shows it."""

    def __init__(self, message: str, content: bytes) -> None:
        super().__init__(message)
        self.content = content


@dataclass(frozen=True)
class Point:
    """A value as the plain reader finds it; numbers are text, so that NaN equals NaN."""

    tag: str
    step: int
    wall_time: str
    number: str
    """Empty if the tag's kind keeps none."""
    place: tuple[int, int, int]
    """Offset and length of the record's data, and the value's index; zeros if the tag's kind keeps none."""


@dataclass
class Reading:
    """The content of an event file, in order; an int among the points is the step of a ``SessionLog.START``."""

    stream: list[Point | int] = field(default_factory=list)
    kinds: dict[str, str] = field(default_factory=dict)
    damages: list[tuple[int, int]] = field(default_factory=list)
    records: int = 0
    waiting: bool = False
    wall_times: list[float] = field(default_factory=list)
    """Wall times of all events that hold something and have a time."""

    def points(self) -> dict[str, list[Point]]:
        by_tag: dict[str, list[Point]] = {}
        for item in self.stream:
            if isinstance(item, Point):
                by_tag.setdefault(item.tag, []).append(item)
        return by_tag

    def starts(self) -> list[tuple[int, dict[str, int]]]:
        counts: Counter[str] = Counter()
        starts = []
        for item in self.stream:
            if isinstance(item, Point):
                counts[item.tag] += 1
            else:
                starts.append((item, dict(counts)))
                counts.clear()
        return starts


def plainly_read(content: bytes) -> Reading:
    """Read a whole event file record by record, each through protobuf."""
    reading = Reading()
    at = 0
    while len(content) - at >= HEADER_BYTES:
        if not _header_checks(content, at):
            found = next((i for i in range(at + 1, len(content) - HEADER_BYTES + 1) if _header_checks(content, i)), -1)
            reading.damages.append((at, (len(content) if found < 0 else found) - at))
            if found < 0:
                return reading
            at = found
            continue
        begin = at + HEADER_BYTES
        end = begin + int.from_bytes(content[at : at + 8], "little")
        if end + FOOTER_BYTES > len(content):
            break
        if masked_crc(content[begin:end]) == int.from_bytes(content[end : end + FOOTER_BYTES], "little"):
            _take_record(reading, content[begin:end], begin)
        else:
            reading.damages.append((at, end + FOOTER_BYTES - at))
        at = end + FOOTER_BYTES
    reading.waiting = at < len(content)
    return reading


def _header_checks(content: bytes, at: int) -> bool:
    crc = int.from_bytes(content[at + 8 : at + HEADER_BYTES], "little")
    return int.from_bytes(content[at : at + 8], "little") <= LARGEST_RECORD and masked_crc(content[at : at + 8]) == crc


def _take_record(reading: Reading, data: bytes, offset: int) -> None:
    record = (offset - HEADER_BYTES, HEADER_BYTES + len(data) + FOOTER_BYTES)
    try:
        event = Event.FromString(data)
    except DecodeError:
        reading.damages.append(record)
        return
    reading.records += 1
    timed = 0 < event.wall_time < math.inf
    what = event.WhichOneof("what")
    if what not in (None, "summary") and timed:
        reading.wall_times.append(event.wall_time)
    match what:
        case "summary":
            for index, value in enumerate(event.summary.value):
                if value.tag or value.node_name or value.WhichOneof("value") is not None:
                    reading.wall_times += [event.wall_time] * timed
                    _take_value(reading, event, value, (offset, len(data), index))
        case "graph_def" | "tagged_run_metadata":
            _take_value(reading, event, value_of_event(event), (offset, len(data), 0))
        case "session_log" if event.session_log.status == SessionLog.START:
            reading.stream.append(event.step)
        case _:
            pass


def _take_value(reading: Reading, event: Event, value: Summary.Value, place: tuple[int, int, int]) -> None:
    tag = readable_name(value.tag or value.node_name)
    kind = reading.kinds.setdefault(tag, kinds.kind_of(value))
    number = ""
    if kind in (SCALARS, ""):
        try:
            number = repr(float(kinds.decode(SCALARS, value)))
        except PayloadError:
            number = "nan"
            if kind == SCALARS:
                reading.damages.append((place[0] - HEADER_BYTES, place[1] + HEADER_BYTES + FOOTER_BYTES))
                return
    kept_place = (0, 0, 0) if kind == SCALARS else place
    reading.stream.append(Point(tag, event.step, repr(event.wall_time), number, kept_place))


def points_of(file: EventFile) -> dict[str, list[Point]]:
    """Return the content of an `EventFile` in the form of the plain reader."""
    shown: dict[str, list[Point]] = {}
    for tag, points in file.points.items():
        part = points.part(file.path)
        nothing = [""] * len(part.steps)
        numbers = [repr(value) for value in part.values.tolist()] or nothing
        places = list(zip(part.offsets.tolist(), part.lengths.tolist(), part.indices.tolist(), strict=True))
        rows = zip(
            part.steps.tolist(), part.wall_times.tolist(), numbers, places or [(0, 0, 0)] * len(numbers), strict=True
        )
        found = [Point(tag, step, repr(wall), number, place) for step, wall, number, place in rows]
        if found:
            shown[tag] = found
    return shown


def damages_of(file: EventFile) -> list[tuple[int, int]]:
    return sorted((damage.offset, damage.length) for damage in file.all_damages)


def check_as_plainly_read(file: EventFile, content: bytes) -> None:
    """Raise `FindingError` if the file differs from a plain reading of its bytes."""
    plain = plainly_read(content)
    for name, shown, expected in (
        ("points", points_of(file), plain.points()),
        ("damages", damages_of(file)[:100], sorted(plain.damages)[:100]),
        ("number of damages", file.all_damage_count, len(plain.damages)),
        ("records", file.records, plain.records),
        ("waiting", file.waiting, plain.waiting),
        ("starts", [(s.step, s.points_between) for s in file.session_starts], plain.starts()),
    ):
        if shown != expected:
            raise FindingError(f"{name}: shown {shown!r}, expected {expected!r}", content)


def plainly_shown(readings: Sequence[Reading]) -> dict[str, list[tuple[int, str, str]]]:
    """Return what a run of several files shows, by tag: step, wall time, number; restarts follow the guide."""
    files = _Files([reading for reading in readings if reading.stream or reading.wall_times])
    kind_of_tag: dict[str, str] = {}
    # Files without points may still state kinds of tags.
    pointless = [reading for reading in readings if not (reading.stream or reading.wall_times)]
    for reading in (*files.readings, *pointless):
        for tag, kind in reading.kinds.items():
            kind_of_tag[tag] = kind_of_tag.get(tag, "") or kind
    return {tag: shown for tag, kind in kind_of_tag.items() if (shown := _shown(tag, kind, files))}


class _Files:
    """The files of a run in order of their first events, and which of them had ended before another began."""

    def __init__(self, readings: Sequence[Reading]) -> None:
        spans = {id(r): (r.wall_times[0], max(r.wall_times)) if r.wall_times else (0.0, 0.0) for r in readings}
        self.timed = all(reading.wall_times for reading in readings)
        self.readings = sorted(readings, key=lambda reading: spans[id(reading)]) if self.timed else list(readings)
        self._spans = [spans[id(reading)] for reading in self.readings]

    def precedes(self, one: int, other: int) -> bool:
        return one < other and (not self.timed or self._spans[one][1] <= self._spans[other][0])

    def restarts(self) -> list[tuple[int, int, int]]:
        """Return file, position in its stream and step of every ``SessionLog.START`` that restarts the run."""
        found = []
        for number, reading in enumerate(self.readings):
            begun = any(self.precedes(other, number) and self.readings[other].stream for other in range(number))
            for place, item in enumerate(reading.stream):
                if not isinstance(item, Point):
                    if begun:
                        found.append((number, place, item))
                    begun = True
        return found


def _shown(tag: str, kind: str, files: _Files) -> list[tuple[int, str, str]]:
    points = [
        (number, place, item)
        for number, reading in enumerate(files.readings)
        if reading.kinds.get(tag) in (kind, "")
        for place, item in enumerate(reading.stream)
        if isinstance(item, Point) and item.tag == tag
    ]
    restarts = files.restarts() or _steps_that_go_back(points, files)
    kept = [
        (number, place, point)
        for number, place, point in points
        if not any(
            point.step >= step and (files.precedes(number, other) or (number == other and place < at))
            for other, at, step in restarts
        )
    ]
    # Files written at the same time, directly or linked by others, form one stretch.
    holding = sorted({number for number, _, _ in points})
    stretch = {number: number for number in holding}
    for before, number in itertools.pairwise(holding):
        if not all(files.precedes(other, number) for other in holding if other <= before):
            stretch[number] = stretch[before]
    several = {first for number, first in stretch.items() if number != first}

    def order(entry: tuple[int, int, Point]) -> tuple[object, ...]:
        number, place, point = entry
        time = float(point.wall_time)
        merged = (point.step, math.isnan(time), 0.0 if math.isnan(time) else time)
        return (stretch[number], *(merged if stretch[number] in several else ()), number, place)

    return [
        (point.step, point.wall_time, point.number if kind == SCALARS else "")
        for _, _, point in sorted(kept, key=order)
    ]


def _steps_that_go_back(points: Sequence[tuple[int, int, Point]], files: _Files) -> list[tuple[int, int, int]]:
    by_file: dict[int, list[tuple[int, Point]]] = {}
    for number, place, point in points:
        by_file.setdefault(number, []).append((place, point))
    found = []
    for number, written in by_file.items():
        before = [other for other in by_file if files.precedes(other, number)]
        right_before = [other for other in before if not any(files.precedes(other, between) for between in before)]
        first = written[0][1].step
        if any(first < by_file[other][-1][1].step for other in right_before):
            found.append((number, written[0][0], first))
        found += [
            (number, place, point.step)
            for (_, earlier), (place, point) in itertools.pairwise(written)
            if point.step < earlier.step
        ]
    return found
