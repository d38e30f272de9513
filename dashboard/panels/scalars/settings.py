"""URL parameters of the scalars panel, besides those of every panel of curves."""

from typing import Any, Final

from stepscope.dashboard.curves.settings import ArrangementParameters
from stepscope.dashboard.page.state import Setting

ARRANGEMENT: Final = ArrangementParameters("scalars")

SETTINGS: Final[tuple[Setting[Any], ...]] = ARRANGEMENT.settings
