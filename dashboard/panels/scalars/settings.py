"""What the scalars panel keeps in the URL, besides what every panel of cards does."""

from typing import Any, Final

from dashboard.curves.settings import ArrangementParameters, CurveParameters
from dashboard.page.state import Setting

CURVES: Final = CurveParameters("scalars")
ARRANGEMENT: Final = ArrangementParameters("scalars")

SETTINGS: Final[tuple[Setting[Any], ...]] = (*CURVES.settings, *ARRANGEMENT.settings)
