"""``/data/...``: what TensorBoard reports about itself and about the log directory as a whole."""

from importlib.metadata import version
from typing import Any

from fastapi import APIRouter

from stepscope.dashboard.server.access import HEALTH
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.work import LightRoute
from stepscope.dashboard.tensorboard.other_kinds import other_kinds
from stepscope.dashboard.tensorboard.plugin import TensorboardPlugin
from stepscope.dashboard.tensorboard.registry import PLUGINS


def router(live: Live) -> APIRouter:
    """Return the routes, over the latest snapshot."""
    routes = APIRouter(tags=["core"], route_class=LightRoute)
    own_version = version("stepscope")

    @routes.get(HEALTH)
    async def healthz() -> dict[str, str]:
        """Report that the server is running, for monitoring."""
        return {"status": "ok"}

    @routes.get("/data/logdir")
    async def logdir() -> dict[str, str]:
        """Return the log directory's path."""
        return {"logdir": live.shown_path}

    @routes.get("/data/environment")
    async def environment() -> dict[str, Any]:
        """Return the version of Stepscope, the log directory's path, and the page's title."""
        return {
            "version": own_version,
            "data_location": live.shown_path,
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
        """Return an empty list: a log directory is one experiment, which has no name."""
        return []

    @routes.get("/data/experiment_runs")
    async def experiment_runs() -> list[Any]:
        """Return an empty list, as TensorBoard does; ``/data/runs`` has the runs."""
        return []

    @routes.get("/data/notifications")
    async def notifications() -> dict[str, list[Any]]:
        """Return no notifications: there are none."""
        return {"notifications": []}

    @routes.get("/data/plugins_listing")
    def plugins_listing() -> dict[str, dict[str, Any]]:
        """Return TensorBoard's plugins with routes here, then other distributions' kinds, and whether each has data."""
        snapshot = live.snapshot()
        others = (TensorboardPlugin(name=kind, tab=kind, kinds=(kind,), router=None) for kind in other_kinds())
        return {
            plugin.name: {
                "enabled": plugin.is_active(snapshot),
                "tab_name": plugin.tab,
                "disable_reload": not plugin.reloads,
                "remove_dom": False,
                "loading_mechanism": {"type": "NONE"},
            }
            for plugin in (*PLUGINS, *others)
        }

    return routes
