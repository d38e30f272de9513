"""``/api/health``: the table of files and the skipped parts as CSV."""

from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Query

from stepscope.dashboard.export.tables import csv_lines
from stepscope.dashboard.page.state import pattern_error
from stepscope.dashboard.panels.health.report import (
    DAMAGE_COLUMNS,
    FILE_COLUMNS,
    damage_csv_rows,
    file_csv_rows,
    worst_first,
)
from stepscope.dashboard.panels.health.selection import chosen_files
from stepscope.dashboard.server.headers import attachment
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.parameters import MAX_NAME
from stepscope.dashboard.server.work import LightRoute, Pieces

Text = Annotated[str, Query(max_length=MAX_NAME)]


def make_router(live: Live) -> APIRouter:
    """Return the panel's routes for the latest snapshot."""
    routes = APIRouter(route_class=LightRoute)

    @routes.get("/{table}.csv")
    def table_as_csv(
        table: Literal["files", "damages"],
        show: Literal["all", "bad"] = "all",
        filter: Text = "",
        file: Text = "",
    ) -> Pieces:
        """Return all event files, or the parts that were skipped in them, as CSV.

        ``show=bad`` keeps only files with losses; ``filter`` is a regular expression to search for in their paths;
        ``file`` is the path of a single file.
        """
        snapshot = live.snapshot()
        error = pattern_error(filter, [found.path for found in snapshot.health])
        if error:
            raise HTTPException(422, f"Not a valid regular expression: {error}.")
        found = worst_first(chosen_files(snapshot, show, filter))
        if file:
            found = [health for health in found if health.path == file]
            if not found:
                raise HTTPException(404, f"There is no event file {file!r}.")
        if table == "files":
            lines = csv_lines(list(FILE_COLUMNS), file_csv_rows(found))
        else:
            lines = csv_lines(list(DAMAGE_COLUMNS), damage_csv_rows(found))
        return Pieces(lines, media_type="text/csv", headers=attachment(f"event_{table}", "csv"))

    return routes
