"""Who may talk to the server: pages that it served itself, by the names it is known under."""

from collections.abc import Sequence

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
LOCAL_FRAMES = (
    "'self'",
    "http://localhost:*",
    "https://localhost:*",
    "http://127.0.0.1:*",
    "https://127.0.0.1:*",
    "vscode-webview:",
)
"""Pages that may show the dashboard in a frame, as Content-Security-Policy names them: notebooks of this machine."""


def host_name(header: str) -> str:
    """The name in a Host header, without the port and the brackets of an IPv6 address."""
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return header.rpartition(":")[0].lower() if header.count(":") == 1 else header.lower()


class HostGuard:
    """Refuses requests whose Host header is not a name of this server.

    A page on the internet can point its own name at 127.0.0.1 and so read from a local server (DNS rebinding); its
    requests still carry that name. Where the server is bound to all interfaces, any IP address is accepted, and any
    name, because the machine's names are not known here.

    Pages may be framed only by pages of this machine and of ``frame_origins``, so that no other site can lay the
    dashboard under something that the user clicks.
    """

    def __init__(self, app: ASGIApp, *, bound_host: str, frame_origins: Sequence[str] = ()) -> None:
        self._app = app
        self._policy = "frame-ancestors " + " ".join((*LOCAL_FRAMES, *frame_origins))
        self._open = bound_host in ("0.0.0.0", "::", "")
        self._names = LOOPBACK_NAMES | {bound_host.lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and not self._open:
            headers = dict(scope["headers"])
            name = host_name(headers.get(b"host", b"").decode("latin-1"))
            if name not in self._names:
                if scope["type"] == "websocket":
                    await send({"type": "websocket.close", "code": 1008})
                    return
                message = f"Stepscope does not serve the host {name!r}; open it as localhost or start it with --host.\n"
                await PlainTextResponse(message, status_code=421)(scope, receive, send)
                return

        async def send_with_policy(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if headers.get("content-type", "").startswith("text/html"):
                    headers.append("Content-Security-Policy", self._policy)
            await send(message)

        await self._app(scope, receive, send_with_policy)
