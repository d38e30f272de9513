"""The Timeline panel: which trace is open and which part is visible; the canvas itself is in ``web/``."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, get_args

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from fastapi import APIRouter

from stepscope.dashboard.page.controls import revision_input, setting_id
from stepscope.dashboard.page.icons import icon
from stepscope.dashboard.page.state import Setting, View, data_choice, names, text
from stepscope.dashboard.panels.base import Panel
from stepscope.dashboard.panels.timeline.api import make_router
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.work import light
from stepscope.dashboard.traces.choices import choices, open_button, trace_select
from stepscope.dashboard.traces.drop_route import UPLOADS
from stepscope.dashboard.traces.folders import TRACE_PATTERNS, TRACE_RECOGNIZER
from stepscope.dashboard.traces.sources import has_traces, trace_sources
from stepscope.profiler.lod import Match
from stepscope.summary.snapshot import Snapshot

PERFETTO: Final = "https://ui.perfetto.dev"
"""Site where a trace is opened at the user's request; nothing is loaded from there otherwise."""
COLORS: Final = ("name", "category", "step", "duration", "occupancy", "difference")
ALIGNMENTS: Final = ("start", "step", "clock", "collectives")


def _index(raw: Sequence[str]) -> str:
    if not raw[-1].isascii() or not raw[-1].isdigit():
        raise ValueError(f"timeline.slice is {raw[-1]!r}, expected a slice's number")
    return raw[-1]


def _range(raw: Sequence[str]) -> str:
    start, end = (int(part) for part in raw[-1].split(":"))
    if not start < end:
        raise ValueError(f"timeline.range is {raw[-1]!r}, expected START:END in nanoseconds")
    return raw[-1]


def _area(raw: Sequence[str]) -> str:
    times, _, bands = raw[-1].partition("~")
    _range([times])
    if bands and not re.fullmatch(r"[\w/.,-]{1,4000}", bands):
        raise ValueError(f"timeline.area is {raw[-1]!r}, expected START:END, or START:END~LANE,LANE")
    return raw[-1]


TRACE: Setting[str] = text("timeline.trace", "")
"""Id of the open trace; empty for the newest."""
RANGE: Setting[str] = Setting("timeline.range", "", _range, lambda value: (value,))
"""The visible range, as ``START:END`` in nanoseconds since the trace's start; empty for all of it."""
AREA: Setting[str] = Setting("timeline.area", "", _area, lambda value: (value,))
"""The area to sum up: ``START:END`` in nanoseconds, followed by ``~`` and its lanes if these are not all."""
SLICE: Setting[str] = Setting("timeline.slice", "", _index, lambda value: (value,))
"""Index of the selected slice in the trace; empty for none."""
SEARCH: Setting[str] = text("timeline.search", "")
"""The search text."""
MATCH: Setting[str] = data_choice("timeline.match", get_args(Match))
"""How names are matched; see `stepscope.profiler.lod.search`."""
COLOR: Setting[str] = replace(data_choice("timeline.color", COLORS), former_names=("timeline.colour",))
"""What slices are colored by."""
COMPARE: Setting[tuple[str, ...]] = names("timeline.compare")
"""Ids of the traces that are shown below the first one."""
ALIGN: Setting[str] = data_choice("timeline.align", ALIGNMENTS)
"""How several traces are aligned."""
OVERLAYS: Setting[tuple[str, ...]] = names("timeline.overlay")
"""Overlays on the slices: "critical" for the critical path, "idle" for the causes of idle streams."""
LANES: Setting[str] = text("timeline.lanes", "")
"""Which lanes are shown: a regular expression on their full names."""


class TimelinePanel(Panel):
    """Slices of a trace over time, by process and lane."""

    name = "timeline"
    title = "Timeline"
    follows_runs = False
    kinds = (
        "graph_run_metadata",
        "graph_tagged_run_metadata",
    )
    companions = TRACE_PATTERNS
    recognizers = (TRACE_RECOGNIZER,)
    uploads = UPLOADS
    settings = (TRACE, RANGE, AREA, SLICE, SEARCH, MATCH, COLOR, COMPARE, ALIGN, OVERLAYS, LANES)

    def has_data(self, snapshot: Snapshot) -> bool:
        return has_traces(snapshot)

    def layout(self, snapshot: Snapshot, view: View) -> Any:
        return html.Div(
            [
                html.Div(
                    [
                        trace_select(TRACE, snapshot, view, "timeline-choice"),
                        open_button("timeline-button"),
                        html.Button(
                            [icon("capture", 14), html.Span("Capture")],
                            id="timeline-capture",
                            className="timeline-button timeline-capture",
                            type="button",
                            disabled=True,
                            title="Checking whether a program can be recorded",
                            **{"aria-haspopup": "dialog"},
                        ),
                        html.Div(id="timeline-tools", className="timeline-tools"),
                    ],
                    className="timeline-toolbar",
                ),
                html.Div(id="timeline-host", className="timeline-host", **{"data-perfetto": PERFETTO}),
                dcc.Store(id="timeline-opened"),
            ],
            className="panel timeline-panel",
        )

    def register(self, app: Dash, live: Live) -> None:
        app.clientside_callback(
            ClientsideFunction("stepscopeTimeline", "open"),
            Output("timeline-opened", "data"),
            Input(setting_id(TRACE.name), "value"),
        )
        # A trace that could not be shown may exist by now.
        app.clientside_callback(
            ClientsideFunction("stepscopeTimeline", "listed"),
            Output("timeline-opened", "id"),
            Input(setting_id(TRACE.name), "data"),
            prevent_initial_call=True,
        )
        app.clientside_callback(
            ClientsideFunction("stepscopeCapture", "ready"),
            Output("timeline-capture", "disabled"),
            Output("timeline-capture", "title"),
            Input("timeline-capture", "id"),
        )

        @app.callback(
            Output(setting_id(TRACE.name), "data"),
            revision_input("timeline"),
            # A trace opened by other means, such as a capture, must also be listed to be shown by its name.
            Input(setting_id(TRACE.name), "value"),
            State(setting_id(TRACE.name), "data"),
            prevent_initial_call=True,
        )
        @light
        def update_choices(_revision: int | None, trace: str | None, shown: list[dict[str, Any]]) -> Any:
            """List traces that have arrived; the open one stays open."""
            current = choices(trace_sources(live.snapshot()), trace)
            return no_update if current == shown else current

    def router(self, live: Live) -> APIRouter | None:
        return make_router(live)


PANEL = TimelinePanel()
