"""Results of jobs, stored on disk so that a picture is computed only once.

Each file belongs to one key, a hash of everything that the result depends on. All of it may be deleted at any time.
"""

import contextlib
import hashlib
import logging
import math
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson

from stepscope.dashboard.embeddings.worker_protocol import KINDS, Arrays
from stepscope.dashboard.server.binary import ColumnPack, unpack
from stepscope.summary.cache_folder import cache_folder, delete_unused
from stepscope.summary.records import crc32c

_MAGIC: Final = b"stepscope result 1\n\0\0\0\0\0"
_PREFIX_BYTES: Final = len(_MAGIC) + 8
LARGEST_FILE: Final = 512 << 20
MOST_BYTES: Final = 2 << 30
"""Maximum bytes of all files; beyond this, the least recently used are deleted."""
_KEY: Final = re.compile(r"[0-9a-f]{32}")
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Result:
    """The stored part of a job."""

    facts: Mapping[str, Any]
    """Plain data, as in JSON."""
    arrays: Arrays


def result_folder() -> Path:
    """Return the folder of a user's results on this system, next to that of the columns of event files."""
    return cache_folder("projections")


def key_of(*parts: Any) -> str:
    """Return a hash of plain data, 32 hexadecimal digits; equal for equal data, regardless of the order of names."""
    text = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS | orjson.OPT_SERIALIZE_NUMPY)
    return hashlib.sha256(text).hexdigest()[:32]


def is_key(text: str) -> bool:
    """Return whether a text could be a key; other texts never become file names."""
    return _KEY.fullmatch(text) is not None


class ResultFiles:
    """A folder of results; if it cannot be written, nothing is stored.

    Args:
        folder: created on the first write, for this user only; None to store nothing.
        most_bytes: maximum total size of the files.
    """

    def __init__(self, folder: Path | None = None, *, most_bytes: int = MOST_BYTES) -> None:
        self.folder: Final = folder
        self._most_bytes = most_bytes
        self._refused = folder is None

    def load(self, key: str) -> Result | None:
        """Return the result stored under a key; None if there is no usable one. A damaged file is deleted."""
        if self.folder is None or not is_key(key):
            return None
        path = self.folder / key
        try:
            content = path.read_bytes()
        except OSError:
            return None
        try:
            found = _decoded(content, key)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            _log.warning("the cache file %s is damaged (%s); it is computed again", path, error)
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return found

    def store(self, key: str, result: Result) -> None:
        """Store a result; give up permanently if the folder cannot be written."""
        if self._refused or self.folder is None:
            return
        size = sum(array.nbytes for array in result.arrays.values())
        if size > min(LARGEST_FILE, self._most_bytes):
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as stream:
                try:
                    stream.write(_encoded(key, result))
                    stream.close()
                    os.replace(stream.name, self.folder / key)
                except BaseException:
                    os.unlink(stream.name)
                    raise
            delete_unused(self.folder, self._most_bytes)
        except OSError as error:
            self._refused = True
            _log.warning("no projections are kept, as %s cannot be written: %s", self.folder, error)


def _encoded(key: str, result: Result) -> bytes:
    pack = ColumnPack()
    shapes = []
    for name, array in result.arrays.items():
        pack.add(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        shapes.append([name, array.dtype.str, array.shape])
    body = pack.body({"key": key, "facts": dict(result.facts), "shapes": shapes})
    return _MAGIC + crc32c(body).to_bytes(4, "little") + bytes(4) + body


def _decoded(content: bytes, key: str) -> Result:
    """Return the decoded result; raises ValueError and others if it is damaged or from another version."""
    if not content.startswith(_MAGIC):
        raise ValueError("no result of this version")
    body = content[_PREFIX_BYTES:]
    if crc32c(body) != int.from_bytes(content[len(_MAGIC) : len(_MAGIC) + 4], "little"):
        raise ValueError("its CRC is wrong")
    header, flat = unpack(body)
    if header["key"] != key:
        raise ValueError("it belongs to another key")
    arrays: Arrays = {}
    for (name, described, shape), content_of in zip(header["shapes"], flat, strict=True):
        dtype = np.dtype(described)
        if dtype.kind not in KINDS or math.prod(shape) * dtype.itemsize != content_of.nbytes:
            raise ValueError(f"{name} has another shape")
        arrays[name] = content_of.view(dtype).reshape(shape)
    return Result(header["facts"], arrays)
