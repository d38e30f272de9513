"""How traces are offered to choose from."""

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

import dash_mantine_components as dmc

from dashboard.page.controls import long_select
from dashboard.page.state import Setting, View
from dashboard.server.numbers import file_size
from dashboard.traces.sources import TraceSource, trace_sources
from summary.snapshot import Snapshot

_RECORDED: Final = re.compile(r"plugins/profile/(\d{4})_(\d\d)_(\d\d)_(\d\d)_(\d\d)_(\d\d)/[^/]*$")
"""Where profilers put the traces of one recording, each named after its host."""


def newest(sources: Sequence[TraceSource]) -> str | None:
    """Id of the trace written last."""
    return max(sources, key=lambda s: (s.modified, s.step or 0)).id if sources else None


def choices(sources: Sequence[TraceSource], chosen: str | None) -> list[dict[str, Any]]:
    """The traces as options grouped by run; one that is open but gone is kept, and said to be gone."""
    groups: list[dict[str, Any]] = [
        {"group": run, "items": [{"value": s.id, "label": _label(s)} for s in listed]}
        for run, listed in groupby(sources, key=lambda s: s.run)
    ]
    if chosen and all(s.id != chosen for s in sources):
        groups.append({"group": "No longer there", "items": [{"value": chosen, "label": chosen}]})
    return groups


def trace_select(setting: Setting[str], snapshot: Snapshot, view: View, class_name: str) -> dmc.Select:
    """The list of traces to choose from; the newest is chosen where the view names none."""
    sources = trace_sources(snapshot)
    trace = setting.of(view) or newest(sources)
    return long_select(setting, trace, choices(sources, trace), "Trace", class_name, nothing="No trace of that name")


def _label(source: TraceSource) -> str:
    if source.size is None:
        return f"{source.run} · {source.label}"
    date = _RECORDED.search(source.id)
    when = f"{'-'.join(date.groups()[:3])} {':'.join(date.groups()[3:])} · " if date else ""
    return f"{source.run} · {when}{source.label} · {file_size(source.size)}"
