"""The folders of caches, whose content can be recreated."""

import contextlib
import os
import sys
import time
from pathlib import Path
from typing import Final

_UNUSED_SECONDS: Final = 30 * 86_400


def cache_folder(name: str) -> Path:
    """Return the folder of a cache of this user on this system; it need not exist."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "stepscope" / name


def delete_unused(folder: Path, most_bytes: int) -> None:
    """Delete files that have not been used for 30 days, and the least recently used ones beyond a total size.

    Files that another process deletes at the same time are skipped, as are those that cannot be deleted.
    """
    files = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                status = entry.stat()
                files.append((status.st_mtime, status.st_size, entry.path))
    total = 0
    for used, size, path in sorted(files, reverse=True):
        total += size
        if total > most_bytes or time.time() - used > _UNUSED_SECONDS:
            with contextlib.suppress(OSError):
                os.unlink(path)
