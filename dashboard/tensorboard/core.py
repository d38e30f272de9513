"""``/data/...``: what TensorBoard says of itself and of the log directory as a whole."""

from importlib.metadata import version
from typing import Any, Final

from fastapi import APIRouter

from stepscope.dashboard.server.access import HEALTH
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.work import LightRoute
from stepscope.summary.kinds import (
    audio,
    custom_scalars,
    graph,
    histogram,
    hparams,
    image,
    mesh,
    pr_curve,
    run_metadata,
    text,
)
from stepscope.summary.projector import projector_runs
from stepscope.summary.series import SCALARS
from stepscope.summary.snapshot import Snapshot

_GRAPH_KINDS: Final = (
    graph.PLUGIN_NAME,
    graph.KERAS_PLUGIN_NAME,
    graph.FUNCTIONS_PLUGIN_NAME,
    run_metadata.PLUGIN_NAME,
    run_metadata.TAGGED_PLUGIN_NAME,
)
_PLUGINS: Final = (
    ("timeseries", "Time Series", (SCALARS, histogram.PLUGIN_NAME, image.PLUGIN_NAME)),
    ("scalars", "scalars", (SCALARS,)),
    ("custom_scalars", "Custom Scalars", (custom_scalars.PLUGIN_NAME,)),
    ("images", "images", (image.PLUGIN_NAME,)),
    ("audio", "audio", (audio.PLUGIN_NAME,)),
    ("graphs", "graphs", _GRAPH_KINDS),
    ("distributions", "distributions", (histogram.PLUGIN_NAME,)),
    ("histograms", "histograms", (histogram.PLUGIN_NAME,)),
    ("text", "text", (text.PLUGIN_NAME,)),
    ("pr_curves", "PR Curves", (pr_curve.PLUGIN_NAME,)),
    ("hparams", "hparams", (hparams.PLUGIN_NAME,)),
    ("mesh", "mesh", (mesh.PLUGIN_NAME,)),
    ("projector", "projector", ()),
)
"""TensorBoard's name and tab of each plugin, and the kinds that make it active."""


def is_active(plugin: str, kinds: tuple[str, ...], snapshot: Snapshot) -> bool:
    """Return whether some run has data for a plugin."""
    if plugin == "projector":
        return any(found.config.embeddings for found in projector_runs(snapshot).values())
    return not snapshot.kinds.isdisjoint(kinds)


def router(live: Live) -> APIRouter:
    """Return the routes, over the latest snapshot."""
    routes = APIRouter(tags=["core"], route_class=LightRoute)
    own_version = version("stepscope")

    @routes.get(HEALTH)
    async def healthz() -> dict[str, str]:
        """Say that the server runs, to whoever looks after it."""
        return {"status": "ok"}

    @routes.get("/data/logdir")
    async def logdir() -> dict[str, str]:
        """Return the log directory's path."""
        return {"logdir": live.path}

    @routes.get("/data/environment")
    async def environment() -> dict[str, Any]:
        """Return version of Stepscope, the log directory's path and the page's title."""
        return {
            "version": own_version,
            "data_location": live.path,
            "window_title": live.title,
            "experiment_name": "",
            "experiment_description": "",
            "creation_time": 0,
        }

    @routes.get("/data/window_properties")
    async def window_properties() -> dict[str, str]:
        """Return the page's title."""
        return {"window_title": live.title}

    @routes.get("/data/experiments")
    async def experiments() -> list[Any]:
        """Answer nothing: a log directory is one experiment, which has no name."""
        return []

    @routes.get("/data/experiment_runs")
    async def experiment_runs() -> list[Any]:
        """Answer nothing, as TensorBoard does; ``/data/runs`` has the runs."""
        return []

    @routes.get("/data/notifications")
    async def notifications() -> dict[str, list[Any]]:
        """Answer nothing: there are none."""
        return {"notifications": []}

    @routes.get("/data/plugins_listing")
    def plugins_listing() -> dict[str, dict[str, Any]]:
        """TensorBoard's plugins of which there are routes here, and whether the log directory has data for them."""
        snapshot = live.snapshot()
        return {
            name: {
                "enabled": is_active(name, kinds, snapshot),
                "tab_name": tab,
                "disable_reload": name in ("graphs", "projector"),
                "remove_dom": False,
                "loading_mechanism": {"type": "NONE"},
            }
            for name, tab, kinds in _PLUGINS
        }

    return routes
