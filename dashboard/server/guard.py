"""What every request passes through before it is answered, and every response before it is sent."""

import asyncio
from collections.abc import Mapping
from html import escape
from typing import Final
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stepscope.dashboard.server.access import HEALTH, PAGE, Access
from stepscope.dashboard.server.bounded_bodies import (
    LARGEST_BODY,
    BoundedReceive,
    lingering,
    read_already,
    too_long,
    whole_body,
)

TOKEN_FIELD: Final = "token"
"""The parameter of the page's address that holds the token until the browser has it as a cookie."""

_TOKEN_PAGE: Final = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Stepscope</title>
{again}
<style>
  :root {{ color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }}
  body {{ max-width: 36rem; margin: 15vh auto; padding: 0 1rem; }}
  input, button {{ font: inherit; padding: .4rem .6rem; }}
  input {{ width: 22rem; max-width: 60%; }}
</style>
</head>
<body>
<h1>Enter the Stepscope token</h1>
<p>{why} The program that serves this page printed a link with the token when it was started. Open that link, or paste
the token here.</p>
<form action="" method="get">
{kept}<label>Token <input name="token" type="password" required autofocus autocomplete="off"></label>
<button>Open</button>
</form>
<p>Programs send it as a header: <code>Authorization: Bearer TOKEN</code>.</p>
</body>
</html>
"""


class Guard:
    """Lets through the requests that `Access` permits, with bodies of bounded size and duration.

    A body is read before a route sees the request, so no route has to handle clients that send without end or leave
    early. Routes for uploads read their bodies themselves, as they arrive.

    Args:
        app: the application that answers.
        access: who may use it.
        policy: the Content-Security-Policy of pages.
        uploads: paths whose routes read the body themselves, with the maximum bytes of each.
    """

    def __init__(self, app: ASGIApp, *, access: Access, policy: str, uploads: Mapping[str, int]) -> None:
        self._app: Final = app
        self._access: Final = access
        self._policy: Final = policy
        self._uploads: Final = uploads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            # Nothing here uses WebSockets; Dash has a route for them that is unused.
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        prefix = self._access.prefix
        if prefix and scope["path"] == prefix:
            # The page's requests are relative to its address.
            query = scope["query_string"].decode("latin-1")
            await RedirectResponse(f"{prefix}/{'?' if query else ''}{query}", 307)(scope, receive, send)
            return
        scope = _without_prefix(scope, prefix)
        # A client that leaves is not the server's fault, and nobody is left to be answered.
        try:
            await self._answer(scope, receive, self._with_headers(send))
        except ClientDisconnect:
            return

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        refusal = self._access.refusal(scope["method"], scope["path"], headers)
        if refusal is not None:
            await JSONResponse({"detail": refusal.why}, refusal.status)(scope, receive, send)
            return
        stranger = self._answer_to_stranger(Request(scope))
        if stranger is not None:
            await stranger(scope, receive, send)
            return
        try:
            bounded = await self._bounded(scope["path"], headers, receive)
        except HTTPException as error:
            refused = JSONResponse({"detail": error.detail}, error.status_code, error.headers)
            # A client that is too slow is abandoned at once.
            await refused(scope, receive, send if error.status_code == 408 else lingering(receive, send))
            return
        if isinstance(bounded, BoundedReceive):
            send = bounded.lingering(send)
        receive = bounded
        if scope["method"] == "HEAD":
            await self._app({**scope, "method": "GET"}, receive, _without_body(send))
            return
        await self._app(scope, receive, send)

    def _answer_to_stranger(self, request: Request) -> Response | None:
        """Return the response for a client that has not presented the token yet; None for all others."""
        access, path = self._access, request.url.path
        if not access.token or path == HEALTH:
            return None
        opens = path == PAGE and request.method in ("GET", "HEAD")
        shown = request.query_params.get(TOKEN_FIELD) if opens else None
        if shown is not None and access.knows(shown):
            answer: Response = RedirectResponse(f"./{_query_without_token(request)}", 303)
            secure = request.url.scheme == "https"
            name = cookie_name(request.scope)
            answer.set_cookie(
                name, access.cookie, httponly=True, samesite="strict", path=f"{access.prefix}/", secure=secure
            )
            return answer
        kind, _, bearer = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and access.knows(bearer.strip()):
            return None
        if access.knows_cookie(request.cookies.get(cookie_name(request.scope), "")):
            return None
        ask = {"WWW-Authenticate": "Bearer", "Cache-Control": "no-store"}
        if opens:
            return HTMLResponse(_token_page(request, is_wrong=shown is not None), 401, ask)
        why = "Stepscope requires its token: send it as Authorization: Bearer TOKEN, or open the link that was printed."
        return JSONResponse({"detail": why}, 401, ask)

    async def _bounded(self, path: str, headers: Headers, receive: Receive) -> Receive:
        """Return the ``receive`` through which the application gets the body.

        Raises:
            HTTPException: 413 if the body is too long, 408 if it arrives too slowly.
            ClientDisconnect: the client left.
        """
        declared = headers.get("content-length", "")
        if not declared and "transfer-encoding" not in headers:
            return receive
        largest = self._uploads.get(path, LARGEST_BODY)
        if declared.isdecimal() and int(declared) > largest:
            raise too_long(largest)
        bounded = BoundedReceive(receive, largest)
        return bounded if path in self._uploads else read_already(await whole_body(bounded), receive)

    def _with_headers(self, send: Send) -> Send:
        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("X-Content-Type-Options", "nosniff")
                # With "no-referrer", browsers would send no origin with the page's own forms.
                headers.setdefault("Referrer-Policy", "same-origin")
                if headers.get("content-type", "").startswith("text/html"):
                    headers.append("Content-Security-Policy", self._policy)
            await send(message)

        return send_on


def cookie_name(scope: Scope) -> str:
    """Return the name of this server's cookie: browsers send the cookies of all ports of a machine to each."""
    server = scope.get("server")
    return f"stepscope-{server[1] if server else 0}"


def _without_prefix(scope: Scope, prefix: str) -> Scope:
    """Return a request without the path under which a proxy serves the page, which some proxies remove themselves."""
    if not prefix or not scope["path"].startswith(f"{prefix}/"):
        return scope
    raw = scope.get("raw_path") or b""
    begins = prefix.encode()
    shorter = {"raw_path": raw[len(begins) :]} if raw.startswith(begins) else {}
    return {**scope, "path": scope["path"][len(prefix) :], **shorter}


def _without_body(send: Send) -> Send:
    """Send the head of a response, and end what would send its body part by part."""

    async def send_head(message: Message) -> None:
        if message["type"] == "http.response.start":
            await send(message)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        elif message.get("more_body", False):
            # Lets an endless stream notice that it is over.
            await asyncio.sleep(0)
            raise ClientDisconnect

    return send_head


def _query_without_token(request: Request) -> str:
    kept = [pair for pair in request.query_params.multi_items() if pair[0] != TOKEN_FIELD]
    return f"?{urlencode(kept)}" if kept else ""


def _token_page(request: Request, *, is_wrong: bool) -> str:
    query = _query_without_token(request)
    fields = "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">\n'
        for name, value in parse_qsl(query[1:], keep_blank_values=True)
    )
    # A browser coming from another site's page withholds a strict cookie; coming from here, it sends the cookie.
    from_elsewhere = request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
    again = f'<meta http-equiv="refresh" content="0;url={escape("./" + query)}">' if from_elsewhere else ""
    why = "The token is wrong." if is_wrong else "This dashboard requires a token."
    return _TOKEN_PAGE.format(again=again, why=why, kept=fields)
