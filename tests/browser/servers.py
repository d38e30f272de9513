"""The web servers of a worker, which stay while their application changes from test to test.

Starting and stopping a server takes uvicorn a fifth of a second, most of which it spends waiting.
"""

import asyncio
import os
import random
import socket
import threading
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stepscope.dashboard.server.web_server import DashboardServer

# As long as the dashboard itself waits for unfinished answers when it ends.
PATIENCE_S: Final = 3.0
# The most seconds by which requests are delayed, each at random, so that answers come in any order, as they may when
# much is requested at once: STEPSCOPE_LATE_ANSWERS=0.5.
LATENESS_S: Final = float(os.environ.get("STEPSCOPE_LATE_ANSWERS", "0"))
FORGETTING: Final = "/forgetting"
"""The path of a page in which a browser can replace answers that it keeps."""
FORGOTTEN: Final = "x-forgotten"
"""The header of a request whose answer no browser keeps, in place of the one that it has kept."""

NOT_KEPT: Final = {"Cache-Control": "no-store"}


async def nobody(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer when no test uses the server."""
    await PlainTextResponse("no test is served here", 503)(scope, receive, send)


class LentServer:
    """A server that passes each request to the application that it has at that time."""

    def __init__(self) -> None:
        self._app: ASGIApp = nobody
        self._open = 0
        self._kept: Final[set[str]] = set()
        self._ended: Final = threading.Condition()
        listener = socket.create_server(("127.0.0.1", 0))
        self.port: Final[int] = listener.getsockname()[1]
        self._server: Final = DashboardServer(self, lambda: None)
        # As a daemon, the thread does not keep the process alive when tests are aborted.
        self._thread: Final = threading.Thread(target=self._server.run, kwargs={"sockets": [listener]}, daemon=True)
        self._thread.start()

    @property
    def is_free(self) -> bool:
        return self._app is nobody

    @property
    def origin(self) -> str:
        return f"http://localhost:{self.port}"

    @property
    def kept(self) -> list[str]:
        """Addresses of data that browsers may show again without a request, since the server was lent."""
        return sorted(self._kept)

    def lend(self, app: ASGIApp) -> None:
        self._kept.clear()
        self._app = app

    def take_back(self) -> None:
        """Give the application no more requests, and wait for those in progress."""
        self._app = nobody
        with self._ended:
            self._ended.wait_for(lambda: not self._open, PATIENCE_S)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._ended:
            self._open += 1
        try:
            if LATENESS_S:
                await asyncio.sleep(random.uniform(0, LATENESS_S))
            if scope["type"] == "http" and scope["path"] == FORGETTING:
                await HTMLResponse("", headers=NOT_KEPT)(scope, receive, send)
            elif scope["type"] == "http" and FORGOTTEN in Headers(scope=scope):
                await Response(status_code=204, headers=NOT_KEPT)(scope, receive, send)
            else:
                await self._app(scope, receive, self._noting(scope, send))
        finally:
            with self._ended:
                self._open -= 1
                self._ended.notify_all()

    def _noting(self, scope: Scope, send: Send) -> Send:
        """Return ``send``, which notes an answer that the browser may keep."""

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and scope["path"].startswith("/api/"):
                keeping = Headers(raw=message["headers"]).get("cache-control", "")
                if "immutable" in keeping:
                    self._kept.add(f"{scope['raw_path'].decode()}?{scope['query_string'].decode()}")
            await send(message)

        return sent

    def end(self) -> None:
        self._server.should_exit = True
        self._thread.join()


class Servers:
    """As many servers as any test has needed at once."""

    def __init__(self) -> None:
        self._all: Final[list[LentServer]] = []

    @property
    def usual(self) -> LentServer:
        """The server of the first dashboard of each test.

        The page's scripts then have the same address in all tests, so that the browser compiles them once.
        """
        return self._all[0] if self._all else self._another()

    def lend(self, app: ASGIApp) -> LentServer:
        server = next((each for each in self._all if each.is_free), None) or self._another()
        server.lend(app)
        return server

    def kept(self) -> dict[str, list[str]]:
        """Return, by origin, the addresses of data that browsers may show again without a request."""
        return {each.origin: each.kept for each in self._all if each.kept}

    def _another(self) -> LentServer:
        self._all.append(LentServer())
        return self._all[-1]

    def end(self) -> None:
        for server in self._all:
            server.end()
        self._all.clear()


SERVERS: Final = Servers()
"""Their threads end before tests without a browser begin, as Chromium does."""
