"""Files dropped on the page, kept in a temporary folder until the server ends or room is needed."""

import contextlib
import os
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Set
from pathlib import Path
from threading import Lock
from typing import Any, Final, Generic, Protocol, TypeVar

from stepscope.dashboard.server.numbers import file_size
from stepscope.dashboard.server.temporary_folders import OwnedFolder
from stepscope.summary.counts import counted
from stepscope.summary.errors import reason_of

LARGEST_UPLOAD: Final = 1 << 30
"""Maximum bytes of one file."""
MOST_BYTES: Final = 4 << 30
"""Maximum bytes of all files of one kind, uploads in progress included; the oldest files make room."""
MOST_FILES: Final = 32
MOST_ARRIVING: Final = 8
"""Maximum number of simultaneous uploads."""
_LONGEST_NAME: Final = 120
_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f/\\|:*?\"<>]")


class UploadError(ValueError):
    """A file cannot be accepted; the message is a human-readable sentence."""


class NoRoomError(UploadError):
    """A file cannot be accepted now because others are being uploaded; it may be later."""


class Kept(Protocol):
    """What is known about a dropped file."""

    @property
    def bytes(self) -> int:
        """Size on disk."""

    @property
    def paths(self) -> Set[str]:
        """Paths of all its files."""


K = TypeVar("K", bound=Kept)
R = TypeVar("R")


class Upload(Generic[R]):
    """A file being uploaded; written by one thread, then finished or aborted, which must happen to every upload.

    Args:
        path: where it is written.
        largest: maximum bytes.
        reserve: called with a number of bytes before they are written; raises UploadError if there is no room for them.
        finish: takes the complete file.
        ended: called once when the upload is over.
    """

    def __init__(
        self,
        path: Path,
        largest: int,
        reserve: Callable[["Upload[R]", int], None],
        finish: Callable[["Upload[R]"], R],
        ended: Callable[["Upload[R]"], None],
    ) -> None:
        self.path: Final = path
        self._largest: Final = largest
        self._reserve: Final = reserve
        self._finish: Final = finish
        self._ended: Final = ended
        self._file = path.open("xb", buffering=0)
        self._size = 0

    def write(self, piece: bytes) -> None:
        """Write the next piece.

        Raises:
            UploadError: the file is larger than allowed, or there is no room; what came before is deleted.
        """
        try:
            self._size += len(piece)
            if self._size > self._largest:
                raise UploadError(
                    f"The file is larger than {file_size(self._largest)}, the limit for dropped files. "
                    "Open larger files with the stepscope command."
                )
            self._reserve(self, len(piece))
            left = memoryview(piece)
            while left:
                left = left[self._file.write(left) or 0 :]
        except OSError as error:
            self.abort()
            raise UploadError(f"The file cannot be kept: {reason_of(error)}.") from error
        except UploadError:
            self.abort()
            raise

    def finish(self) -> R:
        """Return what the complete file is, or what it was added to.

        Raises:
            UploadError: the file holds nothing that can be shown, or cannot be read; it is deleted.
        """
        try:
            self._file.close()
            return self._finish(self)
        except OSError as error:
            discard(self.path)
            raise UploadError(f"The file cannot be kept: {reason_of(error)}.") from error
        finally:
            self._ended(self)

    def abort(self) -> None:
        """Discard what has arrived; a second call does nothing."""
        self._file.close()
        discard(self.path)
        self._ended(self)


