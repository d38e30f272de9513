"""Compressed responses: scripts of Dash's packages for everybody, everything else for clients on other machines.

A browser on this machine gets data fast without compression. One behind an SSH tunnel appears to be on this machine
too; what it waits for are the scripts, which are large, stay the same, and are compressed once.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

import brotli
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stepscope.dashboard.server.access import is_loopback

SUITES: Final = "/_dash-component-suites/"
_COMPRESS_ABOVE: Final = 1000
_SUITE_QUALITY: Final = 6
"""Brotli quality. The highest takes seconds for all scripts of the first page; this one takes a fifth of a second."""
_ANSWER_LEVEL: Final = 4
"""Gzip level."""
_MOST_SUITE_BYTES: Final = 32 << 20
"""Maximum bytes of compressed scripts kept; all of Dash's packages have a few MB."""
_SUITES: Final[dict[str, "Suite"]] = {}
"""By path: installed scripts are the same for all applications of a process."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A script of one of Dash's packages, compressed."""

    content: bytes
    headers: dict[str, str]


class Compression:
    """ASGI middleware that compresses responses and keeps scripts of Dash's packages compressed.

    Args:
        app: the application that answers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app: Final = app
        self._compressing: Final = GZipMiddleware(app, minimum_size=_COMPRESS_ABOVE, compresslevel=_ANSWER_LEVEL)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "GET" and scope["path"].startswith(SUITES):
            await self._send_suite(scope, receive, send)
        elif scope["type"] == "http" and not is_loopback((scope.get("client") or ("localhost", 0))[0]):
            await self._compressing(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _send_suite(self, scope: Scope, receive: Receive, send: Send) -> None:
        requested = Headers(scope=scope)
        if "br" not in requested.get("accept-encoding", ""):
            await self._compressing(scope, receive, send)
            return
        suite = _SUITES.get(scope["path"])
        if suite is None:
            sent: list[Message] = []

            async def keep(message: Message) -> None:
                sent.append(message)

            await self._app(scope, receive, keep)
            if sent[0]["status"] != 200:
                for message in sent:
                    await send(message)
                return
            suite = await run_in_threadpool(_suite_of, sent)
            if sum(len(known.content) for known in list(_SUITES.values())) + len(suite.content) <= _MOST_SUITE_BYTES:
                _SUITES[scope["path"]] = suite
        if requested.get("if-none-match") == suite.headers["ETag"]:
            await Response(status_code=304, headers=suite.headers)(scope, receive, send)
        else:
            await Response(suite.content, headers={**suite.headers, "Content-Encoding": "br"})(scope, receive, send)


def _suite_of(sent: list[Message]) -> Suite:
    reported = Headers(raw=sent[0]["headers"])
    content = b"".join(message.get("body", b"") for message in sent[1:])
    return Suite(
        brotli.compress(content, quality=_SUITE_QUALITY),
        {
            "Content-Type": reported.get("content-type", "text/javascript"),
            # Files whose address has no version are requested again, and answered by their tag.
            "Cache-Control": reported.get("cache-control", "no-cache"),
            "ETag": f'"{hashlib.blake2b(content, digest_size=8).hexdigest()}"',
            "Vary": "Accept-Encoding",
        },
    )
