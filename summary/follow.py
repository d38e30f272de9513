"""Follows a log directory from one thread, woken by the file system if it reports changes, else by the clock."""

import logging
import math
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from stepscope.summary.first_reading import FirstReading
from stepscope.summary.full_install import NotInstalledError
from stepscope.summary.logdir import Logdir
from stepscope.summary.snapshot import Snapshot

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver

    from stepscope.summary.folder_watches import FolderWatches
    from stepscope.summary.log_index import SegmentPlace

_SETTLING_SECONDS: Final = 0.05
_MOST_WATCHED: Final = 4_000
"""Maximum folders that Linux is asked to watch, as other programs need watches too; the others are polled."""
_MOST_HEEDED: Final = 1_000
"""Maximum runs being viewed whose folders are watched before any others."""
_QUIET_SHARE: Final = 0.005
"""Share of a core for polling what does not change, ..."""
_LONGEST_POLL: Final = 120.0
"""... unless the polling interval would exceed this."""
_SECONDS_BETWEEN_ATTEMPTS: Final = 60.0
"""Pause after the system refused to watch a folder; an attempt may have to go through all folders below."""
_MOST_WAIT_SECONDS: Final = 5.0
"""Maximum wait for the content of an index to be shown first."""
_SECONDS_BETWEEN_PARTS: Final = 0.5
_PARTS_REST: Final = 10
"""Pause before more of what another process reads is shown, as a multiple of the time to show the last part."""
_log: Final = logging.getLogger(__name__)


