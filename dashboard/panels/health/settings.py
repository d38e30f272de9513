"""URL parameters of the health panel."""

from typing import Any, Final

from stepscope.dashboard.page.state import Setting, choice, text

SHOW: Final = choice("health.show", "all", ("all", "bad"))
FILTER: Final = text("health.filter", "")
"""A regular expression to search for in the files' paths."""
FILE: Final = text("health.file", "")
"""Path of the selected file."""

SETTINGS: Final[tuple[Setting[Any], ...]] = (SHOW, FILTER, FILE)
