"""The contract of a panel."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from dash import Dash
from fastapi import APIRouter

from stepscope.dashboard.page.state import Setting, View
from stepscope.dashboard.server.live import Live
from stepscope.summary.recognition import Recognizer
from stepscope.summary.snapshot import Snapshot


class Panel(ABC):
    """One tab of the dashboard. Adding a panel is adding a folder with one of these, and a line in the registry.

    The folder's ``panel.py`` offers it as ``PANEL``; ``web/index.ts`` beside it is its half in the browser, and
    ``web/icon.svg`` its icon.

    Data comes only from ``live.snapshot()``; figures are made by pure functions in the panel's ``figures.py``.

    A control with the id ``stepscope.dashboard.page.controls.setting_id(setting)`` and a ``value`` (or
    ``toggle_id(setting)`` and ``checked``) writes its setting into the URL by itself. Callbacks listen to
    ``view_input(name)``, ``revision_input(name)`` and ``scheme_input(name)`` of `stepscope.dashboard.page.controls`,
    which fire only while the panel is open: a callback that listens to the page's own stores would fire without its
    outputs.
    """

    name: ClassVar[str]
    """The folder's name, and the tab's value in the URL."""
    title: ClassVar[str]
    settings: tuple[Setting[Any], ...]
    """What the panel keeps in the URL; every name begins with the panel's own."""
    kinds: ClassVar[tuple[str, ...]] = ()
    """The kinds of data whose tags the panel shows: the names of the plugins that write them."""
    tag_ending: ClassVar[str] = ""
    """A regular expression for the end of a stored tag that no card shows."""
    companions: ClassVar[tuple[str, ...]] = ()
    """Patterns of the files next to the event files that the panel shows."""
    group: ClassVar[str] = ""
    """The title of a menu that takes the tabs of several panels where there is no room for each; empty for none."""
    follows_runs: ClassVar[bool] = True
    """Whether the list of runs chooses what the panel shows; else the list is away while the panel is open."""
    recognizers: ClassVar[tuple[Recognizer, ...]] = ()
    """Tell by their content which other files it shows."""
    opens_without_data: ClassVar[bool] = False
    """Whether a link opens the tab although the log directory has nothing for it: it takes files from the page."""
    uploads: ClassVar[Mapping[str, int]] = MappingProxyType({})
    """Paths of its routes that take files, with the most bytes of one."""

    @abstractmethod
    def has_data(self, snapshot: Snapshot) -> bool:
        """Return whether the tab is shown."""

    @abstractmethod
    def layout(self, snapshot: Snapshot, view: View) -> Any:
        """Return the tab's content, with its controls set as ``view`` says.

        Called when the tab opens, reads no payloads.
        """

    @abstractmethod
    def register(self, app: Dash, live: Live) -> None:
        """Add the panel's callbacks."""

    def router(self, live: Live) -> APIRouter | None:
        """Return the panel's own HTTP routes, mounted under ``/api/<name>``, if it has any."""
        return None
