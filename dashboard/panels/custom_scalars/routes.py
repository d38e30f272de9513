"""Layouts read and written by the page: ``/api/custom_scalars/layout``."""

from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import APIRouter, HTTPException, Query, Request
from google.protobuf import json_format

from dashboard.api.bodies import Body
from dashboard.api.custom_scalars import merged_layout
from dashboard.live import Live
from dashboard.panels.custom_scalars.charts import matched_tags
from dashboard.runs.table import RunTable
from dashboard.state import MAX_QUERY, decode
from summary import SummaryWriter
from summary.kinds.custom_scalars import custom_scalars
from summary.patterns import LONGEST_PATTERN, PatternError
from summary.proto.custom_scalars_pb2 import Layout
from summary.proto.summary_pb2 import Summary
from summary.snapshot import SCALARS

MOST_MATCHES: Final = 50
FILE_SUFFIX: Final = ".layout"


def layout_routes(live: Live) -> APIRouter:
    """The editor's routes."""
    routes = APIRouter()

    @routes.get("/layout")
    def layout() -> dict[str, Any]:
        """The layouts of all runs as one, and where another one would be written; "" where none can."""
        merged = merged_layout(live.snapshot()) or Layout()
        return {"layout": json_format.MessageToDict(merged), "folder": str(writable_folder(live) or "")}

    @routes.post("/layout")
    def save(request: Request, body: Body) -> dict[str, str]:
        """Writes a layout into the log directory, as an event file of its own; TensorBoard reads it too."""
        # A page of another origin cannot send this type without asking first, which is refused.
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            raise HTTPException(415, "Expected a layout as application/json.")
        folder = writable_folder(live)
        if folder is None:
            raise HTTPException(409, "The log directory is no single local folder. Download the layout instead.")
        try:
            wanted = json_format.Parse(body, Layout())
        except json_format.ParseError as error:
            raise HTTPException(400, f"Expected a layout: {error}.") from None
        try:
            write_layout(folder, wanted)
        except OSError as error:
            raise HTTPException(409, f"The layout cannot be written to {folder}: {error.strerror}.") from None
        return {"folder": str(folder)}

    @routes.get("/matches")
    def matches(
        pattern: Annotated[str, Query(max_length=LONGEST_PATTERN)],
        view: Annotated[str, Query(max_length=MAX_QUERY)] = "",
    ) -> dict[str, Any]:
        """Scalar tags of the shown runs that an expression matches: how many, the first of them, what is wrong."""
        snapshot = live.snapshot()
        shown = RunTable(snapshot, decode(view)).shown
        tags = list(dict.fromkeys(s.tag for run in shown for s in snapshot.runs[run].of_kind(SCALARS)))
        try:
            found = matched_tags(pattern, tags) if pattern else []
        except PatternError as error:
            return {"count": 0, "tags": [], "error": str(error)}
        return {"count": len(found), "tags": found[:MOST_MATCHES], "error": ""}

    return routes


def writable_folder(live: Live) -> Path | None:
    """The folder of the log directory, where it is one on this machine."""
    folder = Path(live.path)
    return folder if folder.is_absolute() and folder.is_dir() else None


def write_layout(folder: Path, layout: Layout) -> None:
    """Writes an event file with the layout. Raises OSError."""
    with SummaryWriter(str(folder), filename_suffix=FILE_SUFFIX) as writer:
        writer.add_summary(Summary(value=[custom_scalars(layout)]))
