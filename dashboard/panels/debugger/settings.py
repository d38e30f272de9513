"""URL parameters of the Debugger panel."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal, get_args

from stepscope.dashboard.page.state import Setting, data_choice, flag, text
from stepscope.summary.debugger.model import FIGURES

Page = Literal["alerts", "map", "execution", "source", "compare"]
PAGES: Final[dict[Page, str]] = {
    "alerts": "Alerts",
    "map": "Health map",
    "execution": "Execution",
    "source": "Source",
    "compare": "Compare",
}
Order = Literal["run", "module", "name", "worst"]
"""Order of the map's rows: by first appearance of the tensor, by module, by name, or worst first."""


def _range(raw: Sequence[str]) -> str:
    if not re.fullmatch(r"-?\d{1,19}:-?\d{1,19}", raw[-1]):
        raise ValueError(f"debugger.steps is {raw[-1]!r}, expected FIRST:LAST")
    return raw[-1]


def _number(name: str) -> Setting[str]:
    def parse(raw: Sequence[str]) -> str:
        if raw[-1] and not re.fullmatch(r"\d{1,15}", raw[-1]):
            raise ValueError(f"{name} is {raw[-1]!r}, expected a number")
        return raw[-1]

    return Setting(name, "", parse, lambda value: (value,))


RECORDING: Final = text("debugger.id", "")
"""Id of the open recording or dump; empty for the newest."""
PAGE: Final = data_choice("debugger.view", get_args(Page))
"""The open sub-view."""
FIGURE: Final = data_choice("debugger.figure", ("auto", *FIGURES))
"""The figure that the map shows; by default, the most informative one that was measured."""
ORDER: Final = data_choice("debugger.order", get_args(Order))
SEARCH: Final = text("debugger.search", "")
"""A regular expression that a tensor, its operation or its module must match."""
PHASE: Final = text("debugger.phase", "")
OPERATION: Final = text("debugger.operation", "")
"""Only executions of this operation are listed."""
MODULE: Final = text("debugger.module", "")
"""Only executions of this module, or of modules inside it, are listed."""
DEVICE: Final = text("debugger.device", "")
"""Only executions whose values are on this device are listed."""
STEPS: Final[Setting[str]] = Setting("debugger.steps", "", _range, lambda value: (value,))
"""The steps that are shown, as ``FIRST:LAST``; empty for all."""
BAD: Final = replace(flag("debugger.bad", False), personal=False)
"""Whether to list only executions that produced a non-finite value."""
TENSOR: Final = _number("debugger.tensor")
"""The tensor whose row is selected in the map."""
AT: Final = _number("debugger.at")
"""The selected observation."""
FILE: Final = text("debugger.file", "")
"""The open source file."""
LINE: Final = _number("debugger.line")
OTHER: Final = text("debugger.other", "")
"""Id of the recording to compare with."""
TOLERANCE: Final = data_choice("debugger.tolerance", ("0.001", "0", "0.00001", "0.0001", "0.01", "0.1"))
"""Relative difference up to which values count as equal."""

SETTINGS: Final = (
    RECORDING,
    PAGE,
    FIGURE,
    ORDER,
    SEARCH,
    PHASE,
    OPERATION,
    MODULE,
    DEVICE,
    STEPS,
    BAD,
    TENSOR,
    AT,
    FILE,
    LINE,
    OTHER,
    TOLERANCE,
)
