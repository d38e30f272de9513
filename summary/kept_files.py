"""Storage of event-file data for the next start: a cache file for each large file, one index for all others."""

import contextlib
import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import PurePosixPath
from typing import Final

from stepscope.summary.column_cache import ColumnCache
from stepscope.summary.freed_memory import give_back
from stepscope.summary.index_lists import IndexedFile
from stepscope.summary.log_index import IndexedFiles, LogIndex, SegmentPlace
from stepscope.summary.logdir_source import identity_of
from stepscope.summary.packed_points import Packer
from stepscope.summary.small_files import read_together
from stepscope.summary.source import FoundFile, Source
from stepscope.summary.staged_run import StagedFile

LEAST_CACHED: Final = 1 << 18
"""Minimum size in bytes of a file that has a cache file of its own."""
_CACHED_GROWTH: Final = 0.25
"""A file is stored again when it has grown by this fraction."""
_SECONDS_BETWEEN_SEGMENTS: Final = 30.0
"""Interval while files grow; each write adds a file to the index."""
_log: Final = logging.getLogger(__name__)


class KeptFiles:
    """Restores event-file data that an earlier start stored, and stores it for the next start.

    Args:
        source: the source of the event files.
        cache: holds a file for each large event file.
        index: holds the other event files, or all of them if there is no cache.
    """

    def __init__(self, source: Source, cache: ColumnCache | None, index: LogIndex | None) -> None:
        self._source: Final = source
        self._cache: Final = cache
        self._index: Final = index
        self._packer: Final = Packer()
        self.taken = 0
        """Number of unchanged files that were restored."""
        self._indexed: IndexedFiles | None = None
        """Initial contents of the index, during the first pass."""
        self._are_others = False
        """Whether the indexed files belong to other log directories; files taken from them are added to this one."""
        self._seen_ns: int | None = None
        """Time of the last listing, in nanoseconds since the epoch."""
        self._storing: Final = ThreadPoolExecutor(1, "stepscope-cache")
        self._written: list[Future[None]] = []
        """The last submitted write to the index."""
        self._waiting: dict[PurePosixPath, tuple[StagedFile, int]] = {}
        """Files to be added to the index, with the time of their listing."""
        self._stored_at = -_SECONDS_BETWEEN_SEGMENTS

    def begin(self) -> None:
        """Record that the files are about to be listed; on the first call, read the index."""
        if self._seen_ns is None:
            self.indexed()
        self._seen_ns = time.time_ns()

    def indexed(self) -> IndexedFiles | None:
        """Read the index before anything is listed; return its contents if they are of this log directory."""
        if self._index is None:
            return None
        if self._indexed is None:
            self._index.logs = identity_of(self._source)
            self._indexed = self._index.load()
            self._are_others = not self._indexed
            if self._are_others:
                self._indexed = self._index.of_others()
        return None if self._are_others else self._indexed

    def adopt(self, written: Sequence[SegmentPlace]) -> None:
        """Load segments that another process has just written to the index, before anything is listed."""
        if self._index is not None:
            self.indexed()
            self._index.adopt(written)
            self._indexed, self._are_others = self._index.loaded(), False

    def forget_others(self) -> None:
        """Release the initial contents of the index, which are not needed after the first pass."""
        self._indexed = None
        # Queued behind pending writes.
        self._storing.submit(give_back)

    def take(self, file: StagedFile, *, cheaply: bool = False) -> bool:
        """Restore the stored data of a file that was not read yet, and return whether the file is complete.

        With ``cheaply``, do so only if no file has to be opened.
        """
        if file.events.position > 0:
            return False
        try:
            self._restore(file, cheaply=cheaply)
        except OSError:
            return False
        if file.events.position == 0:
            return False
        file.error = ""
        complete = file.events.position == file.found.size
        self.taken += complete
        return complete

    def _restore(self, file: StagedFile, *, cheaply: bool) -> bool:
        if cheaply or self._is_indexed(file.found):
            return self._from_index(file, cheaply=cheaply)
        # The index may have a file with a cache file as it was when it was smaller.
        return self._from_index(file, cheaply=True) or self._from_cache(file) or self._from_index(file, cheaply=False)

    def _from_index(self, file: StagedFile, *, cheaply: bool) -> bool:
        indexed = None if self._indexed is None else self._indexed.get(file.found.path)
        if indexed is None:
            return False
        found, then, points = file.found, indexed.found, indexed.points
        certain = indexed.is_certainly(found)
        if cheaply and not certain:
            return False
        if found.etag and not certain and found.size < LEAST_CACHED:
            # Comparing takes more requests than reading all of it.
            return False
        if found.size < then.size or not file.events.restore(
            indexed.state,
            points.table.tags,
            points,
            changed=not certain and then.size == found.size,
            trusted=certain,
            places=points.table.places,
        ):
            return False
        file.as_indexed = certain and not self._are_others
        if not file.as_indexed:
            if not self._is_indexed(found):
                # It has no cache file yet.
                return True
            # The next start need not open it.
            file.packed = indexed.state, points
            self._wait(file)
        file.cached_bytes = file.events.position
        return True

    def _from_cache(self, file: StagedFile) -> bool:
        cached = None if self._cache is None else self._cache.load(self._source.locate(file.found.path))
        if cached is None:
            return False
        found = file.found
        same = (cached.size, cached.modified_ns, cached.changed_ns) == (found.size, found.modified_ns, found.changed_ns)
        changed = not same and cached.size == found.size
        if cached.size > found.size or not file.events.restore(
            cached.state, cached.table, cached.kept, changed=changed
        ):
            return False
        file.cached_bytes = file.events.position
        return True

    def read(self, file: StagedFile) -> None:
        """Read new data of a file; callable from any thread, but only one per file. Raises OSError."""
        if file.events.position == 0 and self._is_indexed(file.found):
            file.packed = file.events.read_packed(file.found.size, self._packer)
        else:
            file.events.read_new(file.found.size)

    def read_together(self, files: Sequence[StagedFile]) -> Sequence[StagedFile]:
        """Read small local files that were not read yet, and return the others; callable from any thread."""
        small = [file for file in files if file.events.position == 0 and 0 < file.found.size < LEAST_CACHED]
        opened = [partial(self._source.open, file.found.path, 0) for file in small]
        packed = read_together(opened, [file.found.size for file in small], self._packer)
        done: set[int] = set()
        for file, found in zip(small, packed, strict=True):
            if found is not None:
                file.packed, file.error = found, ""
                file.events.restore_packed(*found)
                done.add(id(file))
        return [file for file in files if id(file) not in done]

    def _is_indexed(self, found: FoundFile) -> bool:
        return found.size < LEAST_CACHED or (self._index is not None and self._cache is None)

    def keep(
        self,
        files: Iterable[StagedFile],
        *,
        at_once: bool,
        listed: Callable[[], Collection[PurePosixPath]] | None = None,
    ) -> None:
        """Store data of files that is not stored yet, for the next start.

        Args:
            files: files that were read.
            at_once: whether the files may hold more than running programs append.
            listed: returns all existing files; None if more are still to be read.
        """
        for file in files:
            kept = file.cached_bytes
            more = file.events.position - kept
            if self._is_indexed(file.found):
                if more > kept * _CACHED_GROWTH:
                    self._wait(file)
            elif self._cache is not None and more >= max(LEAST_CACHED, kept * _CACHED_GROWTH):
                with contextlib.suppress(OSError):
                    state, tags = file.events.state(), file.events.tag_states()
                    self._store(self._cache.store, self._source.locate(file.found.path), file.found, state, tags)
                    file.cached_bytes = file.events.position
        if self._index is None or not self._waiting:
            return
        if at_once or time.monotonic() - self._stored_at >= _SECONDS_BETWEEN_SEGMENTS:
            indexed = [one for file, seen_ns in self._waiting.values() for one in self._indexed_now(file, seen_ns)]
            self._waiting.clear()
            self._stored_at = time.monotonic()
            # Pending writes stay in memory: at most two batches of them, however slow the disk is.
            wait(self._written)
            self._written = [self._store(self._index.store, indexed, None if listed is None else listed())]

    def _store(self, store: Callable[..., None], *data: object) -> Future[None]:
        stored = self._storing.submit(store, *data)
        stored.add_done_callback(_log_error)
        return stored

    def _wait(self, file: StagedFile) -> None:
        if self._index is not None and self._seen_ns is not None:
            self._waiting[file.found.path] = file, self._seen_ns

    def _indexed_now(self, file: StagedFile, seen_ns: int) -> Iterator[IndexedFile]:
        """Yield the index entry of a file, if there is one."""
        packed, file.packed = file.packed, None
        if packed is None or packed[0].position != file.events.position:
            try:
                packed = file.events.packed(self._packer)
            except OSError:
                return
            if packed is None:
                return
        file.cached_bytes = packed[0].position
        yield IndexedFile(file.found, seen_ns, *packed)

    def wait_until_stored(self) -> None:
        """Wait until everything submitted so far has been stored."""
        self._storing.submit(lambda: None).result()


def _log_error(stored: Future[None]) -> None:
    if (error := stored.exception()) is not None:
        _log.error("what was read could not be stored for the next start", exc_info=error)
