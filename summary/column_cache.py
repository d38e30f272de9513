"""What was read of event files, kept on disk, so that a second start need not read them again.

A cache file belongs to one event file. It begins with a header (msgpack) that says what the event file was and which
tags it has; columns follow, each for all tags in their order. CRCs are over both. All of it may be deleted at any time.
"""

import contextlib
import hashlib
import logging
import mmap
import operator
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from summary.event_file import FileState, SessionStart
from summary.points import TagState
from summary.records import crc32c
from summary.snapshot import Damage

_MAGIC: Final = b"stepscope columns 2\n"
_PREFIX_BYTES: Final = len(_MAGIC) + 12
_COLUMNS: Final[tuple[tuple[str, np.dtype[Any]], ...]] = (
    ("steps", np.dtype("<i8")),
    ("wall_times", np.dtype("<f8")),
    ("values", np.dtype("<f8")),
    ("offsets", np.dtype("<i8")),
    ("lengths", np.dtype("<i8")),
    ("indices", np.dtype("<i4")),
)
_DAY: Final = 86400
_UNUSED_SECONDS: Final = 30 * _DAY
_MOST_BYTES: Final = 4 << 30
"""Beyond which the files used longest ago are deleted."""
_log: Final = logging.getLogger(__name__)


class _Tag(msgspec.Struct, array_like=True, frozen=True):
    tag: str
    kind: str
    display_name: str
    description: str
    plugin_content: bytes
    goes_back: bool
    counts: tuple[int, int, int, int, int, int]
    """Elements of each column."""


class _Header(msgspec.Struct, array_like=True, frozen=True):
    address: str
    size: int
    modified_ns: int
    position: int
    head: bytes
    tail_hash: bytes
    waiting: bool
    records: int
    first_wall_time: float | None
    damages: list[tuple[int, int, str]]
    damage_count: int
    session_starts: list[tuple[int, dict[str, int]]]
    tags: list[_Tag]
    columns_crc: int


class CachedFile(msgspec.Struct, frozen=True):
    """What the cache has of an event file."""

    size: int
    """Bytes of the event file when it was read."""
    modified_ns: int
    state: FileState


