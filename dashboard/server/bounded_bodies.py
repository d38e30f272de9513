"""The body of a request, read within bounds: so much, so fast."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Send

LARGEST_BODY: Final = 4 << 20
"""Bytes; enough for the names of tens of thousands of runs."""
GRACE_SECONDS: Final = 30.0
"""How long a sender may take for a body, however small."""
LEAST_RATE: Final = 16 << 10
"""Bytes per second that a sender has to manage after that: slower than any line that a page is usable on."""
LINGER_SECONDS: Final = 5.0
"""How long what still comes is thrown away once a request is refused."""
# The connection is given up: what is still on its way would have to be read first.
_CLOSED: Final = {"Connection": "close"}


class BoundedReceive:
    """The ``receive`` of an ASGI application, for a body that is at most so long and comes fast enough."""

    def __init__(self, receive: Receive, largest: int) -> None:
        self._receive: Final = receive
        self._largest: Final = largest
        self._started: Final = asyncio.get_running_loop().time()
        self._size = 0
        self._is_over = False
        """All of it has come, or its sender is given up."""

    async def __call__(self) -> Message:
        """Return the next part of the body; after the last one, word that the client left.

        Raises:
            HTTPException: 413 where the body is too long, 408 where it comes too slowly.
        """
        if self._is_over:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._started + GRACE_SECONDS + self._size / LEAST_RATE):
                message = await self._receive()
        except TimeoutError:
            self._is_over = True
            raise HTTPException(
                408, f"The request came too slowly: {self._size:,} bytes until now.", headers=_CLOSED
            ) from None
        self._size += len(message.get("body", b""))
        self._is_over = not message.get("more_body", False)
        if self._size > self._largest:
            raise too_long(self._largest)
        return message

    def lingering(self, send: Send) -> Send:
        """Return a ``send`` for an answer that may come before the body has; see `lingering`."""
        return lingering(self._receive, send, lambda: self._is_over)


def too_long(largest: int) -> HTTPException:
    """Return the answer to a body that is longer than ``largest`` bytes."""
    return HTTPException(413, f"The request is longer than the limit of {largest:,} bytes.", headers=_CLOSED)


def lingering(receive: Receive, send: Send, is_over: Callable[[], bool] = lambda: False) -> Send:
    """Return a ``send`` that throws away what still comes of the body before it ends the answer, for some seconds.

    A connection that is closed with bytes unread is reset, and who is still sending never sees why.

    Args:
        receive: gives the rest of the body.
        send: sends the answer.
        is_over: tells that nothing more is to come.
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
    """Return the body that an ASGI application is sent.

    Raises:
        ClientDisconnect: the client left before its end.
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
    """Return the ``receive`` that gives a body which was read from another."""
    waiting = [body]

    async def again() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return again
