"""A bounded cache of the most recently opened items: traces, graphs, embeddings."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, Protocol, TypeVar

from stepscope.dashboard.server.work import wait_for


class Listed(Protocol):
    """An item of a listing, not yet opened."""

    @property
    def id(self) -> str: ...

    @property
    def version(self) -> Hashable:
        """Equal for equal content: an item kept with another version is opened again."""
        ...


class Opened(Protocol):
    """An opened item, with the memory that it holds."""

    @property
    def bytes(self) -> int: ...


S = TypeVar("S", bound=Listed)
O = TypeVar("O", bound=Opened)  # noqa: E741 - of "opened"


class OpenedCache(Generic[S, O]):
    """Recently opened items, bounded by number and by estimated bytes; safe to use from many threads.

    If several threads ask for the same item at once, one opens it and the others wait. That an item is unavailable is
    kept like any other result, so that a broken file is read once per version. Any other failure, such as that nobody
    waits any more, is raised in the thread that opens the item, and the others try for themselves.
    """

    def __init__(
        self, opener: Callable[[S], O], unavailable: type[Exception], *, most: int = 8, max_bytes: int = 4 << 30
    ) -> None:
        """Create an empty cache.

        Args:
            opener: opens one item; raises ``unavailable`` with a human-readable sentence if it cannot.
            unavailable: the exception that is kept.
            most: maximum number of items kept.
            max_bytes: maximum bytes of all items; the last one opened is kept whatever its size.
        """
        self._lock = Lock()
        self._opened: OrderedDict[tuple[str, Hashable], Future[O]] = OrderedDict()
        self._opener = opener
        self._unavailable = unavailable
        self._most = most
        self._max_bytes = max_bytes

    def get(self, source: S) -> O:
        """Return the opened item, opening it if need be; raises what the opener raises."""
        key = (source.id, source.version)
        while True:
            with self._lock:
                future = self._opened.get(key)
                own = future is None
                if future is None:
                    future = self._opened[key] = Future()
                self._opened.move_to_end(key)
            if own:
                self._open(source, key, future)
            wait_for(future)
            error = future.exception()
            if isinstance(error, self._unavailable):
                # A new one: the kept one would collect a traceback, with everything its frames hold, from every caller.
                raise self._unavailable(str(error))
            if error is None or own:
                return future.result()

    def peek(self, source: Listed) -> O | None:
        """Return the opened item if it is kept."""
        with self._lock:
            future = self._opened.get((source.id, source.version))
        return future.result() if future is not None and future.done() and future.exception() is None else None

    def _open(self, source: S, key: tuple[str, Hashable], future: Future[O]) -> None:
        try:
            future.set_result(self._opener(source))
        except self._unavailable as error:
            # Without its traceback, which would keep the whole file in memory.
            future.set_exception(self._unavailable(str(error)))
        except BaseException as error:
            with self._lock:
                self._opened.pop(key, None)
            future.set_exception(error)
        with self._lock:
            self._evict()

    def _evict(self) -> None:
        held = sum(f.result().bytes for f in self._opened.values() if f.done() and f.exception() is None)
        for key, future in list(self._opened.items())[:-1]:
            if len(self._opened) <= self._most and held <= self._max_bytes:
                return
            if future.done():
                held -= future.result().bytes if future.exception() is None else 0
                del self._opened[key]
