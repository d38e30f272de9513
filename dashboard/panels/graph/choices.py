"""How graphs are offered to choose from."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from stepscope.dashboard.graphs.sources import GraphSource
from stepscope.summary.event_file import RUN_GRAPH_TAG


def first_graph(sources: Sequence[GraphSource]) -> str | None:
    """Return id of the graph that is shown when none is asked for, None where there is none.

    That is the graph of the first run that has one. A model of layers goes before the operations of functions that
    were traced, of the same run or of another: these are of functions that nobody wrote, beside each other.
    """
    drawn = [source for source in sources if source.kind != "profile"] or list(sources)
    if not drawn:
        return None
    of_run = [source for source in drawn if source.run == drawn[0].run]
    is_function = drawn[0].tag != RUN_GRAPH_TAG
    models = (source.id for source in (drawn if is_function else of_run) if source.kind == "keras")
    return next(models, drawn[0].id)


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
