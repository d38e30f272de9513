"""The Projector panel: which embedding is open; the point cloud and everything around it is in ``web/``."""

import json
from dataclasses import asdict
from typing import Any, Final

import dash_ag_grid as dag
from dash import ClientsideFunction, Dash, Input, Output, html
from fastapi import APIRouter

from stepscope.dashboard.embeddings.listing import EMBEDDING_PATTERNS, has_embeddings
from stepscope.dashboard.page.colors import PALETTE
from stepscope.dashboard.page.controls import example, long_select, revision_input, setting_id
from stepscope.dashboard.page.icons import icon
from stepscope.dashboard.page.state import View
from stepscope.dashboard.panels.base import Panel
from stepscope.dashboard.panels.projector.routes import make_router
from stepscope.dashboard.panels.projector.routes_files import UPLOADS
from stepscope.dashboard.panels.projector.settings import ID, SETTINGS
from stepscope.dashboard.server.live import Live
from stepscope.summary.projector import CONFIG_PATTERN
from stepscope.summary.snapshot import Snapshot

EXAMPLE: Final = """import numpy as np
from stepscope import SummaryWriter

vectors = np.random.normal(size=(1000, 64))
words = [f"word {row}" for row in range(1000)]

with SummaryWriter("logs/run") as writer:
    for step in (0, 100, 200):
        writer.add_embedding(vectors + step / 100, metadata=words,
                             global_step=step, tag="words")"""
COMMAND: Final = "stepscope project vectors.npy --metadata words.tsv"

GRID_OPTIONS: Final[dict[str, Any]] = {
    "theme": {"function": "stepscopeGridTheme(themeQuartz)"},
    "rowHeight": 25,
    "headerHeight": 27,
    "animateRows": False,
    "suppressColumnMoveAnimation": True,
    "suppressDragLeaveHidesColumns": True,
    "suppressMultiSort": True,
    "tooltipShowDelay": 400,
    "enableCellTextSelection": True,
    "ensureDomOrder": True,
    # Clicks work as they do in the cloud; the page sets which rows are selected.
    "rowSelection": {"mode": "multiRow", "checkboxes": False, "headerCheckbox": False, "enableClickSelection": False},
    "cacheBlockSize": 100,
    "maxBlocksInCache": 40,
    "maxConcurrentDatasourceRequests": 2,
    "blockLoadDebounceMillis": 40,
    "localeText": {"noRowsToShow": "No rows"},
}


class ProjectorPanel(Panel):
    """Embeddings as point clouds in several projections, with their metadata and neighbors."""

    name = "projector"
    title = "Projector"
    follows_runs = False
    kinds = ("projector",)
    companions = (CONFIG_PATTERN, *EMBEDDING_PATTERNS)
    opens_without_data = True
    uploads = UPLOADS
    settings = SETTINGS

    def has_data(self, snapshot: Snapshot) -> bool:
        return has_embeddings(snapshot)

    def layout(self, snapshot: Snapshot, view: View) -> Any:
        chosen = ID.of(view)
        if not chosen and not self.has_data(snapshot):
            return _empty()
        return html.Div(
            [
                html.Div(
                    [
                        long_select(
                            ID,
                            chosen or None,
                            # The page requests the others, which may require opening a few files.
                            [{"value": chosen, "label": chosen.replace("|", " ").strip()}] if chosen else [],
                            "Embedding",
                            "pj-choice",
                            placeholder="Choose an embedding",
                        ),
                        html.Div(id="projector-tools", className="pj-tools-host"),
                    ],
                    className="pj-toolbar",
                ),
                html.Div(
                    [
                        html.Div(id="projector-host", className="pj-host", **{"data-palette": _palette()}),
                        html.Div(_table(), id="projector-table", className="pj-grid-box"),
                    ],
                    className="pj-body",
                ),
            ],
            className="panel pj-panel",
        )

    def register(self, app: Dash, live: Live) -> None:
        app.clientside_callback(
            ClientsideFunction("stepscopeProjector", "open"),
            Output("projector-host", "data-opened"),
            Input(setting_id(ID.name), "value"),
        )
        app.clientside_callback(
            ClientsideFunction("stepscopeProjector", "refresh"),
            Output("projector-host", "data-revision"),
            revision_input("projector"),
            prevent_initial_call=True,
        )
        app.clientside_callback(
            ClientsideFunction("stepscopeProjector", "welcome"),
            Output("projector-empty", "data-ready"),
            Input("projector-empty", "id"),
        )

    def router(self, live: Live) -> APIRouter | None:
        return make_router(live)


def _palette() -> str:
    """Return the category colors for light and dark as JSON."""
    return json.dumps([asdict(color) for color in PALETTE])


def _table() -> dag.AgGrid:
    """Return the empty table of metadata; ``web/table.ts`` makes its columns and provides its rows."""
    return dag.AgGrid(
        id="projector-grid",
        rowModelType="infinite",
        columnDefs=[],
        getRowId="params.data.id",
        dashGridOptions=GRID_OPTIONS,
        className="pj-grid",
        style={"height": "100%", "width": "100%"},
    )


def _empty() -> html.Div:
    return html.Div(
        html.Div(
            [
                icon("projector", 28),
                html.H1("No embeddings yet"),
                html.P("Log vectors with their metadata:"),
                example(EXAMPLE),
                html.P("Or open a file (NumPy, safetensors, torch, Keras, TSV, CSV, Parquet):"),
                example(COMMAND),
                html.P("Or drop one here:"),
                html.Div(className="pj-drop-here"),
            ],
            className="empty pj-empty",
        ),
        id="projector-empty",
        className="panel pj-panel",
    )


PANEL = ProjectorPanel()
