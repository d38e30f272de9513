"""Threads for light requests and others for heavy ones, a deadline, and an end for work that nobody waits for any more.

Plain functions of routers with `LightRoute` or `HeavyRoute`, and callbacks under `light` or `heavy`, run here. A
request that waits for the work of another (`wait_for`, `held`) lends its place in the pool meanwhile.
"""

import asyncio
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import partial, wraps
from inspect import iscoroutinefunction, unwrap
from threading import Condition, RLock, Thread
from typing import Any, ClassVar, Final, ParamSpec, TypeVar

from fastapi import HTTPException, Response
from fastapi.responses import StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from stepscope.dashboard.server.json_bytes import json_bytes
from stepscope.dashboard.server.late_routes import LateRoute
from stepscope.summary.cancellation import Cancellation, Cancelled, cancellable, check_cancelled

P = ParamSpec("P")
R = TypeVar("R")

BUSY: Final = "The server is busy with requests of this kind. Try again in a moment."
LEFT: Final = 499
"""Status of a response that nobody receives because the client has left."""
_RETRY_S: Final = 5
_PIECE_BYTES: Final = 1 << 17
_LOOK_S: Final = 0.05
"""How often a thread that waits for another checks whether it is still wanted itself."""

_receive: ContextVar[Receive | None] = ContextVar("receive", default=None)
_pool: ContextVar["Pool | None"] = ContextVar("pool", default=None)


class BusyError(Exception):
    """The maximum number of jobs is already waiting."""


class Pool:
    """Threads for one kind of work, started on demand; safe to use from many threads and event loops.

    They are daemon threads, so that a job that cannot be interrupted does not keep the program from ending.
    """

    def __init__(self, name: str, *, threads: int, most_waiting: int, seconds: float) -> None:
        """Create a pool without jobs.

        Args:
            name: name of its threads.
            threads: maximum jobs that run at a time, not counting those that wait for others.
            most_waiting: maximum jobs that wait for a thread, and that wait for other jobs; further ones are refused.
            seconds: time after its submission when a job is no longer wanted.
        """
        self.seconds: Final = seconds
        self._name: Final = name
        self._threads: Final = threads
        self._most_waiting: Final = most_waiting
        self._ready: Final = Condition()
        self._jobs: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._places = threads
        """Number of jobs that may start now."""
        self._idle = 0
        """Number of threads that wait for a job."""
        self._lent = 0
        """Number of jobs that wait for others, each in a thread beyond ``threads``."""

    def submit(self, job: Callable[[], R]) -> Future[R]:
        """Run ``job`` as soon as there is a place; a future that is canceled before then is skipped.

        Raises:
            BusyError: the maximum number of jobs is already waiting.
        """
        future: Future[R] = Future()
        with self._ready:
            if len(self._jobs) >= self._most_waiting:
                self._jobs = deque(waiting for waiting in self._jobs if not waiting[0].cancelled())
                if len(self._jobs) >= self._most_waiting:
                    raise BusyError
            self._jobs.append((future, job))
            self._more()
        return future

    def _more(self) -> None:
        if self._jobs and self._places > 0:
            if self._idle == 0:
                self._idle += 1
                Thread(target=self._work, name=f"{self._name} worker", daemon=True).start()
            self._ready.notify_all()

    def _work(self) -> None:
        while (taken := self._next_job()) is not None:
            future, job = taken
            try:
                future.set_result(job())
            except BaseException as error:
                future.set_exception(error)
            # Do not keep the result until the next job comes.
            del taken, future, job
            with self._ready:
                self._places += 1
                self._idle += 1
                self._ready.notify_all()

    def _next_job(self) -> tuple[Future[Any], Callable[[], Any]] | None:
        with self._ready:
            while True:
                if self._jobs and self._places > 0:
                    future, job = self._jobs.popleft()
                    if not future.set_running_or_notify_cancel():
                        continue
                    self._places -= 1
                    self._idle -= 1
                    self._more()
                    return future, job
                if self._idle > self._threads:
                    self._idle -= 1
                    return None
                self._ready.wait()

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Let another job start while the calling one waits inside the block; it continues when there is a place again.

        Raises:
            BusyError: the maximum number of jobs already waits for others.
            Cancelled: the calling job is no longer wanted.
        """
        with self._ready:
            if self._lent >= self._most_waiting:
                raise BusyError
            self._lent += 1
            self._places += 1
            self._more()
        try:
            yield
        finally:
            with self._ready:
                # A job that is no longer wanted takes a place even if there is none: it ends at once.
                try:
                    while self._places <= 0:
                        self._ready.wait(_LOOK_S)
                        check_cancelled()
                finally:
                    self._places -= 1
                    self._lent -= 1


LIGHT: Final = Pool("light", threads=16, most_waiting=4_000, seconds=60)
"""For work that takes milliseconds, of which there is much when many pages are open."""
HEAVY: Final = Pool("heavy", threads=max(4, os.cpu_count() or 1), most_waiting=256, seconds=120)
"""For work that may take seconds: opening and analyzing."""
PIECES: Final = Pool("pieces", threads=4, most_waiting=4_000, seconds=120)
"""For the next piece of a response that is sent in pieces."""


@contextmanager
def _lent() -> Iterator[None]:
    pool = _pool.get()
    if pool is None:
        yield
    else:
        with pool.lent():
            yield


def wait_for(future: Future[Any]) -> None:
    """Return when another thread is done with ``future``, whatever the outcome.

    Raises:
        Cancelled: the calling work is no longer wanted.
    """
    if not future.done():
        with _lent():
            while not _is_done(future):
                check_cancelled()


def _is_done(future: Future[Any]) -> bool:
    try:
        future.exception(_LOOK_S)
    except TimeoutError:
        return future.done()
    return True


@contextmanager
def held(lock: RLock) -> Iterator[None]:
    """Hold a lock that others may hold for long.

    Raises:
        Cancelled: the calling work was no longer wanted before it had the lock.
    """
    if not lock.acquire(blocking=False):
        with _lent():
            while not lock.acquire(timeout=_LOOK_S):
                check_cancelled()
    try:
        yield
    finally:
        lock.release()


async def run(pool: Pool, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run ``function`` in a pool for the current request, whose body has been read.

    If its client leaves or its time is over, the result is not waited for, and `check_cancelled` ends the work.

    Raises:
        HTTPException: 503 if too many jobs wait or the time is over, 499 if the client has left.
    """
    return await _run(pool, _receive.get(), partial(function, *args, **kwargs))


