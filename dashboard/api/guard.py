"""Who may talk to the server: pages that it served itself, by the names it is known under."""

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


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
    """

    def __init__(self, app: ASGIApp, *, bound_host: str) -> None:
        self._app = app
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
        await self._app(scope, receive, send)
