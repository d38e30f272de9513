"""The slow way to read event files: record by record, each by protobuf, to compare the readers of `summary` with."""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from google.protobuf.message import DecodeError

from summary import kinds
from summary.event_file import EventFile, value_of_event
from summary.kinds.base import PayloadError
from summary.proto.event_pb2 import Event, SessionLog
from summary.proto.summary_pb2 import Summary
from summary.records import FOOTER_BYTES, HEADER_BYTES, masked_crc
from summary.snapshot import SCALARS

LARGEST_RECORD: Final = 2**31


class FindingError(Exception):
    """What was shown differs from what should be; ``content`` is the file that shows it."""

    def __init__(self, message: str, content: bytes) -> None:
        super().__init__(message)
        self.content = content


@dataclass(frozen=True)
class Point:
    """A value as the plain reader finds it; numbers as text, so that NaN equals NaN."""

    tag: str
    step: int
    wall_time: str
    number: str
    """Empty where the tag's kind keeps none."""
    place: tuple[int, int, int]
    """Offset and length of the record's data, and the value's index; zeros where the tag's kind keeps none."""


@dataclass
class Reading:
    """All that is in an event file, in its order; an int among the points is the step of a ``SessionLog.START``."""

    stream: list[Point | int] = field(default_factory=list)
    kinds: dict[str, str] = field(default_factory=dict)
    damages: list[tuple[int, int]] = field(default_factory=list)
    records: int = 0
    waiting: bool = False

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
        return starts


def plainly_read(content: bytes) -> Reading:
    """Reads a whole event file record by record, each of them by protobuf."""
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
    match event.WhichOneof("what"):
        case "summary":
            for index, value in enumerate(event.summary.value):
                if value.tag or value.node_name or value.WhichOneof("value") is not None:
                    _take_value(reading, event, value, (offset, len(data), index))
        case "graph_def" | "tagged_run_metadata":
            _take_value(reading, event, value_of_event(event), (offset, len(data), 0))
        case "session_log" if event.session_log.status == SessionLog.START:
            reading.stream.append(event.step)
        case _:
            pass


def _take_value(reading: Reading, event: Event, value: Summary.Value, place: tuple[int, int, int]) -> None:
    tag = value.tag or value.node_name
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
    """What an `EventFile` holds, as the plain reader would say it."""
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
    """Raises `FindingError` where the file's bytes, read plainly, say something else."""
    plain = plainly_read(content)
    for name, shown, expected in (
        ("points", points_of(file), plain.points()),
        ("damages", damages_of(file)[:100], sorted(plain.damages)[:100]),
        ("number of damages", file.all_damage_count, len(plain.damages)),
        ("records", file.records, plain.records),
        ("waiting", file.waiting, plain.waiting),
        ("starts", [(s.step, +Counter(s.points_before)) for s in file.session_starts], plain.starts()),
    ):
        if shown != expected:
            raise FindingError(f"{name}: shown {shown!r}, expected {expected!r}", content)


def plainly_shown(readings: Sequence[Reading]) -> dict[str, list[tuple[int, str, str]]]:
    """What a run of several files shows, by tag: step, wall time, number; restarts as the guide states them."""
    kind_of_tag: dict[str, str] = {}
    for reading in readings:
        for tag, kind in reading.kinds.items():
            kind_of_tag[tag] = kind_of_tag.get(tag, "") or kind
    begun = restarted = False
    for item in itertools.chain.from_iterable(reading.stream for reading in readings):
        restarted |= begun and not isinstance(item, Point)
        begun = True
    begun = False
    shown: dict[str, list[tuple[int, str, str]]] = {}
    last_step: dict[str, int] = {}
    for reading in readings:
        for item in reading.stream:
            if isinstance(item, Point):
                if reading.kinds[item.tag] in (kind_of_tag[item.tag], ""):
                    if not restarted and item.step < last_step.get(item.tag, item.step):
                        shown[item.tag] = [point for point in shown[item.tag] if point[0] < item.step]
                    last_step[item.tag] = item.step
                    number = item.number if kind_of_tag[item.tag] == SCALARS else ""
                    shown.setdefault(item.tag, []).append((item.step, item.wall_time, number))
            elif begun:
                shown = {tag: [point for point in points if point[0] < item] for tag, points in shown.items()}
            begun = True
    return {tag: points for tag, points in shown.items() if points}
