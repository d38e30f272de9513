"""What a client may send in the body of a request: so much, so fast, as JSON or as the fields of a form."""

import asyncio
from email import policy
from email.parser import BytesParser
from typing import Annotated, Final, TypeVar
from urllib.parse import parse_qsl

import msgspec
from fastapi import Depends, HTTPException, Request
from google.protobuf import json_format
from google.protobuf.message import Message as ProtobufMessage
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive

LARGEST_BODY: Final = 4 << 20
"""Bytes; enough for the names of tens of thousands of runs."""
MOST_FIELDS: Final = 100_000
GRACE_SECONDS: Final = 30.0
"""How long a sender may take for a body, however small."""
LEAST_RATE: Final = 16 << 10
"""Bytes per second that a sender has to manage after that: slower than any line that a page is usable on."""
JSON: Final = "application/json"

_MULTIPART: Final = "multipart/form-data"
_URL_ENCODED: Final = "application/x-www-form-urlencoded"
# The connection is given up: what is still on its way would have to be read first.
_CLOSED: Final = {"Connection": "close"}

T = TypeVar("T")
M = TypeVar("M", bound=ProtobufMessage)


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


async def _body(request: Request) -> bytes:
    return await request.body()


Body = Annotated[bytes, Depends(_body)]
"""The body of a request; the guard has seen to it that it is no longer than `LARGEST_BODY`."""


def parsed(body: bytes, kind: type[T], problem: str = "The request is not understood", status: int = 422) -> T:
    """Return the JSON of a body as an instance of ``kind``, as `msgspec` reads it.

    Raises:
        HTTPException: it is none; ``problem`` begins the sentence.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise HTTPException(status, f"{problem}: {str(error).rstrip('.')}.") from None


def parsed_message(text: str | bytes, message: M) -> M:
    """Return the JSON of a protobuf message, read into ``message``.

    Raises:
        HTTPException: 400 where it is none.
    """
    try:
        decoded = text.decode() if isinstance(text, bytes) else text
        if not decoded.lstrip().startswith("{"):
            # An array would be taken for an empty message.
            raise ValueError("it is not an object")
        return json_format.Parse(decoded, message)
    except (json_format.ParseError, ValueError, RecursionError) as error:
        name = type(message).__name__
        raise HTTPException(400, f"Expected a {name} as JSON: {str(error)[:300].rstrip('.')}.") from None


def media_type(request: Request) -> str:
    """Return the type of a request's body, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def _json_body(request: Request) -> bytes:
    if media_type(request) != JSON:
        raise HTTPException(415, f"Expected the request as {JSON}.")
    return await request.body()


JsonBody = Annotated[bytes, Depends(_json_body)]
"""The body of a request that says that it is JSON; others are refused with 415."""


def form_fields(content_type: str, body: bytes) -> list[tuple[str, str]]:
    """Return names and values of a form, in order, in either of the two encodings that browsers use.

    Raises:
        HTTPException: 400 where the body is no such form.
    """
    kind = content_type.partition(";")[0].strip().lower()
    try:
        if kind == _URL_ENCODED:
            return parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
        if kind == _MULTIPART:
            return _multipart_fields(content_type, body)
    except (ValueError, LookupError) as error:
        raise HTTPException(400, f"The body is not a readable form: {error}.") from error
    raise HTTPException(400, f"Expected a form ({_URL_ENCODED} or {_MULTIPART}), got {kind[:80] or 'no content type'}.")


def _multipart_fields(content_type: str, body: bytes) -> list[tuple[str, str]]:
    if not content_type.isascii() or "\n" in content_type or "\r" in content_type:
        raise ValueError("its content type is malformed")
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    message = BytesParser(policy=policy.HTTP).parsebytes(head + body)
    if not message.is_multipart():
        raise ValueError("its boundary is missing")
    fields: list[tuple[str, str]] = []
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if isinstance(name, str) and isinstance(content, bytes):
            fields.append((name, content.decode()))
    return fields


def values_of(fields: list[tuple[str, str]], name: str) -> list[str]:
    """Return the values of all fields of one name."""
    return [value for field, value in fields if field == name]
