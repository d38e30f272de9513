"""URL parameters of the live tensors panel."""

import re
from collections.abc import Sequence
from typing import Any, Final

from stepscope.dashboard.page.state import Setting, choice, data_choice, text

_NUMBER: Final = r"-?\d{1,30}(\.\d{1,30})?(e[+-]?\d{1,3})?"


def _limits(raw: Sequence[str]) -> str:
    if not re.fullmatch(f"{_NUMBER}:{_NUMBER}", raw[-1], re.IGNORECASE):
        raise ValueError(f"live_tensors.limits is {raw[-1]!r}, expected two numbers, such as -1:1")
    return raw[-1]


NAMES: Final = text("live_tensors.names", "")
"""Names of the arrays to show, separated by commas; "*" matches any characters; empty for all."""
RATE: Final = choice("live_tensors.rate", "5", ("0", "1", "5", "10", "30"))
"""Maximum frames per second."""
SHOW: Final = data_choice("live_tensors.show", ("value", "variance"))
WINDOW: Final = choice("live_tensors.window", "8", ("4", "8", "32"))
"""Number of frames over which a variance is computed."""
SCALE: Final = data_choice("live_tensors.scale", ("tensor", "section", "fixed"))
"""Range that the colors span."""
LIMITS: Final[Setting[str]] = Setting("live_tensors.limits", "-1:1", _limits, lambda value: (value,))
"""The ends of a fixed scale."""

SETTINGS: Final[tuple[Setting[Any], ...]] = (NAMES, RATE, SHOW, WINDOW, SCALE, LIMITS)
