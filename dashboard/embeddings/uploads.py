"""Files that were dropped on the page: kept in a temporary folder until the server ends, or room is needed."""

import os
import re
import tempfile
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Final

from dashboard.embeddings.assembly import EmbeddingUnavailableError
from dashboard.embeddings.file_listing import sources_of_file
from dashboard.embeddings.file_source import FILES, FileAbout
from dashboard.embeddings.source import EmbeddingSource, Learned
from dashboard.numbers import file_size
from summary.snapshot import Companion

LARGEST_UPLOAD: Final = 1 << 30
"""Bytes of one file."""
MOST_BYTES: Final = 4 << 30
"""Bytes of all files; the oldest make room."""
MOST_FILES: Final = 32
_LONGEST_NAME: Final = 120
_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f/\\|:*?\"<>]")


class UploadError(ValueError):
    """A file cannot be taken; the message is a sentence for a person."""


@dataclass(frozen=True)
class _Dropped:
    companion: Companion
    about: FileAbout
    sources: tuple[EmbeddingSource, ...]
    bytes: int


class Upload:
    """A file on its way; written by one thread, then finished or aborted."""

    def __init__(self, path: Path, largest: int, finish: Callable[[Path], tuple[EmbeddingSource, ...]]) -> None:
        self._path: Final = path
        self._largest: Final = largest
        self._finish: Final = finish
        self._file = path.open("xb")
        self._size = 0

    def write(self, piece: bytes) -> None:
        """Takes the next piece.

        Raises:
            UploadError: the file is larger than any may be, or there is no room; what came before is gone.
        """
        self._size += len(piece)
        if self._size > self._largest:
            self.abort()
            raise UploadError(f"The file has more than {file_size(self._largest)}, the largest that can be dropped.")
        try:
            self._file.write(piece)
        except OSError as error:
            self.abort()
            raise UploadError(f"The file cannot be kept: {error.strerror or error}.") from error

    def finish(self) -> tuple[EmbeddingSource, ...]:
        """The embeddings of the whole file, or what it is added to.

        Raises:
            UploadError: it holds no points, or cannot be read; it is gone.
        """
        try:
            self._file.close()
            return self._finish(self._path)
        except OSError as error:
            self._path.unlink(missing_ok=True)
            raise UploadError(f"The file cannot be kept: {error.strerror or error}.") from error

    def abort(self) -> None:
        """Throws away what came."""
        self._file.close()
        self._path.unlink(missing_ok=True)


