"""A log directory: runs, tags and series, read incrementally and returned as immutable snapshots."""

import itertools
import math
import os
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final

from stepscope.summary.blob_cache import BlobCache
from stepscope.summary.collections_off import putting_aside
from stepscope.summary.column_cache import ColumnCache
from stepscope.summary.companions import Companions, is_event_file, runs_of_dumps
from stepscope.summary.contents import Companion, FileHealth
from stepscope.summary.errors import reason_of
from stepscope.summary.indexed_runs import IndexedRuns
from stepscope.summary.kept_files import KeptFiles
from stepscope.summary.local_source import LocalSource
from stepscope.summary.log_index import LogIndex, SegmentPlace
from stepscope.summary.logdir_source import name_of, source_of
from stepscope.summary.ordered_runs import OrderedRuns
from stepscope.summary.recognition import Recognizer
from stepscope.summary.series import Run
from stepscope.summary.small_files import worth_it
from stepscope.summary.snapshot import EMPTY_SNAPSHOT, Snapshot
from stepscope.summary.source import Changes, FoundFile, Source, readable
from stepscope.summary.stage import Stage
from stepscope.summary.staged_run import StagedFile

_SECONDS_BETWEEN_LISTINGS: Final = 5.0
_LISTING_REST: Final = 20
"""Multiple of the last listing's duration during which only files reported as changed are checked."""
_SECONDS_BETWEEN_PARTIAL_SNAPSHOTS: Final = 0.5
_SHARE: Final = 1 << 20
"""Bytes of small files that a thread reads at a time; dispatching each file separately costs more than it gains."""
_REQUESTS_AT_ONCE: Final = 16


