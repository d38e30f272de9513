"""How graphs are offered to choose from."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

from dashboard.graphs.sources import GraphSource
from summary.event_file import RUN_GRAPH_TAG

ROOT: Final = "."
"""The run that is the log directory itself."""


def first_graph(sources: Sequence[GraphSource]) -> str | None:
    """Id of the graph that is shown when none is asked for: the first of operations, or of anything."""
    return next((source.id for source in sources if source.kind == "op"), sources[0].id if sources else None)


def graph_choices(sources: Sequence[GraphSource], chosen: str | None) -> list[dict[str, Any]]:
    """The graphs as options grouped by run; one that is open but gone is kept, and said to be gone."""
    groups: list[dict[str, Any]] = [
        {"group": _run_label(run), "items": [{"value": source.id, "label": _label(source)} for source in listed]}
        for run, listed in groupby(sources, key=lambda source: source.run)
    ]
    if chosen and all(source.id != chosen for source in sources):
        groups.append({"group": "No longer there", "items": [{"value": chosen, "label": chosen}]})
    return groups


def compared_choices(sources: Sequence[GraphSource], chosen: str | None) -> list[dict[str, Any]]:
    """As `graph_choices`, with none at all as the first."""
    return [{"value": "", "label": "No comparison"}, *graph_choices(sources, chosen)]


def _run_label(run: str) -> str:
    return f"{ROOT} (the log directory)" if run == ROOT else run


def _label(source: GraphSource) -> str:
    """The run again, as what is chosen stands without its group; a run's own graph needs no other name."""
    if source.tag == RUN_GRAPH_TAG:
        return source.label if source.run == ROOT else source.run
    return source.label if source.run == ROOT else f"{source.run} · {source.label}"
