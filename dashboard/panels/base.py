"""The contract of a panel."""

from typing import Any, Protocol

from dash import Dash
from fastapi import APIRouter

from dashboard.page.state import Setting, View
from dashboard.server.live import Live
from summary.snapshot import Snapshot


class Panel(Protocol):
    """One tab of the dashboard. Adding a panel is adding a folder with one of these, and a line in the registry.

    Data comes only from ``live.snapshot()``; figures are made by pure functions in the panel's ``figures.py``.

    A control with the id ``dashboard.page.controls.setting_id(setting)`` and a ``value`` (or ``toggle_id(setting)`` and
    ``checked``) writes its setting into the URL by itself. Callbacks listen to
    ``view_input(name)``, ``revision_input(name)`` and ``scheme_input(name)`` of `dashboard.page.controls`, which fire
    only while the panel is open: a callback that listens to the page's own stores would fire without its outputs.
    """

    name: str
    """The folder's name, and the tab's value in the URL."""
    title: str
    icon: str
    """Name of the icon in ``web/icons``."""

    @property
    def settings(self) -> tuple[Setting[Any], ...]:
        """What the panel keeps in the URL; every name begins with the panel's own."""
        ...

    def has_data(self, snapshot: Snapshot) -> bool:
        """Whether the tab is shown."""
        ...

    def layout(self, snapshot: Snapshot, view: View) -> Any:
        """The tab's content, with its controls set as ``view`` says; called when the tab opens, reads no payloads."""
        ...

    def register(self, app: Dash, live: Live) -> None:
        """Adds the panel's callbacks."""
        ...

    def router(self, live: Live) -> APIRouter | None:
        """The panel's own HTTP routes, mounted under ``/api/<name>``, if it has any."""
        ...
