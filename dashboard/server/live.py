"""The log directory as the dashboard sees it: the latest snapshot, and notification of the next."""

import asyncio
import secrets
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from stepscope.dashboard.server.page_title import page_title
from stepscope.dashboard.server.succession import succeed
from stepscope.summary.contents import Companion
from stepscope.summary.snapshot import EMPTY_SNAPSHOT, Snapshot
from stepscope.summary.source import readable

T = TypeVar("T")


class Follows(Protocol):
    """What `Live` needs of a follower: a thread that calls back with each new snapshot until it is stopped."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def heed(self, runs: Iterable[str]) -> None: ...


class Live:
    """Owns the follower of one log directory and publishes its snapshots to threads and to event loops."""

    def __init__(
        self,
        path: str,
        make_follower: Callable[[Callable[[Snapshot], None]], Follows],
        title: str = "",
        may_look: threading.Event | None = None,
    ) -> None:
        """Prepare; nothing is read before `start`.

        Args:
            path: the log directory, as the user gave it.
            make_follower: makes the follower, given the function that it calls with each new snapshot.
            title: the title of the browser tab; the log directory's title if empty.
            may_look: the event that the follower waits for, if it waits.
        """
        self.id: Final = secrets.token_hex(8)
        """Lets the page tell whether revisions come from another server."""
        self.path = path
        self.shown_path: Final = readable(path)
        """The log directory, as shown to the user."""
        self.title: Final = page_title(path, title)
        self._followed = self._snapshot = EMPTY_SNAPSHOT
        self._added: tuple[Companion, ...] = ()
        self._additions = 0
        """Number of times that the added files changed."""
        self._lock = threading.Lock()
        self._shared: dict[type, Any] = {}
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._closed = False
        self._published: Final = threading.Event()
        self.may_look: Final = may_look or threading.Event()
        """Set once an index's contents have been shown; after that, the follower reads the log directory itself."""
        self._follower = make_follower(self.publish)

    def start(self) -> None:
        """Start following."""
        self._follower.start()

    def stop(self) -> None:
        """Stop the follower and every stream that waits for news."""
        self._closed = True
        self._follower.stop()
        self._wake()

    def heed(self, runs: Iterable[str]) -> None:
        """Request immediate news of the runs that a page shows, however long they have been quiet."""
        self._follower.heed(runs)

    @property
    def closed(self) -> bool:
        """Whether `stop` was called."""
        return self._closed

    @property
    def reading(self) -> bool:
        """Whether the first pass over the files is still under way."""
        return not self._published.is_set() or self._snapshot.loading

    def wait_for_first(self, seconds: float) -> bool:
        """Wait at most ``seconds`` for the first snapshot, complete or partial; return whether it exists."""
        return self._published.wait(seconds)

    def snapshot(self) -> Snapshot:
        """Return the latest snapshot."""
        return self._snapshot

    def folder(self) -> Path | None:
        """Return the log directory if it is a folder on this machine."""
        folder = Path(self.path)
        return folder if folder.is_absolute() and folder.is_dir() else None

    def shared(self, kind: type[T], make: Callable[[], T] | None = None) -> T:
        """Return the one instance of a class that panels share for this log directory, created on first use."""
        with self._lock:
            if kind not in self._shared:
                self._shared[kind] = (make or kind)()
            found: T = self._shared[kind]
            return found

    def publish(self, snapshot: Snapshot) -> None:
        """Make ``snapshot`` the latest and wake all waiters; called from the follower's thread."""
        with self._lock:
            self._followed = snapshot
            self._show(self._with_added())
            self._published.set()
        self._wake()

    def add_companions(self, companions: tuple[Companion, ...]) -> None:
        """List files from outside the log directory in snapshots from now on, instead of those listed before."""
        with self._lock:
            if companions == self._added:
                return
            self._added = companions
            self._additions += 1
            self._show(self._with_added())
        self._wake()

    def _show(self, snapshot: Snapshot) -> None:
        succeed(self._snapshot, snapshot)
        self._snapshot = snapshot

    def _with_added(self) -> Snapshot:
        """Of both, the revision only grows, so their sum does too."""
        followed = self._followed
        if not self._additions:
            return followed
        revision = followed.revision + self._additions
        return replace(followed, revision=revision, companions=(*followed.companions, *self._added))

    def _wake(self) -> None:
        with self._lock:
            waiting = list(self._waiting)
        for loop, event in waiting:
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)

    async def wait_beyond(self, revision: int, timeout: float) -> int:
        """Wait until the revision differs from ``revision``, and return it.

        Returns the unchanged revision after ``timeout`` seconds, or when the dashboard ends.
        """
        event = asyncio.Event()
        entry = (asyncio.get_running_loop(), event)
        with self._lock:
            self._waiting.add(entry)
        try:
            if self._snapshot.revision == revision and not self._closed:
                await asyncio.wait_for(event.wait(), timeout)
        except TimeoutError:
            pass
        finally:
            with self._lock:
                self._waiting.discard(entry)
        return self._snapshot.revision
