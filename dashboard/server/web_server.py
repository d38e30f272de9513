"""The web server under the dashboard: how it starts, which connections it gives up, and how it ends."""

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp

MOST_CONNECTIONS: Final = 1000
"""A browser opens up to six; beyond this, requests are answered with 503."""
HEADER_SECONDS: Final = 20.0
"""How long a connection may be open without a complete request."""
_TICKS_PER_LOOK: Final = 10
_ENDING: Final = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class DashboardServer(uvicorn.Server):
    """Closes connections that never send a request, and ends the event streams before waiting for the others."""

    def __init__(self, app: ASGIApp, stop: Callable[[], None]) -> None:
        """Prepare to serve ``app``; ``stop`` ends its event streams."""
        super().__init__(
            uvicorn.Config(
                app,
                # uvicorn's own formatter fails if there is no standard output; without that formatter, errors go to the
                # standard error. Anybody can send a thousand invalid requests, of which uvicorn warns.
                log_config=None,
                log_level="error",
                lifespan="off",
                ws="none",
                access_log=False,
                limit_concurrency=MOST_CONNECTIONS,
                timeout_graceful_shutdown=3,
                server_header=False,
            )
        )
        self._stop: Final = stop
        self._silent: dict[Any, tuple[Any, float]] = {}
        """Connections without a request at the last look: the latest request that was answered, and since when."""

    async def on_tick(self, counter: int) -> bool:
        if counter % _TICKS_PER_LOOK == 0:
            self.close_silent(asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    def close_silent(self, now: float) -> None:
        """Close the connections that have been without a request for `HEADER_SECONDS`, such as those with slow headers.

        Bodies are bounded where they are read.
        """
        before, self._silent = self._silent, {}
        silent: Iterator[Any] = filter(is_silent, list(self.server_state.connections))
        for connection in silent:
            answered, since = before.get(connection, (None, now))
            # Short requests come and go between two looks.
            since = since if connection.cycle is answered else now
            self._silent[connection] = connection.cycle, since
            if now - since > HEADER_SECONDS:
                abort(connection)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await asyncio.to_thread(self._stop)
        for connection in list(self.server_state.connections):
            # A client that is still sending would be waited for.
            if is_silent(connection) or is_sending(connection):
                abort(connection)
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle SIGHUP too, which a closed terminal sends, unless the program was started to ignore it."""
        with super().capture_signals():
            hang_up = getattr(signal, "SIGHUP", None)
            before = None if hang_up is None else signal.getsignal(hang_up)
            if hang_up is None or before is not end_as_interrupted:
                yield
                return
            signal.signal(hang_up, self.handle_exit)
            try:
                yield
            finally:
                signal.signal(hang_up, before)


def is_silent(connection: Any) -> bool:
    """Return whether a uvicorn connection has no request, or none since those already answered."""
    # Both of uvicorn's usual protocols use this name for the latest request.
    cycle = getattr(connection, "cycle", None)
    return hasattr(connection, "cycle") and (cycle is None or cycle.response_complete)


def is_sending(connection: Any) -> bool:
    """Return whether the body of a connection's latest request has not fully arrived."""
    return bool(getattr(getattr(connection, "cycle", None), "more_body", False))


def abort(connection: Any) -> None:
    """Close a connection immediately."""
    connection.transport.abort()


@contextmanager
def ends_as_interrupted() -> Iterator[None]:
    """Make SIGTERM and SIGHUP raise KeyboardInterrupt in the block, so that they clean up as Ctrl+C does.

    uvicorn raises the signals that it caught again when it has ended.
    """
    in_main = threading.current_thread() is threading.main_thread()
    # "nohup" is intentional: an ignored signal stays ignored.
    before = {number: signal.getsignal(number) for number in _ENDING if in_main}
    before = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    for number in before:
        signal.signal(number, end_as_interrupted)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end_as_interrupted(number: int, frame: object) -> None:
    """Handle a signal that ends the program as Ctrl+C does."""
    raise KeyboardInterrupt
