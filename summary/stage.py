"""What was read of each event file of a log directory so far, run by run."""

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
    """The event files and their runs; one thread changes it, and a look at the directory costs what it found new.

    Args:
        source: where the files are.
        blobs: keeps payloads that were read.
        numbers: for event files.
        versions: for series.
        keep_superseded: show points that a restart overwrote.
        clock: seconds since the epoch.
        shown: gives the version of the series that were shown of a run's files before they were looked at, if any.
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
        """What is to be read at the next look, be it that it could not be before."""
        self._dirty: dict[str, StagedRun] = {}
        """Of which a file was added, removed or read since they were committed."""
        self._growing: dict[str, float] = {}
        """When the first file of a run that grows will not have grown for long enough to say so."""
        self._changed: dict[str, Run | None] = {}
        """What the next commit is to tell."""

    @property
    def paths(self) -> Iterator[PurePosixPath]:
        """Of all files."""
        return chain.from_iterable(run.files for run in self._runs.values())

    @property
    def health(self) -> Iterator[FileHealth]:
        """Of all files, as they were committed."""
        return chain.from_iterable(run.health for run in self._runs.values())

    def committed(self, name: str) -> Run | None:
        """Return a run as it was committed last, if it has events."""
        run = self._runs.get(name)
        return None if run is None else run.committed

    def take(self, changes: Changes) -> Sequence[StagedFile]:
        """Bring files and runs in line with changes of event files; returns all files that are to be read."""
        now = self._clock()
        for name in [name for name, settles_at in self._growing.items() if settles_at <= now]:
            self._dirty[name] = self._runs[name]
        files: dict[str, dict[PurePosixPath, StagedFile]] = {}
        """Of the runs of which some come or go."""
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
        """Note that what is new in a file was read, or that it could not be."""
        if not file.error:
            self._unread.pop(file.found.path, None)
        self._dirty[file.run] = self._runs[file.run]

    def commit(self) -> dict[str, Run | None]:
        """Make again what snapshots hold of the runs of which something changed.

        Returns what has changed, by the runs' names; None for those that are gone, or have no events.
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
    # What was found damaged may be what was cut off since: more was looked at than was read for good.
    if found.identity != known.found.identity or found.size < max(known.found.size, known.events.position):
        return True
    try:
        return not known.events.begins_as_before(known.found.size)
    except OSError:
        return False
