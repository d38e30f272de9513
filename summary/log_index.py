"""What was read of a log directory, kept in few files, so that the next start reads only what changed.

An index is a folder: segments, which have the points of many event files and, at their end, a list (msgpack) of what
each event file was and how it was read; and a manifest, which says which segments there are. Each part has a CRC. Who
has something new writes a segment and replaces the manifest, so that several programs may share an index: the last one
wins, and what it does not know is read again. An index of another version is replaced. All of it may be deleted.
"""

import logging
import os
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final, NamedTuple

import msgspec

from stepscope.summary.event_file import FileState
from stepscope.summary.index_files import IndexFolder, Segment, StoredBlock, is_segment_name
from stepscope.summary.packed_points import PackedPoints, PackedTable, Packer
from stepscope.summary.records import crc32c
from stepscope.summary.source import FoundFile

_MAGIC: Final = b"stepscope index 1\n"
_PREFIX_BYTES: Final = len(_MAGIC) + 4
_SETTLED_NS: Final = 2_000_000_000
"""A file that changed so shortly before it was read may have changed again without a later time of change."""
_SMALL_SEGMENT: Final = 1 << 22
_MOST_SMALL_SEGMENTS: Final = 8
_SEGMENT_BYTES: Final = 64 << 20
"""Of blocks that are written again."""
_log: Final = logging.getLogger(__name__)


class _Entry(msgspec.Struct, array_like=True, frozen=True):
    """An event file, and where its points are in the segment."""

    path: bytes
    size: int
    modified_ns: int
    identity: tuple[int, int]
    changed_ns: int
    etag: str
    seen_ns: int
    state: FileState
    table: int
    """Which of the segment's tables is its."""
    at: int
    length: int
    crc: int


class _Listed(msgspec.Struct, array_like=True, frozen=True):
    """The end of a segment."""

    tables: list[PackedTable]
    entries: list[_Entry]


class _SegmentPlace(msgspec.Struct, array_like=True, frozen=True):
    name: str
    at: int
    """Where its list is, which goes on to its end."""
    length: int
    crc: int


class _Manifest(msgspec.Struct, array_like=True, frozen=True):
    segments: list[_SegmentPlace]
    """A later one has the latest of a file that several have."""


class IndexedFile(NamedTuple):
    """What an index has of an event file."""

    found: FoundFile
    """As the listing saw it when it was read."""
    seen_ns: int
    """When that was, in nanoseconds since the epoch."""
    state: FileState
    points: PackedPoints

    def is_certainly(self, found: FoundFile) -> bool:
        """Return whether a file is the one that was read, unchanged, as its size and its times alone tell."""
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
        # A device has another number after a restart of the machine. Windows tells when a file was made instead.
        latest_ns = max(found.changed_ns, found.modified_ns)
        return (
            os.name != "nt"
            and found.changed_ns != 0
            and found.identity[1] == then.identity[1] != 0
            and self.seen_ns - latest_ns > _SETTLED_NS
        )


class LogIndex:
    """The index of one log directory; where it cannot be written, nothing is kept.

    One thread loads it before any stores.

    Args:
        address: a local folder, or an address that `fsspec` knows; made when something is stored.

    Raises:
        ValueError: nobody knows the address's protocol.
        ImportError: the protocol needs a package that is not installed; the message names it.
    """

    def __init__(self, address: "str | IndexFolder") -> None:
        self._folder: Final = IndexFolder(address) if isinstance(address, str) else address
        self._places: dict[str, _SegmentPlace] = {}
        self._files: dict[PurePosixPath, IndexedFile] = {}
        self._packer: Final = Packer()
        self._changing: Final = threading.Lock()
        self.refused = ""
        """Why it cannot be written, once that was found out."""

    @property
    def address(self) -> str:
        """Where it is."""
        return self._folder.address

    def load(self) -> Mapping[PurePosixPath, IndexedFile]:
        """Return what the index has, by the event file's path; what is damaged is left out."""
        self._places, self._files = {}, {}
        try:
            manifest = _decoded_manifest(self._folder.read_manifest())
        except (OSError, ValueError, msgspec.DecodeError):
            return {}
        for place in manifest.segments:
            segment = Segment(self._folder, place.name, place.at + place.length)
            content = segment.read(place.at, place.length, place.crc)
            if content is None:
                _log.warning("a part of the index at %s is damaged; it is made again", self.address)
                continue
            try:
                self._files.update(list(_decoded_list(content, segment, place.at, self._packer)))
            except (ValueError, msgspec.DecodeError) as error:
                _log.warning("a part of the index at %s cannot be used (%s); it is made again", self.address, error)
                continue
            self._places[place.name] = place
        return dict(self._files)

    def is_still(self, found: FoundFile) -> None:
        """Take note that a file is as the index has it: what a listing says of it need not be there twice."""
        with self._changing:
            file = self._files.pop(found.path, None)
            if file is not None:
                self._files[found.path] = file._replace(found=found)

    def store(self, files: Sequence[IndexedFile], listed: Collection[PurePosixPath] | None = None) -> None:
        """Keep files; after the first that fails, nothing is tried any more, which is said once.

        Args:
            files: their points are in memory, which is given free: they are in the index then.
            listed: all files that there are; what is of others is left out from now on. None where that is not known.
        """
        if self.refused:
            return
        try:
            with self._changing:
                if listed is not None:
                    for path in self._files.keys() - set(listed):
                        del self._files[path]
                written = self._write(files) if files else False
                tidied = self._tidy()
            if written or tidied:
                self._folder.write_manifest(_encoded_manifest(self._places.values()))
            if tidied:
                self._folder.sweep(list(self._places))
        except OSError as error:
            self.refused = error.strerror or str(error)
            _log.warning("nothing is kept, as the index at %s cannot be written: %s", self.address, self.refused)

    def _write(self, files: Iterable[IndexedFile]) -> bool:
        for batch in _batches(files):
            segment_bytes, entries = _encoded_segment(batch)
            listing = segment_bytes[-1]
            content = b"".join(segment_bytes)
            name = self._folder.write_segment(content)
            segment = Segment(self._folder, name, len(content))
            at = len(content) - len(listing)
            self._places[name] = _SegmentPlace(name, at, len(listing), crc32c(listing))
            for file, entry in zip(batch, entries, strict=True):
                file.points.block = StoredBlock(segment, entry.at, entry.length, entry.crc)
                self._files[file.found.path] = file
        return True

    def _tidy(self) -> bool:
        """Leave out segments of which nothing is of use, and write many small or half empty ones as one.

        Returns whether there were any.
        """
        live: dict[str, int] = dict.fromkeys(self._places, 0)
        used: dict[str, int] = dict.fromkeys(self._places, 0)
        for file in self._files.values():
            if isinstance(file.points.block, StoredBlock) and file.points.block.segment.name in live:
                live[file.points.block.segment.name] += file.points.block.length
                used[file.points.block.segment.name] += 1
        dead = [name for name, count in used.items() if not count]
        wasteful = [
            name
            for name, place in self._places.items()
            if used[name] and (place.at < _SMALL_SEGMENT or live[name] < place.at / 2)
        ]
        for name in dead:
            del self._places[name]
        if len(wasteful) <= _MOST_SMALL_SEGMENTS:
            return bool(dead)
        chosen = set(wasteful)
        moving: list[IndexedFile] = []
        for path, file in list(self._files.items()):
            block = file.points.block
            if isinstance(block, StoredBlock) and block.segment.name in chosen:
                # What is damaged is read again by the next start.
                if block.read() is None:
                    del self._files[path]
                else:
                    moving.append(file)
        self._write(moving)
        for name in wasteful:
            del self._places[name]
        return True


