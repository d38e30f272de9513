"""The list at the end of an index segment: the state of each event file and how it was read, as columns.

A list is decoded at once for all files; the object of a file is created when that file is requested.
"""

import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from stepscope.summary.event_file import FileState
from stepscope.summary.index_files import Segment
from stepscope.summary.packed_points import PackedPoints, PackedTable, Packer
from stepscope.summary.records import crc32c
from stepscope.summary.scalar_summaries import SUMMARY, Points, ScalarSummary, from_row, summaries
from stepscope.summary.source import FoundFile
from stepscope.summary.stored_points import NONE_SAID, TagTexts, Texts, are_texts_of

_SETTLED_NS: Final = 2_000_000_000
"""A file that changed within this time before it was read may have changed again without a later change time."""
_LARGEST_IDENTITY: Final = (1 << 64) - 1

ENTRY: Final = np.dtype(
    [
        ("size", "<i8"),
        ("modified_ns", "<i8"),
        ("changed_ns", "<i8"),
        ("seen_ns", "<i8"),
        ("device", "<u8"),
        ("file", "<u8"),
        ("at", "<i8"),
        ("length", "<i8"),
        ("first_wall_time", "<f8"),
        ("begun", "<f8"),
        ("ended", "<f8"),
        ("crc", "<u4"),
        ("table", "<u4"),
        ("session_starts", "<u4"),
        ("has_events", "?"),
    ]
)
"""An event file as the listing saw it (``device`` and ``file`` are its identity), the location of its points in the
segment, the index of their table in the segment, and the data read from it by which runs are distinguished.

``begun`` and ``ended`` are the span of `stepscope.summary.event_file.EventFile`.
"""


CRC: Final = np.dtype("<u4")


class IndexedFile(NamedTuple):
    """The data of an event file in an index."""

    found: FoundFile
    """The file as the listing saw it when it was read."""
    seen_ns: int
    """Time of that listing, in nanoseconds since the epoch."""
    state: FileState
    points: PackedPoints

    def is_certainly(self, found: FoundFile) -> bool:
        """Return whether a file is certainly the one that was read, unchanged, by its size and its times alone."""
        then = self.found
        if (found.size, found.modified_ns, found.changed_ns, found.etag) != (
            then.size,
            then.modified_ns,
            then.changed_ns,
            then.etag,
        ):
            return False
        if found.etag:
            return True
        # A device's number changes when the machine restarts. Windows reports the creation time instead.
        latest_ns = max(found.changed_ns, found.modified_ns)
        return (
            os.name != "nt"
            and found.changed_ns != 0
            and found.identity[1] == then.identity[1] != 0
            and self.seen_ns - latest_ns > _SETTLED_NS
        )


class _Listed(msgspec.Struct, array_like=True, frozen=True):
    tables: list[PackedTable]
    paths: list[bytes]
    entries: bytes
    """`ENTRY` [paths]."""
    etags: dict[int, str]
    """By the file's place, for files that have one."""
    texts: dict[int, msgspec.Raw]
    """By the file's place, for files that have some."""
    states: list[msgspec.Raw]
    """`FileState` of each."""
    summaries: bytes
    """`SUMMARY` [tags of all files, one after the other]."""
    crcs: dict[int, bytes]
    """By the file's place, for files with a divided block: `CRC` of each part."""


class _Strings:
    """Byte strings joined into one, with the end of each; separate objects would be larger than most of the strings."""

    __slots__ = ("_content", "_ends")

    def __init__(self, strings: Sequence[bytes]) -> None:
        self._content: Final = b"".join(strings)
        self._ends: Final = np.cumsum([0, *map(len, strings)])

    def __getitem__(self, place: int) -> bytes:
        begin, end = self._ends[place : place + 2].tolist()
        return self._content[begin:end]

    def __iter__(self) -> Iterator[bytes]:
        return (self._content[begin:end] for begin, end in pairwise(self._ends.tolist()))


