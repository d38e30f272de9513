"""Data read from a log directory, stored in few files so that the next start reads only what changed.

An index is a folder of segments and a manifest. Segments hold the points of many event files and end with a list
(msgpack) of what each event file was and how it was read; the manifest lists the segments of each log directory. Each
part has a CRC. A program with new data writes a segment and replaces the manifest, so several programs can share an
index: for one log directory the last one wins, and files it does not know are read again. An index of another version
is replaced. The whole index may be deleted.
"""

import contextlib
import logging
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import PurePosixPath
from typing import Final, TypeAlias

import msgspec

from stepscope.summary import index_lists
from stepscope.summary.errors import reason_of
from stepscope.summary.index_files import IndexFolder, Segment, is_segment_name
from stepscope.summary.index_lists import IndexedFile, SegmentFiles
from stepscope.summary.packed_points import Packer
from stepscope.summary.records import crc32c

_MAGIC: Final = b"stepscope index 6\n"
_PREFIX_BYTES: Final = len(_MAGIC) + 4
_SMALL_SEGMENT: Final = 1 << 22
_MOST_SMALL_SEGMENTS: Final = 8
_SEGMENT_BYTES: Final = 64 << 20
"""Bytes of blocks per segment."""
_log: Final = logging.getLogger(__name__)


class SegmentPlace(msgspec.Struct, array_like=True, frozen=True):
    """A manifest's entry for a segment."""

    name: str
    at: int
    """Offset of the segment's list, which extends to the end of the segment."""
    length: int
    crc: int


_Manifest: TypeAlias = dict[str, list[SegmentPlace]]
"""The segments of each log directory; if several have a file, the last one has its latest data."""

_Place: TypeAlias = tuple[SegmentFiles, int]
"""The location of a file."""


class IndexedFiles(Mapping[PurePosixPath, IndexedFile]):
    """The files of an index, by path of the event file; each is created on access."""

    def __init__(self, places: Mapping[str, _Place]) -> None:
        self.places: Final = places
        """The locations of the files, by path as a string."""

    def __getitem__(self, path: PurePosixPath) -> IndexedFile:
        files, place = self.places[str(path)]
        try:
            return files.file(place)
        except msgspec.DecodeError:
            raise KeyError(path) from None

    def __iter__(self) -> Iterator[PurePosixPath]:
        return map(PurePosixPath, self.places)

    def __len__(self) -> int:
        return len(self.places)


