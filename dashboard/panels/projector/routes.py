"""All routes of the Projector, mounted under ``/api/projector``."""

from fastapi import APIRouter

from stepscope.dashboard.panels.projector import routes_data, routes_files, routes_jobs
from stepscope.dashboard.server.late_routes import join
from stepscope.dashboard.server.live import Live


def make_router(live: Live) -> APIRouter:
    """Return the routes for the log directory that ``live`` follows."""
    router = APIRouter()
    for module in (routes_data, routes_jobs, routes_files):
        join(router, module.make_router(live))
    return router