class SegmentFiles:
    """The files of one segment, by their places in its list; any thread may request them.

    Args:
        segment: holds their points.
        listed: the list.
        tables: the tables of the list; equal tables of several segments are one object.
    """

    __slots__ = (
        "_crcs",
        "_etags",
        "_paths",
        "_states",
        "_summaries",
        "_texts",
        "entries",
        "segment",
        "summary_begins",
        "tables",
    )

    def __init__(self, segment: Segment, listed: _Listed, tables: Sequence[PackedTable]) -> None:
        self.segment: Final = segment
        self.tables: Final = tables
        self.entries: Final[NDArray[np.void]] = np.frombuffer(listed.entries, ENTRY)
        """`ENTRY` [files]."""
        self._paths: Final = _Strings(listed.paths)
        self._etags: Final = listed.etags
        self._crcs: Final = listed.crcs
        # Copies, since parts of a decoded list keep all of it in memory.
        self._states: Final = _Strings([bytes(state) for state in listed.states])
        texts = [bytes(listed.texts.get(place, b"")) for place in range(len(listed.paths))] if listed.texts else []
        self._texts: Final = _Strings(texts) if texts else None
        self._summaries: Final[NDArray[np.void]] = np.frombuffer(listed.summaries, SUMMARY)
        tags = np.array([len(table.tags.tags) for table in tables], np.int64)
        self.summary_begins: Final[NDArray[np.int64]] = np.concatenate([[0], np.cumsum(tags[self.entries["table"]])])
        """int64 [files + 1]: where the summaries of each file's tags begin."""

    def __len__(self) -> int:
        return len(self.entries)

    def paths(self) -> Iterator[str]:
        """Yield the path of each file, as the text of a `PurePosixPath`."""
        return (path.decode(errors="surrogateescape") for path in self._paths)

    def file(self, place: int) -> IndexedFile:
        """Return a file; raises DecodeError, a ValueError, if its state or its texts are invalid."""
        entry = self.entries[place]
        identity = (int(entry["device"]), int(entry["file"]))
        found = FoundFile(
            PurePosixPath(self._paths[place].decode(errors="surrogateescape")),
            int(entry["size"]),
            int(entry["modified_ns"]),
            identity,
            int(entry["changed_ns"]),
            self._etags.get(place, ""),
        )
        self.texts(place)
        return IndexedFile(found, int(entry["seen_ns"]), _STATE_DECODER.decode(self._states[place]), self.points(place))

    def points(self, place: int) -> PackedPoints:
        """Return the points of a file."""
        return PackedPoints(self.tables[self.entries["table"][place]], BlockOfSegment(self, place))

    def summary(self, place: int, tag_place: int) -> ScalarSummary | None:
        """Return the summary of a scalar tag of a file; None if the tag has no points."""
        tags = self.tables[self.entries["table"][place]].tags
        if not tags.counts[tag_place]:
            return None
        return from_row(self._summaries[self.summary_begins[place] + tag_place], tags.last_steps[tag_place])

    def crc_of_part(self, place: int, number: int) -> int:
        """Return the CRC of a part of a file's divided block."""
        return int(np.frombuffer(self._crcs[place], CRC)[number])

    def texts(self, place: int) -> Texts:
        """Return the texts in the first values of a file's tags; raises DecodeError, a ValueError, if invalid."""
        encoded = b"" if self._texts is None else self._texts[place]
        if not encoded:
            return NONE_SAID
        texts = _TEXTS_DECODER.decode(encoded)
        if not are_texts_of(texts, len(self.tables[self.entries["table"][place]].tags.tags)):
            raise msgspec.DecodeError("texts of tags that are not there")
        return texts


class BlockOfSegment:
    """The points of a file in its segment, whose texts can be decoded."""

    __slots__ = ("_files", "_place")

    def __init__(self, files: SegmentFiles, place: int) -> None:
        self._files = files
        self._place = place

    def read(self) -> bytes | None:
        entry = self._files.entries[self._place]
        return self._files.segment.block(int(entry["at"]), int(entry["length"]), int(entry["crc"]))

    def read_part(self, number: int, begin: int, end: int) -> bytes | None:
        at = int(self._files.entries[self._place]["at"]) + begin
        return self._files.segment.block(at, end - begin, self._files.crc_of_part(self._place, number))

    def summary(self, place: int) -> ScalarSummary | None:
        return self._files.summary(self._place, place)

    @property
    def texts(self) -> Texts:
        return self._files.texts(self._place)


_LIST_DECODER: Final = msgspec.msgpack.Decoder(_Listed)
_STATE_DECODER: Final = msgspec.msgpack.Decoder(FileState)
_TEXTS_DECODER: Final = msgspec.msgpack.Decoder(dict[int, TagTexts])
_ENCODER: Final = msgspec.msgpack.Encoder()


