"""How traces are offered for selection."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import dash_mantine_components as dmc
from dash import html

from stepscope.dashboard.page.controls import long_select
from stepscope.dashboard.page.icons import icon
from stepscope.dashboard.page.state import Setting, View
from stepscope.dashboard.server.numbers import file_size
from stepscope.dashboard.traces.sources import TraceSource, recording_date, trace_sources
from stepscope.summary.snapshot import Snapshot


def newest(sources: Sequence[TraceSource]) -> str | None:
    """Return the id of the trace recorded last.

    A dropped trace, which some user wanted to see, is returned only if there is no other.
    """
    return max(sources, key=lambda s: (s.kind != "dropped", s.recorded, s.step or 0)).id if sources else None


def choices(sources: Sequence[TraceSource], chosen: str | None) -> list[dict[str, Any]]:
    """Return the traces as options grouped by run; one that is open but gone is kept and marked as gone."""
    groups: list[dict[str, Any]] = [
        {"group": title, "items": [{"value": s.id, "label": _label(s)} for s in listed]}
        for title, listed in groupby(sources, key=lambda s: s.run_title)
    ]
    if chosen and all(s.id != chosen for s in sources):
        groups.append({"group": "Removed", "items": [{"value": chosen, "label": chosen}]})
    return groups


def trace_select(setting: Setting[str], snapshot: Snapshot, view: View, class_name: str) -> dmc.Select:
    """Return the list of traces to choose from; the newest is selected if the view names none."""
    sources = trace_sources(snapshot)
    trace = setting.of(view) or newest(sources)
    return long_select(setting, trace, choices(sources, trace), "Trace", class_name, nothing="No matches")


def open_button(class_name: str) -> html.Button:
    """Return the button that opens a trace from the user's own files; ``web/page/open_trace.ts`` listens."""
    return html.Button(
        [icon("open", 14), html.Span("Open")],
        className=f"{class_name} open-trace",
        type="button",
        title="Open a trace from a file; it can also be dropped on the page",
        **{"aria-label": "Open a trace from a file"},
    )


def _label(source: TraceSource) -> str:
    if source.size is None:
        return f"{source.run_title} · {source.label}"
    date = recording_date(source.id)
    when = f"{date.isoformat(' ')} · " if date else ""
    return f"{source.run_title} · {when}{source.label} · {file_size(source.size)}"
