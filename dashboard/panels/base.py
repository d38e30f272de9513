"""The contract of a panel."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from dash import Dash
from fastapi import APIRouter

from stepscope.dashboard.page.controls import mount_point
from stepscope.dashboard.page.state import Setting, View
from stepscope.dashboard.server.live import Live
from stepscope.summary.recognition import Recognizer
from stepscope.summary.snapshot import Snapshot


class Panel:
    """One tab of the dashboard.

    A panel of Stepscope's own is a folder whose ``panel.py`` offers it as ``PANEL``, and a line in the registry;
    ``web/index.ts`` beside it is its half in the browser, and ``web/icon.svg`` its icon. A panel of another
    distribution is named by an entry point of the group ``stepscope.panels``, and provides a folder with what the
    browser loads: see `web`.

    Data comes only from ``live.snapshot()``; figures are made by pure functions.

    A control with the id ``stepscope.dashboard.page.controls.setting_id(setting)`` and a ``value`` (or
    ``toggle_id(setting)`` and ``checked``) writes its setting into the URL by itself. Callbacks listen to
    ``view_input(name)``, ``revision_input(name)`` and ``scheme_input(name)`` of `stepscope.dashboard.page.controls`,
    which fire only while the panel is open: a callback that listens to the page's own stores would fire without its
    outputs.
    """

    name: ClassVar[str]
    """The tab's value in the URL and the first part of its settings and routes: small letters, digits and "_". For one
    of Stepscope's own, the folder's name.
    """
    title: ClassVar[str]
    """What stands on the tab."""
    settings: tuple[Setting[Any], ...] = ()
    """What the panel keeps in the URL; every name begins with the panel's own and a dot."""
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
    """Paths of its routes that take files, such as ``/api/<name>/drop``, with the most bytes of one."""
    web: ClassVar[Path | None] = None
    """The folder with what the browser loads: ``index.js``, a module that has `mount`, and maybe ``index.css``,
    ``icon.svg`` of one color, and what these load from beside them. None where `layout` and callbacks are all there
    is; Stepscope's own panels are part of the page's bundle.
    """
    web_at_start: ClassVar[bool] = False
    """Whether ``index.js`` is loaded with the page, and not with the first visit: for commands that hold everywhere."""

    def has_data(self, snapshot: Snapshot) -> bool:
        """Return whether the tab is shown: if there is data of its `kinds`, unless the panel overrides this."""
        return any(kind in snapshot.kinds for kind in self.kinds)

    def layout(self, snapshot: Snapshot, view: View) -> Any:
        """Return the tab's content, with its controls set from ``view``: the element that ``index.js`` is given.

        Called when the tab opens; reads no payloads. A panel with Dash controls puts them beside
        ``stepscope.dashboard.page.controls.mount_point(name)``.
        """
        return mount_point(self.name)

    def register(self, app: Dash, live: Live) -> None:
        """Add the panel's callbacks, if it has any, with ``app.callback``."""

    def router(self, live: Live) -> APIRouter | None:
        """Return the panel's own HTTP routes, mounted under ``/api/<name>``, if it has any."""
        return None
