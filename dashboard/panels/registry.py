"""The panels of the dashboard, in the order of their tabs."""

from importlib import import_module
from typing import Final

from stepscope.dashboard.panels.base import Panel

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
    "health",
)
"""Adding a panel is adding its folder and a line here."""


def _panel(folder: str) -> Panel:
    found = import_module(f"stepscope.dashboard.panels.{folder}.panel").PANEL
    assert isinstance(found, Panel)
    assert found.name == folder
    return found


PANELS: Final = tuple(_panel(folder) for folder in _ORDER)
COMPANION_PATTERNS: Final = tuple(dict.fromkeys(pattern for panel in PANELS for pattern in panel.companions))
"""Files beside the event files that some panel shows."""
RECOGNIZERS: Final = tuple(dict.fromkeys(recognizer for panel in PANELS for recognizer in panel.recognizers))
"""Tell such files by their content."""
UPLOADS: Final = {path: most for panel in PANELS for path, most in panel.uploads.items()}
"""Paths of the routes that take files, with the most bytes of one."""
