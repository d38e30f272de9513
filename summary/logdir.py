"""A log directory: runs, tags and series, read piece by piece and handed out as immutable snapshots."""

import contextlib
import gc
import itertools
import math
import operator
import os
import re
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from fnmatch import fnmatch
from functools import partial
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final

from stepscope.summary.blob_cache import BlobCache
from stepscope.summary.column_cache import ColumnCache
from stepscope.summary.contents import Companion, FileHealth
from stepscope.summary.debugger.file_names import set_of_file, start_of_file
from stepscope.summary.event_file import EventFile
from stepscope.summary.indexed_runs import IndexedRuns
from stepscope.summary.kept_files import KeptFiles
from stepscope.summary.local_source import LocalSource
from stepscope.summary.log_index import LogIndex
from stepscope.summary.logdir_source import SeveralSources, name_of, source_of
from stepscope.summary.recognition import Recognition, Recognizer
from stepscope.summary.series import Run
from stepscope.summary.small_files import worth_it
from stepscope.summary.snapshot import EMPTY_SNAPSHOT, Snapshot
from stepscope.summary.source import FoundFile, Source, readable
from stepscope.summary.staged_run import StagedFile, StagedRun

_PROFILE_FOLDERS: Final = ("plugins", "profile")
_SECONDS_BETWEEN_LISTINGS: Final = 5.0
_LISTING_REST: Final = 20
"""Times as long as a listing took, for which files that are told of are looked at alone."""
_SECONDS_BETWEEN_PARTIAL_SNAPSHOTS: Final = 0.5
_SHARE: Final = 1 << 20
"""Bytes of small files that a thread reads at a time: to hand out each alone costs more than it gains."""
_REQUESTS_AT_ONCE: Final = 16
_MANY_OBJECTS: Final = 100_000


