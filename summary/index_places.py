"""The default location of a log directory's index: the user's cache, with one folder per log directory."""

import contextlib
import hashlib
import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stepscope.summary.cache_folder import cache_folder
from stepscope.summary.logdir_source import identity_of
from stepscope.summary.source import Source

if TYPE_CHECKING:
    from stepscope.summary.log_index import LogIndex

_DAY: Final = 86400
_UNUSED_SECONDS: Final = 30 * _DAY
_MOST_BYTES: Final = 4 << 30
"""Total size beyond which the least recently used indexes are deleted."""


def place_in_cache(source: Source) -> Path:
    """Return the location of a log directory's index in the user's cache; it need not exist."""
    key = hashlib.blake2b(os.fsencode(identity_of(source)), digest_size=16).hexdigest()
    return cache_folder("index") / key


def index_in_cache(source: Source) -> "LogIndex":
    """Return the index of a log directory in the user's cache; indexes that have long been unused are deleted."""
    # A starting server knows the place before it imports the readers.
    from stepscope.summary.log_index import LogIndex

    place = place_in_cache(source)
    with contextlib.suppress(OSError):
        os.utime(place)
    with contextlib.suppress(OSError):
        prune(place.parent, place.name)
    return LogIndex(str(place))


def prune(folder: Path, kept: str) -> None:
    """Delete indexes in a folder that have long been unused, and the oldest beyond a total size, but not ``kept``."""
    indexes = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False) and entry.name != kept:
                size = sum(file.stat().st_size for file in os.scandir(entry.path))
                indexes.append((entry.stat().st_mtime, size, entry.path))
    total = 0
    for used, size, path in sorted(indexes, reverse=True):
        total += size
        if total > _MOST_BYTES or time.time() - used > _UNUSED_SECONDS:
            shutil.rmtree(path, ignore_errors=True)
