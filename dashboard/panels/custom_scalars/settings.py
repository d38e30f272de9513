"""What the custom scalars panel keeps in the URL, besides what every panel of cards does."""

from typing import Any, Final

from dashboard.curves.settings import CurveParameters
from dashboard.page.state import Setting

CURVES: Final = CurveParameters("custom_scalars")

SETTINGS: Final[tuple[Setting[Any], ...]] = CURVES.settings