def default_cache_folder() -> Path:
    """Where a user's caches lie on this system."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "stepscope" / "columns"


class ColumnCache:
    """A folder of cache files; where it cannot be written, nothing is kept.

    Args:
        folder: made when something is stored, for this user alone.
    """

    def __init__(self, folder: Path) -> None:
        self.folder: Final = folder
        self._pruned = False
        self._refused = False

    def load(self, address: str) -> CachedFile | None:
        """What is kept of the event file of that path or address; None where it is nothing that can be used."""
        path = self._path(address)
        try:
            with open(path, "rb", buffering=0) as stream:
                content = _mapped(stream.fileno())
                used = os.fstat(stream.fileno()).st_mtime
            if time.time() - used > _DAY:
                os.utime(path)
            return _decoded(content, address)
        except (OSError, ValueError, msgspec.DecodeError):
            return None

    def store(self, address: str, size: int, modified_ns: int, state: FileState) -> None:
        """Keeps what was read of an event file; gives up for good where the folder cannot be written."""
        if self._refused:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not self._pruned:
                self._pruned = True
                self._prune()
            with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as stream:
                try:
                    for piece in _encoded(address, size, modified_ns, state):
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

    def _prune(self) -> None:
        """Deletes what was not used for long, and the oldest beyond a size."""
        with os.scandir(self.folder) as entries:
            files = sorted(((e.stat().st_mtime, e.stat().st_size, e.path) for e in entries), reverse=True)
        total = 0
        for used, size, path in files:
            total += size
            if total > _MOST_BYTES or time.time() - used > _UNUSED_SECONDS:
                with contextlib.suppress(OSError):
                    os.unlink(path)


def _mapped(fd: int) -> mmap.mmap:
    """A whole file. No cache file is ever shortened, so it can be mapped, which is faster than to read it."""
    populate = getattr(mmap, "MAP_POPULATE", None)
    if populate is None:
        return mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
    return mmap.mmap(fd, 0, flags=mmap.MAP_PRIVATE | populate, prot=mmap.PROT_READ)


def _encoded(address: str, size: int, modified_ns: int, state: FileState) -> list[bytes]:
    columns = [[np.asarray(getattr(tag, name), dtype) for tag in state.tags] for name, dtype in _COLUMNS]
    tags = [
        _Tag(
            tag.tag,
            tag.kind,
            tag.display_name,
            tag.description,
            tag.plugin_content,
            tag.goes_back,
            tuple(len(column[index]) for column in columns),  # type: ignore[arg-type]
        )
        for index, tag in enumerate(state.tags)
    ]
    body = b"".join(part.tobytes() for column in columns for part in column)
    header = msgspec.msgpack.encode(
        _Header(
            address,
            size,
            modified_ns,
            state.position,
            state.head,
            state.tail_hash,
            state.waiting,
            state.records,
            state.first_wall_time,
            [(damage.offset, damage.length, damage.reason) for damage in state.damages],
            state.damage_count,
            [(start.step, dict(start.points_before)) for start in state.session_starts],
            tags,
            crc32c(body),
        )
    )
    prefix = _MAGIC + len(header).to_bytes(8, "little") + crc32c(header).to_bytes(4, "little")
    padding = bytes(-(len(prefix) + len(header)) % 8)
    return [prefix, header, padding, body]


def _decoded(content: mmap.mmap, address: str) -> CachedFile | None:
    prefix = content[:_PREFIX_BYTES]
    length = int.from_bytes(prefix[len(_MAGIC) : len(_MAGIC) + 8], "little")
    if not prefix.startswith(_MAGIC) or _PREFIX_BYTES + length > len(content):
        return None
    encoded = content[_PREFIX_BYTES : _PREFIX_BYTES + length]
    if crc32c(encoded) != int.from_bytes(prefix[len(_MAGIC) + 8 :], "little"):
        return None
    header = msgspec.msgpack.decode(encoded, type=_Header)
    if header.address != address:
        return None
    begin = _PREFIX_BYTES + length
    begin += -begin % 8
    columns = _columns(content, begin, header.tags)
    if columns is None or crc32c(memoryview(content)[begin:]) != header.columns_crc:
        return None
    state = FileState(
        header.position,
        header.head,
        header.tail_hash,
        header.waiting,
        header.records,
        header.first_wall_time,
        tuple(Damage(*damage) for damage in header.damages),
        header.damage_count,
        tuple(SessionStart(step, before) for step, before in header.session_starts),
        tuple(_tag_states(header.tags, columns)),
    )
    return CachedFile(header.size, header.modified_ns, state)


def _columns(content: mmap.mmap, begin: int, tags: list[_Tag]) -> list[NDArray[Any]] | None:
    """Each column for all tags; None where the file is not as long as it should be."""
    columns = []
    counts = map(sum, zip(*(tag.counts for tag in tags), strict=True)) if tags else [0] * len(_COLUMNS)
    for (_, dtype), count in zip(_COLUMNS, counts, strict=True):
        if count < 0 or begin + count * dtype.itemsize > len(content):
            return None
        columns.append(np.frombuffer(content, dtype, count, begin) if count else np.empty(0, dtype))
        begin += count * dtype.itemsize
    return columns if begin == len(content) else None


def _tag_states(tags: list[_Tag], columns: list[NDArray[Any]]) -> Iterator[TagState]:
    steps, wall_times, values, offsets, lengths, indices = columns
    ends = [0] * len(columns)
    for tag in tags:
        begins, ends = ends, list(map(operator.add, ends, tag.counts))
        yield TagState(
            tag.tag,
            tag.kind,
            tag.display_name,
            tag.description,
            tag.plugin_content,
            tag.goes_back,
            steps[begins[0] : ends[0]],
            wall_times[begins[1] : ends[1]],
            values[begins[2] : ends[2]],
            offsets[begins[3] : ends[3]],
            lengths[begins[4] : ends[4]],
            indices[begins[5] : ends[5]],
        )
