"""What any number of threads hand over to one that works on it, so that no interruption of theirs can harm it.

A signal handler may raise in a caller between any two instructions. So callers hold no lock, not for a moment: they
append to a deque, put into a `SimpleQueue`, and wait for a bare lock that another thread releases. Each of these is one
call into C, which has happened or has not. `threading.Event` and `threading.Condition` are not of that kind: an
exception in the midst of their Python code leaves their lock held for ever. So does the start of a `threading.Thread`,
which waits for such an event; the thread here is a bare one.
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
"""What else is to be done."""


class Request:
    """Waits in the queue until all that was handed over before it is dealt with."""

    __slots__ = ("_passed", "failure", "purpose")

    def __init__(self, purpose: Purpose) -> None:
        self.purpose: Final = purpose
        self.failure: Exception | None = None
        """What it ran into."""
        self._passed: Final = allocate_lock()
        self._passed.acquire()

    def grant(self) -> None:
        """Let the caller go on."""
        if self._passed.locked():
            self._passed.release()

    def wait(self) -> None:
        """Return when it is granted."""
        self._passed.acquire()


class Handover(ABC):
    """A queue and the one thread that works on it, which starts and ends when it is needed."""

    _pending: deque[Any]
    """What was handed over, `Request`s among it, in the order of the calls."""
    _idle: bool
    """The thread waits and must be woken. It sets this before it looks into the queue; callers read it after they
    append, so that nothing is left behind unnoticed."""
    _at_once: bool
    """Callers work themselves, so that all is done when a call returns."""

    def _begin(self, linger: float, *, at_once: bool) -> None:
        """Make the queue, again in a forked child; what is handed over may wait ``linger`` seconds for more to come."""
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
        """Deal with what was handed over, and say in the requests what it ran into.

        Returns whether no thread is needed until more is handed over. It raises nothing of its own; where a caller
        works, an interruption may.
        """

    def _wake(self) -> None:
        """Has what was handed over dealt with, sooner or later."""
        self._signals.put(_WORK)
        self._have_it_worked_on()

    def _hurry(self) -> None:
        """Has it dealt with soon."""
        self._signals.put(_HURRY)

    def _ask(self, purpose: Purpose) -> Request:
        """Return when all that was handed over before is dealt with."""
        request = Request(purpose)
        if self._worker == get_ident():
            return request  # from within the work, such as a finalizer's: nobody else could grant it
        self._pending.append(request)
        self._signals.put(_HURRY)
        self._have_it_worked_on()
        request.wait()
        return request

    def _have_it_worked_on(self) -> None:
        if (self._at_once or interpreter_ends()) and not self._thread_serves:
            self._work_here()
        elif not self._working.locked():
            # Of several that are started at once, all but one end immediately.
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
        # A caller that saw the thread at its end started none, so that it looks once more when it has let go.
        while self._working.acquire(blocking=False):
            self._worker, self._thread_serves = get_ident(), True
            granted: list[Request] = []
            try:
                # Another one may have done it all meanwhile; then nobody would end this one.
                if self._pending:
                    granted = self._serve()
            finally:
                self._worker, self._thread_serves, self._idle = 0, False, True
                self._working.release()
                _grant(granted)
            if not self._pending:
                return

    def _serve(self) -> list[Request]:
        """Work until the thread is not needed; returns what is to be granted then."""
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
            # All that was signaled until now is in the queue.
            while not self._signals.empty():
                self._signals.get_nowait()
            granted, is_over = self._work_off()
            if is_over:
                return granted
            _grant(granted)

    def _work_off(self) -> tuple[list[Request], bool]:
        """Return what to grant, and whether no thread is needed until something is handed over."""
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
    """Call it at the end of the process, while threads still run; what came last is called first.

    Functions of `atexit` come too late for remote file systems, which ask threads of their own, and never in a
    process of `multiprocessing`. Only the interpreter's own libraries have another way.
    """
    register = getattr(threading, "_register_atexit", atexit.register)
    # Too late to be told: then the callers work.
    with suppress(RuntimeError):
        register(function)


_threads_end = False


def _remember_end() -> None:
    global _threads_end
    _threads_end = True


before_threads_end(_remember_end)


def interpreter_ends() -> bool:
    """Return whether threads can no longer be started; callers then work themselves.

    The main thread itself must not be asked: interrupted, its `is_alive` makes it one that has ended.
    """
    return _threads_end or sys.is_finalizing()