class LogIndex:
    """The index of one log directory; if it cannot be written, nothing is stored.

    Several log directories may have their indexes at one address; each gets only its own data. One thread loads the
    index before any thread stores.

    Args:
        address: a local folder, or an address supported by `fsspec`; created when something is stored.

    Attributes:
        logs: the identity of the log directory, by which `load` selects its segments.

    Raises:
        ValueError: the address's protocol is unknown.
        ImportError: the protocol needs a package that is not installed; the message names it.
    """

    def __init__(self, address: "str | IndexFolder") -> None:
        self._folder: Final = IndexFolder(address) if isinstance(address, str) else address
        self._places: dict[str, SegmentPlace] = {}
        self._files: dict[str, _Place] = {}
        """Locations by path; the mapping that `load` returned is never changed."""
        self._others: _Manifest = {}
        """The manifest's entries for other log directories when it was loaded."""
        self.logs = ""
        self._packer: Final = Packer()
        self._changing: Final = threading.Lock()
        self.refused = ""
        """Reason the index cannot be written; empty until a write fails."""

    @property
    def address(self) -> str:
        """The address of the index."""
        return self._folder.address

    def load(self) -> IndexedFiles:
        """Return the index's files of this log directory, without damaged data."""
        self._places, self._files = {}, {}
        self._others = {}
        with contextlib.suppress(OSError):
            self._others = self._manifest()
        for place in self._others.pop(self.logs, ()):
            self._take_segment(place)
        return IndexedFiles(dict(self._files))

    def of_others(self) -> IndexedFiles:
        """Return the index's files of other log directories when it was loaded.

        They may include this log directory under another name.
        """
        found: dict[str, _Place] = {}
        for place in chain.from_iterable(self._others.values()):
            files = self._segment_files(place)
            if files is not None:
                found.update(_places_in(files))
        return IndexedFiles(found)

    def _manifest(self) -> _Manifest:
        """Return the manifest as it is now, empty if there is none of this version; raises OSError."""
        try:
            return _decoded_manifest(self._folder.read_manifest())
        except (FileNotFoundError, ValueError, msgspec.DecodeError):
            return {}

    def _write_manifest(self) -> list[str]:
        """Replace this log directory's part of the manifest; return the names of all segments in the manifest.

        Raises OSError, also if the other parts cannot be read.
        """
        parts = self._manifest() | {self.logs: list(self._places.values())}
        self._folder.write_manifest(_encoded_manifest(parts))
        return [place.name for places in parts.values() for place in places]

    def loaded(self) -> IndexedFiles:
        """Return the files loaded, stored or adopted so far, without checking what others may have written."""
        with self._changing:
            return IndexedFiles(dict(self._files))

    def segments_of(self, paths: Iterable[PurePosixPath]) -> tuple[SegmentPlace, ...]:
        """Return the segments that hold the given files."""
        places = (self._files.get(str(path)) for path in paths)
        names = {place[0].segment.name for place in places if place is not None}
        return tuple(self._places[name] for name in sorted(names))

    def adopt(self, segments: Iterable[SegmentPlace]) -> None:
        """Add segments that another program has written to the same folder; errors are as for `store`."""
        with self._changing:
            for place in segments:
                self._take_segment(place)
        self._writing(self._write_manifest)

    def _take_segment(self, place: SegmentPlace) -> None:
        """Add the files of a segment, or nothing if it is damaged."""
        files = self._segment_files(place)
        if files is not None:
            self._files.update(_places_in(files))
            self._places[place.name] = place

    def _segment_files(self, place: SegmentPlace) -> SegmentFiles | None:
        segment = Segment(self._folder, place.name, place.at + place.length)
        content = segment.read(place.at, place.length, place.crc)
        if content is None:
            _log.warning("a part of the index at %s is damaged; it is made again", self.address)
            return None
        try:
            return index_lists.decoded(content, segment, place.at, self._packer)
        except (ValueError, msgspec.DecodeError) as error:
            _log.warning("a part of the index at %s cannot be used (%s); it is made again", self.address, error)
            return None

    def store(self, files: Sequence[IndexedFile], listed: Collection[PurePosixPath] | None = None) -> None:
        """Store files; after the first failure, which is logged once, nothing more is attempted.

        Args:
            files: files whose points are in memory, which is freed once they are in the index.
            listed: all existing files; data of other files is dropped from now on. None if unknown.
        """

        def store() -> None:
            with self._changing:
                if listed is not None:
                    for path in self._files.keys() - set(map(str, listed)):
                        del self._files[path]
                written = self._write(files) if files else False
                tidied = self._tidy()
            if written or tidied:
                in_use = self._write_manifest()
                if tidied:
                    self._folder.sweep(in_use)

        self._writing(store)

    def _writing(self, write: Callable[[], object]) -> None:
        if self.refused:
            return
        try:
            write()
        except OSError as error:
            self.refused = reason_of(error)
            _log.warning("nothing is kept, as the index at %s cannot be written: %s", self.address, self.refused)

    def _write(self, files: Iterable[IndexedFile]) -> bool:
        for batch in _batches(files):
            written = index_lists.encoded(batch, len(_MAGIC))
            for file in batch:
                # The next start may read files with damaged data again.
                self._files.pop(str(file.found.path), None)
            if not written.sources:
                continue
            at = len(_MAGIC) + sum(map(len, written.blocks))
            name = self._folder.write_segment([_MAGIC, *written.blocks, written.list])
            segment = Segment(self._folder, name, at + len(written.list))
            self._places[name] = SegmentPlace(name, at, len(written.list), crc32c(written.list))
            stored = written.files(segment)
            for place, file in enumerate(written.sources):
                file.points.block = stored.points(place).block
            self._files.update(_places_in(stored))
        return True

    def _tidy(self) -> bool:
        """Drop unused segments, and combine segments if many are small or half empty.

        Return whether there were any.
        """
        live: dict[str, int] = dict.fromkeys(self._places, 0)
        used: dict[str, int] = dict.fromkeys(self._places, 0)
        for files, place in self._files.values():
            live[files.segment.name] += int(files.entries["length"][place])
            used[files.segment.name] += 1
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
        for path, (files, _) in list(self._files.items()):
            if files.segment.name in chosen:
                file = IndexedFiles(self._files).get(PurePosixPath(path))
                if file is None:
                    del self._files[path]
                else:
                    moving.append(file)
        self._write(moving)
        for name in wasteful:
            del self._places[name]
        return True


class PartOfIndex(LogIndex):
    """Writes segments that another program adds to the manifest; for one of several workers that fill an index.

    Args:
        address: the address of the index.
        segments: segments that hold the files to be read; only these are loaded.
    """

    def __init__(self, address: str, segments: Sequence[SegmentPlace]) -> None:
        super().__init__(address)
        self._given: Final = segments
        self.written: list[SegmentPlace] = []

    def load(self) -> IndexedFiles:
        for place in self._given:
            self._take_segment(place)
        return IndexedFiles(dict(self._files))

    def of_others(self) -> IndexedFiles:
        return IndexedFiles({})

    def store(self, files: Sequence[IndexedFile], listed: Collection[PurePosixPath] | None = None) -> None:
        def store() -> None:
            before = set(self._places)
            self._write(files)
            self.written += [place for name, place in self._places.items() if name not in before]

        self._writing(store)


def _places_in(files: SegmentFiles) -> Iterator[tuple[str, _Place]]:
    return ((path, (files, place)) for place, path in enumerate(files.paths()))


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


_MANIFEST_DECODER: Final = msgspec.msgpack.Decoder(_Manifest)


def _encoded_manifest(manifest: _Manifest) -> bytes:
    content = msgspec.msgpack.encode(manifest)
    return _MAGIC + crc32c(content).to_bytes(4, "little") + content


def _decoded_manifest(content: bytes) -> _Manifest:
    """Return the contents of a manifest; raises ValueError or DecodeError if it is not one of this version."""
    encoded = content[_PREFIX_BYTES:]
    if not content.startswith(_MAGIC) or crc32c(encoded) != int.from_bytes(
        content[len(_MAGIC) : _PREFIX_BYTES], "little"
    ):
        raise ValueError("no manifest of this version")
    manifest = _MANIFEST_DECODER.decode(encoded)
    if not all(is_segment_name(place.name) for places in manifest.values() for place in places):
        raise ValueError("a segment has a name that none can have")
    return manifest
