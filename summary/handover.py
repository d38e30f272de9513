"""Passes items from any number of threads to one worker thread; interrupting the callers cannot harm it.

A signal handler may raise in a caller between any two instructions. Callers therefore never hold a lock: they append to
a deque, put into a `SimpleQueue`, and wait for a bare lock that another thread releases. Each of these is one call into
C, which either has happened or has not. `threading.Event` and `threading.Condition` are different: an exception in the
middle of their Python code leaves their lock held forever. So does starting a `threading.Thread`, which waits for such
an event; the thread here is a bare one.
"""

import atexit
import sys
import threading
import time
from _thread import allocate_lock, get_ident, start_new_thread
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Final, Literal, TypeAlias

_WORK: Final = False
_HURRY: Final = True

Purpose: TypeAlias = Literal["open", "flush", "close"]
"""What else a request asks for."""


class Request:
    """Waits in the queue until everything handed over before it has been processed."""

    __slots__ = ("_passed", "failure", "purpose")

    def __init__(self, purpose: Purpose) -> None:
        self.purpose: Final = purpose
        self.failure: Exception | None = None
        """The error that occurred, if any."""
        self._passed: Final = allocate_lock()
        self._passed.acquire()

    def grant(self) -> None:
        """Let the caller continue."""
        if self._passed.locked():
            self._passed.release()

    def wait(self) -> None:
        """Wait until the request is granted."""
        self._passed.acquire()


class Handover(ABC):
    """A queue and the one thread that works on it, which starts and ends as needed."""

    _pending: deque[Any]
    """The items that were handed over, including `Request` objects, in the order of the calls."""
    _idle: bool
    """The thread waits and must be woken. It sets this before it looks into the queue; callers read it after they
    append, so that no item goes unnoticed."""
    _at_once: bool
    """Callers do the work themselves, so that it is done when a call returns; there is never a thread."""

    def _begin(self, linger: float, *, at_once: bool) -> None:
        """Create the queue, again in a forked child; items may wait ``linger`` seconds for more to arrive."""
        self._longest_wait = linger
        self._at_once = at_once
        self._pending = deque()
        self._idle = True
        self._signals: SimpleQueue[bool] = SimpleQueue()
        self._working = allocate_lock()
        """Held by whoever works on the queue: the thread as long as it lives, or a caller."""
        self._worker = 0
        self._thread_serves = False

    @abstractmethod
    def _work(self, items: list[Any], requests: list[Request]) -> bool:
        """Process the items that were handed over, and record errors in the requests.

        Return whether no thread is needed until more is handed over. Nothing is raised by the work itself; if a caller
        does it, an interruption may be.
        """

    def _wake(self) -> None:
        """Have the items that were handed over processed, sooner or later."""
        self._have_it_worked_on(_WORK)

    def _hurry(self) -> None:
        """Have the items processed soon."""
        self._signals.put(_HURRY)

    def _ask(self, purpose: Purpose) -> Request:
        """Return once everything handed over before has been processed."""
        request = Request(purpose)
        if self._worker == get_ident():
            return request  # from within the work, such as in a finalizer: no other thread could grant it
        self._pending.append(request)
        self._have_it_worked_on(_HURRY)
        request.wait()
        return request

    def _have_it_worked_on(self, signal: bool) -> None:
        if self._at_once:
            # No thread is ever started, so nothing would take the signals out.
            self._work_here()
            return
        self._signals.put(signal)
        if interpreter_ends() and not self._thread_serves:
            self._work_here()
        elif not self._working.locked():
            # If several threads start at once, all but one end immediately.
            start_new_thread(self._run, ())

    def _work_here(self) -> None:
        if self._worker == get_ident():
            return
        with self._working:
            self._worker = get_ident()
            try:
                while self._pending:
                    _grant(self._work_off()[0])
            finally:
                self._worker = 0

    def _run(self) -> None:
        # A caller that saw the thread ending started none, so look once more after releasing the lock.
        while self._working.acquire(blocking=False):
            self._worker, self._thread_serves = get_ident(), True
            granted: list[Request] = []
            try:
                # Another thread may have done all the work; then nothing would end this one.
                if self._pending:
                    granted = self._serve()
            finally:
                self._worker, self._thread_serves, self._idle = 0, False, True
                self._working.release()
                _grant(granted)
            if not self._pending:
                return

    def _serve(self) -> list[Request]:
        """Work until the thread is not needed; return the requests to grant then."""
        while True:
            self._idle = True
            hurried = _WORK if self._pending else self._signals.get()
            self._idle = False
            end = time.monotonic() + self._longest_wait
            while not hurried and (left := end - time.monotonic()) > 0:
                try:
                    hurried = self._signals.get(timeout=left)
                except Empty:
                    break
            # Everything signaled so far is in the queue.
            while not self._signals.empty():
                self._signals.get_nowait()
            granted, is_over = self._work_off()
            if is_over:
                return granted
            _grant(granted)

    def _work_off(self) -> tuple[list[Request], bool]:
        """Process the queue; return the requests to grant, and whether no thread is needed until more arrives."""
        items = [self._pending.popleft() for _ in range(len(self._pending))]
        requests = [item for item in items if type(item) is Request]
        try:
            return requests, self._work(items, requests)
        except BaseException:
            _grant(requests)
            raise


def _grant(requests: list[Request]) -> None:
    for request in requests:
        request.grant()


def before_threads_end(function: Callable[[], None]) -> None:
    """Call ``function`` at the end of the process, while threads still run; functions added last are called first.

    `atexit` functions run too late for remote file systems, which use their own threads, and never run in a
    `multiprocessing` process. Only the interpreter's own libraries have another way.
    """
    register = getattr(threading, "_register_atexit", atexit.register)
    # Too late to register: callers then do the work.
    with suppress(RuntimeError):
        register(function)


_threads_end = False


def _remember_end() -> None:
    global _threads_end
    _threads_end = True


before_threads_end(_remember_end)


def interpreter_ends() -> bool:
    """Return whether threads can no longer be started; callers then do the work themselves.

    The main thread itself must not be queried: if its `is_alive` is interrupted, it marks the thread as ended.
    """
    return _threads_end or sys.is_finalizing()
