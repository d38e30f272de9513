"""Request bodies, read within bounds on size and speed."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Send

LARGEST_BODY: Final = 4 << 20
"""Maximum bytes; enough for the names of tens of thousands of runs."""
GRACE_SECONDS: Final = 30.0
"""Time allowed for a body, however small."""
LEAST_RATE: Final = 16 << 10
"""Bytes per second that a sender must sustain after that: slower than any connection on which a page is usable."""
LINGER_SECONDS: Final = 5.0
"""How long the rest of a body is discarded after its request is refused."""
# The connection is abandoned, since data still on its way would have to be read first.
_CLOSED: Final = {"Connection": "close"}


class BoundedReceive:
    """The ``receive`` of an ASGI application, for a body of limited length that arrives fast enough."""

    def __init__(self, receive: Receive, largest: int) -> None:
        self._receive: Final = receive
        self._largest: Final = largest
        self._started: Final = asyncio.get_running_loop().time()
        self._size = 0
        self._is_over = False
        """Whether the whole body has arrived or its sender has been given up on."""

    async def __call__(self) -> Message:
        """Return the next part of the body; after the last one, the message that the client left.

        Raises:
            HTTPException: 413 if the body is too long, 408 if it arrives too slowly.
        """
        if self._is_over:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._started + GRACE_SECONDS + self._size / LEAST_RATE):
                message = await self._receive()
        except TimeoutError:
            self._is_over = True
            raise HTTPException(
                408, f"The request came too slowly: {self._size:,} bytes so far.", headers=_CLOSED
            ) from None
        self._size += len(message.get("body", b""))
        self._is_over = not message.get("more_body", False)
        if self._size > self._largest:
            raise too_long(self._largest)
        return message

    def lingering(self, send: Send) -> Send:
        """Return a ``send`` for a response that may be sent before the body has arrived; see `lingering`."""
        return lingering(self._receive, send, lambda: self._is_over)


def too_long(largest: int) -> HTTPException:
    """Return the error for a body longer than ``largest`` bytes."""
    return HTTPException(413, f"The request is longer than the limit of {largest:,} bytes.", headers=_CLOSED)


def lingering(receive: Receive, send: Send, is_over: Callable[[], bool] = lambda: False) -> Send:
    """Return a ``send`` that discards the rest of the body for some seconds before it ends the response.

    A connection closed with unread bytes is reset, and a client that is still sending never sees why.

    Args:
        receive: returns the rest of the body.
        send: sends the response.
        is_over: returns whether nothing more is to come.
    """

    async def send_on(message: Message) -> None:
        if message["type"] != "http.response.body" or message.get("more_body", False) or is_over():
            await send(message)
            return
        await send({**message, "more_body": True})
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                while (await receive()).get("more_body", False):
                    pass
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    return send_on


async def whole_body(receive: Receive) -> bytes:
    """Return the complete body that an ASGI application receives.

    Raises:
        ClientDisconnect: the client left before the body ended.
    """
    pieces: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(pieces)


def read_already(body: bytes, receive: Receive) -> Receive:
    """Return a ``receive`` that gives a body already read from another one."""
    waiting = [body]

    async def again() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return again
