"""How graphs are offered to choose from."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from stepscope.dashboard.graphs.sources import GraphSource
from stepscope.summary.event_file import RUN_GRAPH_TAG


def first_graph(sources: Sequence[GraphSource]) -> str | None:
    """Return id of the graph that is shown when none is asked for, None where there is none.

    That is the model of layers or the graph of operations of the first run that has one; a run that has both, as Keras
    writes them, shows the model: its operations are those of functions that nobody wrote.
    """
    drawn = [source for source in sources if source.kind != "profile"] or list(sources)
    of_run = [source for source in drawn if source.run == drawn[0].run]
    return next((source.id for source in of_run if source.kind == "keras"), of_run[0].id if of_run else None)


def graph_choices(sources: Sequence[GraphSource], chosen: str | None) -> list[dict[str, Any]]:
    """Return the graphs as options grouped by run; one that is open but gone is kept, and said to be gone."""
    groups: list[dict[str, Any]] = [
        {"group": title, "items": [{"value": source.id, "label": _label(source)} for source in listed]}
        for title, listed in groupby(sources, key=lambda source: source.run_title)
    ]
    if chosen and all(source.id != chosen for source in sources):
        groups.append({"group": "Removed", "items": [{"value": chosen, "label": chosen}]})
    return groups


def compared_choices(sources: Sequence[GraphSource], chosen: str | None) -> list[dict[str, Any]]:
    """As `graph_choices`, with none at all as the first."""
    return [{"value": "", "label": "No comparison"}, *graph_choices(sources, chosen)]


def _label(source: GraphSource) -> str:
    """Return the run again, as what is chosen stands without its group; a run's own graph needs no other name."""
    if source.tag == RUN_GRAPH_TAG:
        return source.run_title
    return f"{source.run_title} · {source.label}"