class Logdir:
    """Follows the event files below a directory.

    One thread calls `update`; the snapshots it returns may be read by any.

    Args:
        source: where the files are, or what `stepscope.summary.logdir_source.source_of` takes; a directory may come
            later.
        companion_patterns: file names, with wildcards, of other files that snapshots should list.
        recognizers: tell by the content which of the others they should list too.
        keep_superseded: show points that a restart overwrote.
        cache: keeps what was read of large files for the next time.
        index: keeps what was read of small ones, or of all where there is no cache.
        clock: seconds since the epoch.
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
        self._companion_patterns = tuple(companion_patterns)
        self._recognition = Recognition(self.source, recognizers)
        self._keep_superseded = keep_superseded
        self._kept = KeptFiles(self.source, cache, index)
        self._indexed: IndexedRuns | None = None
        """What was shown before the first look, until that is over."""
        self._runs: dict[str, StagedRun] = {}
        # Pages outlive servers: what they have of one must not pass for what the next one has at the same count.
        self._versions = itertools.count(secrets.randbits(52))
        self._file_numbers = itertools.count(1)
        self._blobs = BlobCache()
        self._listing: list[FoundFile] = []
        self._retrying = False
        """A file could not be opened, and is to be tried at every look."""
        self._listed_until = -math.inf
        """When all of it is listed again, whatever is told of single files; by ``time.monotonic``."""
        self._clock = clock
        self._settles_at = math.inf
        """When the first of the files that grow will not have grown for long enough to say so."""
        self._unlisted: tuple[FileHealth, ...] = ()
        self._snapshot = EMPTY_SNAPSHOT

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot of the last update."""
        return self._snapshot

    @property
    def taken_files(self) -> int:
        """How many files were as an earlier start had left them, and were not read."""
        return self._kept.taken

    def indexed(self) -> Snapshot:
        """Return what the index has, marked as loading, before the log directory is looked at for the first time.

        The snapshot is that of the last update where there was one, or where the index has nothing of this directory.
        """
        # What is at an address is not asked for file by file.
        files = self._kept.indexed() if self._snapshot.revision == 0 and self.source.watchable_folders else None
        if files:
            number = partial(next, self._file_numbers)
            runs = IndexedRuns(
                files, self.source, self._blobs, number, next(self._versions), keep_superseded=self._keep_superseded
            )
            if runs:
                self._indexed = runs
                self._snapshot = Snapshot(1, runs, loading=True, name=name_of(self.source.address))
        return self._snapshot

    def update(
        self,
        publish: Callable[[Snapshot], None] | None = None,
        changed: Collection[str] | None = None,
    ) -> Snapshot:
        """List the directory, read what is new in it, and return a snapshot.

        The snapshot is the one before, with the same revision, where nothing changed. While many files are still to
        be read, partial snapshots, marked as loading, go to ``publish``. ``changed`` is what `Source.list` takes.
        """
        self._kept.begin()
        first = self._snapshot.revision == 0 or self._snapshot.loading
        told = self._told(changed) if changed and not first else None
        if told is not None:
            return self._take_in(told, publish)
        begin = time.monotonic()
        with _no_garbage_collection():
            listing = list(self.source.list(changed))
            unlisted = tuple(_health_of_folder(path, reason) for path, reason in self.source.unlisted.items())
            settled = self._clock() >= self._settles_at
            if self._is_as_before(listing) and not settled and unlisted == self._unlisted:
                self._kept.keep((), at_once=False, listed=self._paths)
                return self._snapshot
            grown = None if settled or unlisted != self._unlisted else self._grown(listing)
            # Until all of it is taken in, lest an error leave something out for good.
            self._listing = []
            self._unlisted = unlisted
            for run in self._runs.values() if settled else ():
                run.dirty |= any(health.growing for health in run.health)
            if grown is None:
                event_files, companions = self._sorted_out(listing)
                to_read = self._stage(event_files)
            else:
                to_read, companions = grown, self._snapshot.companions
            self._read(to_read, publish, companions, first=first)
            snapshot = self._commit(companions, loading=False)
            self._retrying = any(file.error for run in self._runs.values() for file in run.files.values())
            self._listing = listing
            self._settles_at = min((run.settles_at for run in self._runs.values()), default=math.inf)
            ended = time.monotonic()
            self._listed_until = ended + max(_SECONDS_BETWEEN_LISTINGS, _LISTING_REST * (ended - begin))
        self._kept.keep(to_read, at_once=first, listed=self._paths)
        if first:
            self._indexed = None
            self._kept.forget_others()
        return snapshot

    def wait_until_stored(self) -> None:
        """Return when the cache holds what it should of all updates so far."""
        self._kept.wait_until_stored()

    def _paths(self) -> set[PurePosixPath]:
        return {path for run in self._runs.values() for path in run.files}

    def _is_as_before(self, listing: Sequence[FoundFile]) -> bool:
        """Return whether there is nothing to do: the very same listing as last time, of which all could be read."""
        return (
            not self._retrying
            and not self._recognition.waiting
            and self._snapshot.revision > 0
            and not self._snapshot.loading
            and len(listing) == len(self._listing)
            and all(map(operator.is_, listing, self._listing))
        )

    def _told(self, changed: Collection[str]) -> list[StagedFile] | None:
        """Return the event files that got more, of what is told to have changed; None where a listing has to tell."""
        if (
            not isinstance(self.source, LocalSource)
            or self._retrying
            or self._recognition.waiting
            or self._clock() >= self._settles_at
            or time.monotonic() >= self._listed_until
        ):
            return None
        found = self.source.grown(changed)
        return None if found is None else self._staged_again(found)

    def _take_in(self, grown: Sequence[StagedFile], publish: Callable[[Snapshot], None] | None) -> Snapshot:
        """Read files that got more, and return a snapshot with that."""
        self._listed_until, until = -math.inf, self._listed_until
        companions = self._snapshot.companions
        self._read(grown, publish, companions, first=False)
        snapshot = self._commit(companions, loading=False)
        self._retrying = any(file.error for file in grown)
        self._settles_at = min([self._settles_at, *(self._runs[file.run].settles_at for file in grown)])
        self._kept.keep(grown, at_once=False, listed=self._paths)
        # Until all of it was taken in, lest an error leave something out for good.
        self._listed_until = until
        return snapshot

    def _staged_again(self, changed: Iterable[FoundFile]) -> list[StagedFile] | None:
        """Return the event files that are to be read on; None where one of the files is another, or none of events."""
        grown: list[tuple[StagedFile, FoundFile]] = []
        for found in changed:
            run = self._runs.get(readable(found.path.parent))
            known = None if run is None else run.files.get(found.path)
            if known is None or self._was_replaced(known, found):
                return None
            grown.append((known, found))
        for known, found in grown:
            known.found = found
        return [known for known, _ in grown]

    def _grown(self, listing: Sequence[FoundFile]) -> list[StagedFile] | None:
        """Return the event files that got more, where that is all that is new since the last listing; else None."""
        if (
            self._retrying
            or self._recognition.waiting
            or self._snapshot.revision == 0
            or self._snapshot.loading
            or len(listing) != len(self._listing)
        ):
            return None
        changed = [pair for pair in zip(listing, self._listing, strict=True) if pair[0] is not pair[1]]
        if any(found.path != before.path for found, before in changed):
            return None
        return self._staged_again(found for found, _ in changed)

    def _sorted_out(self, listing: Iterable[FoundFile]) -> tuple[list[FoundFile], tuple[Companion, ...]]:
        event_files: list[FoundFile] = []
        companions: list[Companion] = []
        untold: list[FoundFile] = []
        for found in listing:
            name = found.path.name
            if is_event_file(name):
                event_files.append(found)
            elif set_of_file(name) or any(fnmatch(name, pattern) for pattern in self._companion_patterns):
                companions.append(self._companion(found))
            elif self._recognition.may_know(name):
                untold.append(found)
        recognized = self._recognition.look(untold)
        companions += [self._companion(found, recognized[found.path]) for found in untold if found.path in recognized]
        companions.sort(key=lambda c: (c.run, str(c.relative_path)))
        return sorted(event_files, key=lambda f: str(f.path)), tuple(companions)

    def _companion(self, found: FoundFile, recognized: str = "") -> Companion:
        path = self.source.locate(found.path)
        # Of several log directories, each is below a name of its own.
        below = len(found.path.parts) - isinstance(self.source, SeveralSources)
        root = re.split(r"[/\\]" if os.sep == "\\" else "/", path)[:-below]
        return Companion(
            run_of_companion(found.path),
            found.path,
            path,
            found.size,
            found.modified_ns,
            path[: len("/".join(root))],
            recognized,
        )

    def _stage(self, event_files: Iterable[FoundFile]) -> list[StagedFile]:
        """Bring the stage's runs and files in line with a listing; returns the files to read."""
        to_read: list[StagedFile] = []
        listed: dict[str, dict[PurePosixPath, StagedFile]] = {}
        for found in event_files:
            name = readable(found.path.parent)
            run = self._runs.get(name)
            known = None if run is None else run.files.get(found.path)
            if known is None or self._was_replaced(known, found):
                known = StagedFile(found, self._event_file(found.path), name)
                to_read.append(known)
            elif known.found != found or known.error:
                known.found = found
                to_read.append(known)
            listed.setdefault(name, {})[found.path] = known
        for name, files in listed.items():
            staged = self._runs.get(name)
            if staged is None:
                staged = self._runs[name] = StagedRun(
                    name,
                    self.source,
                    self._blobs,
                    self._versions,
                    keep_superseded=self._keep_superseded,
                    clock=self._clock,
                    shown=None if self._indexed is None else self._indexed.version_of(name, files),
                )
            if files != staged.files:
                staged.files, staged.dirty = files, True
        for name in self._runs.keys() - listed.keys():
            del self._runs[name]
        return to_read

    def _event_file(self, path: PurePosixPath) -> EventFile:
        return EventFile(path, partial(self.source.open, path), next(self._file_numbers))

    @staticmethod
    def _was_replaced(known: StagedFile, found: FoundFile) -> bool:
        if found == known.found:
            return False
        if found.identity != known.found.identity or found.size < known.events.position:
            return True
        try:
            return not known.events.begins_as_before(known.found.size)
        except OSError:
            return False

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
            # What the cache has of a local file takes Python alone, of which threads would only wait for each other.
            if self._kept.take(file, cheaply=not self.source.watchable_folders):
                self._mark_read(file)
                publish_now_and_then()
            else:
                to_read.append(file)
        if len(to_read) == 1:
            self._read_file(to_read[0])
            self._mark_read(to_read[0])
        elif to_read:
            # Each answer of an address takes long, however small: threads wait for several at once.
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
                        self._mark_read(file)
                    self._kept.keep(batch, at_once=first)
                    publish_now_and_then()

    def _read_files(self, files: Sequence[StagedFile], *, together: bool) -> None:
        """Read files, small ones many at a time if that is worth it."""
        for file in self._kept.read_together(files) if together else files:
            self._read_file(file)

    def _read_file(self, file: StagedFile) -> None:
        try:
            if not self._kept.take(file):
                self._kept.read(file)
            file.error = ""
        except OSError as error:
            file.error = error.strerror or str(error)

    def _mark_read(self, file: StagedFile) -> None:
        self._runs[file.run].dirty = True

    def _commit(self, companions: tuple[Companion, ...], *, loading: bool) -> Snapshot:
        changed = [run.commit() for run in self._runs.values() if run.dirty]
        before = self._snapshot
        written = {run.name: run.committed for run in self._runs.values() if run.committed is not None}
        # What was shown stays until it is known to be gone.
        before_the_look = self._indexed if loading and self._indexed is not None else {}
        runs = list({**before_the_look, **_runs_of_dumps(companions), **written}.values())
        same = (
            before.revision > 0
            and not any(changed)
            and loading == before.loading
            and companions == before.companions
            and len(runs) == len(before.runs)
            and sum(len(run.health) for run in self._runs.values()) + len(self._unlisted) == len(before.health)
            and before.health[len(before.health) - len(self._unlisted) :] == self._unlisted
        )
        if not same:
            runs.sort(key=lambda run: (run.first_wall_time, run.name))
            self._snapshot = Snapshot(
                before.revision + 1,
                MappingProxyType({run.name: run for run in runs}),
                companions,
                (*(health for run in self._runs.values() for health in run.health), *self._unlisted),
                loading,
                name_of(self.source.address),
            )
        return self._snapshot