class Follower:
    """Updates a `Logdir` whenever its files change, and passes every new snapshot to a callback.

    The callback runs on the follower's thread, also for the snapshots of an unfinished first pass.

    Args:
        logdir: only the follower calls its ``update`` from `start` on.
        on_snapshot: called with each snapshot whose revision is new.
        poll_seconds: interval between looks in any case, for file systems that do not report changes.
        may_look: awaited for a short time before the first look if an index has something to show: the look would keep
            the processor from whoever shows it.
        reading: fills the index of the log directory meanwhile; ended with the follower.
    """

    def __init__(
        self,
        logdir: Logdir,
        on_snapshot: Callable[[Snapshot], None],
        *,
        poll_seconds: float = 5.0,
        may_look: threading.Event | None = None,
        reading: FirstReading | None = None,
    ) -> None:
        self._logdir = logdir
        self._on_snapshot = on_snapshot
        self._poll_seconds = poll_seconds
        self._may_look = may_look
        self._reading = reading
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._published = -1
        self._looked = False
        """Whether everything was looked at, so that only changes are left."""
        self._watching = False
        """Whether folders are to be watched: that takes a look at each, so callers waiting for data get it first."""
        self._changes = _Changes(self._wake)
        self._observers: dict[Path, BaseObserver] = {}
        self._watches: FolderWatches | None = None
        self._heeded = _Heeded()
        self._likely: Sequence[str] = ()
        """Folders in which something is likely to change."""
        self._refused: dict[Path, float] = {}
        self._refused_until = -math.inf
        self._thread = threading.Thread(target=self._run, name="stepscope-follower", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def heed(self, runs: Iterable[str]) -> None:
        """Watch the folders of runs that are being viewed, however long they have been quiet; any thread may call.

        The runs named last stay watched, `_MOST_HEEDED` at most.
        """
        if self._heeded.add(runs):
            self._wake.set()

    def stop(self) -> None:
        """End the thread and wait until it has ended; may be called again."""
        self._stopping.set()
        if self._may_look is not None:
            self._may_look.set()
        if self._reading is not None:
            self._reading.stop()
        self._wake.set()
        self._thread.join()
        for observer in self._observers.values():
            observer.stop()
            observer.join()
        watches, self._watches = self._watches, None
        if watches is not None:
            watches.stop()

    def _run(self) -> None:
        self._show_indexed()
        while not self._stopping.is_set():
            try:
                pause = self._look()
            except Exception:
                # The page must not freeze silently; the next look may well succeed.
                self._looked = False
                pause = self._poll_seconds
                _log.exception("the log directory %s could not be updated; retrying soon", self._logdir.source.address)
            if pause is not None and self._wake.wait(pause):
                # A writer's flush causes several changes; one pass can take them all.
                self._stopping.wait(_SETTLING_SECONDS)

    def _look(self) -> float | None:
        """Look at what changed, and return how long to wait before the next look; None to look again at once."""
        watched_anew = self._observe() if self._watching and sys.platform != "linux" else False
        begin = time.thread_time()
        self._wake.clear()
        changed = self._changes.take()
        news = self._watching and self._heeded.news
        if self._looked and not changed and news and self._watch_folders(others=False):
            # Look only at the folders watched now, not at the whole log directory.
            return None
        before = self._published
        # Changes made before a folder was watched were not reported.
        self._publish(self._logdir.update(self._publish, changed if self._looked and not watched_anew else None))
        self._looked = True
        if not self._watching:
            self._watching = True
            if self._logdir.source.watchable_folders:
                return None
        quiet = not changed and self._published == before
        as_watched = quiet and self._watches and not self._heeded.news
        if sys.platform == "linux" and not as_watched and self._watch_folders():
            return None
        # Looking at very many folders takes a while; doing so rarely keeps a quiet directory cheap.
        taken = (time.thread_time() - begin) / _QUIET_SHARE if quiet else 0.0
        return max(self._poll_seconds, min(taken, _LONGEST_POLL))

    def _show_indexed(self) -> None:
        try:
            self._show_what_is_read_ahead()
            snapshot = self._logdir.indexed()
            if not snapshot.revision:
                return
            self._publish(snapshot)
        except Exception:
            # The following look shows everything.
            _log.exception("the contents of the index of %s could not be shown", self._logdir.source.address)
            return
        if self._may_look is not None:
            self._may_look.wait(_MOST_WAIT_SECONDS)

    def _show_what_is_read_ahead(self) -> None:
        """Publish what another process reads into the index, at intervals, until it has read everything."""
        if self._reading is None:
            return
        written: list[SegmentPlace] = []
        due = 0.0
        for segments in self._reading.segments():
            written += segments
            if (begin := time.monotonic()) >= due:
                self._publish(self._logdir.indexed(written))
                written.clear()
                ended = time.monotonic()
                due = ended + max(_SECONDS_BETWEEN_PARTS, _PARTS_REST * (ended - begin))
        if written:
            self._publish(self._logdir.indexed(written))

    def _publish(self, snapshot: Snapshot) -> None:
        if snapshot.revision != self._published:
            self._published = snapshot.revision
            self._on_snapshot(snapshot)

    def _observe(self) -> bool:
        """Watch folders as soon as they exist, and return whether any is newly watched.

        Where watching is impossible, only the clock remains.
        """
        watched_anew = False
        for folder in self._logdir.source.watchable_folders:
            if folder in self._observers and not self._observers[folder].is_alive():
                del self._observers[folder]
            lately = time.monotonic() - self._refused.get(folder, -math.inf) < _SECONDS_BETWEEN_ATTEMPTS
            if folder in self._observers or lately or not folder.is_dir():
                continue
            try:
                from stepscope.summary.watching import watch

                self._observers[folder] = watch(folder, self._changes.add)
            except NotInstalledError as error:
                self._refused[folder] = math.inf
                _log.warning("polling instead: %s", error)
                continue
            except OSError as error:
                self._refused[folder] = time.monotonic()
                _log.warning("%s cannot be watched (%s); polling instead", folder, error)
                continue
            watched_anew = True
        return watched_anew

    def _watch_folders(self, *, others: bool = True) -> bool:
        """Watch the folders in which something will most likely change.

        Args:
            others: determine these folders besides those of runs being viewed; else take the ones found before.

        Returns:
            Whether any were not watched before; these must be looked at again.
        """
        source = self._logdir.source
        heeded = self._heeded.take() if source.watchable_folders else []
        looked_at = [source.locate(PurePosixPath(run)) for run in heeded]
        if others:
            self._likely = source.folders_to_watch(_MOST_WATCHED)
        wanted = list(dict.fromkeys([*looked_at, *self._likely]))[:_MOST_WATCHED]
        if sys.platform != "linux" or not wanted or time.monotonic() < self._refused_until:
            return False
        try:
            if self._watches is None:
                from stepscope.summary.folder_watches import FolderWatches

                self._watches = FolderWatches(self._changes.add)
            added = self._watches.watch(wanted)
        except NotInstalledError as error:
            self._refused_until = math.inf
            _log.warning("polling instead: %s", error)
        except OSError as error:
            self._refused_until = time.monotonic() + _SECONDS_BETWEEN_ATTEMPTS
            _log.warning("%s cannot be watched (%s); polling instead", source.address, error)
        else:
            if added:
                self._changes.add(added)
            return bool(added)
        return False


class _Heeded:
    """The runs that were viewed last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: OrderedDict[str, None] = OrderedDict()
        self._news = False

    @property
    def news(self) -> bool:
        """Whether runs were added since they were last taken."""
        return self._news

    def add(self, runs: Iterable[str]) -> bool:
        """Add runs, and return whether any of them is new."""
        with self._lock:
            added = False
            for run in islice(runs, _MOST_HEEDED):
                added |= run not in self._runs
                self._runs[run] = None
                self._runs.move_to_end(run)
            while len(self._runs) > _MOST_HEEDED:
                self._runs.popitem(last=False)
            self._news |= added
            return added

    def take(self) -> list[str]:
        with self._lock:
            self._news = False
            return list(self._runs)


class _Changes:
    """The paths that the system has reported since they were last taken."""

    def __init__(self, wake: threading.Event) -> None:
        self._wake = wake
        self._lock = threading.Lock()
        self._paths: set[str] = set()

    def add(self, paths: Iterable[str]) -> None:
        with self._lock:
            self._paths.update(paths)
        self._wake.set()

    def take(self) -> set[str]:
        with self._lock:
            taken, self._paths = self._paths, set()
        return taken
