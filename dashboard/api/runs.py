"""``/data/runs``: the names of all runs, as TensorBoard gives them."""

from fastapi import APIRouter

from dashboard.live import Live


def router(live: Live) -> APIRouter:
    """The route, over the latest snapshot."""
    routes = APIRouter(tags=["runs"])

    @routes.get("/data/runs")
    async def runs() -> list[str]:
        """Names of all runs, in order of their first event."""
        return list(live.snapshot().runs)

    return routes