def _runs_of_dumps(companions: Iterable[Companion]) -> dict[str, Run]:
    """Return a run without series for each folder that has a dump of TensorFlow's debugger."""
    starts: dict[str, float] = {}
    for companion in companions:
        if set_of_file(companion.relative_path.name):
            named = start_of_file(companion.relative_path.name)
            start = companion.modified_ns / 1e9 if named is None else named
            starts[companion.run] = min(start, starts.get(companion.run, start))
    return {name: Run(name, start, MappingProxyType({})) for name, start in starts.items()}


def _health_of_folder(path: PurePosixPath, reason: str) -> FileHealth:
    name = readable(path)
    return FileHealth(name, name, 0, 0, 0, (), 0, waiting=False, error=reason, is_folder=True)


def is_event_file(name: str) -> bool:
    """Return whether a file of this name holds events, by TensorBoard's rule.

    ``.profile-empty`` files only mark a run.
    """
    return "tfevents" in name and not name.endswith(".profile-empty")


def run_of_companion(path: PurePosixPath) -> str:
    """Return the run that a file belongs to: its directory, or for ``RUN/plugins/profile/TIME/file`` the directory
    RUN.
    """
    folder = path.parent
    if len(folder.parts) >= 3 and folder.parts[-3:-1] == _PROFILE_FOLDERS:
        return readable(PurePosixPath(*folder.parts[:-3]))
    return readable(folder)


def open_logdir(path: str | os.PathLike[str], *, keep_superseded: bool = False) -> Snapshot:
    """Read a log directory once, as it is now: a path, also with wildcards, or an address such as ``s3://...``."""
    return Logdir(path, keep_superseded=keep_superseded).update()


@contextlib.contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Many objects are made that stay; to look through them for cycles, again and again, takes half of the time.

    In the end they are moved to the oldest generation, where the next collection of young objects would put them after
    it had looked through all of them. Few objects stay where they are: what is moved does not count towards the next
    collection of the oldest generation, which would never come if every small update moved what it made.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if gc.get_count()[0] > _MANY_OBJECTS and gc.get_freeze_count() == 0:
            gc.freeze()
            gc.unfreeze()
        if was_enabled:
            gc.enable()


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
