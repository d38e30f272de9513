"""The panels of the dashboard, in the order of their tabs."""

from dashboard.panels.base import Panel
from dashboard.panels.health.panel import HealthPanel
from dashboard.panels.histograms.panel import HistogramsPanel
from dashboard.panels.images.panel import ImagesPanel
from dashboard.panels.scalars.panel import ScalarsPanel
from dashboard.panels.text.panel import TextPanel
from dashboard.panels.timeline.panel import TimelinePanel
from summary.projector import CONFIG_PATTERN

PANELS: tuple[Panel, ...] = (
    ScalarsPanel(),
    ImagesPanel(),
    HistogramsPanel(),
    TextPanel(),
    TimelinePanel(),
    HealthPanel(),
)
"""Adding a panel is adding its folder and a line here."""

COMPANION_PATTERNS: tuple[str, ...] = ("*.trace.json", "*.trace.json.gz", CONFIG_PATTERN)
"""Files beside the event files that some panel shows."""
