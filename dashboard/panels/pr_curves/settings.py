"""URL parameters of the PR curves panel."""

from typing import Any, Final, get_args

from stepscope.dashboard.page.state import Setting, choice, flag, names
from stepscope.dashboard.panels.pr_curves.figures import Axis, Kind, Metric

VIEW: Final = choice("pr_curves.view", "pr", get_args(Kind))
METRIC: Final = choice("pr_curves.metric", "ap", get_args(Metric))
AXIS: Final = choice("pr_curves.axis", "step", get_args(Axis))
SLIDER: Final = choice("pr_curves.slider", "all", ("all", "run"))
ISO: Final = flag("pr_curves.iso", True)
MATRIX: Final = flag("pr_curves.matrix", True)
STEPS: Final = names("pr_curves.step")
"""``TAG:STEP`` for every card whose slider is not at the end."""
RUN_STEPS: Final = names("pr_curves.run_step")
"""``[TAG, RUN]:STEP`` for every slider of one run that is not at the end."""
THRESHOLDS: Final = names("pr_curves.threshold")
"""``TAG:THRESHOLD`` for every card whose threshold is not 0.5."""

SETTINGS: Final[tuple[Setting[Any], ...]] = (
    VIEW, METRIC, AXIS, SLIDER, ISO, MATRIX, STEPS, RUN_STEPS, THRESHOLDS,
)  # fmt: skip
