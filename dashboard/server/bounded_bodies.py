"""The body of a request, read within bounds: so much, so fast."""

import asyncio
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive

LARGEST_BODY: Final = 4 << 20
"""Bytes; enough for the names of tens of thousands of runs."""
GRACE_SECONDS: Final = 30.0
"""How long a sender may take for a body, however small."""
LEAST_RATE: Final = 16 << 10
"""Bytes per second that a sender has to manage after that: slower than any line that a page is usable on."""
# The connection is given up: what is still on its way would have to be read first.
_CLOSED: Final = {"Connection": "close"}


class BoundedReceive:
    """The ``receive`` of an ASGI application, for a body that is at most so long and comes fast enough."""

    def __init__(self, receive: Receive, largest: int) -> None:
        self._receive: Final = receive
        self._largest: Final = largest
        self._started: Final = asyncio.get_running_loop().time()
        self._size = 0
        self._is_whole = False

    async def __call__(self) -> Message:
        """Return the next part of the body; after the last one, word that the client left.

        Raises:
            HTTPException: 413 where the body is too long, 408 where it comes too slowly.
        """
        if self._is_whole:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._started + GRACE_SECONDS + self._size / LEAST_RATE):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(
                408, f"The request came too slowly: {self._size:,} bytes until now.", headers=_CLOSED
            ) from None
        self._size += len(message.get("body", b""))
        if self._size > self._largest:
            raise too_long(self._largest)
        self._is_whole = not message.get("more_body", False)
        return message


def too_long(largest: int) -> HTTPException:
    """Return the answer to a body that is longer than ``largest`` bytes."""
    return HTTPException(
        413, f"The request is longer than the {largest:,} bytes that are read of one.", headers=_CLOSED
    )


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
