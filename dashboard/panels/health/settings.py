"""What the health panel keeps in the URL."""

from typing import Any, Final

from stepscope.dashboard.page.state import Setting, choice, text

SHOW: Final = choice("health.show", "all", ("all", "bad"))
FILTER: Final = text("health.filter", "")
"""A regular expression that is searched for in the files' paths."""
FILE: Final = text("health.file", "")
"""Path of the selected file."""

SETTINGS: Final[tuple[Setting[Any], ...]] = (SHOW, FILTER, FILE)
