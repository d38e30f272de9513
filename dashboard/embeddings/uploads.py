"""Files with points dropped on the page, and their metadata and sprites."""

import os
from collections.abc import Set
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

from stepscope.dashboard.embeddings.assembly import EmbeddingUnavailableError
from stepscope.dashboard.embeddings.file_listing import sources_of_file
from stepscope.dashboard.embeddings.file_source import FILES, FileAbout
from stepscope.dashboard.embeddings.source import EmbeddingSource, Learned
from stepscope.dashboard.server.dropped_files import DroppedFiles, NoRoomError, Upload, UploadError, discard
from stepscope.summary.contents import Companion
from stepscope.summary.memory_budget import MemoryBudget, NoMemoryError

Sources = tuple[EmbeddingSource, ...]


@dataclass(frozen=True)
class _Dropped:
    companion: Companion
    about: FileAbout
    sources: Sources
    bytes: int

    @property
    def paths(self) -> Set[str]:
        """Paths of all its files."""
        return {path for path in (self.companion.path, self.about.metadata, self.about.sprite) if path}


class Uploads(DroppedFiles[_Dropped]):
    """The dropped files with points; thread-safe.

    Args:
        budget: budget for the memory used while opening them.
        limits: same as those of `DroppedFiles`.
    """

    def __init__(self, *, budget: MemoryBudget | None = None, **limits: int) -> None:
        super().__init__(**limits)
        self._budget: Final = budget or MemoryBudget()

    def begin(self, name: str) -> Upload[Sources]:
        """Begin the upload of a file with points.

        Args:
            name: the user's name for it; only its last part is used, and never as a path.

        Raises:
            NoRoomError: too many uploads are in progress.
            UploadError: there is no room for files.
        """
        return self._upload(name, self._add)

    def begin_metadata(self, embedding_id: str, name: str) -> Upload[Sources]:
        """Begin the upload of metadata for a dropped file.

        Raises:
            NoRoomError: too many uploads are in progress.
            UploadError: no such file was dropped, or there is no room for files.
        """
        dropped = self._of(embedding_id)
        return self._upload(name, lambda upload, shown: self._add_metadata(dropped, upload, shown))

    def begin_sprite(self, embedding_id: str, name: str, sizes: tuple[int, ...] = ()) -> Upload[Sources]:
        """Begin the upload of a sprite for a dropped file; raises as `begin_metadata` does."""
        dropped = self._of(embedding_id)
        return self._upload(name, lambda upload, _shown: self._add_sprite(dropped, upload, sizes))

    def sources(self) -> Sources:
        """Return the embeddings of all dropped files, the most recent first."""
        with self._lock:
            return tuple(source for dropped in reversed(self._dropped.values()) for source in dropped.sources)

    def remove(self, embedding_id: str) -> None:
        """Remove a dropped file; raises UploadError if there is none."""
        key = self._of(embedding_id)
        with self._lock:
            self._forget(key)

    def _of(self, embedding_id: str) -> str:
        with self._lock:
            for key, dropped in self._dropped.items():
                if any(source.id == embedding_id for source in dropped.sources):
                    return key
        raise UploadError(f"There is no dropped file {embedding_id[:200]!r}; drop it again.")

    def _add(self, upload: Upload[Sources], name: str) -> Sources:
        status = upload.path.stat()
        with self._named(upload, name) as (path, unused):
            companion = Companion("", PurePosixPath(unused), str(path), status.st_size, status.st_mtime_ns)
            return self._listed(upload, path, unused, None, _Dropped(companion, FileAbout(), (), status.st_size))

    def _add_metadata(self, key: str, upload: Upload[Sources], name: str) -> Sources:
        return self._changed(key, upload, metadata=str(upload.path), metadata_name=name)

    def _add_sprite(self, key: str, upload: Upload[Sources], sizes: tuple[int, ...]) -> Sources:
        return self._changed(key, upload, sprite=str(upload.path), sprite_sizes=sizes)

    def _changed(self, key: str, upload: Upload[Sources], **changes: Any) -> Sources:
        with self._lock:
            old = self._dropped.get(key)
        if old is None:
            discard(upload.path)
            raise UploadError("The file that this belongs to no longer exists; drop it again.")
        changed = replace(old, about=replace(old.about, **changes))
        return self._listed(
            upload, upload.path, key, old, replace(changed, bytes=sum(map(os.path.getsize, changed.paths)))
        )

    def _listed(self, upload: Upload[Sources], path: Path, key: str, old: _Dropped | None, new: _Dropped) -> Sources:
        """List a file, replacing ``old`` if it is given, together with the uploaded one; raises UploadError."""
        try:
            with self._budget.reading():
                sources = tuple(sources_of_file(new.companion, "dropped", new.about, Learned()))
            problem = next((source.problem for source in sources if source.problem), "")
        except NoMemoryError as error:
            discard(path)
            raise NoRoomError(f"The file cannot be opened now. {error}") from error
        except EmbeddingUnavailableError as error:
            problem = str(error)
        if not problem and self._keep(upload, key, old, replace(new, sources=sources)):
            return sources
        discard(path)
        raise UploadError(f"{problem} Drop {FILES}." if problem else "The file has changed; try again.")
