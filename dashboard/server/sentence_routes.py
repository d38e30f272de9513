"""Routes that may take long and report a bad parameter in a sentence, and responses that are compressed at once."""

import gzip
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError

from stepscope.dashboard.server.json_bytes import json_bytes
from stepscope.dashboard.server.work import HeavyRoute

COMPRESS_ABOVE = 4_096
"""Bytes; smaller bodies are sent uncompressed."""


class SentenceRoute(HeavyRoute):
    """A route that opens what may be large, and reports a bad parameter in one sentence instead of a structure."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except RequestValidationError as error:
                first = error.errors()[0]
                raise HTTPException(422, f"Parameter {first['loc'][-1]!r}: {first['msg']}.") from error

        return handle


def json_answer(request: Request, value: Any) -> Response:
    return body_answer(request, json_bytes(value), "application/json")


def body_answer(request: Request, body: bytes, media_type: str) -> Response:
    headers = {"Cache-Control": "no-store", "Vary": "Accept-Encoding"}
    if len(body) > COMPRESS_ABOVE and "gzip" in request.headers.get("accept-encoding", ""):
        body = gzip.compress(body, compresslevel=1)
        headers["Content-Encoding"] = "gzip"
    return Response(body, media_type=media_type, headers=headers)
