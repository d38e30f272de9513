"""A bounded cache of what was opened last: traces, graphs, embeddings."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, Protocol, TypeVar

from stepscope.dashboard.server.work import wait_for


class Listed(Protocol):
    """One thing of a listing, not yet opened."""

    @property
    def id(self) -> str: ...

    @property
    def version(self) -> Hashable:
        """Equal for equal content: what is kept of another version is opened again."""
        ...


class Opened(Protocol):
    """What was opened, with the memory that it holds."""

    @property
    def bytes(self) -> int: ...


S = TypeVar("S", bound=Listed)
O = TypeVar("O", bound=Opened)  # noqa: E741 - of "opened"


class OpenedCache(Generic[S, O]):
    """What was opened last, bounded by number and by estimated bytes; safe to use from many threads.

    When several threads ask for the same thing at once, one opens it and the others wait for it. That it is unavailable
    is kept like anything else, so that a broken file is read once per version of it. Whatever else went wrong, such as
    that nobody waited for it any more, is told to the one who opened it, and the others try on their own.
    """

    def __init__(
        self, opener: Callable[[S], O], unavailable: type[Exception], *, most: int = 8, max_bytes: int = 4 << 30
    ) -> None:
        """Make an empty cache.

        Args:
            opener: opens one thing; raises ``unavailable`` with a sentence for a person where it cannot.
            unavailable: the exception that is kept.
            most: things that are kept.
            max_bytes: of all of them; the last one opened is kept whatever its size.
        """
        self._lock = Lock()
        self._opened: OrderedDict[tuple[str, Hashable], Future[O]] = OrderedDict()
        self._opener = opener
        self._unavailable = unavailable
        self._most = most
        self._max_bytes = max_bytes

    def get(self, source: S) -> O:
        """Return the opened thing, opened now if need be; raises as the opener does."""
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
                # A new one: the kept one would gather a traceback, with all its frames hold, from everybody who asks.
                raise self._unavailable(str(error))
            if error is None or own:
                return future.result()

    def peek(self, source: Listed) -> O | None:
        """Return the opened thing if it is kept."""
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
