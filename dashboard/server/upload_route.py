"""How a route receives a file dropped on the page."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Final, TypeVar

from fastapi import HTTPException, Query, Request

from stepscope.dashboard.server.bodies import media_type
from stepscope.dashboard.server.dropped_files import NoRoomError, Upload, UploadError

FILE: Final = "application/octet-stream"
WRITTEN_AT_ONCE: Final = 1 << 20
FileName = Annotated[str, Query(min_length=1, max_length=4_096, description="What the user calls it.")]
R = TypeVar("R")


async def taken(request: Request, begin: Callable[[], Upload[R]]) -> R:
    """Receive a file as it arrives, without ever having all of it in memory.

    Raises:
        HTTPException: 415 if it has another type. 422 if it is too large, or not a file that can be shown. 503 if too
            many uploads are in progress.
    """
    if media_type(request) != FILE:
        raise HTTPException(415, f"Expected the file as {FILE}.")
    try:
        upload = await asyncio.to_thread(begin)
        try:
            pieces = bytearray()
            async for piece in request.stream():
                pieces += piece
                if len(pieces) >= WRITTEN_AT_ONCE:
                    await asyncio.to_thread(upload.write, bytes(pieces))
                    pieces.clear()
            await asyncio.to_thread(upload.write, bytes(pieces))
        except BaseException:
            upload.abort()
            raise
        return await asyncio.to_thread(upload.finish)
    except NoRoomError as error:
        raise HTTPException(503, str(error)) from error
    except UploadError as error:
        raise HTTPException(422, str(error)) from error
