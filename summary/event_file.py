"""One event file as it grows: what was read of it so far, by tag."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import BinaryIO, Final

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from summary import kinds
from summary.kinds.base import PayloadError
from summary.points import GrowingColumn, Part
from summary.proto.event_pb2 import Event, SessionLog
from summary.proto.summary_pb2 import Summary
from summary.proto.types_pb2 import DT_STRING
from summary.records import HEADER_BYTES
from summary.scan import DAMAGE_REASONS, ROW, DamageReason, Outcome, Scanner
from summary.scan_kernel import BLOB
from summary.snapshot import SCALARS, Damage
from summary.source import read_up_to

GRAPHS: Final = "graphs"
TAGGED_RUN_METADATA: Final = "graph_tagged_run_metadata"
RUN_GRAPH_TAG: Final = "__run_graph__"
_WINDOW_BYTES: Final = 8 << 20
_WINDOW_ROWS: Final = 1 << 17
_DAMAGES_KEPT: Final = 100
_HEAD_BYTES: Final = 64


@dataclass
class TagPoints:
    """The points of one tag in one file; only the following thread appends."""

    tag: str
    kind: str
    display_name: str = ""
    description: str = ""
    plugin_content: bytes = b""
    steps: GrowingColumn[np.int64] = field(default_factory=lambda: GrowingColumn(np.int64))
    wall_times: GrowingColumn[np.float64] = field(default_factory=lambda: GrowingColumn(np.float64))
    values: GrowingColumn[np.float64] = field(default_factory=lambda: GrowingColumn(np.float64))
    offsets: GrowingColumn[np.int64] = field(default_factory=lambda: GrowingColumn(np.int64))
    lengths: GrowingColumn[np.int64] = field(default_factory=lambda: GrowingColumn(np.int64))
    indices: GrowingColumn[np.int32] = field(default_factory=lambda: GrowingColumn(np.int32))

    def __len__(self) -> int:
        return len(self.steps)

    def extend(self, rows: NDArray[np.void]) -> None:
        self.steps.extend(rows["step"])
        self.wall_times.extend(rows["wall_time"])
        # A file may begin in the middle of a run, without the metadata that says what a tensor is;
        # the run's other files say it, so such points keep both what a scalar and what a blob needs.
        if self.kind in (SCALARS, ""):
            self.values.extend(rows["value"])
        if self.kind != SCALARS:
            self.offsets.extend(rows["offset"])
            self.lengths.extend(rows["length"])
            self.indices.extend(rows["index"])

    def part(self, path: PurePosixPath) -> Part:
        """The points so far, as views."""
        return Part(
            path,
            self.steps.view(),
            self.wall_times.view(),
            self.values.view(),
            self.offsets.view(),
            self.lengths.view(),
            self.indices.view(),
        )


@dataclass(frozen=True)
class SessionStart:
    """A ``SessionLog.START``: its step, and how many points of each tag the file held before it."""

    step: int
    points_before: dict[str, int]


class EventFile:
    """Reads a growing event file piece by piece; a replaced or shortened one is to be read by a new object.

    Args:
        path: relative to the log directory.
        open_at: opens the file at an offset.
    """

    def __init__(self, path: PurePosixPath, open_at: Callable[[int], BinaryIO]) -> None:
        self.path = path
        self.points: dict[str, TagPoints] = {}
        self.session_starts: list[SessionStart] = []
        self.first_wall_time: float | None = None
        self.position = 0
        """Offset of the first byte that is not read for good."""
        self.waiting = False
        self.damages: list[Damage] = []
        self.damage_count = 0
        self._tail_damage: Damage | None = None
        self._lost_at: int | None = None
        self._open_at = open_at
        self._scanner = Scanner()
        self._by_id: list[TagPoints] = []
        self._head = b""

    @property
    def records(self) -> int:
        return self._scanner.records

    @property
    def all_damages(self) -> tuple[Damage, ...]:
        """The first damages, and the one at the end of the file that may yet be mended by more bytes."""
        return (*self.damages, *([self._tail_damage] if self._tail_damage else []))

    @property
    def all_damage_count(self) -> int:
        return self.damage_count + (self._tail_damage is not None)

    def begins_as_before(self) -> bool:
        """Whether the file still begins with the bytes that were read first; raises OSError."""
        with self._open_at(0) as stream:
            return read_up_to(stream, len(self._head)) == self._head

    def read_new(self, size: int) -> None:
        """Reads what was appended, up to the end of the file, whose size was last seen as ``size``.

        Raises:
            OSError: the file cannot be read; what was read before stays.
        """
        window = min(_WINDOW_BYTES, max(1 << 12, size - self.position + 1))
        rows = np.empty(min(_WINDOW_ROWS, window // 16 + 16), ROW)
        position = self.position
        self._lost_at = None
        with self._open_at(position) as stream:
            while True:
                stream.seek(position)
                content = read_up_to(stream, window)
                if position == 0:
                    self._head = content[:_HEAD_BYTES]
                outcome, taken = self._scan_window(np.frombuffer(content, np.uint8), position, rows)
                if len(content) < window:
                    position += taken
                    break
                # A header may lie across the end of the window.
                position += taken if outcome is not Outcome.LOST else len(content) - HEADER_BYTES + 1
                if self._lost_at is None:
                    self.position = position
                end = stream.seek(0, os.SEEK_END)
                window = max(_WINDOW_BYTES, min(self._scanner.needed, end - position + 1))
            self._note_end(position, stream.seek(0, os.SEEK_END))

    def _note_end(self, position: int, end: int) -> None:
        # What follows damage at the end is read anew when the file grows, as the end may have been half written.
        self.position = position if self._lost_at is None else self._lost_at
        self.waiting = self._lost_at is None and position < end
        self._tail_damage = None
        if self._lost_at is not None:
            reason = f"{DAMAGE_REASONS[DamageReason.HEADER]}, and no record follows"
            self._tail_damage = Damage(self._lost_at, end - self._lost_at, reason)

    def _scan_window(self, buffer: NDArray[np.uint8], base: int, rows: NDArray[np.void]) -> tuple[Outcome, int]:
        """Takes the rows of a window of the file; returns why it stopped, and where in the window."""
        at = 0
        while True:
            begin = at
            outcome, at, count = self._scanner.scan(buffer, begin, base, rows)
            header_found = at > begin or outcome is Outcome.ROWS_FULL or self._scanner.needed > 0
            self._note_damages(base + begin, header_found)
            if outcome is Outcome.LOST and self._lost_at is None:
                self._lost_at = base + at
            self._take_rows(rows[:count], buffer, base)
            if outcome is not Outcome.ROWS_FULL:
                return outcome, at

    def _note_damages(self, begin: int, header_found: bool) -> None:
        found = self._scanner.damages
        if self._lost_at is not None and header_found:
            end = begin
            if found and found[0].offset == begin and found[0].reason is DamageReason.HEADER:
                end = begin + found.pop(0).length
            self._add_damage(Damage(self._lost_at, end - self._lost_at, DAMAGE_REASONS[DamageReason.HEADER]))
            self._lost_at = None
        for damage in found:
            self._add_damage(Damage(damage.offset, damage.length, DAMAGE_REASONS[damage.reason]))
        found.clear()

    def _add_damage(self, damage: Damage) -> None:
        self.damage_count += 1
        if len(self.damages) < _DAMAGES_KEPT:
            self.damages.append(damage)

    def _take_rows(self, rows: NDArray[np.void], buffer: NDArray[np.uint8], base: int) -> None:
        if len(rows) == 0:
            return
        if self.first_wall_time is None:
            self.first_wall_time = float(rows["wall_time"][0])
        sorted_rows, group_ends = self._scanner.sort_by_tag(rows)
        others = np.flatnonzero(rows["tag"] < 0)
        lengths_before = {tag: len(points) for tag, points in self.points.items()} if len(others) else {}
        begin = 0
        for tag_id, end in enumerate(group_ends.tolist()):
            if end > begin:
                self._take_group(tag_id, sorted_rows[begin:end], buffer, base)
            begin = end
        counted = 0
        for index in others.tolist():
            # Starts with no point between them share what came before, lest a file of nothing else fill the memory.
            between = rows["tag"][counted:index]
            if (between >= 0).any():
                lengths_before = self._lengths_after(lengths_before, between)
            counted = index
            self._take_other(rows[index : index + 1], lengths_before, buffer, base)

    def _lengths_after(self, lengths: dict[str, int], tags: NDArray[np.int32]) -> dict[str, int]:
        """How many points each tag has, given how many it had before rows of ``tags`` came."""
        after = dict(lengths)
        for tag_id, count in zip(*np.unique(tags[tags >= 0], return_counts=True), strict=True):
            tag = self._by_id[tag_id].tag
            after[tag] = after.get(tag, 0) + int(count)
        return after

    def _take_group(self, tag_id: int, rows: NDArray[np.void], buffer: NDArray[np.uint8], base: int) -> None:
        while tag_id >= len(self._by_id):
            name = self._scanner.tags[len(self._by_id)].decode("utf-8", "replace")
            known = self.points.get(name)
            self._by_id.append(TagPoints(name, "") if known is None else known)
        points = self._by_id[tag_id]
        if len(points) == 0:
            self._describe(points, rows[0], buffer, base)
            points = self._by_id[tag_id] = self.points.setdefault(points.tag, points)
        if points.kind == SCALARS and (rows["form"] == BLOB).any():
            rows = self._decode_numbers(rows, buffer, base)
        points.extend(rows)

    def _describe(self, points: TagPoints, row: np.void, buffer: NDArray[np.uint8], base: int) -> None:
        try:
            value = _event_of(row, buffer, base).summary.value[int(row["index"])]
        except DecodeError as error:
            self._add_damage(Damage(int(row["offset"]), int(row["length"]), f"not an Event message: {error}"))
            return
        points.kind = kinds.kind_of(value)
        points.display_name = value.metadata.display_name
        points.description = value.metadata.summary_description
        points.plugin_content = value.metadata.plugin_data.content

    def _decode_numbers(self, rows: NDArray[np.void], buffer: NDArray[np.uint8], base: int) -> NDArray[np.void]:
        """Decodes numbers in forms that the scan leaves alone, such as integer tensors."""
        rows = rows.copy()
        readable = np.ones(len(rows), np.bool_)
        for index in np.flatnonzero(rows["form"] == BLOB).tolist():
            row = rows[index]
            try:
                event = _event_of(row, buffer, base)
                rows["value"][index] = kinds.decode(SCALARS, event.summary.value[int(row["index"])])
            except (DecodeError, PayloadError) as error:
                readable[index] = False
                self._add_damage(Damage(int(row["offset"]), int(row["length"]), f"no scalar: {error}"))
        return rows[readable]

    def _take_other(
        self,
        row: NDArray[np.void],
        points_before: dict[str, int],
        buffer: NDArray[np.uint8],
        base: int,
    ) -> None:
        try:
            event = _event_of(row[0], buffer, base)
        except DecodeError as error:
            self._add_damage(Damage(int(row["offset"][0]), int(row["length"][0]), f"not an Event message: {error}"))
            return
        match event.WhichOneof("what"):
            case "session_log" if event.session_log.status == SessionLog.START:
                self.session_starts.append(SessionStart(event.step, points_before))
            case "graph_def" | "tagged_run_metadata":
                self._take_older_form(row, value_of_event(event))
            case _:
                pass

    def _take_older_form(self, row: NDArray[np.void], value: Summary.Value) -> None:
        """Takes a payload that was a field of the event before summaries could hold it."""
        kind = value.metadata.plugin_data.plugin_name
        points = self.points.setdefault(value.tag, TagPoints(value.tag, kind))
        if points.kind == kind:
            points.extend(row)
        else:
            reason = f"{kind} under the tag {value.tag!r}, which holds {points.kind or 'values of no known kind'}"
            self._add_damage(Damage(int(row["offset"][0]), int(row["length"][0]), reason))


def value_of_event(event: Event, index: int = 0) -> Summary.Value:
    """The value that an event holds: number ``index`` of its summary, or its older payload in today's form.

    A ``graph_def`` and a ``tagged_run_metadata`` become string tensors under the plugin names that TensorBoard's
    migration gives them.

    Raises:
        PayloadError: the event holds no such value.
    """
    what = event.WhichOneof("what")
    if what == "summary" and index < len(event.summary.value):
        return event.summary.value[index]
    value = Summary.Value()
    value.tensor.dtype = DT_STRING
    if what == "graph_def":
        value.tag = RUN_GRAPH_TAG
        value.metadata.plugin_data.plugin_name = GRAPHS
        value.tensor.string_val.append(event.graph_def)
    elif what == "tagged_run_metadata":
        value.tag = event.tagged_run_metadata.tag
        value.metadata.plugin_data.plugin_name = TAGGED_RUN_METADATA
        value.tensor.string_val.append(event.tagged_run_metadata.run_metadata)
    else:
        raise PayloadError(f"the record holds {what or 'nothing'}, not value {index} of a summary")
    return value


def _event_of(row: np.void, buffer: NDArray[np.uint8], base: int) -> Event:
    begin = int(row["offset"]) - base
    return Event.FromString(buffer[begin : begin + int(row["length"])].tobytes())
