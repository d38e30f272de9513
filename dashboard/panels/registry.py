"""The panels of the dashboard, in the order of their tabs."""

from collections.abc import Mapping

from dashboard.embeddings.listing import EMBEDDING_PATTERNS
from dashboard.panels.audio.panel import AudioPanel
from dashboard.panels.base import Panel
from dashboard.panels.custom_scalars.panel import CustomScalarsPanel
from dashboard.panels.graph.panel import GraphPanel
from dashboard.panels.health.panel import HealthPanel
from dashboard.panels.histograms.panel import HistogramsPanel
from dashboard.panels.hparams.panel import HParamsPanel
from dashboard.panels.images.panel import ImagesPanel
from dashboard.panels.mesh.panel import MeshPanel
from dashboard.panels.pr_curves.panel import PrCurvesPanel
from dashboard.panels.profile.panel import ProfilePanel
from dashboard.panels.projector.panel import ProjectorPanel
from dashboard.panels.projector.routes_files import UPLOADS as PROJECTOR_UPLOADS
from dashboard.panels.scalars.panel import ScalarsPanel
from dashboard.panels.text.panel import TextPanel
from dashboard.panels.timeline.panel import TimelinePanel
from summary.projector import CONFIG_PATTERN

PANELS: tuple[Panel, ...] = (
    ScalarsPanel(),
    CustomScalarsPanel(),
    ImagesPanel(),
    AudioPanel(),
    MeshPanel(),
    HistogramsPanel(),
    HParamsPanel(),
    PrCurvesPanel(),
    TextPanel(),
    GraphPanel(),
    ProjectorPanel(),
    TimelinePanel(),
    ProfilePanel(),
    HealthPanel(),
)
"""Adding a panel is adding its folder and a line here."""

OPENED_WITHOUT_DATA: frozenset[str] = frozenset({ProjectorPanel.name})
"""Panels that a link opens although the log directory has nothing for them: they take files from the page."""

COMPANION_PATTERNS: tuple[str, ...] = (
    "*.trace.json",
    "*.trace.json.gz",
    "*.trace.json.zst",
    "*.xplane.pb",
    "*.sstrace",
    CONFIG_PATTERN,
    *EMBEDDING_PATTERNS,
)
"""Files beside the event files that some panel shows."""

UPLOADS: Mapping[str, int] = PROJECTOR_UPLOADS
"""Paths of the routes that take files, with the most bytes of one."""
