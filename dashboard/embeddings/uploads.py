"""Files that were dropped on the page: kept in a temporary folder until the server ends, or room is needed."""

import contextlib
import os
import re
from collections import OrderedDict
from collections.abc import Callable, Set
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Any, Final

from dashboard.embeddings.assembly import EmbeddingUnavailableError
from dashboard.embeddings.file_listing import sources_of_file
from dashboard.embeddings.file_source import FILES, FileAbout
from dashboard.embeddings.source import EmbeddingSource, Learned
from dashboard.server.numbers import counted, file_size
from dashboard.server.temporary_folders import OwnedFolder
from summary.contents import Companion
from summary.memory_budget import MemoryBudget, NoMemoryError

LARGEST_UPLOAD: Final = 1 << 30
"""Bytes of one file."""
MOST_BYTES: Final = 4 << 30
"""Bytes of all files, those on their way included; the oldest make room."""
MOST_FILES: Final = 32
MOST_ARRIVING: Final = 8
"""Files on their way at once."""
_LONGEST_NAME: Final = 120
_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f/\\|:*?\"<>]")


class UploadError(ValueError):
    """A file cannot be taken; the message is a sentence for a person."""


class NoRoomError(UploadError):
    """A file cannot be taken now, as others are on their way; it may be later."""


@dataclass(frozen=True)
class _Dropped:
    companion: Companion
    about: FileAbout
    sources: tuple[EmbeddingSource, ...]
    bytes: int

    @property
    def paths(self) -> set[str]:
        """All of its files."""
        return {path for path in (self.companion.path, self.about.metadata, self.about.sprite) if path}


class Upload:
    """A file on its way; written by one thread, then finished or aborted, which is to happen to every one.

    Args:
        path: where it is written.
        largest: bytes that it may have.
        reserve: called with bytes before they are written; raises UploadError where there is no room for them.
        finish: takes the whole file.
        ended: called once when it is no more on its way.
    """

    def __init__(
        self,
        path: Path,
        largest: int,
        reserve: Callable[["Upload", int], None],
        finish: Callable[["Upload"], tuple[EmbeddingSource, ...]],
        ended: Callable[["Upload"], None],
    ) -> None:
        self.path: Final = path
        self._largest: Final = largest
        self._reserve: Final = reserve
        self._finish: Final = finish
        self._ended: Final = ended
        self._file = path.open("xb", buffering=0)
        self._size = 0

    def write(self, piece: bytes) -> None:
        """Takes the next piece.

        Raises:
            UploadError: the file is larger than any may be, or there is no room; what came before is gone.
        """
        try:
            self._size += len(piece)
            if self._size > self._largest:
                raise UploadError(
                    f"The file has more than {file_size(self._largest)}, the largest that can be dropped."
                )
            self._reserve(self, len(piece))
            left = memoryview(piece)
            while left:
                left = left[self._file.write(left) or 0 :]
        except OSError as error:
            self.abort()
            raise UploadError(f"The file cannot be kept: {error.strerror or error}.") from error
        except UploadError:
            self.abort()
            raise

    def finish(self) -> tuple[EmbeddingSource, ...]:
        """The embeddings of the whole file, or what it is added to.

        Raises:
            UploadError: it holds no points, or cannot be read; it is gone.
        """
        try:
            self._file.close()
            return self._finish(self)
        except OSError as error:
            _discard(self.path)
            raise UploadError(f"The file cannot be kept: {error.strerror or error}.") from error
        finally:
            self._ended(self)

    def abort(self) -> None:
        """Throws away what came; nothing happens the second time."""
        self._file.close()
        _discard(self.path)
        self._ended(self)