def _batches(files: Iterable[IndexedFile]) -> Iterator[list[IndexedFile]]:
    batch: list[IndexedFile] = []
    size = 0
    for file in files:
        batch.append(file)
        size += file.points.table.length
        if size >= _SEGMENT_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _encoded_segment(files: Sequence[IndexedFile]) -> tuple[list[bytes], list[_Entry]]:
    """Return the pieces of a segment, of which the last is its list, and the entries in that.

    Raises OSError where a block that is stored elsewhere is damaged or gone.
    """
    pieces = [_MAGIC]
    at = len(_MAGIC)
    tables: dict[int, int] = {}
    shared: list[PackedTable] = []
    entries: list[_Entry] = []
    for file in files:
        content = file.points.block.read()
        if content is None:
            raise OSError(f"the points of {file.found.path} are gone")
        table = file.points.table
        if id(table) not in tables:
            tables[id(table)] = len(shared)
            shared.append(table)
        found = file.found
        entries.append(
            _Entry(
                str(found.path).encode(errors="surrogateescape"),
                found.size,
                found.modified_ns,
                found.identity,
                found.changed_ns,
                found.etag,
                file.seen_ns,
                file.state,
                tables[id(table)],
                at,
                len(content),
                crc32c(content),
            )
        )
        pieces.append(content)
        at += len(content)
    pieces.append(msgspec.msgpack.encode(_Listed(shared, entries)))
    return pieces, entries


_LIST_DECODER: Final = msgspec.msgpack.Decoder(_Listed)
_MANIFEST_DECODER: Final = msgspec.msgpack.Decoder(_Manifest)


def _decoded_list(
    content: bytes, segment: Segment, end: int, packer: Packer
) -> Iterator[tuple[PurePosixPath, IndexedFile]]:
    """Yield what the list of a segment says, whose blocks end at ``end``; raises ValueError or DecodeError."""
    listed = _LIST_DECODER.decode(content)
    if not all(table.is_sound for table in listed.tables):
        raise ValueError("its tables do not fit")
    tables = [packer.shared(table) for table in listed.tables]
    for entry in listed.entries:
        path = PurePosixPath(entry.path.decode(errors="surrogateescape"))
        block = StoredBlock(segment, entry.at, entry.length, entry.crc)
        if not 0 <= entry.table < len(tables):
            raise ValueError("a table is missing")
        table = tables[entry.table]
        if not block.fits(table) or not 0 <= entry.at <= end - entry.length:
            raise ValueError("a block does not fit")
        found = FoundFile(path, entry.size, entry.modified_ns, entry.identity, entry.changed_ns, entry.etag)
        yield path, IndexedFile(found, entry.seen_ns, entry.state, PackedPoints(table, block))


def _encoded_manifest(places: Iterable[_SegmentPlace]) -> bytes:
    content = msgspec.msgpack.encode(_Manifest(list(places)))
    return _MAGIC + crc32c(content).to_bytes(4, "little") + content


def _decoded_manifest(content: bytes) -> _Manifest:
    """Return what a manifest says; raises ValueError or DecodeError where it is none of this version."""
    encoded = content[_PREFIX_BYTES:]
    if not content.startswith(_MAGIC) or crc32c(encoded) != int.from_bytes(
        content[len(_MAGIC) : _PREFIX_BYTES], "little"
    ):
        raise ValueError("no manifest of this version")
    manifest = _MANIFEST_DECODER.decode(encoded)
    if not all(is_segment_name(place.name) for place in manifest.segments):
        raise ValueError("a segment has a name that none can have")
    return manifest
