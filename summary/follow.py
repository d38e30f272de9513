"""Follows a log directory from one thread: woken by the file system where it tells, by the clock where it does not."""

import logging
import threading
from collections.abc import Callable
from typing import Final

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirModifiedEvent,
    DirMovedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from summary.logdir import Logdir
from summary.snapshot import Snapshot

_CHANGES: Final = [
    DirCreatedEvent,
    DirDeletedEvent,
    DirModifiedEvent,
    DirMovedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
]
_SETTLING_SECONDS: Final = 0.05
_log: Final = logging.getLogger(__name__)


class Follower:
    """Updates a `Logdir` whenever its files change, and hands every new snapshot to a callback.

    The callback runs on the follower's thread, for the snapshots of a first pass under way too.

    Args:
        logdir: only the follower calls its ``update`` from `start` on.
        on_snapshot: called with each snapshot whose revision is new.
        poll_seconds: how often to look in any case, for file systems that do not tell of changes.
    """

    def __init__(self, logdir: Logdir, on_snapshot: Callable[[Snapshot], None], *, poll_seconds: float = 5.0) -> None:
        self._logdir = logdir
        self._on_snapshot = on_snapshot
        self._poll_seconds = poll_seconds
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._published = -1
        self._observer: BaseObserver | None = None
        self._thread = threading.Thread(target=self._run, name="stepscope-follower", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread; returns when it has ended."""
        self._stopping.set()
        self._wake.set()
        self._thread.join()
        if self._observer is not None:
            self._observer.stop()
            self._observer.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._observe()
            self._wake.clear()
            try:
                self._publish(self._logdir.update(self._publish))
            except Exception:
                # The page must not stand still without a word; the next look may well succeed.
                _log.exception("the log directory %s could not be updated; looking again soon", self._logdir.path)
            if self._wake.wait(self._poll_seconds):
                # A writer's flush comes as several changes; one pass can take them all.
                self._stopping.wait(_SETTLING_SECONDS)

    def _publish(self, snapshot: Snapshot) -> None:
        if snapshot.revision != self._published:
            self._published = snapshot.revision
            self._on_snapshot(snapshot)

    def _observe(self) -> None:
        """Watches the directory as soon as it exists; where watching is impossible, the clock alone remains."""
        if self._observer is not None and not self._observer.is_alive():
            self._observer = None
        if self._observer is not None or not self._logdir.path.is_dir():
            return
        observer = Observer()
        try:
            observer.schedule(_Waker(self._wake), str(self._logdir.path), recursive=True, event_filter=_CHANGES)
            observer.start()
        except OSError:
            return
        self._observer = observer


class _Waker(FileSystemEventHandler):
    def __init__(self, wake: threading.Event) -> None:
        self._wake = wake

    def on_any_event(self, event: FileSystemEvent) -> None:
        self._wake.set()
