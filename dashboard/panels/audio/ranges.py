"""Parts of a body, as browsers request them to seek in a clip (RFC 9110, section 14)."""

import re
from collections.abc import Iterator
from typing import Final, Literal

from fastapi import Request
from fastapi.responses import Response

from stepscope.dashboard.server.work import Pieces

_PIECE: Final = 1 << 18
_RANGE: Final = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)


def byte_range(header: str, size: int) -> tuple[int, int] | Literal["none", "unsatisfiable"]:
    """Return the first byte and the end of the range that a Range header requests.

    Return "none" if the whole body is to be sent: the header is missing, not understood, or has several ranges.
    """
    found = _RANGE.fullmatch(header.strip())
    if found is None or found[1] == found[2] == "":
        return "none"
    if not found[1]:
        start, stop = max(0, size - int(found[2])), size
    else:
        start, stop = int(found[1]), min(size, int(found[2]) + 1 if found[2] else size)
        if found[2] and int(found[2]) < start:
            return "none"
    return (start, stop) if start < stop else "unsatisfiable"


def ranged(request: Request, body: bytes, mime_type: str, headers: dict[str, str]) -> Response:
    """Return the body, the requested part of it (206), 304 if the client already has it, or 416.

    Args:
        request: may have Range, If-Range and If-None-Match headers.
        body: the whole body.
        mime_type: type of the body.
        headers: must include an ETag.
    """
    headers = {**headers, "Accept-Ranges": "bytes"}
    if headers["ETag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    requested = request.headers.get("range", "")
    if request.headers.get("if-range", headers["ETag"]) != headers["ETag"]:
        requested = ""
    wanted = byte_range(requested, len(body))
    if wanted == "unsatisfiable":
        return Response(status_code=416, headers={**headers, "Content-Range": f"bytes */{len(body)}"})
    start, stop = (0, len(body)) if wanted == "none" else wanted
    headers["Content-Length"] = str(stop - start)
    if wanted != "none":
        headers["Content-Range"] = f"bytes {start}-{stop - 1}/{len(body)}"
    # In pieces, so that data the browser does not read ahead is never copied.
    pieces = _pieces(memoryview(body)[start:stop])
    return Pieces(pieces, 200 if wanted == "none" else 206, headers, media_type=mime_type)


def _pieces(view: memoryview) -> Iterator[memoryview]:
    for at in range(0, len(view), _PIECE):
        yield view[at : at + _PIECE]
