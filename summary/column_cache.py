"""A cache on disk of the data read from event files, so that a second start does not read them again.

Each cache file belongs to one event file. It begins with a header (msgpack) that describes the event file and its tags,
followed by the columns of each tag. The header's CRC is checked at once; the columns of a tag are read, and their CRC
is checked, when its points are requested. All cache files may be deleted at any time.
"""

import contextlib
import hashlib
import itertools
import logging
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from stepscope.summary.cache_folder import delete_unused
from stepscope.summary.contents import Damage
from stepscope.summary.event_file import FileState, SessionStart
from stepscope.summary.points import TagState
from stepscope.summary.records import crc32c
from stepscope.summary.scalar_summaries import ScalarSummary
from stepscope.summary.series import SCALARS
from stepscope.summary.source import FoundFile, read_up_to
from stepscope.summary.stored_points import (
    NO_TEXTS,
    KeptPoints,
    TagTable,
    TagTexts,
    Texts,
    are_texts_of,
    texts_of_states,
)

_MAGIC: Final = b"stepscope columns 6\n"
_PREFIX_BYTES: Final = len(_MAGIC) + 12
_COLUMNS: Final[tuple[tuple[str, np.dtype[Any]], ...]] = (
    ("steps", np.dtype("<i8")),
    ("wall_times", np.dtype("<f8")),
    ("values", np.dtype("<f8")),
    ("offsets", np.dtype("<i8")),
    ("lengths", np.dtype("<i8")),
    ("indices", np.dtype("<i4")),
)
_EMPTY: Final[Mapping[np.dtype[Any], NDArray[Any]]] = MappingProxyType(
    {dtype: np.empty(0, dtype) for _, dtype in _COLUMNS}
)
_KEPT: Final[Mapping[str | None, tuple[bool, ...]]] = MappingProxyType(
    {SCALARS: (True, True, True, False, False, False), "": (True,) * 6, None: (True, True, False, True, True, True)}
)
"""Which columns each kind has; None stands for all other kinds."""
_FIRST_BYTES: Final = 1 << 13
"""Enough for most headers."""
_TAGS_READ_ALONE: Final = 3
"""Tags of a file whose points are read one tag at a time, on request; after that, all others are read at once."""
_DAY: Final = 86400
_MOST_BYTES: Final = 4 << 30
"""Total size beyond which the least recently used files are deleted."""
_log: Final = logging.getLogger(__name__)


class _Header(msgspec.Struct, array_like=True, frozen=True):
    address: bytes
    size: int
    modified_ns: int
    changed_ns: int
    position: int
    head: bytes
    tail_hash: bytes
    crc: int | None
    waiting: bool
    records: int
    first_wall_time: float | None
    span: tuple[float, float]
    damages: list[tuple[int, int, str]]
    damage_count: int
    skipped_bytes: int
    session_starts: list[tuple[int, dict[str, int]]]
    table: TagTable
    texts: dict[int, TagTexts]
    crcs: list[int]
    """The CRC of each tag's columns."""


_DECODER: Final = msgspec.msgpack.Decoder(_Header)


class CachedFile(msgspec.Struct, frozen=True):
    """The cached data of an event file."""

    size: int
    """Size of the event file in bytes when it was read."""
    modified_ns: int
    changed_ns: int
    state: FileState
    table: TagTable
    kept: KeptPoints
    """The columns."""


class ColumnCache:
    """A folder of cache files; if it cannot be written, nothing is kept.

    Args:
        folder: created for this user alone when something is stored.
    """

    def __init__(self, folder: Path) -> None:
        self.folder: Final = folder
        self._pruned = False
        self._refused = False

    def load(self, address: str) -> CachedFile | None:
        """Return the cached data of the event file at that path or address; None if there is none that can be used."""
        path = self._path(address)
        try:
            with open(path, "rb", buffering=0) as stream:
                content = stream.read(_FIRST_BYTES)
                end = _PREFIX_BYTES + _header_length(content)
                status = os.fstat(stream.fileno())
                if len(content) < end <= status.st_size:
                    content += read_up_to(stream, end - len(content))
            if time.time() - status.st_mtime > _DAY:
                os.utime(path)
            return _decoded(path, content[:end], status.st_size, address)
        except (OSError, ValueError, msgspec.DecodeError):
            return None

    def store(self, address: str, found: FoundFile, state: FileState, tags: Sequence[TagState]) -> None:
        """Cache the data read from an event file; gives up for good if the folder cannot be written."""
        if self._refused:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not self._pruned:
                self._pruned = True
                delete_unused(self.folder, _MOST_BYTES)
            with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as stream:
                try:
                    for piece in _encoded(address, found, state, tags):
                        stream.write(piece)
                    stream.close()
                    os.replace(stream.name, self._path(address))
                except BaseException:
                    os.unlink(stream.name)
                    raise
        except OSError as error:
            self._refused = True
            _log.warning("nothing is cached, as %s cannot be written: %s", self.folder, error)

    def _path(self, address: str) -> str:
        return os.path.join(self.folder, hashlib.blake2b(os.fsencode(address), digest_size=20).hexdigest())


def _encoded(address: str, found: FoundFile, state: FileState, tags: Sequence[TagState]) -> list[bytes]:
    body = [b"".join([np.asarray(getattr(tag, name), dtype).tobytes() for name, dtype in _COLUMNS]) for tag in tags]
    body = [part + bytes(-len(part) % 8) for part in body]
    header = msgspec.msgpack.encode(
        _Header(
            os.fsencode(address),
            found.size,
            found.modified_ns,
            found.changed_ns,
            state.position,
            state.head,
            state.tail_hash,
            state.crc,
            state.waiting,
            state.records,
            state.first_wall_time,
            state.span,
            [(damage.offset, damage.length, damage.reason) for damage in state.damages],
            state.damage_count,
            state.skipped_bytes,
            [(start.step, start.points_between) for start in state.session_starts],
            TagTable.of(tags),
            dict(texts_of_states(tags)),
            list(map(crc32c, body)),
        )
    )
    prefix = _MAGIC + len(header).to_bytes(8, "little") + crc32c(header).to_bytes(4, "little")
    padding = bytes(-(len(prefix) + len(header)) % 8)
    return [prefix, header, padding, *body]


