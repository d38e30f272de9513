"""The Timeline panel: which trace is open and what of it is visible; the canvas itself lives in ``assets/``."""

from collections.abc import Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from fastapi import APIRouter

from dashboard.controls import off_loop, revision_input, setting_id
from dashboard.icons import icon
from dashboard.live import Live
from dashboard.panels.timeline.api import make_router
from dashboard.state import Setting, View
from dashboard.traces.choices import choices, newest
from dashboard.traces.sources import has_traces, trace_sources
from summary.snapshot import Snapshot


def _text(raw: Sequence[str]) -> str:
    return raw[-1]


def _range(raw: Sequence[str]) -> str:
    start, end = (int(part) for part in raw[-1].split(":"))
    if not start < end:
        raise ValueError(f"timeline.range is {raw[-1]!r}, expected START:END in nanoseconds")
    return raw[-1]


TRACE: Setting[str] = Setting("timeline.trace", "", _text, lambda value: (value,))
"""Id of the open trace; empty for the newest."""
RANGE: Setting[str] = Setting("timeline.range", "", _range, lambda value: (value,))
"""What is visible, as ``START:END`` in nanoseconds since the trace's start; empty for all of it."""


class TimelinePanel:
    """Slices of a trace over time, by process and lane."""

    name = "timeline"
    title = "Timeline"
    icon = "timeline"
    settings = (TRACE, RANGE)

    def has_data(self, snapshot: Snapshot) -> bool:
        return has_traces(snapshot)

    def layout(self, snapshot: Snapshot, view: View) -> Any:
        sources = trace_sources(snapshot)
        trace = TRACE.of(view) or newest(sources)
        return html.Div(
            [
                html.Div(
                    [
                        dmc.Select(
                            id=setting_id(TRACE.name),
                            value=trace,
                            data=choices(sources, trace),
                            searchable=True,
                            allowDeselect=False,
                            nothingFoundMessage="No trace of that name",
                            maxDropdownHeight=420,
                            comboboxProps={"width": "max-content", "position": "bottom-start"},
                            size="xs",
                            className="timeline-choice",
                            **{"aria-label": "Trace"},
                        ),
                        html.Button(
                            [icon("capture", 14), html.Span("Capture")],
                            id="timeline-capture",
                            className="timeline-button timeline-capture",
                            type="button",
                            disabled=True,
                            title="Asking whether something can be recorded",
                            **{"aria-haspopup": "dialog"},
                        ),
                        html.Div(id="timeline-tools", className="timeline-tools"),
                    ],
                    className="timeline-toolbar",
                ),
                html.Div(id="timeline-host", className="timeline-host"),
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
        app.clientside_callback(
            ClientsideFunction("stepscopeCapture", "ready"),
            Output("timeline-capture", "disabled"),
            Output("timeline-capture", "title"),
            Input("timeline-capture", "id"),
        )

        @app.callback(
            Output(setting_id(TRACE.name), "data"),
            revision_input("timeline"),
            # Also what is opened by other means, such as a capture, must be listed to be shown by its name.
            Input(setting_id(TRACE.name), "value"),
            State(setting_id(TRACE.name), "data"),
            prevent_initial_call=True,
        )
        @off_loop
        def update_choices(_revision: int | None, trace: str | None, shown: list[dict[str, Any]]) -> Any:
            """Lists traces that have arrived; which one is open stays as it is."""
            current = choices(trace_sources(live.snapshot()), trace)
            return no_update if current == shown else current

    def router(self, live: Live) -> APIRouter | None:
        return make_router(live)
