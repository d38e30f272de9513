"""Points as files that the server and its worker processes map, so that they share one copy."""

import contextlib
import hashlib
import logging
import os
import threading
import weakref
from collections.abc import Callable
from typing import Final
from uuid import uuid4

import numpy as np

from stepscope.dashboard.projections.base import Points
from stepscope.dashboard.server.temporary_folders import OwnedFolder

LEAST_SHARED: Final = 4 << 20
"""Minimum bytes of points that are worth a file."""
_log: Final = logging.getLogger(__name__)


def points_name(of: str, *, sphere: bool = False) -> str:
    """Return the name of a file of points.

    Args:
        of: equal for the same points, such as the digest of a dataset.
        sphere: whether the points were sphered.
    """
    return f"{of} {sphere}"


def mapped(path: str) -> Points:
    """Return the memory-mapped points of a file. Writes are private to the process and copy the page."""
    points: Points = np.load(path, mmap_mode="c")
    # Without the subclass, whose slices are slow to create.
    return np.asarray(points)


class PointFiles:
    """A private temporary folder of ``.npy`` files, each of which exists while it is held; thread-safe."""

    def __init__(self) -> None:
        # Points, and their file with them, may be released at any moment, even in the middle of a method here.
        self._lock: Final = threading.RLock()
        self._folder: OwnedFolder | None = None
        self._holders: dict[str, set[str]] = {}
        """Holders of each file, by path."""

    def hold(self, holder: str, name: str, points: Callable[[], Points]) -> str:
        """Return the path of the file with the points, written now if necessary, and hold it until `release`.

        Args:
            holder: name of the holder.
            name: equal for the same points.
            points: returns the points to write, if the file does not exist yet.

        Raises:
            OSError: the file cannot be written.
        """
        with self._lock:
            if self._folder is None:
                self._folder = OwnedFolder("points")
            path = self._folder.path / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.npy"
            self._holders.setdefault(str(path), set()).add(holder)
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

    def release(self, holder: str) -> None:
        """Release all files of a holder; files without a holder are deleted."""
        with self._lock:
            for path, holders in list(self._holders.items()):
                holders.discard(holder)
                if not holders and self._holders.pop(path, None) is not None:
                    # If the system refuses because the file is still mapped, it is deleted with the folder.
                    with contextlib.suppress(OSError):
                        os.unlink(path)

    def shared(self, name: str, points: Points) -> Points:
        """Return the same points as a mapped file that others can `hold` by its name, for as long as the points exist.

        If the points are too few to be worth a file, or the file cannot be written, return the points themselves.
        """
        if points.nbytes < LEAST_SHARED:
            return points
        holder = uuid4().hex
        try:
            found = mapped(self.hold(holder, name, lambda: points))
        except OSError as error:
            _log.warning("points are kept in memory, as the temporary folder cannot be written: %s", error)
            self.release(holder)
            return points
        weakref.finalize(found, self.release, holder)
        return found

    def close(self) -> None:
        """Delete the folder."""
        with self._lock:
            self._holders.clear()
            if self._folder is not None:
                self._folder.close()
                self._folder = None
