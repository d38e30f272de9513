"""The mesh panel: one card per mesh and run, drawn by ``mesh/web``."""

from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html

from stepscope.dashboard.page.colors import RunColor
from stepscope.dashboard.page.controls import revision_input, scheme_input, setting_id, view_input
from stepscope.dashboard.page.state import View, decode
from stepscope.dashboard.panels.card_panel import CardPanel
from stepscope.dashboard.panels.cards import (
    FULL_WIDTH,
    Action,
    Draw,
    Shown,
    pair_key,
    pair_of,
    shown_series,
    titled_card,
)
from stepscope.dashboard.panels.groups import OfTag, Place
from stepscope.dashboard.panels.mesh.json_config import looks_of
from stepscope.dashboard.panels.mesh.messages import Incomparable, MeshCard, Reference
from stepscope.dashboard.panels.mesh.routes import make_router
from stepscope.dashboard.panels.mesh.series import (
    Compare,
    MeshSeries,
    belonging,
    compared_points,
    mesh_name,
    meshes_of,
    parse_compare,
)
from stepscope.dashboard.panels.mesh.settings import COMPARE, SETTINGS
from stepscope.dashboard.panels.mesh.toolbar import comparisons, toolbar
from stepscope.dashboard.server.arrays import typed
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.work import light
from stepscope.summary.kinds.mesh import PLUGIN_NAME
from stepscope.summary.series import Series
from stepscope.summary.snapshot import Snapshot


class MeshPanel(CardPanel):
    """Meshes and point clouds over steps."""

    name = "mesh"
    title = "Mesh"
    group = "Media"
    kinds = ("mesh",)
    tag_ending = "_(VERTEX|FACE|COLOR)$"

    def __init__(self) -> None:
        super().__init__(
            kind=PLUGIN_NAME,
            called="Meshes",
            keys=mesh_keys,
            card=card,
            depends=depends,
            draw=draw,
            toolbar=toolbar,
            settings=SETTINGS,
            routes=make_router,
            nothing="No meshes in the visible runs",
            follows=(scheme_input,),
        )

    def register(self, app: Dash, live: Live) -> None:
        super().register(app, live)

        @app.callback(
            Output("mesh-comparisons", "data"),
            view_input(self.name),
            revision_input(self.name),
            prevent_initial_call=True,
        )
        @light
        def list_comparisons(query: str, _revision: int | None) -> Any:
            return comparisons(live.snapshot(), decode(query))

        # The answer may be older than the current choice, and the list drops a choice that it does not offer.
        app.clientside_callback(
            ClientsideFunction("stepscope", "offerComparisons"),
            Output(setting_id(COMPARE.name), "data"),
            Input("mesh-comparisons", "data"),
            State(setting_id(COMPARE.name), "data"),
            prevent_initial_call=True,
        )


def mesh_keys(snapshot: Snapshot, view: View) -> list[tuple[Place, str]]:
    """Return a card for every mesh of every shown run, in the section of its name."""
    found: dict[str, dict[str, None]] = {}
    for series in shown_series(snapshot, view, PLUGIN_NAME):
        found.setdefault(mesh_name(series), {})[series.run] = None
    return [(OfTag(name), pair_key(name, run)) for name, runs in found.items() for run in runs]


def card(key: str, wide: bool, on: Shown) -> html.Article:
    """Return the card of one mesh of one run, which ``mesh/web/mount.ts`` fills."""
    name, run = pair_of(key)
    data = dcc.Store(id={"type": "mesh-data", "key": key})
    actions = [
        Action("reset", "Reset the camera (R)"),
        Action("mesh_pin", "Compare all meshes with this one at this step"),
        Action("download", "Download PLY"),
        Action("images", "Download PNG"),
        FULL_WIDTH,
    ]
    body = html.Div([data, html.Div(className="fill")], className="card-body")
    return titled_card(key, name, "mesh", wide, body, run=run, color=on.colors[run], actions=actions)


def mesh_of(key: str, on: Draw) -> MeshSeries | None:
    """Return the mesh of a card."""
    name, run = pair_of(key)
    return meshes_of(on.snapshot.runs[run]).get(name) if run in on.snapshot.runs else None


def reference_of(key: str, on: Draw) -> tuple[Compare, MeshSeries | None]:
    """Return the mesh that a card is compared with."""
    name, run = pair_of(key)
    compare = parse_compare(COMPARE.of(on.view))
    other = compare.run or run
    known = compare.kind != "off" and other in on.snapshot.runs
    return compare, meshes_of(on.snapshot.runs[other]).get(name) if known else None


def depends(key: str, on: Draw) -> object:
    """Return what a card depends on."""
    mesh, (compare, reference) = mesh_of(key, on), reference_of(key, on)
    color = on.colors.get(pair_of(key)[1])
    return (mesh and mesh.version, color, compare.text, reference and reference.version)


def draw(key: str, on: Draw) -> MeshCard:
    """Return the steps of a card, and the points of other series for each; geometry is requested when it is viewed."""
    name, run = pair_of(key)
    mesh, (compare, reference) = mesh_of(key, on), reference_of(key, on)
    # A run that is gone has no color, and nothing to draw in one.
    color = on.colors.get(run, RunColor("", ""))
    about: MeshCard = {
        "key": key,
        "tag": name,
        "run": run,
        "light": color.light,
        "dark": color.dark,
        "problems": ("This mesh no longer exists.",) if mesh is None else mesh.problems,
        "vertices": None,
    }
    if mesh is None or mesh.vertices is None:
        return about
    vertices = mesh.vertices
    return {
        **about,
        "looks": looks_of(mesh.config),
        "vertices": {
            "steps": typed(vertices.steps),
            "walls": typed(vertices.wall_times),
            "faces": typed(belonging(vertices, mesh.faces)),
            "colors": typed(belonging(vertices, mesh.colors)),
        },
        "against": None if compare.kind == "off" else against(vertices, reference, compare),
    }


def against(vertices: Series, reference: MeshSeries | None, compare: Compare) -> Reference | Incomparable:
    """Return the point that each is compared with; ``error`` if there is nothing to compare with."""
    if reference is None or reference.vertices is None:
        return {"error": f"Not compared: {compare.run} has no such mesh"}
    other = reference.vertices
    return {
        "run": other.run,
        "same_run": other.run == vertices.run,
        "index": typed(compared_points(vertices, other, compare)),
        "steps": typed(other.steps),
        "walls": typed(other.wall_times),
    }


PANEL = MeshPanel()