class Logdir:
    """Follows the event files below a directory.

    Only one thread may call `update`; any thread may read the snapshots that it returns.

    Args:
        source: the files, or any argument that `stepscope.summary.logdir_source.source_of` accepts; the directory need
            not exist yet.
        companion_patterns: file names, with wildcards, of other files that snapshots should list.
        recognizers: identify further files to list by their content.
        keep_superseded: show points that a restart overwrote.
        cache: stores data read from large files for the next start.
        index: stores data read from small files, or from all files if there is no cache.
        clock: returns the current time in seconds since the epoch.
    """

    def __init__(
        self,
        source: Source | str | os.PathLike[str],
        *,
        companion_patterns: Sequence[str] = (),
        recognizers: Sequence[Recognizer] = (),
        keep_superseded: bool = False,
        cache: ColumnCache | None = None,
        index: LogIndex | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.source: Final[Source] = source_of(source) if isinstance(source, str | os.PathLike) else source
        self._companions = Companions(self.source, companion_patterns, recognizers)
        self._keep_superseded = keep_superseded
        self._kept = KeptFiles(self.source, cache, index)
        self._indexed: IndexedRuns | None = None
        """The indexed runs shown until the first listing has been read."""
        # Pages outlive servers: their data from one must not pass for that of the next at the same count.
        self._versions = itertools.count(secrets.randbits(52))
        self._file_numbers = itertools.count(1)
        self._blobs = BlobCache()
        self._stage = Stage(
            self.source,
            self._blobs,
            self._file_numbers,
            self._versions,
            keep_superseded=keep_superseded,
            clock=clock,
            shown=lambda name, paths: None if self._indexed is None else self._indexed.version_of(name, paths),
        )
        self._runs = OrderedRuns()
        """The runs of the snapshot."""
        self._companions_shown: tuple[Companion, ...] = ()
        self._dumps: Mapping[str, Run] = {}
        """The runs that the companions form."""
        self._listing: list[FoundFile] | None = None
        """The last listing; None if it has not been processed completely."""
        self._listed_until = -math.inf
        """When everything is listed again, even if single files are reported as changed; by ``time.monotonic``."""
        self._unlisted: tuple[FileHealth, ...] = ()
        self._unlisted_shown: tuple[FileHealth, ...] = ()
        """The unlisted folders of the snapshot."""
        self._snapshot = EMPTY_SNAPSHOT

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot of the last update."""
        return self._snapshot

    @property
    def taken_files(self) -> int:
        """Number of files that have not changed since an earlier start and were therefore not read."""
        return self._kept.taken

    def indexed(self, written: Sequence[SegmentPlace] = ()) -> Snapshot:
        """Return the contents of the index, marked as loading, before the log directory is first listed.

        Return the snapshot of the last update if there was one, or if the index has nothing about this directory.

        Args:
            written: segments that another process has added to the index since the last call.
        """
        # Files at an address are not checked one by one.
        if not self.source.watchable_folders or (self._snapshot.revision > 0 and self._indexed is None):
            return self._snapshot
        if written:
            self._kept.adopt(written)
        files = self._kept.indexed() if written or self._indexed is None else None
        if files:
            runs = IndexedRuns(
                files,
                self.source,
                self._blobs,
                partial(next, self._file_numbers),
                next(self._versions),
                keep_superseded=self._keep_superseded,
                before=self._indexed,
            )
            if runs:
                self._indexed = runs
                self._runs.changed(runs)
                revision = self._snapshot.revision + 1
                self._snapshot = Snapshot(revision, runs, loading=True, name=name_of(self.source.address))
        return self._snapshot

    def update(
        self,
        publish: Callable[[Snapshot], None] | None = None,
        changed: Collection[str] | None = None,
    ) -> Snapshot:
        """List the directory, read what is new in it, and return a snapshot.

        If nothing changed, the previous snapshot is returned, with the same revision. While many files are still to
        be read, ``publish`` is called with partial snapshots, marked as loading. ``changed`` is passed to
        `Source.list`.
        """
        self._kept.begin()
        first = self._snapshot.revision == 0 or self._snapshot.loading
        told = self._told(changed) if changed and not first else None
        if told is not None:
            snapshot = self._take_in(told, [*(self._listing or ()), *told.found], publish, first=False)
            if time.monotonic() < self._listed_until:
                return snapshot
            # Known data need not wait for what else a listing may find.
            if publish is not None:
                publish(snapshot)
        begin = time.monotonic()
        with putting_aside():
            listing = list(self.source.list(changed))
            unlisted = tuple(_health_of_folder(path, reason) for path, reason in self.source.unlisted.items())
            snapshot = self._take_in(self._news(listing), listing, publish, first=first, unlisted=unlisted)
            ended = time.monotonic()
            self._listed_until = ended + max(_SECONDS_BETWEEN_LISTINGS, _LISTING_REST * (ended - begin))
        return snapshot

    def wait_until_stored(self) -> None:
        """Wait until everything to be cached from the updates so far has been stored."""
        self._kept.wait_until_stored()

    def _told(self, changed: Collection[str]) -> Changes | None:
        """Return the changes to the files reported as changed; None if only a listing can determine them."""
        if not isinstance(self.source, LocalSource) or self._listing is None:
            return None
        return self.source.changes(changed)

    def _news(self, listing: Sequence[FoundFile]) -> Changes:
        """Return how a listing differs from the last; sources reuse the objects of unchanged files."""
        if self._listing is None:
            listed = {found.path for found in listing}
            return Changes(listing, [path for path in self._paths() if path not in listed])
        then, now = set(map(id, self._listing)), set(map(id, listing))
        found = [file for file in listing if id(file) not in then]
        gone = {file.path for file in self._listing if id(file) not in now}
        if gone:
            gone.difference_update(file.path for file in listing)
        return Changes(found, gone)

    def _paths(self) -> set[PurePosixPath]:
        return {*self._stage.paths, *self._companions.paths}

    def _take_in(
        self,
        changes: Changes,
        listing: list[FoundFile] | None,
        publish: Callable[[Snapshot], None] | None,
        *,
        first: bool,
        unlisted: tuple[FileHealth, ...] | None = None,
    ) -> Snapshot:
        """Read new data and return a snapshot that includes it.

        Args:
            changes: changes since the last check.
            listing: the last listing.
            publish: called with partial snapshots.
            first: whether there were no files before the changes.
            unlisted: folders that could not be listed; None for those of the last listing.
        """
        # Unset until all changes are taken in, lest an error omit some for good.
        self._listing = None
        if unlisted is not None:
            self._unlisted = unlisted
        companions = self._companions.take(changes)
        to_read = self._stage.take(
            Changes([found for found in changes.found if is_event_file(found.path.name)], changes.gone)
        )
        self._read(to_read, publish, companions, first=first)
        snapshot = self._commit(companions, loading=False)
        self._listing = listing
        self._kept.keep(to_read, at_once=first, listed=lambda: set(self._stage.paths))
        if first:
            self._kept.forget_others()
        return snapshot

    def _read(
        self,
        files: Sequence[StagedFile],
        publish: Callable[[Snapshot], None] | None,
        companions: tuple[Companion, ...],
        *,
        first: bool,
    ) -> None:
        published = time.monotonic()

        def publish_now_and_then() -> None:
            nonlocal published
            if publish is not None and time.monotonic() - published > _SECONDS_BETWEEN_PARTIAL_SNAPSHOTS:
                publish(self._commit(companions, loading=True))
                published = time.monotonic()

        to_read: list[StagedFile] = []
        for file in files:
            # Loading cached data of a local file is pure Python, where threads would only wait for each other.
            if self._kept.take(file, cheaply=not self.source.watchable_folders):
                self._stage.mark_read(file)
                publish_now_and_then()
            else:
                to_read.append(file)
        if len(to_read) == 1:
            self._read_file(to_read[0])
            self._stage.mark_read(to_read[0])
        elif to_read:
            # Each response from an address is slow, however small: threads wait for several at once.
            local = bool(self.source.watchable_folders)
            share = _SHARE if local else 0
            threads = (os.cpu_count() or 1) if local else _REQUESTS_AT_ONCE
            with ThreadPoolExecutor(min(len(to_read), threads)) as pool:
                # A commit looks only at files that no thread reads, so partial snapshots come between batches.
                for number, batch in enumerate(_batches(to_read)):
                    together = local and worth_it(len(to_read), begins=number == 0)
                    parts = [pool.submit(self._read_files, part, together=together) for part in _batches(batch, share)]
                    for done in as_completed(parts):
                        done.result()
                    for file in batch:
                        self._stage.mark_read(file)
                    self._kept.keep(batch, at_once=first)
                    publish_now_and_then()

    def _read_files(self, files: Sequence[StagedFile], *, together: bool) -> None:
        """Read files, combining small ones if that is worthwhile."""
        for file in self._kept.read_together(files) if together else files:
            self._read_file(file)

    def _read_file(self, file: StagedFile) -> None:
        try:
            if not self._kept.take(file):
                self._kept.read(file)
            file.error = ""
        except OSError as error:
            file.error = reason_of(error)

    def _commit(self, companions: tuple[Companion, ...], *, loading: bool) -> Snapshot:
        before = self._snapshot
        names: set[str] = set()
        if companions is not self._companions_shown:
            dumps = runs_of_dumps(companions)
            names |= self._dumps.keys() | dumps.keys()
            self._dumps, self._companions_shown = dumps, companions
        if self._indexed is not None and not loading:
            names |= self._indexed.keys()
            self._indexed = None
        changed = self._stage.commit()
        same = (
            before.revision > 0
            and not changed
            and loading == before.loading
            and companions == before.companions
            and self._unlisted == self._unlisted_shown
        )
        if not same:
            names |= changed.keys()
            self._unlisted_shown = self._unlisted
            runs = self._runs.changed({name: self._run(name) for name in names})
            self._snapshot = Snapshot(
                before.revision + 1,
                MappingProxyType(runs),
                companions,
                (*self._stage.health, *self._unlisted),
                loading,
                name_of(self.source.address),
            )
        return self._snapshot

    def _run(self, name: str) -> Run | None:
        """Return the run shown under a name: one that was read, a dump or, until everything is read, an indexed run."""
        committed = self._stage.committed(name) or self._dumps.get(name)
        # A shown run stays until it is known to be gone.
        return self._indexed.get(name) if committed is None and self._indexed is not None else committed


def _health_of_folder(path: PurePosixPath, reason: str) -> FileHealth:
    name = readable(path)
    return FileHealth(name, name, 0, 0, 0, (), 0, waiting=False, error=reason, is_folder=True)


def open_logdir(path: str | os.PathLike[str], *, keep_superseded: bool = False) -> Snapshot:
    """Read a log directory once.

    Args:
        path: a folder, an event file, a path with wildcards such as ``runs/*/seed_0``, or an address such as
            ``s3://bucket/logs``. A folder that does not exist has no runs.
        keep_superseded: include points that a restart of training overwrote.

    Returns:
        The runs and other contents at this moment, with methods that return them as Polars tables.

    Raises:
        TypeError: the path is neither a string nor a path, such as a list of several.
        ValueError: the address's protocol is unknown.
        ImportError: the protocol needs a package that is not installed.
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(
            f"path must be the path or address of one log directory, got {type(path).__name__}; to read several, call "
            "open_logdir for each, or give a pattern such as 'runs/*/seed_0'"
        )
    return Logdir(path, keep_superseded=keep_superseded).update()


def _batches(files: Sequence[StagedFile], batch_bytes: int = 64 << 20) -> Iterable[list[StagedFile]]:
    batch: list[StagedFile] = []
    size = 0
    for file in files:
        batch.append(file)
        size += file.found.size
        if size >= batch_bytes:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