def _header_length(content: bytes) -> int:
    """Return the length of the header, from the first bytes of a cache file; raises ValueError if it is not one."""
    if len(content) < _PREFIX_BYTES or not content.startswith(_MAGIC):
        raise ValueError("no cache file of this version")
    return int.from_bytes(content[len(_MAGIC) : len(_MAGIC) + 8], "little")


def _decoded(path: str, content: bytes, size: int, address: str) -> CachedFile | None:
    """Decode a cache file's prefix and header; None if they are damaged or belong to another event file."""
    encoded = content[_PREFIX_BYTES:]
    if len(encoded) != _header_length(content) or crc32c(encoded) != int.from_bytes(
        content[_PREFIX_BYTES - 4 : _PREFIX_BYTES], "little"
    ):
        return None
    header = _DECODER.decode(encoded)
    tags = len(header.crcs)
    if (
        header.address != os.fsencode(address)
        or not header.table.is_sound(tags)
        or not are_texts_of(header.texts, tags)
    ):
        return None
    begin = len(content) + -len(content) % 8
    columns = _KeptColumns(path, content[:_PREFIX_BYTES], begin, header.table, header.texts, header.crcs)
    if columns.end != size:
        return None
    state = FileState(
        header.position,
        header.head,
        header.tail_hash,
        header.crc,
        header.waiting,
        header.records,
        header.first_wall_time,
        header.span,
        tuple([Damage(*damage) for damage in header.damages]),
        header.damage_count,
        header.skipped_bytes,
        tuple([SessionStart(step, between) for step, between in header.session_starts]),
    )
    return CachedFile(header.size, header.modified_ns, header.changed_ns, state, header.table, columns)


class _KeptColumns:
    """The columns in a cache file.

    Args:
        path: the cache file's.
        prefix: what it begins with.
        begin: where the columns of the first tag begin.
        table: the tags.
        texts: the texts of their first values.
        crcs: the CRC of each tag's columns.
    """

    __slots__ = ("_alone", "_crcs", "_ends", "_path", "_prefix", "_table", "_whole", "texts")

    def __init__(self, path: str, prefix: bytes, begin: int, table: TagTable, texts: Texts, crcs: list[int]) -> None:
        self._path = path
        self._prefix = prefix
        self._table = table
        self.texts = texts
        self._crcs = crcs
        self._ends = list(itertools.accumulate(map(_tag_bytes, table.kinds, table.counts), initial=begin))
        """Where each tag's columns end; ahead of them, where the first tag's begin."""
        self._alone = 0
        """How many tags were read one by one."""
        self._whole: memoryview | None = None
        """The columns of all tags, once more than a few were requested."""

    @property
    def end(self) -> int:
        """The length of the whole file."""
        return self._ends[-1]

    def load(self, place: int) -> TagState | None:
        """Return the columns of the tag at a place in the table; None if they are damaged or gone.

        A damaged file is deleted. One thread at a time.
        """
        table = self._table
        begin, end = self._ends[place], self._ends[place + 1]
        if self._whole is None and self._alone >= _TAGS_READ_ALONE:
            self._whole = self._read(self._ends[0], self.end)
        if self._whole is not None:
            content: memoryview | None = self._whole[begin - self._ends[0] : end - self._ends[0]]
        else:
            self._alone += 1
            content = self._read(begin, end)
        if content is None:
            return None
        if crc32c(content) != self._crcs[place]:
            _log.warning("the cache file %s is damaged; the event file is read again", self._path)
            with contextlib.suppress(OSError):
                os.unlink(self._path)
            return None
        texts = self.texts.get(place, NO_TEXTS)
        columns = _columns(content, table.kinds[place], table.counts[place])
        return TagState(table.tags[place], table.kinds[place], *texts, table.goes_back(place), *columns)

    def has_picture(self, place: int) -> bool:
        return False

    def picture(self, place: int) -> TagState | None:
        return None

    def summary(self, place: int) -> ScalarSummary | None:
        return None

    def _read(self, begin: int, end: int) -> memoryview | None:
        """Return bytes of the file; None if it is gone, or was replaced when more of the event file was stored."""
        try:
            # Not kept open: there may be more of these files than may be open.
            with open(self._path, "rb", buffering=0) as stream:
                if read_up_to(stream, len(self._prefix)) != self._prefix:
                    return None
                stream.seek(begin)
                return memoryview(read_up_to(stream, end - begin))
        except OSError:
            return None


def _columns(content: memoryview, kind: str, points: int) -> list[NDArray[Any]]:
    """Return a tag's columns: the ones that `stepscope.summary.points.TagPoints` keeps for its kind.

    The others are empty.
    """
    kept = _KEPT[kind if kind in _KEPT else None]
    columns = []
    at = 0
    for (_, dtype), is_kept in zip(_COLUMNS, kept, strict=True):
        if is_kept and points:
            columns.append(np.frombuffer(content, dtype, points, at))
            at += points * dtype.itemsize
        else:
            columns.append(_EMPTY[dtype])
    return columns


def _tag_bytes(kind: str, points: int) -> int:
    """Return how many bytes a tag's columns take, up to the next multiple of 8."""
    if kind == SCALARS:
        return 24 * points
    length = (36 if kind else 44) * points
    return length + -length % 8