class Uploads:
    """The dropped files; safe to use from many threads.

    Args:
        largest: bytes of one file.
        most_bytes: of all files, those on their way included; never more are on the disk.
        most_files: that are kept.
        most_arriving: that are on their way at once.
        budget: of the memory that looking at them takes.
    """

    def __init__(
        self,
        *,
        largest: int = LARGEST_UPLOAD,
        most_bytes: int = MOST_BYTES,
        most_files: int = MOST_FILES,
        most_arriving: int = MOST_ARRIVING,
        budget: MemoryBudget | None = None,
    ) -> None:
        self._budget: Final = budget or MemoryBudget()
        self._largest = largest
        self._most_bytes = most_bytes
        self._most_files = most_files
        self._most_arriving = most_arriving
        self._lock = Lock()
        self._folder: OwnedFolder | None = None
        self._count = 0
        self._arriving: dict[Upload, int] = {}
        """Bytes of each file on its way, those that are being written included."""
        self._taken: set[str] = set()
        """Names of those that have come and are being looked at."""
        self._dropped: OrderedDict[str, _Dropped] = OrderedDict()

    def begin(self, name: str) -> Upload:
        """Begins to take a file with points.

        Args:
            name: what the user calls it; only its last part is used, and never as a path.

        Raises:
            NoRoomError: too many are on their way.
            UploadError: there is no place for files.
        """
        shown = _shown_name(name)
        return self._upload(shown, lambda upload: self._add(upload, shown))

    def begin_metadata(self, embedding_id: str, name: str) -> Upload:
        """Begins to take the metadata of a dropped file.

        Raises:
            NoRoomError: too many are on their way.
            UploadError: no such file was dropped, or there is no place for files.
        """
        dropped = self._of(embedding_id)
        shown = _shown_name(name)
        return self._upload(shown, lambda upload: self._add_metadata(dropped, upload, shown))

    def begin_sprite(self, embedding_id: str, name: str, sizes: tuple[int, ...] = ()) -> Upload:
        """Begins to take the sprite of a dropped file; raises as `begin_metadata` does."""
        dropped = self._of(embedding_id)
        return self._upload(_shown_name(name), lambda upload: self._add_sprite(dropped, upload, sizes))

    def sources(self) -> tuple[EmbeddingSource, ...]:
        """The embeddings of all dropped files, the last dropped first."""
        with self._lock:
            return tuple(source for dropped in reversed(self._dropped.values()) for source in dropped.sources)

    def remove(self, embedding_id: str) -> None:
        """Forgets a dropped file; raises UploadError where there is none."""
        key = self._of(embedding_id)
        with self._lock:
            self._forget(key)

    def close(self) -> None:
        """Deletes all files."""
        with self._lock:
            self._dropped.clear()
            self._arriving.clear()
            folder, self._folder = self._folder, None
        if folder is not None:
            folder.close()

    def _upload(self, name: str, finish: Callable[[Upload], tuple[EmbeddingSource, ...]]) -> Upload:
        try:
            with self._lock:
                if len(self._arriving) >= self._most_arriving:
                    raise NoRoomError(
                        f"{counted(len(self._arriving), 'file')} are on their way already; drop this one when they are "
                        "there."
                    )
                if self._folder is None:
                    self._folder = OwnedFolder("dropped")
                self._count += 1
                place = self._folder.path / str(self._count)
                place.mkdir()
                upload = Upload(place / name, self._largest, self._reserve, finish, self._ended)
                self._arriving[upload] = 0
                return upload
        except OSError as error:
            raise UploadError(f"There is no place for the file: {error.strerror or error}.") from error

    def _reserve(self, upload: Upload, size: int) -> None:
        """Counts bytes that are about to be written, for which the oldest files make room."""
        with self._lock:
            if upload not in self._arriving:
                raise UploadError("The dashboard has ended.")
            if sum(self._arriving.values()) + size > self._most_bytes:
                raise NoRoomError(
                    f"The files on their way have {file_size(sum(self._arriving.values()))}, and all together may have "
                    f"{file_size(self._most_bytes)}; drop this one when they are there."
                )
            self._arriving[upload] += size
            self._make_room()

    def _ended(self, upload: Upload) -> None:
        with self._lock:
            self._arriving.pop(upload, None)

    def _make_room(self) -> None:
        """Forgets the oldest files, as far as there are too many; called under the lock."""

        def held() -> int:
            return sum(self._arriving.values()) + sum(dropped.bytes for dropped in self._dropped.values())

        while self._dropped and (len(self._dropped) > self._most_files or held() > self._most_bytes):
            self._forget(next(iter(self._dropped)))

    def _of(self, embedding_id: str) -> str:
        with self._lock:
            for key, dropped in self._dropped.items():
                if any(source.id == embedding_id for source in dropped.sources):
                    return key
        raise UploadError(f"There is no dropped file {embedding_id[:200]!r}; drop it again.")

    def _add(self, upload: Upload, name: str) -> tuple[EmbeddingSource, ...]:
        status = upload.path.stat()
        with self._lock:
            name = _unused(name, self._dropped.keys() | self._taken)
            self._taken.add(name)
        try:
            # A checkpoint may look at its own name for the files beside it.
            path = upload.path.rename(upload.path.with_name(name))
            companion = Companion("", PurePosixPath(name), str(path), status.st_size, status.st_mtime_ns)
            return self._keep(upload, path, name, None, _Dropped(companion, FileAbout(), (), status.st_size))
        finally:
            with self._lock:
                self._taken.discard(name)

    def _add_metadata(self, key: str, upload: Upload, name: str) -> tuple[EmbeddingSource, ...]:
        return self._changed(key, upload, metadata=str(upload.path), metadata_name=name)

    def _add_sprite(self, key: str, upload: Upload, sizes: tuple[int, ...]) -> tuple[EmbeddingSource, ...]:
        return self._changed(key, upload, sprite=str(upload.path), sprite_sizes=sizes)

    def _changed(self, key: str, upload: Upload, **changes: Any) -> tuple[EmbeddingSource, ...]:
        with self._lock:
            old = self._dropped.get(key)
        if old is None:
            _discard(upload.path)
            raise UploadError("The file that this belongs to is gone; drop it again.")
        changed = replace(old, about=replace(old.about, **changes))
        return self._keep(
            upload, upload.path, key, old, replace(changed, bytes=sum(map(os.path.getsize, changed.paths)))
        )

    def _keep(
        self, upload: Upload, path: Path, key: str, old: _Dropped | None, new: _Dropped
    ) -> tuple[EmbeddingSource, ...]:
        """Lists a file, or in the place of ``old`` what it is with the uploaded one; raises UploadError."""
        try:
            with self._budget.reading():
                sources = tuple(sources_of_file(new.companion, "dropped", new.about, Learned()))
            problem = next((source.problem for source in sources if source.problem), "")
        except NoMemoryError as error:
            _discard(path)
            raise NoRoomError(f"The file cannot be looked at now. {error}") from error
        except EmbeddingUnavailableError as error:
            problem = str(error)
        with self._lock:
            if not problem and self._dropped.get(key) is old and upload in self._arriving:
                # From now on its bytes are those of the file.
                self._arriving[upload] = 0
                self._dropped[key] = replace(new, sources=sources)
                self._dropped.move_to_end(key)
                for gone in old.paths - new.paths if old is not None else ():
                    _discard(Path(gone))
                self._make_room()
                return sources
        _discard(path)
        raise UploadError(f"{problem} Drop {FILES}." if problem else "The file was changed meanwhile; try again.")

    def _forget(self, key: str) -> None:
        dropped = self._dropped.pop(key, None)
        if dropped is not None:
            for path in dropped.paths:
                _discard(Path(path))


def _discard(path: Path) -> None:
    """Deletes a file with the folder that it has for itself."""
    path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        path.parent.rmdir()


def _shown_name(name: str) -> str:
    """The last part of a name, without what no file's name may have, and not too long."""
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
