"""``/api/capture/live``: what a running program shows with `stepscope.debug.show`, fetched frame by frame."""

import asyncio
from typing import Any, Final

import msgspec
from fastapi import APIRouter, HTTPException

from stepscope.dashboard.server.bodies import JsonBody, parsed
from stepscope.dashboard.server.work import LightRoute
from stepscope.dashboard.traces.capture import CaptureRules, sentence
from stepscope.dashboard.traces.messages import CaptureProblem, LiveFrame, NoLiveFrame
from stepscope.debug.live import PATH
from stepscope.debug.live_frames import MOST_FRAME_BYTES, LiveRequest
from stepscope.profiler.client import CaptureError, Client, parse_address
from stepscope.summary.errors import UserError

MOST_VIEWERS: Final = 16
"""Maximum requests that wait for a frame at once; each has a thread."""
_MOST_ANSWER: Final = 2 * MOST_FRAME_BYTES + (2 << 20)
"""Pixels in base64, and the description of each array."""
_NO_ROUTE: Final = "nothing answers at this path"


class LiveOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A page's request, and the program to ask."""

    address: str
    token: str = ""
    request: LiveRequest = LiveRequest()


def router(rules: CaptureRules) -> APIRouter:
    """Return the route; it asks the same programs that may be recorded."""
    routes = APIRouter(tags=["capture"], route_class=LightRoute)
    viewers = asyncio.Semaphore(MOST_VIEWERS)

    @routes.post("/api/capture/live")
    async def frame(body: JsonBody) -> LiveFrame | NoLiveFrame | CaptureProblem:
        """Return the program's next frame, or why there is none; waits as long as the request says."""
        order = parsed(body, LiveOrder, "This cannot be shown", 400)
        try:
            address = parse_address(order.address)
        except UserError as error:
            raise HTTPException(400, str(error)) from None
        rules.check(address)
        if viewers.locked():
            raise HTTPException(503, f"{MOST_VIEWERS} pages are already viewing running programs. Close one of them.")
        async with viewers:
            try:
                client = Client(address, order.token or None)
                found = await asyncio.to_thread(client.ask_json, PATH, msgspec.to_builtins(order.request), _MOST_ANSWER)
                return checked(found)
            except CaptureError as error:
                return {"problem": error.problem, "message": why(error)}

    return routes


def checked(found: dict[str, Any]) -> LiveFrame | NoLiveFrame:
    """Return what a program answered, if it is a frame.

    Raises:
        CaptureError: it is not.
    """
    try:
        if "sections" in found:
            return msgspec.convert(found, LiveFrame)
        return msgspec.convert(found, NoLiveFrame)
    except msgspec.ValidationError as error:
        raise CaptureError("answer", f"the program's frame cannot be used: {error}.") from None


def why(error: CaptureError) -> str:
    """Return why there is no frame; for a program that shows nothing, explain how to."""
    if _NO_ROUTE in str(error):
        return "The program shows nothing yet. Call stepscope.debug.show(name, array) in it, once per step."
    return sentence(str(error))
