"""A server that answers while its application is still being imported: the first page at once, the rest later."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from stepscope.dashboard.server.access import PAGE, Access, page_policy
from stepscope.dashboard.server.first_answers import FirstAnswers
from stepscope.dashboard.server.guard import Guard


class EndedError(Exception):
    """The server ended before its application was ready."""


FILES: Final = ("/page/", "/_dash-component-suites/", "/assets/")
"""Paths of the page's scripts, styles, and icons."""


class Opening:
    """ASGI application in front of the one that another thread builds.

    Args:
        access: who may use it; the application has its own guard.
        first: the responses that a page may have at once; None if none are kept.
    """

    def __init__(self, access: Access, first: FirstAnswers | None) -> None:
        self._access: Final = access
        self._first: Final = {} if first is None else first.answers
        self._kept: Final = self._guarded(self._answer_kept, () if first is None else first.scripts)
        self._front: Final[Future[ASGIApp]] = Future()
        self._built: Final[Future[ASGIApp]] = Future()
        self._changing: Final = threading.Lock()

    def _guarded(self, app: ASGIApp, scripts: Sequence[str]) -> Guard:
        policy = page_policy(self._access.frames, scripts)
        return Guard(app, access=self._access, policy=policy, uploads={})

    def show(self, front: ASGIApp, scripts: Sequence[str]) -> None:
        """Let another application answer for the page and its files until the main one is ready.

        Args:
            front: that application, which needs no guard.
            scripts: hashes of the inline scripts of its page.
        """
        with self._changing:
            if not self._front.done():
                self._front.set_result(self._guarded(front, scripts))

    def open(self, app: ASGIApp) -> bool:
        """Let the application answer from now on; return False if the server is already ending."""
        return self._settle(lambda asked: asked.set_result(app))

    def end(self) -> bool:
        """Release everyone who waits; return False if the application is ready."""
        return self._settle(lambda asked: asked.set_exception(EndedError()))

    def _settle(self, settle: Callable[[Future[ASGIApp]], None]) -> bool:
        with self._changing:
            if self._built.done():
                return False
            settle(self._built)
            if not self._front.done():
                settle(self._front)
            return True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._built.done() and self._is_first(scope):
            await self._kept(scope, receive, send)
            return
        asked = self._front if not self._built.done() and self._is_of_front(scope) else self._built
        try:
            app = await asyncio.shield(asyncio.wrap_future(asked))
        except EndedError:
            await JSONResponse({"detail": "The server is shutting down."}, 503)(scope, receive, send)
            return
        await app(scope, receive, send)

    def _path(self, scope: Scope) -> str:
        path: str = scope["path"]
        prefix = self._access.prefix
        return path.removeprefix(prefix) if path.startswith(f"{prefix}/") else path

    def _is_of_front(self, scope: Scope) -> bool:
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            return False
        path = self._path(scope)
        return path == PAGE or path.startswith(FILES)

    def _is_first(self, scope: Scope) -> bool:
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            return False
        kept = self._first.get(self._path(scope))
        if kept is None:
            return False
        headers = Headers(scope=scope)
        encoding = kept.headers.get("content-encoding", "")
        # The application answers repeated browser requests in fewer bytes.
        return encoding in headers.get("accept-encoding", "") and "if-none-match" not in headers

    async def _answer_kept(self, scope: Scope, receive: Receive, send: Send) -> None:
        kept = self._first[scope["path"]]
        await Response(kept.body, headers=kept.headers)(scope, receive, send)
