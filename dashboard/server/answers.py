"""Answers equal questions once for each state of the log directory: of many who look at the same, one pays."""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import Future
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

import dash

from stepscope.dashboard.server.fingerprint import fingerprint
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.work import LIGHT, run

P = ParamSpec("P")
R = TypeVar("R")

MOST_BYTES: Final = 64 << 20
MOST_ANSWERS: Final = 256


class Answers:
    """Answers to the questions asked since the log directory last changed; safe to use from any thread.

    If several callers ask the same at once, one computes the answer and the others wait, without a thread. Failures are
    not kept.
    """

    def __init__(self, most: int = MOST_ANSWERS, most_bytes: int = MOST_BYTES) -> None:
        """Keep at most ``most`` answers, and at most ``most_bytes`` of answers that are bytes."""
        self._most: Final = most
        self._most_bytes: Final = most_bytes
        self._lock: Final = threading.Lock()
        self._known: Final[OrderedDict[str, Future[Any]]] = OrderedDict()
        """By fingerprints of the questions, which may be large themselves.

        A future without a result is under way; one whose result is an exception was given up by who began it.
        """
        self._state: Hashable = None

    async def get(self, state: Hashable, question: object, make: Callable[[], Awaitable[R]]) -> R:
        """Return the result of ``make`` for a question in a state; raises what ``make`` raises.

        Questions are the same if their ``repr`` is.
        """
        asked = fingerprint(question)
        while True:
            with self._lock:
                if state != self._state:
                    self._known.clear()
                    self._state = state
                flight = self._known.get(asked)
                own = flight is None
                if flight is None:
                    flight = self._known[asked] = Future()
                    # A waiter that leaves must not cancel what others wait for.
                    flight.set_running_or_notify_cancel()
                self._known.move_to_end(asked)
            if own:
                return await self._made(asked, flight, make)
            found: tuple[R] | None = await asyncio.wrap_future(flight)
            if found is not None:
                return found[0]

    async def _made(self, asked: str, flight: Future[Any], make: Callable[[], Awaitable[R]]) -> R:
        try:
            made = await make()
        except BaseException:
            with self._lock:
                if self._known.get(asked) is flight:
                    del self._known[asked]
            flight.set_result(None)
            raise
        flight.set_result((made,))
        with self._lock:
            self._forget()
        return made

    def _forget(self) -> None:
        sizes = {key: _size(flight) for key, flight in self._known.items() if flight.done()}
        held = sum(sizes.values())
        for key, size in sizes.items():
            if len(self._known) <= self._most and held <= self._most_bytes:
                return
            held -= size
            del self._known[key]


def _size(flight: Future[Any]) -> int:
    found = flight.result()
    return len(found[0]) if found is not None and isinstance(found[0], bytes) else 0


def state_of(live: Live) -> Hashable:
    """Return the state that answers depend on; equal states give equal answers."""
    return live.snapshot().revision, live.reading


def once_per_revision(
    live: Live, function: Callable[P, R], *, question: Callable[P, object] | None = None
) -> Callable[P, Awaitable[R]]:
    """Make a callback run off the event loop, once for all pages that call it with equal arguments between changes.

    It may depend only on its arguments, on what has changed in the page, and on the log directory.

    Args:
        live: the log directory.
        function: the callback.
        question: returns the part of the arguments that the answer depends on, if not all of them.
    """
    answers = Answers()

    def made(*args: P.args, **kwargs: P.kwargs) -> R | None:
        # That the page is already up to date is an answer too.
        try:
            return function(*args, **kwargs)
        except dash.exceptions.PreventUpdate:
            return None

    @wraps(function)
    async def answer(*args: P.args, **kwargs: P.kwargs) -> R:
        given = (args, kwargs) if question is None else question(*args, **kwargs)
        requested = given, sorted(dash.ctx.triggered_prop_ids)
        found = await answers.get(state_of(live), requested, lambda: run(LIGHT, made, *args, **kwargs))
        if found is None:
            raise dash.exceptions.PreventUpdate
        return found

    return answer
