"""What a client may send in the body of a POST request: at most so much, as JSON or as the fields of a form."""

from email import policy
from email.parser import BytesParser
from typing import Annotated, Final
from urllib.parse import parse_qsl

from fastapi import Depends, HTTPException, Request

LARGEST_BODY: Final = 4 << 20
"""Bytes; enough for the names of tens of thousands of runs."""
MOST_FIELDS: Final = 100_000

_MULTIPART: Final = "multipart/form-data"
_URL_ENCODED: Final = "application/x-www-form-urlencoded"


async def limited_body(request: Request) -> bytes:
    """The body of a request.

    Raises:
        HTTPException: 413 where it is longer than `LARGEST_BODY`.
    """
    pieces: list[bytes] = []
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size > LARGEST_BODY:
            raise HTTPException(413, f"The request is longer than the {LARGEST_BODY:,} bytes that are read of one.")
        pieces.append(piece)
    return b"".join(pieces)


Body = Annotated[bytes, Depends(limited_body)]


def form_fields(content_type: str, body: bytes) -> list[tuple[str, str]]:
    """Names and values of a form, in order, in either of the two encodings that browsers use.

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
        raise HTTPException(400, f"The body is no readable form: {error}.") from error
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
    """The values of all fields of one name."""
    return [value for field, value in fields if field == name]