class Written(NamedTuple):
    """A segment as it is written: blocks, each of which begins where the previous one ends, and then their list."""

    sources: list[IndexedFile]
    """The files in it."""
    blocks: list[bytes]
    list: bytes
    listed: _Listed

    def files(self, segment: Segment) -> SegmentFiles:
        """Return the files, in the order of `sources`."""
        return SegmentFiles(segment, self.listed, self.listed.tables)


def encoded(files: Sequence[IndexedFile], at: int) -> Written:
    """Return a segment of files, whose first block will be at offset ``at``.

    Files whose block is stored elsewhere, and damaged or gone there, are left out.
    """
    sources: list[IndexedFile] = []
    blocks: list[bytes] = []
    tables: dict[int, int] = {}
    shared: list[PackedTable] = []
    rows: list[tuple[Any, ...]] = []
    scalars: list[Points] = []
    for file in files:
        content = file.points.block.read()
        if content is None:
            continue
        table = file.points.table
        if id(table) not in tables:
            tables[id(table)] = len(shared)
            shared.append(table)
        found, state = file.found, file.state
        rows.append(
            (
                found.size,
                found.modified_ns,
                found.changed_ns,
                file.seen_ns,
                # It may be larger on another system, where it is not compared.
                *(part & _LARGEST_IDENTITY for part in found.identity),
                at,
                len(content),
                np.nan if state.first_wall_time is None else state.first_wall_time,
                *state.span,
                crc32c(content),
                tables[id(table)],
                len(state.session_starts),
                state.first_wall_time is not None,
            )
        )
        sources.append(file)
        blocks.append(content)
        scalars.append(table.scalars(content))
        at += len(content)
    listed = _Listed(
        shared,
        [str(file.found.path).encode(errors="surrogateescape") for file in sources],
        np.array(rows, ENTRY).tobytes(),
        {place: file.found.etag for place, file in enumerate(sources) if file.found.etag},
        {
            place: msgspec.Raw(_ENCODER.encode(dict(file.points.texts)))
            for place, file in enumerate(sources)
            if file.points.texts
        },
        [msgspec.Raw(_ENCODER.encode(file.state)) for file in sources],
        summaries(scalars).tobytes(),
        {
            place: np.array(list(_crcs_of_parts(file.points.table, content)), CRC).tobytes()
            for place, (file, content) in enumerate(zip(sources, blocks, strict=True))
            if file.points.table.divided
        },
    )
    return Written(sources, blocks, _ENCODER.encode(listed), listed)


def _crcs_of_parts(table: PackedTable, block: bytes) -> Iterator[int]:
    whole = memoryview(block)
    return (crc32c(whole[begin:end]) for begin, end in pairwise(table.part_begins))


def decoded(content: bytes, segment: Segment, end: int, packer: Packer) -> SegmentFiles:
    """Return the files of a segment whose blocks end at ``end``.

    Raises:
        ValueError: ``content`` is not a list, or not the list of such a segment.
    """
    listed = _LIST_DECODER.decode(content)
    if not all(table.is_sound for table in listed.tables):
        raise ValueError("its tables do not fit")
    if not len(listed.paths) == len(listed.states) == len(listed.entries) / ENTRY.itemsize:
        raise ValueError("its columns do not fit")
    entries = np.frombuffer(listed.entries, ENTRY)
    if len(entries) and int(entries["table"].max()) >= len(listed.tables):
        raise ValueError("a table is missing")
    files = SegmentFiles(segment, listed, [packer.shared(table) for table in listed.tables])
    if len(listed.summaries) != int(files.summary_begins[-1]) * SUMMARY.itemsize:
        raise ValueError("its summaries do not fit")
    divided = np.flatnonzero(np.array([table.divided for table in listed.tables], np.bool_)[entries["table"]]).tolist()
    parts = {place: 1 + len(listed.tables[entries["table"][place]].tags.tags) for place in divided}
    if {place: len(crcs) for place, crcs in listed.crcs.items()} != {
        place: CRC.itemsize * count for place, count in parts.items()
    }:
        raise ValueError("the CRCs of parts do not fit")
    # A table from elsewhere may claim more bytes than 64-bit numbers can count.
    lengths = np.array([min(table.length, end + 1) for table in listed.tables], np.int64)[entries["table"]]
    at = entries["at"]
    if (entries["length"] != lengths).any() or (at < 0).any() or (at > end - lengths).any():
        raise ValueError("a block does not fit")
    return files
