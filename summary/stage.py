"""The data read so far from each event file of a log directory, by run."""

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain
from pathlib import PurePosixPath
from typing import Final

from stepscope.summary.blob_cache import BlobCache
from stepscope.summary.contents import FileHealth
from stepscope.summary.event_file import EventFile
from stepscope.summary.series import Run
from stepscope.summary.source import Changes, FoundFile, Opener, Source, readable
from stepscope.summary.staged_run import StagedFile, StagedRun


class Stage:
    """The event files and their runs; changed by one thread, at a cost proportional to what is new.

    Args:
        source: the source of the files.
        blobs: cache of payloads that were read.
        numbers: numbers for event files.
        versions: versions for series.
        keep_superseded: show points that a restart overwrote.
        clock: returns the current time in seconds since the epoch.
        shown: returns the version of the series shown for a run's files before they were checked, if any.
    """

    def __init__(
        self,
        source: Source,
        blobs: BlobCache,
        numbers: "itertools.count[int]",
        versions: "itertools.count[int]",
        *,
        keep_superseded: bool,
        clock: Callable[[], float],
        shown: Callable[[str, Collection[PurePosixPath]], int | None],
    ) -> None:
        self._source: Final = source
        self._blobs: Final = blobs
        self._numbers: Final = numbers
        self._versions: Final = versions
        self._keep_superseded: Final = keep_superseded
        self._clock: Final = clock
        self._shown: Final = shown
        self._runs: dict[str, StagedRun] = {}
        self._unread: dict[PurePosixPath, StagedFile] = {}
        """Files to read at the next update, including those that could not be read before."""
        self._dirty: dict[str, StagedRun] = {}
        """Runs of which a file was added, removed or read since the last commit."""
        self._growing: dict[str, float] = {}
        """Time at which the first growing file of each run ceases to count as growing."""
        self._changed: dict[str, Run | None] = {}
        """Changes that the next commit returns."""

    @property
    def paths(self) -> Iterator[PurePosixPath]:
        """The paths of all files."""
        return chain.from_iterable(run.files for run in self._runs.values())

    @property
    def health(self) -> Iterator[FileHealth]:
        """The health of all files, as of their last commit."""
        return chain.from_iterable(run.health for run in self._runs.values())

    def committed(self, name: str) -> Run | None:
        """Return a run as of its last commit, if it has events."""
        run = self._runs.get(name)
        return None if run is None else run.committed

    def take(self, changes: Changes) -> Sequence[StagedFile]:
        """Update files and runs after changes to event files; return all files to be read."""
        now = self._clock()
        for name in [name for name, settles_at in self._growing.items() if settles_at <= now]:
            self._dirty[name] = self._runs[name]
        files: dict[str, dict[PurePosixPath, StagedFile]] = {}
        """Files of the runs to which files are added or from which they are removed."""
        for path in changes.gone:
            name = readable(path.parent)
            run = self._runs.get(name)
            if run is not None and path in run.files:
                del files.setdefault(name, dict(run.files))[path]
                self._unread.pop(path, None)
        for found in sorted(changes.found, key=lambda found: str(found.path)):
            name = readable(found.path.parent)
            run = self._runs.get(name)
            known = None if run is None else run.files.get(found.path)
            if run is None or known is None or _was_replaced(known, found):
                known = StagedFile(found, self._event_file(found.path), name)
                if name not in files:
                    files[name] = {} if run is None else dict(run.files)
                files[name][found.path] = known
            elif known.found == found:
                continue
            known.found = found
            self._unread[found.path] = known
        for name, of_run in files.items():
            self._take_files(name, of_run)
        return list(self._unread.values())

    def _take_files(self, name: str, files: dict[PurePosixPath, StagedFile]) -> None:
        run = self._runs.get(name)
        if not files:
            if run is not None:
                del self._runs[name]
                self._dirty.pop(name, None)
                self._growing.pop(name, None)
                self._changed[name] = None
            return
        in_order = dict(sorted(files.items(), key=lambda item: str(item[0]))) if len(files) > 1 else files
        if run is None:
            run = self._runs[name] = StagedRun(
                name,
                self._source,
                self._blobs,
                self._versions,
                keep_superseded=self._keep_superseded,
                clock=self._clock,
                shown=self._shown(name, files),
            )
        run.files = in_order
        self._dirty[name] = run

    def mark_read(self, file: StagedFile) -> None:
        """Record that the new data of a file was read, or could not be read."""
        if not file.error:
            self._unread.pop(file.found.path, None)
        self._dirty[file.run] = self._runs[file.run]

    def commit(self) -> dict[str, Run | None]:
        """Recreate the snapshot data of runs that changed.

        Return the changed runs by name; None for runs that no longer exist or have no events.
        """
        for name, run in list(self._dirty.items()):
            if run.commit():
                self._changed[name] = run.committed
            if (settles_at := run.settles_at) < math.inf:
                self._growing[name] = settles_at
            else:
                self._growing.pop(name, None)
            self._unread.update((path, file) for path, file in run.files.items() if file.error)
            del self._dirty[name]
        changed, self._changed = self._changed, {}
        return changed

    def _event_file(self, path: PurePosixPath) -> EventFile:
        return EventFile(path, Opener(self._source, path), next(self._numbers))


def _was_replaced(known: StagedFile, found: FoundFile) -> bool:
    if found == known.found:
        return False
    # Data found damaged may have been cut off since: more was examined than was finally read.
    if found.identity != known.found.identity or found.size < max(known.found.size, known.events.position):
        return True
    try:
        return not known.events.begins_as_before(known.found.size)
    except OSError:
        return False
