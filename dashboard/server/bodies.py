"""Request bodies: JSON, or the fields of a form."""

from email import policy
from email.parser import BytesParser
from typing import Annotated, Final, TypeVar
from urllib.parse import parse_qsl

import msgspec
from fastapi import Depends, HTTPException, Request
from google.protobuf import json_format
from google.protobuf.message import Message as ProtobufMessage

MOST_FIELDS: Final = 100_000
JSON: Final = "application/json"

_MULTIPART: Final = "multipart/form-data"
_URL_ENCODED: Final = "application/x-www-form-urlencoded"

T = TypeVar("T")
M = TypeVar("M", bound=ProtobufMessage)


async def _body(request: Request) -> bytes:
    return await request.body()


Body = Annotated[bytes, Depends(_body)]
"""The body of a request; the guard ensures that it is no longer than `LARGEST_BODY`."""


def parsed(body: bytes, kind: type[T], problem: str = "The request is not understood", status: int = 422) -> T:
    """Return the JSON of a body as an instance of ``kind``, as `msgspec` reads it.

    Raises:
        HTTPException: the body is not one; ``problem`` begins the sentence.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise HTTPException(status, f"{problem}: {str(error).rstrip('.')}.") from None


def parsed_message(text: str | bytes, message: M) -> M:
    """Parse the JSON of a protobuf message into ``message`` and return it.

    Raises:
        HTTPException: 400 if the text is not one.
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
    """Return the media type of a request's body, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def _json_body(request: Request) -> bytes:
    if media_type(request) != JSON:
        raise HTTPException(415, f"Expected the request as {JSON}.")
    return await request.body()


JsonBody = Annotated[bytes, Depends(_json_body)]
"""The body of a request that declares itself as JSON; others are refused with 415."""


def form_fields(content_type: str, body: bytes) -> list[tuple[str, str]]:
    """Return the names and values of a form, in order, in either of the two encodings that browsers use.

    Raises:
        HTTPException: 400 if the body is not such a form.
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
    """Return the values of all fields with one name."""
    return [value for field, value in fields if field == name]
