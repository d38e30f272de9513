"""The Spectrum panel: its tab, its settings and its one route; ``web/index.js`` draws it."""

from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
from dash import html
from fastapi import APIRouter, Query

from stepscope.dashboard.page.controls import mount_point, segmented
from stepscope.dashboard.page.state import View, choice, text
from stepscope.dashboard.panels.base import Panel
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.work import HeavyRoute
from stepscope.summary.kinds import PayloadError
from stepscope.summary.series import Series
from stepscope.summary.snapshot import Snapshot
from stepscope_example.kind import NAME, effective_rank

SCALE: Final = choice("spectrum.scale", "log", ("log", "linear"))
STEP: Final = text("spectrum.step", "")
"""The step that is shown; empty for the latest."""
MOST_SERIES: Final = 60
MOST_STEPS: Final = 40
"""Maximum number of steps of one series that are drawn."""
MOST_VALUES: Final = 512


class SpectrumPanel(Panel):
    """Singular values of weights over steps."""

    name = "spectrum"
    title = "Spectrum"
    kinds = (NAME,)
    settings = (SCALE, STEP)
    web = Path(__file__).parent / "web"

    def layout(self, snapshot: Snapshot, view: View) -> Any:
        """Return a toolbar with one control of the page's own, and the place for the rest."""
        scale = segmented(SCALE, view, {"log": "Logarithmic", "linear": "Linear"}, "Scale of the values")
        return html.Div([html.Div([scale], className="toolbar"), mount_point(self.name)], className="panel")

    def router(self, live: Live) -> APIRouter:
        """Return the route ``/api/spectrum/spectra``."""
        routes = APIRouter(route_class=HeavyRoute)

        @routes.get("/spectra")
        def spectra(run: Annotated[list[str], Query()] = []) -> dict[str, Any]:  # noqa: B006 - FastAPI copies it
            """List the spectra of some runs, some steps of each."""
            snapshot = live.snapshot()
            found = [one for name in run if name in snapshot.runs for one in snapshot.runs[name].of_kind(NAME)]
            found.sort(key=lambda series: (series.tag, run.index(series.run)))
            return {"series": [told(series) for series in found[:MOST_SERIES]], "of": len(found)}

        return routes


def told(series: Series) -> dict[str, Any]:
    """Return one tag of one run as the page draws it: steps, with the values and the effective rank of each."""
    count = len(series)
    points = np.unique(np.linspace(0, count - 1, min(count, MOST_STEPS)).round().astype(int)).tolist() if count else []
    spectra = []
    for point in points:
        try:
            values = series.read(point)
        except PayloadError:
            continue
        shown = [float(f"{value:.4g}") for value in values[:MOST_VALUES]]
        rank = round(effective_rank(values), 2)
        spectra.append({"step": int(series.steps[point]), "values": shown, "of": len(values), "rank": rank})
    return {"run": series.run, "tag": series.tag, "spectra": spectra}


PANEL: Final = SpectrumPanel()