class DroppedFiles(Generic[K]):
    """The dropped files of one kind; safe to use from many threads.

    Args:
        largest: maximum bytes of one file.
        most_bytes: maximum bytes of all files, uploads in progress included; never more are on the disk.
        most_files: maximum number of files kept.
        most_arriving: maximum number of simultaneous uploads.
    """

    def __init__(
        self,
        *,
        largest: int = LARGEST_UPLOAD,
        most_bytes: int = MOST_BYTES,
        most_files: int = MOST_FILES,
        most_arriving: int = MOST_ARRIVING,
    ) -> None:
        self._largest = largest
        self._most_bytes = most_bytes
        self._most_files = most_files
        self._most_arriving = most_arriving
        self._lock = Lock()
        self._folder: OwnedFolder | None = None
        self._count = 0
        self._arriving: dict[Upload[Any], int] = {}
        """Bytes of each upload in progress, including those being written."""
        self._taken: set[str] = set()
        """Names of files that have arrived and are being examined."""
        self._dropped: OrderedDict[str, K] = OrderedDict()

    def close(self) -> None:
        """Delete all files."""
        with self._lock:
            self._dropped.clear()
            self._arriving.clear()
            folder, self._folder = self._folder, None
        if folder is not None:
            folder.close()

    def _upload(self, name: str, finish: Callable[[Upload[R], str], R]) -> Upload[R]:
        """Begin an upload.

        Args:
            name: what the user calls the file; only its last part is used, and never as a path.
            finish: takes the complete file and its name here.

        Raises:
            NoRoomError: too many uploads are in progress.
            UploadError: there is no place for files.
        """
        shown = shown_name(name)
        try:
            with self._lock:
                if len(self._arriving) >= self._most_arriving:
                    raise NoRoomError(
                        f"{counted(len(self._arriving), 'upload')} in progress already. "
                        "Drop this file when one of them has finished."
                    )
                if self._folder is None:
                    self._folder = OwnedFolder("dropped")
                self._count += 1
                place = self._folder.path / str(self._count)
                place.mkdir()
                upload = Upload(
                    place / shown, self._largest, self._reserve, lambda whole: finish(whole, shown), self._ended
                )
                self._arriving[upload] = 0
                return upload
        except OSError as error:
            raise UploadError(f"There is no room for the file: {reason_of(error)}.") from error

    def _reserve(self, upload: Upload[Any], size: int) -> None:
        """Count bytes that are about to be written; the oldest files make room for them."""
        with self._lock:
            if upload not in self._arriving:
                raise UploadError("The dashboard was stopped. Start it again.")
            if sum(self._arriving.values()) + size > self._most_bytes:
                raise NoRoomError(
                    f"Uploads in progress total {file_size(sum(self._arriving.values()))}; the limit is "
                    f"{file_size(self._most_bytes)}. Drop this file when they have finished."
                )
            self._arriving[upload] += size
            self._make_room()

    def _ended(self, upload: Upload[Any]) -> None:
        with self._lock:
            self._arriving.pop(upload, None)

    def _make_room(self) -> None:
        """Forget the oldest files while there are too many; called under the lock."""

        def held() -> int:
            return sum(self._arriving.values()) + sum(dropped.bytes for dropped in self._dropped.values())

        while self._dropped and (len(self._dropped) > self._most_files or held() > self._most_bytes):
            self._forget(next(iter(self._dropped)))

    @contextlib.contextmanager
    def _named(self, upload: Upload[Any], name: str) -> Iterator[tuple[Path, str]]:
        """Provide the uploaded file under a name that no other has: a path with that name, and the name."""
        with self._lock:
            name = _unused(name, self._dropped.keys() | self._taken)
            self._taken.add(name)
        try:
            # A file's content may depend on its name and on the files beside it.
            yield upload.path.rename(upload.path.with_name(name)), name
        finally:
            with self._lock:
                self._taken.discard(name)

    def _keep(self, upload: Upload[Any], key: str, old: K | None, new: K) -> bool:
        """List a file, in place of ``old`` if given; return False if that has changed meanwhile."""
        with self._lock:
            if self._dropped.get(key) is not old or upload not in self._arriving:
                return False
            # From now on, its bytes count as those of the file.
            self._arriving[upload] = 0
            self._dropped[key] = new
            self._dropped.move_to_end(key)
            for gone in old.paths - new.paths if old is not None else ():
                discard(Path(gone))
            self._make_room()
        return True

    def _forget(self, key: str) -> None:
        dropped = self._dropped.pop(key, None)
        if dropped is not None:
            for path in dropped.paths:
                discard(Path(path))


def discard(path: Path) -> None:
    """Delete a file together with its own folder."""
    path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        path.parent.rmdir()


def shown_name(name: str) -> str:
    """Return the last part of a name, without characters that no file name may have, and shortened if too long."""
    last = re.split(r"[/\\]", name)[-1]
    clean = _UNSAFE.sub("_", last).strip(". ") or "file"
    stem, ending = os.path.splitext(clean)
    ending = ending[:20]
    while len(os.fsencode((stem + ending).encode(errors="replace").decode())) > _LONGEST_NAME and stem:
        stem = stem[:-1]
    return (stem + ending).encode(errors="replace").decode()


def _unused(name: str, used: Set[str]) -> str:
    stem, ending = os.path.splitext(name)
    number = 2
    while name in used:
        name = f"{stem} ({number}){ending}"
        number += 1
    return name
