"""The panels of the dashboard, in the order of their tabs: Stepscope's own, then those of other distributions."""

import re
from collections.abc import Iterable
from importlib import import_module
from typing import Final

from stepscope.dashboard.panels.base import Panel
from stepscope.dashboard.panels.plugin_panel import PluginPanel
from stepscope.plugins import ERRORS_OF_OTHERS, Extensions
from stepscope.record_fields import check_distinct, check_endings
from stepscope.summary.recognition import Recognizer

_ORDER: Final = (
    "scalars",
    "custom_scalars",
    "images",
    "audio",
    "mesh",
    "text",
    "histograms",
    "pr_curves",
    "hparams",
    "graph",
    "projector",
    "timeline",
    "profile",
    "debugger",
    "health",
    "live_tensors",
)
"""To add a panel, add its folder and a line here."""


def _panel(folder: str) -> Panel:
    found = import_module(f"stepscope.dashboard.panels.{folder}.panel").PANEL
    assert isinstance(found, Panel)
    assert found.name == folder
    return found


PANELS: Final = tuple(_panel(folder) for folder in _ORDER)
"""Stepscope's own panels."""
ROUTES: Final = ("capture", "openapi", "plugins", "revision", "runs", "search", "traces")
"""Names after ``/api/`` in addresses that belong to no panel; no panel may use them."""
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")


def check_panel(panel: Panel) -> None:
    """Raise ValueError with a sentence if a panel of another distribution declares something not allowed."""
    if not _NAME.fullmatch(panel.name):
        raise ValueError(f"the name {panel.name!r} is not valid: use a-z, 0-9 and _, such as 'spectrum'")
    if panel.name in ROUTES:
        raise ValueError(f"the name {panel.name!r} is reserved for /api/{panel.name}; choose another")
    if not panel.title.strip():
        raise ValueError(f"the title must be a non-empty string (shown on the tab), got {panel.title!r}")
    for setting in panel.settings:
        if not setting.name.startswith(f"{panel.name}."):
            raise ValueError(f"the setting {setting.name!r} does not begin with '{panel.name}.'")
        try:
            written = setting.format(setting.default)
            if not all(isinstance(value, str) for value in written):
                raise TypeError(f"it is written as {written!r}, which is not text")
            setting.parse(written)
        except ERRORS_OF_OTHERS as error:
            raise ValueError(f"the default of {setting.name!r} cannot be used: {error}") from error
    check_distinct("settings", (name for setting in panel.settings for name in (setting.name, *setting.former_names)))
    for recognizer in panel.recognizers:
        check_endings(recognizer.endings)
    for path in panel.uploads:
        if not path.startswith(f"/api/{panel.name}/"):
            raise ValueError(f"uploads has {path!r}, which does not begin with '/api/{panel.name}/'")
    try:
        re.compile(panel.tag_ending)
    except re.error as error:
        raise ValueError(f"tag_ending is {panel.tag_ending!r}, expected a regular expression: {error}") from error
    if panel.web is None and type(panel).layout is Panel.layout:
        raise ValueError("it has neither web, a folder with index.js, nor a layout of its own")
    if panel.web is not None and not (panel.web / "index.js").is_file():
        raise ValueError(f"the web folder {panel.web.name!r} has no index.js")


OTHERS: Final = Extensions(
    "panels",
    Panel,
    lambda panel: panel.name,
    lambda: [panel.name for panel in PANELS],
    check_panel,
    lambda panel: panel.title,
)
"""Panels of other distributions, as they were provided."""
_guarded: dict[int, PluginPanel] = {}


def all_panels() -> tuple[Panel, ...]:
    """Return every panel; those of other distributions are guarded so that nothing else fails with them."""
    return (*PANELS, *plugin_panels())


def plugin_panels() -> tuple[PluginPanel, ...]:
    """Return the panels of other distributions."""
    return tuple(
        _guarded.setdefault(id(panel), PluginPanel(panel, plugin, OTHERS)) for plugin, panel in OTHERS.loaded()
    )


def companion_patterns(panels: Iterable[Panel] | None = None) -> tuple[str, ...]:
    """Return patterns of the files next to the event files that any of the panels shows; of all panels by default."""
    return tuple(dict.fromkeys(pattern for panel in _given(panels) for pattern in panel.companions))


def recognizers(panels: Iterable[Panel] | None = None) -> tuple[Recognizer, ...]:
    """Return what recognizes such files by their content; of all panels by default."""
    return tuple(dict.fromkeys(recognizer for panel in _given(panels) for recognizer in panel.recognizers))


def uploads(panels: Iterable[Panel] | None = None) -> dict[str, int]:
    """Return the paths of routes that take files, with the maximum bytes of one; of all panels by default."""
    return {path: most for panel in _given(panels) for path, most in panel.uploads.items()}


def _given(panels: Iterable[Panel] | None) -> Iterable[Panel]:
    return all_panels() if panels is None else panels
