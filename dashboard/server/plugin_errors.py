"""Failures in plug-in routes, as responses that name the plug-in."""

from collections.abc import Callable, Mapping
from typing import Final

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stepscope.plugins import ERRORS_OF_OTHERS


class PluginErrors:
    """ASGI middleware that answers 500 with a sentence if a plug-in's route raises anything but a response.

    Args:
        app: the application with the plug-in routes.
        reports: functions that record a failure and return it as a sentence, by the first part of the routes' paths.
    """

    def __init__(self, app: ASGIApp, *, reports: Mapping[str, Callable[[str, BaseException], object]]) -> None:
        self._app: Final = app
        self._reports: Final = reports

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"] if scope["type"] == "http" else ""
        report = next((report for place, report in self._reports.items() if f"{path}/".startswith(f"{place}/")), None)
        if report is None:
            await self._app(scope, receive, send)
            return
        begun = False

        async def note(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, note)
        except ERRORS_OF_OTHERS as error:
            sentence = str(report(f"the route {path}", error))
            if begun:
                raise
            await JSONResponse({"detail": sentence}, 500)(scope, receive, send)
