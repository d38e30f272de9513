"""What the scalars panel keeps in the URL, besides what every panel of curves does."""

from typing import Any, Final

from stepscope.dashboard.curves.settings import ArrangementParameters
from stepscope.dashboard.page.state import Setting

ARRANGEMENT: Final = ArrangementParameters("scalars")

SETTINGS: Final[tuple[Setting[Any], ...]] = ARRANGEMENT.settings
