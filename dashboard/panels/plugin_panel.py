"""Panels of other distributions, guarded: their failures are named on the page, and nothing else fails with them."""

import json
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import partial, wraps
from inspect import get_annotations, iscoroutinefunction
from typing import Any, Final

from dash import Dash, html
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate
from fastapi import APIRouter, HTTPException
from fastapi.openapi.utils import get_openapi

from stepscope.dashboard.page.layout import own_ids
from stepscope.dashboard.page.messages import PluginPage, SettingFacts
from stepscope.dashboard.page.plugin_files import PluginFiles
from stepscope.dashboard.page.state import Setting, View
from stepscope.dashboard.panels.base import Panel
from stepscope.dashboard.server.late_routes import LateRoute
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.work import heavy
from stepscope.plugins import ERRORS_OF_OTHERS, Extensions, Plugin, PluginFailure
from stepscope.summary.recognition import Recognizer
from stepscope.summary.snapshot import Snapshot

_HOW_TO_NAME: Final = "begin ids with the panel's name"
_OF_ONE_CALLBACK: Final = re.compile(r"@[0-9a-f]{64}$")
FAILURES_ID: Final = "plugin-failures"
"""The page's store for failures of plug-in callbacks: ``web/page/plugins.ts``."""


class PluginPanel(Panel):
    """A panel of another distribution, with everything that it declares.

    Args:
        panel: as it was provided.
        plugin: where it is from.
        extensions: records its failures.
    """

    def __init__(self, panel: Panel, plugin: Plugin, extensions: Extensions[Panel]) -> None:
        guarded = {
            "recognizers": tuple(replace(each, knows=partial(self._knows, each)) for each in panel.recognizers),
        }
        for field in get_annotations(Panel):
            setattr(self, field, guarded.get(field, getattr(panel, field)))
        self._panel: Final = panel
        self.plugin: Final = plugin
        self._extensions: Final = extensions
        self._web_failure: PluginFailure | None = None

    def report(self, doing: str, error: BaseException) -> PluginFailure:
        """Record what the plug-in failed at."""
        return self._extensions.fail(self.plugin, error, doing)

    def _knows(self, recognizer: Recognizer, beginning: bytes) -> bool:
        try:
            return bool(recognizer.knows(beginning))
        except ERRORS_OF_OTHERS as error:
            self.report(f"recognizer {recognizer.name!r}", error)
            return False

    def has_data(self, snapshot: Snapshot) -> bool:
        try:
            return bool(self._panel.has_data(snapshot))
        except ERRORS_OF_OTHERS as error:
            self.report("has_data", error)
            return False

    def layout(self, snapshot: Snapshot, view: View) -> Any:
        if self._web_failure is not None:
            return _notice(self._web_failure)
        try:
            content = self._panel.layout(snapshot, view)
            _check_content(content)
            # Here rather than with the whole page's answer: content that is not a component then fails alone.
            json.dumps(content, default=_as_json)
        except ERRORS_OF_OTHERS as error:
            return _notice(self.report("layout", error))
        return content

    def register(self, app: Dash, live: Live) -> None:
        """Add the panel's callbacks; none of them if one cannot be added or would change what is not the panel's."""
        callbacks, listed = app.callback_map, app._callback_list
        before, count = dict(callbacks), len(listed)
        of_others = frozenset(output for key in before for output in _outputs(key))
        try:
            self._panel.register(app, live)
            for key, entry in callbacks.items():
                if entry is not before.get(key):
                    _check_outputs(_outputs(key), of_others)
        except ERRORS_OF_OTHERS as error:
            self.report("register", error)
            callbacks.clear()
            callbacks.update(before)
            del listed[count:]
            return
        for output, entry in callbacks.items():
            # Callbacks that run in the browser have none.
            if output not in before and "callback" in entry:
                entry["callback"] = self._guarded(entry["callback"])

    def _guarded(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        run = callback if iscoroutinefunction(callback) else heavy(callback)

        @wraps(callback)
        async def answer(*args: Any, **kwargs: Any) -> Any:
            try:
                return await run(*args, **kwargs)
            except (PreventUpdate, HTTPException):
                raise
            except ERRORS_OF_OTHERS as error:
                failure = str(self.report("a callback", error))
                return json.dumps({"multi": True, "response": {}, "sideUpdate": {FAILURES_ID: {"data": [failure]}}})

        return answer

    def router(self, live: Live) -> APIRouter | None:
        try:
            routes = self._panel.router(live)
            if routes is not None and not isinstance(routes, APIRouter):
                raise TypeError(f"{type(routes).__name__} is not an APIRouter")
            if routes is not None:
                _check_routes(routes)
        except ERRORS_OF_OTHERS as error:
            self.report("router", error)
            return None
        return routes

    def files(self) -> PluginFiles | None:
        """Return what the browser loads for the panel; None if that is nothing or cannot be read."""
        if self.web is None:
            return None
        try:
            return PluginFiles(self.name, self.web)
        except (OSError, ValueError) as error:
            self._web_failure = self.report("web", error)
            return None

    def told(self, files: PluginFiles | None) -> PluginPage:
        """Return what the page needs to know about the panel."""
        return {
            "name": self.name,
            "title": self.title,
            "distribution": self.plugin.distribution,
            "script": None if files is None else files.address("index.js"),
            "style": files.address("index.css") if files is not None and files.has("index.css") else None,
            "at_start": self.web_at_start,
            "settings": [_facts(setting) for setting in self.settings],
        }


def _check_routes(routes: APIRouter) -> None:
    """Raise an error if a route would be beside the panel's address, or would make the whole API's description fail."""
    for route in routes.routes:
        path = getattr(route, "path", "")
        if path and not path.startswith("/"):
            raise ValueError(f"the path of a route is {path!r}, which does not begin with '/'")
    copies = [route.prepared_copy() if isinstance(route, LateRoute) else route for route in routes.routes]
    get_openapi(title="", version="", routes=copies)


def _notice(failure: PluginFailure) -> html.Div:
    return html.Div(str(failure), className="notice plugin-failed", role="alert")


def _check_content(content: Any) -> None:
    """Raise TypeError with a sentence for content that nobody can draw: in the browser, all of the page would fail."""
    if isinstance(content, (list, tuple)):
        for part in content:
            _check_content(part)
    elif content is not None and not isinstance(content, (str, int, float, Component)):
        raise TypeError(
            f"it returned {type(content).__name__}, expected a component, a string, a number, or a list of these"
        )


def _as_json(value: Any) -> Any:
    if not hasattr(value, "to_plotly_json"):
        raise TypeError(f"layout has an object of the type {type(value).__name__}, which is not a component")
    found = getattr(value, "id", None)
    if isinstance(found, str) and found in own_ids():
        raise ValueError(f"the id {found!r} is the page's own: {_HOW_TO_NAME}")
    return value.to_plotly_json()


def _outputs(key: str) -> list[str]:
    """Return what a callback changes, each as "id.property", given its key in Dash."""
    found = key[2:-2].split("...") if key.startswith("..") else [key]
    # The ending tells apart the callbacks that may change the same; the key of one that changes nothing has no dot.
    return [_OF_ONE_CALLBACK.sub("", output) for output in found if "." in output]


def _check_outputs(outputs: Iterable[str], of_others: Collection[str]) -> None:
    """Raise ValueError with a sentence if a callback of a panel changes what is not the panel's."""
    for output in outputs:
        if output.rpartition(".")[0] in own_ids():
            raise ValueError(f"{output!r}, which a callback changes, is the page's own: {_HOW_TO_NAME}")
        if output in of_others:
            raise ValueError(f"the callback of {output!r} belongs to another panel: {_HOW_TO_NAME}")


def _facts(setting: Setting[Any]) -> SettingFacts:
    return {
        "name": setting.name,
        "kind": setting.kind,
        "values": list(setting.format(setting.default)),
        "options": list(setting.options),
        "limits": setting.limits,
    }
