"""Points as files that worker processes map, so that no process has a copy of them."""

import contextlib
import hashlib
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np

from dashboard.projections.base import Points


class PointFiles:
    """A private temporary folder of ``.npy`` files, each there while some job holds it; safe to use from threads."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._holders: dict[str, set[str]] = {}
        """By path, the jobs that hold the file."""

    def hold(self, job: str, name: str, points: Callable[[], Points]) -> str:
        """The path of the file with points, written now if need be, and held by a job.

        Args:
            job: who holds it.
            name: equal for equal points.
            points: what to write, where it is not written yet.

        Raises:
            OSError: it cannot be written.
        """
        with self._lock:
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="stepscope-", ignore_cleanup_errors=True)
            path = Path(self._folder.name) / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.npy"
            self._holders.setdefault(str(path), set()).add(job)
        if not path.exists():
            part = path.with_suffix(f".{threading.get_ident()}")
            try:
                with open(part, "wb") as stream:
                    np.save(stream, points())
                os.replace(part, path)
            except BaseException:
                with contextlib.suppress(OSError):
                    part.unlink()
                raise
        return str(path)

    def release(self, job: str) -> None:
        """Lets go of all files of a job; those that nobody holds are deleted."""
        with self._lock:
            for path, holders in list(self._holders.items()):
                holders.discard(job)
                if not holders:
                    del self._holders[path]
                    # Where the file is mapped still and the system minds, it goes with the folder.
                    with contextlib.suppress(OSError):
                        os.unlink(path)

    def close(self) -> None:
        """Deletes the folder."""
        with self._lock:
            self._holders.clear()
            if self._folder is not None:
                self._folder.cleanup()
                self._folder = None
