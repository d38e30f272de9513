"""Layouts read and written by the page: ``/api/custom_scalars/layout``."""

import hashlib
import time
from pathlib import Path
from threading import Lock
from typing import Annotated, Final, cast

from fastapi import APIRouter, HTTPException, Query
from google.protobuf import json_format

from stepscope.dashboard.page.state import MAX_QUERY, decode
from stepscope.dashboard.panels.custom_scalars.charts import cards, matched_tags
from stepscope.dashboard.panels.custom_scalars.messages import LayoutAnswer, Matches, SavedLayout, SentLayout
from stepscope.dashboard.runs.table import RunTable
from stepscope.dashboard.server.bodies import JsonBody, parsed_message
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.parameters import MAX_NAME
from stepscope.dashboard.server.work import LightRoute
from stepscope.dashboard.tensorboard.custom_scalars import layout_of, merged_layout
from stepscope.summary.errors import reason_of
from stepscope.summary.event_file_writer import EventFileWriter
from stepscope.summary.kinds.custom_scalars import custom_scalars
from stepscope.summary.proto.custom_scalars_pb2 import Layout
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.safe_regex import LONGEST_PATTERN, PatternError
from stepscope.summary.series import SCALARS
from stepscope.summary.snapshot import Snapshot

MOST_MATCHES: Final = 50
FILE_SUFFIX: Final = ".layout"
OWN_RUN: Final = "."
"""The run that is the log directory itself, whose layout the editor writes."""
LARGEST_LAYOUT: Final = 1 << 20
"""Maximum size of the JSON in bytes."""
MOST_LAYOUTS: Final = 100
"""Maximum number of files that a server writes: a person rarely saves more often, but a script could fill the disk."""


class SavedLayouts:
    """Writes layouts into the log directory: at most `MOST_LAYOUTS` files, and no layout twice in a row."""

    def __init__(self) -> None:
        self._lock: Final = Lock()
        self._last: Layout | None = None
        self._file = Path()
        self._files = 0

    def version(self, snapshot: Snapshot) -> str:
        """Return a text that changes when the log directory gets another layout, even before it has been read."""
        own = layout_of(snapshot, OWN_RUN)
        content = b"" if own is None else own.SerializeToString(deterministic=True)
        return f"{self._files}-{hashlib.sha256(content).hexdigest()[:16]}"

    def save(self, folder: Path, layout: Layout, snapshot: Snapshot, version: str | None) -> bool:
        """Write a layout, unless it equals the last one saved, or another one was saved after ``version``.

        Returns:
            Whether it is the layout of the log directory now.

        Raises:
            HTTPException: 409 if it cannot be written, 429 if too many were written.
        """
        with self._lock:
            if layout == self._last and self._file.exists():
                return True
            if version is not None and version != self.version(snapshot):
                return False
            if self._files >= MOST_LAYOUTS:
                raise HTTPException(
                    429,
                    f"This dashboard has written {MOST_LAYOUTS} layouts since it was started. Download this one, or "
                    f"restart the dashboard. Files *{FILE_SUFFIX} in {folder} that you do not need can be removed.",
                )
            try:
                self._file = write_layout(folder, layout)
            except OSError as error:
                raise HTTPException(409, f"The layout cannot be written to {folder}: {reason_of(error)}.") from None
            self._last = layout
            self._files += 1
            return True


def layout_routes(live: Live) -> APIRouter:
    """Return the editor's routes."""
    routes = APIRouter(route_class=LightRoute)
    saved = SavedLayouts()

    @routes.get("/layout")
    def layout() -> LayoutAnswer:
        """Return the merged layouts of all runs, and where a new one would be written; "" if none can be."""
        snapshot = live.snapshot()
        merged = merged_layout(snapshot) or Layout()
        return {
            "layout": cast(SentLayout, json_format.MessageToDict(merged)),
            "folder": str(live.folder() or ""),
            "version": saved.version(snapshot),
        }

    @routes.post("/layout")
    def save(body: JsonBody, version: Annotated[str | None, Query(max_length=MAX_NAME)] = None) -> SavedLayout:
        """Write a layout into the log directory as a separate event file, which TensorBoard reads too.

        With the ``version`` that it was made from, only if no other one was saved since then.
        """
        folder = live.folder()
        if folder is None:
            raise HTTPException(
                409, "Cannot save: the log directory is not a single local folder. Download the Python code instead."
            )
        if len(body) > LARGEST_LAYOUT:
            raise HTTPException(413, f"A layout is at most {LARGEST_LAYOUT:,} bytes long.")
        sent, snapshot = parsed_message(body, Layout()), live.snapshot()
        is_saved = saved.save(folder, sent, snapshot, version)
        kept = {card.key for card in cards(sent)}
        declared = cards(merged_layout(snapshot, without=OWN_RUN))
        return {
            "folder": str(folder),
            "saved": is_saved,
            "version": saved.version(snapshot),
            "stays": [card.title for card in declared if card.key not in kept],
        }

    @routes.get("/matches")
    def matches(
        pattern: Annotated[str, Query(max_length=LONGEST_PATTERN)],
        view: Annotated[str, Query(max_length=MAX_QUERY)] = "",
    ) -> Matches:
        """Return the scalar tags of the shown runs that an expression matches."""
        snapshot = live.snapshot()
        tags = RunTable(snapshot, decode(view)).shown_tags(SCALARS)
        try:
            found = matched_tags(pattern, tags) if pattern else []
        except PatternError as error:
            return {"count": 0, "tags": [], "error": str(error)}
        return {"count": len(found), "tags": found[:MOST_MATCHES], "error": ""}

    return routes


def write_layout(folder: Path, layout: Layout) -> Path:
    """Write an event file with the layout and return its path; raises OSError."""
    writer = EventFileWriter(folder, filename_suffix=FILE_SUFFIX)
    writer.add_event(Event(wall_time=time.time(), summary=Summary(value=[custom_scalars(layout)])))
    writer.close()
    return folder / writer.file_names[0]
