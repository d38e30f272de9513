"""Guards Dash's single callback route: accepts what its own page posts, and nothing that makes it fail."""

import inspect
import logging
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import msgspec
from dash.exceptions import PreventUpdate
from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from stepscope.dashboard.server.bodies import JSON, parsed
from stepscope.dashboard.server.bounded_bodies import read_already, whole_body
from stepscope.summary.kinds.base import PayloadError

_LOG: Final = logging.getLogger("stepscope")
PATH: Final = "/_dash-update-component"


class Property(msgspec.Struct, frozen=True):
    """A property of a component, with its value if it is an input."""

    id: str | dict[str, Any]
    property: str
    value: Any = None


class CallbackOrder(msgspec.Struct, frozen=True):
    """A callback to call; a list of properties holds what one pattern of ids matched."""

    output: str
    inputs: list[Property | list[Property]]
    outputs: Property | list[Property | list[Property]] | None = None
    state: list[Property | list[Property]] = []
    changedPropIds: list[str] = []  # noqa: N815 - Dash's name


class CallbackGuard:
    """Refuses requests that would make Dash, or a callback, fail.

    Args:
        app: the application with Dash's routes.
        callbacks: Dash's own table, by output; "callback" is the function, described by its annotations.
    """

    def __init__(self, app: ASGIApp, *, callbacks: Mapping[str, Mapping[str, Any]]) -> None:
        self._app: Final = app
        self._callbacks: Final = callbacks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != PATH or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        try:
            if Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower() != JSON:
                raise HTTPException(415, f"Expected the request as {JSON}.")
            body = await whole_body(receive)
            self._check(parsed(body, CallbackOrder, "Malformed request (reload the page)", 400))
        except HTTPException as error:
            await JSONResponse({"detail": error.detail}, error.status_code)(scope, receive, send)
            return
        await self._app(scope, read_already(body, receive), send)

    def _check(self, order: CallbackOrder) -> None:
        function = self._callbacks.get(order.output, {}).get("callback")
        if function is None:
            raise HTTPException(400, f"There is no callback for {order.output[:200]!r}. Reload the page.")
        given = [
            [one.value for one in wanted] if isinstance(wanted, list) else wanted.value
            for wanted in (*order.inputs, *order.state)
        ]
        try:
            bound = _signature(inspect.unwrap(function)).bind(*given)
            for name, value in bound.arguments.items():
                annotation = bound.signature.parameters[name].annotation
                # Callbacks of plug-ins may lack annotations.
                if annotation is not inspect.Parameter.empty:
                    msgspec.convert(value, annotation)
        except (TypeError, msgspec.ValidationError) as error:
            raise HTTPException(400, f"The callback cannot be called with these values: {error}.") from None


class CallbackErrors:
    """Logs what a callback raises, which Dash answers with 500 and says nothing of.

    Args:
        app: the application with Dash's routes, below Dash's own handling of errors.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app: Final = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except Exception as error:
            if scope.get("path") == PATH and not isinstance(error, PreventUpdate):
                # Data that cannot be read, as in a file that was just removed, is no fault of the callback.
                if isinstance(error, PayloadError):
                    _LOG.warning("A callback of the page failed: %s", error)
                else:
                    _LOG.exception("A callback of the page failed.")
            raise


@cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function, eval_str=True)