class Uploads:
    """The dropped files; safe to use from many threads."""

    def __init__(
        self, *, largest: int = LARGEST_UPLOAD, most_bytes: int = MOST_BYTES, most_files: int = MOST_FILES
    ) -> None:
        self._largest = largest
        self._most_bytes = most_bytes
        self._most_files = most_files
        self._lock = Lock()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._count = 0
        self._dropped: OrderedDict[str, _Dropped] = OrderedDict()

    def begin(self, name: str) -> Upload:
        """Begins to take a file with points.

        Args:
            name: what the user calls it; only its last part is used, and never as a path.

        Raises:
            UploadError: there is no place for files.
        """
        shown = _shown_name(name)
        return self._upload(shown, lambda path: self._add(path, shown))

    def begin_metadata(self, embedding_id: str, name: str) -> Upload:
        """Begins to take the metadata of a dropped file.

        Raises:
            UploadError: no such file was dropped, or there is no place for files.
        """
        dropped = self._of(embedding_id)
        shown = _shown_name(name)
        return self._upload(shown, lambda path: self._add_metadata(dropped, path, shown))

    def begin_sprite(self, embedding_id: str, name: str, sizes: tuple[int, ...] = ()) -> Upload:
        """Begins to take the sprite of a dropped file; raises as `begin_metadata` does."""
        dropped = self._of(embedding_id)
        return self._upload(_shown_name(name), lambda path: self._add_sprite(dropped, path, sizes))

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
            folder, self._folder = self._folder, None
        if folder is not None:
            folder.cleanup()

    def _upload(self, name: str, finish: Callable[[Path], tuple[EmbeddingSource, ...]]) -> Upload:
        try:
            with self._lock:
                if self._folder is None:
                    self._folder = tempfile.TemporaryDirectory(prefix="stepscope-dropped-", ignore_cleanup_errors=True)
                self._count += 1
                place = Path(self._folder.name, str(self._count))
                place.mkdir()
            return Upload(place / name, self._largest, finish)
        except OSError as error:
            raise UploadError(f"There is no place for the file: {error.strerror or error}.") from error

    def _of(self, embedding_id: str) -> str:
        with self._lock:
            for key, dropped in self._dropped.items():
                if any(source.id == embedding_id for source in dropped.sources):
                    return key
        raise UploadError(f"There is no dropped file {embedding_id[:200]!r}; drop it again.")

    def _add(self, path: Path, name: str) -> tuple[EmbeddingSource, ...]:
        status = path.stat()
        with self._lock:
            name = _unused(name, self._dropped)
        # A checkpoint may look at its own name for the files beside it.
        path = path.rename(path.with_name(name))
        companion = Companion("", PurePosixPath(name), str(path), status.st_size, status.st_mtime_ns)
        return self._keep(name, companion, FileAbout(), status.st_size)

    def _add_metadata(self, key: str, path: Path, name: str) -> tuple[EmbeddingSource, ...]:
        return self._changed(key, path, lambda about: replace(about, metadata=str(path), metadata_name=name))

    def _add_sprite(self, key: str, path: Path, sizes: tuple[int, ...]) -> tuple[EmbeddingSource, ...]:
        return self._changed(key, path, lambda about: replace(about, sprite=str(path), sprite_sizes=sizes))

    def _changed(self, key: str, path: Path, change: Callable[[FileAbout], FileAbout]) -> tuple[EmbeddingSource, ...]:
        with self._lock:
            dropped = self._dropped.get(key)
        if dropped is None:
            path.unlink(missing_ok=True)
            raise UploadError("The file that this belongs to is gone; drop it again.")
        about = change(dropped.about)
        for old in {dropped.about.metadata, dropped.about.sprite} - {about.metadata, about.sprite, ""}:
            Path(old).unlink(missing_ok=True)
        return self._keep(key, dropped.companion, about, dropped.bytes + path.stat().st_size)

    def _keep(self, key: str, companion: Companion, about: FileAbout, size: int) -> tuple[EmbeddingSource, ...]:
        try:
            sources = tuple(sources_of_file(companion, "dropped", about, Learned()))
            problem = next((source.problem for source in sources if source.problem), "")
        except EmbeddingUnavailableError as error:
            problem = str(error)
        if problem:
            Path(companion.path).unlink(missing_ok=True)
            raise UploadError(f"{problem} Drop {FILES}.")
        with self._lock:
            self._dropped[key] = _Dropped(companion, about, sources, size)
            self._dropped.move_to_end(key)
            while len(self._dropped) > 1 and (
                len(self._dropped) > self._most_files or sum(d.bytes for d in self._dropped.values()) > self._most_bytes
            ):
                self._forget(next(iter(self._dropped)))
        return sources

    def _forget(self, key: str) -> None:
        dropped = self._dropped.pop(key, None)
        if dropped is not None:
            for path in (dropped.companion.path, dropped.about.metadata, dropped.about.sprite):
                if path:
                    Path(path).unlink(missing_ok=True)


def _shown_name(name: str) -> str:
    """The last part of a name, without what no file's name may have, and not too long."""
    last = re.split(r"[/\\]", name)[-1]
    clean = _UNSAFE.sub("_", last).strip(". ") or "file"
    stem, ending = os.path.splitext(clean)
    ending = ending[:20]
    while len(os.fsencode((stem + ending).encode(errors="replace").decode())) > _LONGEST_NAME and stem:
        stem = stem[:-1]
    return (stem + ending).encode(errors="replace").decode()


def _unused(name: str, used: "OrderedDict[str, _Dropped]") -> str:
    stem, ending = os.path.splitext(name)
    number = 2
    while name in used:
        name = f"{stem} ({number}){ending}"
        number += 1
    return name
