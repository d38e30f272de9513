"""A server that answers while its application is still being imported: the first page at once, the rest later."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from stepscope.dashboard.server.access import Access, page_policy
from stepscope.dashboard.server.first_answers import FirstAnswers
from stepscope.dashboard.server.guard import Guard


class EndedError(Exception):
    """The server ends before its application is there."""


class Opening:
    """ASGI application in front of the one that another thread builds.

    Args:
        access: who may ask; the application has a guard of its own.
        first: what a page may have before the application is there; everything waits where that is None.
    """

    def __init__(self, access: Access, first: FirstAnswers | None) -> None:
        self._prefix: Final = access.prefix
        self._first: Final = {} if first is None else first.answers
        policy = page_policy(access.frames, () if first is None else first.scripts)
        self._early: Final = Guard(self._answer_early, access=access, policy=policy, uploads={})
        self._built: Final[Future[ASGIApp]] = Future()
        self._changing: Final = threading.Lock()

    def open(self, app: ASGIApp) -> bool:
        """Let the application answer from now on; False where the server ends already."""
        return self._settle(lambda: self._built.set_result(app))

    def end(self) -> bool:
        """Let nobody wait any longer; False where the application is there."""
        return self._settle(lambda: self._built.set_exception(EndedError()))

    def _settle(self, settle: Callable[[], None]) -> bool:
        with self._changing:
            if self._built.done():
                return False
            settle()
            return True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._built.done() and self._is_first(scope):
            await self._early(scope, receive, send)
            return
        try:
            app = await asyncio.shield(asyncio.wrap_future(self._built))
        except EndedError:
            await JSONResponse({"detail": "The server ends."}, 503)(scope, receive, send)
            return
        await app(scope, receive, send)

    def _is_first(self, scope: Scope) -> bool:
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            return False
        path: str = scope["path"]
        kept = self._first.get(path.removeprefix(self._prefix) if path.startswith(f"{self._prefix}/") else path)
        if kept is None:
            return False
        headers = Headers(scope=scope)
        encoding = kept.headers.get("content-encoding", "")
        # What browsers ask again is answered in fewer bytes by the application.
        return encoding in headers.get("accept-encoding", "") and "if-none-match" not in headers

    async def _answer_early(self, scope: Scope, receive: Receive, send: Send) -> None:
        kept = self._first[scope["path"]]
        await Response(kept.body, headers=kept.headers)(scope, receive, send)
