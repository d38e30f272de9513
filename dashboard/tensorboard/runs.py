"""``/data/runs``: the names of all runs, as TensorBoard gives them."""

from fastapi import APIRouter

from stepscope.dashboard.server.live import Live


def router(live: Live) -> APIRouter:
    """Return the route, over the latest snapshot."""
    routes = APIRouter(tags=["runs"])

    @routes.get("/data/runs")
    async def runs() -> list[str]:
        """Return the names of all runs, in order of their first event.

        Runs without events, because their files are empty, come last.
        """
        snapshot = live.snapshot()
        empty = sorted({file.run for file in snapshot.health if not file.is_folder})
        return list(dict.fromkeys([*snapshot.runs, *empty]))

    return routes
