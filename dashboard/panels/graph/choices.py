"""The choices of graphs."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from stepscope.dashboard.graphs.sources import GraphSource
from stepscope.summary.event_file import RUN_GRAPH_TAG


def first_graph(sources: Sequence[GraphSource]) -> str | None:
    """Return the id of the graph that is shown by default; None if there is none.

    This is the graph of the first run that has one. A model of layers takes precedence over the operations of traced
    functions, in the same run or in another: those are generated functions, shown side by side.
    """
    drawn = [source for source in sources if source.kind != "profile"] or list(sources)
    if not drawn:
        return None
    of_run = [source for source in drawn if source.run == drawn[0].run]
    is_function = drawn[0].tag != RUN_GRAPH_TAG
    models = (source.id for source in (drawn if is_function else of_run) if source.kind == "keras")
    return next(models, drawn[0].id)


def graph_choices(sources: Sequence[GraphSource], chosen: str | None) -> list[dict[str, Any]]:
    """Return the graphs as options grouped by run; an open graph that is gone is kept and marked as removed."""
    groups: list[dict[str, Any]] = [
        {"group": title, "items": [{"value": source.id, "label": _label(source)} for source in listed]}
        for title, listed in groupby(sources, key=lambda source: source.run_title)
    ]
    if chosen and all(source.id != chosen for source in sources):
        groups.append({"group": "Removed", "items": [{"value": chosen, "label": chosen}]})
    return groups


def compared_choices(sources: Sequence[GraphSource], chosen: str | None) -> list[dict[str, Any]]:
    """Return the options of `graph_choices`, preceded by no comparison."""
    return [{"value": "", "label": "No comparison"}, *graph_choices(sources, chosen)]


def _label(source: GraphSource) -> str:
    """Return a label with the run, as a selected option appears without its group; a run's own graph needs no more."""
    if source.tag == RUN_GRAPH_TAG:
        return source.run_title
    return f"{source.run_title} · {source.label}"