async def _run(pool: Pool, receive: Receive | None, function: Callable[[], R]) -> R:
    cancellation = Cancellation(pool.seconds)

    def job() -> R:
        _pool.set(pool)
        with cancellable(cancellation):
            # The job may have spent all of its time waiting for its place.
            check_cancelled()
            return function()

    context = copy_context()
    done: asyncio.Future[R] | None = None
    left = asyncio.ensure_future(_left(receive)) if receive is not None else None
    try:
        done = asyncio.wrap_future(pool.submit(lambda: context.run(job)))
        waited_for: set[asyncio.Future[Any]] = {done} if left is None else {done, left}
        await asyncio.wait(waited_for, timeout=pool.seconds, return_when=asyncio.FIRST_COMPLETED)
        if done.done():
            return done.result()
        if left is not None and left.done():
            raise HTTPException(LEFT, "The client disconnected.")
        raise Cancelled(f"This took longer than {pool.seconds:g} seconds and was stopped.")
    except BusyError:
        raise HTTPException(503, BUSY, {"Retry-After": str(_RETRY_S)}) from None
    except Cancelled as error:
        raise HTTPException(503, f"{error} Request less, or try again later.") from None
    finally:
        cancellation.cancel()
        for each in (done, left):
            if each is not None:
                each.cancel()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class RequestAtHand:
    """Middleware that lets `run` learn that the client of the current request has left."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        token = _receive.set(receive if scope["type"] == "http" else None)
        try:
            await self._app(scope, receive, send)
        finally:
            _receive.reset(token)


def in_pool(pool: Pool, function: Callable[P, R]) -> Callable[P, Awaitable[R]]:
    """Make ``function`` run in a pool, so that event streams and other requests continue meanwhile."""

    @wraps(function)
    async def work(*args: P.args, **kwargs: P.kwargs) -> R:
        return await run(pool, function, *args, **kwargs)

    vars(work)["pool"] = pool
    return work


def light(function: Callable[P, R]) -> Callable[P, Awaitable[R]]:
    """Make a route or a callback that takes milliseconds run off the event loop."""
    return in_pool(LIGHT, function)


def heavy(function: Callable[P, R]) -> Callable[P, Awaitable[R]]:
    """Make a route or a callback that may take seconds run where it delays no light ones."""
    return in_pool(HEAVY, function)


class PooledRoute(LateRoute):
    """A route whose plain function runs in a pool, where its result is also converted to JSON.

    The pool is the class's, unless the function was assigned to another one (`light`, `heavy`).
    """

    pool: ClassVar[Pool]

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        pool = getattr(endpoint, "pool", None if iscoroutinefunction(endpoint) else self.pool)
        if pool is not None:
            endpoint = in_pool(pool, _answering(unwrap(endpoint)))
        # A function's return type is for those who read it, not a model to check each answer against.
        super().__init__(path, endpoint, **options | {"response_model": None})


class LightRoute(PooledRoute):
    """For functions that take milliseconds."""

    pool = LIGHT


class HeavyRoute(PooledRoute):
    """For functions that may take seconds."""

    pool = HEAVY


def _answering(endpoint: Callable[P, Any]) -> Callable[P, Response]:
    @wraps(endpoint)
    def answer(*args: P.args, **kwargs: P.kwargs) -> Response:
        found = endpoint(*args, **kwargs)
        if isinstance(found, Pieces):
            found.begin()
        if isinstance(found, Response):
            return found
        return Response(json_bytes(found), media_type="application/json")

    return answer


class Pieces(StreamingResponse):
    """A response that is made and sent one piece at a time, so that it is never in memory as a whole.

    The first piece is made before anything is sent: errors must be detected by then. A piece takes milliseconds, and
    ends with the client.
    """

    def __init__(
        self,
        pieces: Iterable[str | bytes | memoryview],
        status_code: int = 200,
        headers: dict[str, str] | None = None,
        media_type: str | None = None,
    ) -> None:
        self._pieces: Final = iter(pieces)
        self._first: bytes | memoryview | None = None
        super().__init__(self._sent(), status_code, headers, media_type)

    def begin(self) -> None:
        """Make the first piece."""
        self._first = self._next()

    def _next(self) -> bytes | memoryview:
        # Small pieces are joined: each trip to a thread and back takes as long as making some of them.
        found: list[bytes | memoryview] = []
        size, end = 0, time.monotonic() + _LOOK_S
        for piece in self._pieces:
            found.append(piece.encode() if isinstance(piece, str) else piece)
            size += len(piece)
            if size >= _PIECE_BYTES or (size and time.monotonic() > end):
                break
            check_cancelled()
        return found[0] if len(found) == 1 else b"".join(found)

    async def _sent(self) -> AsyncIterator[bytes | memoryview]:
        # The response itself detects whether the client has left.
        if self._first is None:
            await _run(PIECES, None, self.begin)
        piece, self._first = self._first, None
        while piece:
            yield piece
            piece = await _run(PIECES, None, self._next)
