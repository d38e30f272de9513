"""Planes of an XSpace: their texts, where their lines are in the bytes, and the arguments of their events."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from stepscope.profiler.traces.losses import MEMORY, LossTally
from stepscope.profiler.traces.texts import shortened
from stepscope.profiler.traces.wire import (
    Fields,
    XEventColumns,
    fields_of,
    scan_events,
    varint_fields,
)
from stepscope.summary.bounded_messages import TooManyPartsError, parse
from stepscope.summary.proto.xplane_pb2 import XEvent, XEventMetadata, XPlane, XStat

_MOST_REMARKS: Final = 10
MOST_ARGUMENT_BYTES: Final = 1 << 20
"""Maximum size of an event with its arguments."""
CONTEXT_STATS: Final = ("_pt", "_p", "_ct", "_c")
"""Kind and number of an event as a producer, then as a consumer."""
_INTERNAL_STATS: Final = frozenset({*CONTEXT_STATS, "_r"})
"""Stats that are not arguments; the last marks the root of a step."""


@dataclass
class Plane:
    """A plane with its texts and lines, and the positions of its events."""

    name: str = ""
    number: int = 0
    event_metadata: dict[int, XEventMetadata] = field(default_factory=dict)
    stat_names: dict[int, str] = field(default_factory=dict)
    stats: dict[str, Any] = field(default_factory=dict)
    lines: list[tuple[int, int]] = field(default_factory=list)
    """Start and end of each line in the file."""


@dataclass
class Line:
    """A line with its events."""

    number: int
    name: str
    timestamp_ns: int
    events: XEventColumns


def planes_of(
    data: bytes, buffer: NDArray[np.uint8], tally: LossTally
) -> tuple[list[Plane], tuple[str, ...], list[str]]:
    """Return the planes of a file, the profiler's remarks on the recording, and the hosts it ran on."""
    planes: list[Plane] = []
    remarks: list[str] = []
    hosts: list[str] = []
    for found in _readable(fields_of(buffer, 0, len(data)), tally, "the file"):
        text = "" if found.number == 1 else data[found.start : found.end].decode(errors="replace")
        if found.number == 1 and found.wire_type == 2:
            plane = _plane(data, buffer, found, tally)
            if plane.name or plane.lines:
                planes.append(plane)
        elif found.number in (2, 3) and len(remarks) < _MOST_REMARKS:
            remarks.append(f"message from the profiler: {shortened(text)}")
        elif found.number == 4:
            hosts.append(shortened(text))
    return planes, tuple(remarks), hosts


def _plane(data: bytes, buffer: NDArray[np.uint8], at: Fields, tally: LossTally) -> Plane:
    plane = Plane()
    stats: list[XStat] = []
    for found in _readable(fields_of(buffer, at.start, at.end), tally, f"a plane at byte {at.start}"):
        if found.number == 3 and found.wire_type == 2:
            plane.lines.append((found.start, found.end))
            continue
        if found.end > len(data):
            tally.add("unreadable part", 1, f"a field of a plane at byte {found.start}")
            continue
        part = data[found.begin : found.end]
        try:
            # The rest of a plane is small: parse each field as a message with only that field.
            message = parse(XPlane, part)
        except DecodeError as error:
            reason = f": {error}" if isinstance(error, TooManyPartsError) else ""
            tally.add("unreadable part", 1, f"a field of a plane at byte {found.start}{reason}")
            continue
        plane.name = message.name or plane.name
        plane.number = message.id or plane.number
        plane.event_metadata.update(message.event_metadata.items())
        plane.stat_names.update((number, said.name) for number, said in message.stat_metadata.items())
        stats += message.stats
    said = {plane.stat_names.get(stat.metadata_id, ""): _value(plane, stat) for stat in stats}
    plane.stats = {key: value for key, value in said.items() if not isinstance(value, bytes)}
    return plane


def line_of(
    data: bytes, buffer: NDArray[np.uint8], plane: Plane, start: int, end: int, tally: LossTally, most: int
) -> Line:
    """Return the line in ``start:end`` with its first ``most`` events."""
    numbers = varint_fields(buffer, start, min(end, len(data)), (1, 3, 10))
    texts = {2: "", 11: ""}
    end = min(end, len(data))
    for found in _readable(fields_of(buffer, start, end, stop_at=4), tally, f"a line of {plane.name}"):
        if found.number in texts and found.wire_type == 2:
            texts[found.number] = data[found.start : found.end].decode(errors="replace")
    name = texts[11] or texts[2]
    events = scan_events(buffer, start, end, max(most, 0))
    if events.damaged_at >= 0:
        tally.add("unreadable part", 1, f"line “{name}” of {plane.name} from byte {events.damaged_at}")
    tally.add(MEMORY, events.left_out, f"events of line “{name}” of {plane.name}")
    return Line(numbers[2] or numbers[0], name, numbers[1], events)


def _readable(fields: Iterator[Fields], tally: LossTally, place: str) -> Iterator[Fields]:
    """Yield the fields up to where the bytes are no longer a message."""
    try:
        yield from fields
    except ValueError as error:
        tally.add("unreadable part", 1, f"{place}: {error}")


def _value(plane: Plane, stat: XStat) -> Any:
    kind = stat.WhichOneof("value")
    if kind is None:
        return None
    if kind == "ref_value":
        return plane.stat_names.get(stat.ref_value, "")
    return getattr(stat, kind)


class XPlaneArguments:
    """Stats of slices, decoded from the bytes one slice at a time; those of the event's metadata come first."""

    def __init__(
        self,
        data: bytes,
        planes: Sequence[Plane],
        plane_of: NDArray[np.int16],
        starts: NDArray[np.int64],
        lengths: NDArray[np.int32],
    ) -> None:
        self._data = data
        self._planes = planes
        self._plane_of = plane_of
        self._starts = starts
        self._lengths = lengths

    def __getitem__(self, slice_index: int) -> Mapping[str, Any]:
        start = int(self._starts[slice_index])
        if start < 0:
            return {}
        plane = self._planes[int(self._plane_of[slice_index])]
        length = int(self._lengths[slice_index])
        if length > MOST_ARGUMENT_BYTES:
            return {"args": f"{length:,} bytes, which are too many to be shown"}
        return arguments_of(plane, self._data[start : start + length])


def arguments_of(plane: Plane, encoded: bytes) -> dict[str, Any]:
    """Return the arguments of an event, given its bytes; an empty dict if these are not an event."""
    try:
        event = parse(XEvent, encoded)
    except DecodeError:
        return {}
    arguments: dict[str, Any] = {}
    metadata = plane.event_metadata.get(event.metadata_id)
    if metadata is not None and metadata.display_name:
        arguments["long_name"] = metadata.name
    for stat in [*(metadata.stats if metadata is not None else ()), *event.stats]:
        name = plane.stat_names.get(stat.metadata_id, "")
        value = _value(plane, stat)
        if value is not None and not isinstance(value, bytes) and name not in _INTERNAL_STATS:
            arguments[name] = value
    return arguments
