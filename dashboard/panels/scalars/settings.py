"""What the scalars panel keeps in the URL, besides what every panel of curves does."""

from typing import Any, Final

from dashboard.curves.settings import ArrangementParameters
from dashboard.page.state import Setting

ARRANGEMENT: Final = ArrangementParameters("scalars")

SETTINGS: Final[tuple[Setting[Any], ...]] = ARRANGEMENT.settings
