"""Watches for file system changes below a folder, with watchdog."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from stepscope.summary.full_install import needs_full_install

with needs_full_install("Watching a folder"):
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


def watch(folder: Path, tell: Callable[[Sequence[str]], None]) -> BaseObserver:
    """Call ``tell`` with the paths of each change below a folder, on a separate thread.

    Raises:
        OSError: the system refuses to watch the folder.
    """
    observer = Observer()
    observer.schedule(_Handler(tell), str(folder), recursive=True, event_filter=_CHANGES)
    observer.start()
    return observer


class _Handler(FileSystemEventHandler):
    def __init__(self, tell: Callable[[Sequence[str]], None]) -> None:
        self._tell = tell

    def on_any_event(self, event: FileSystemEvent) -> None:
        self._tell([os.fsdecode(path) for path in (event.src_path, event.dest_path) if path])
