"""What the Graph panel keeps in the URL."""

from collections.abc import Sequence
from math import isfinite
from typing import Final

from stepscope.dashboard.page.state import Setting, data_choice, flag, names, text

COLORS: Final = ("op", "structure", "device", "xla", "time", "memory", "parameters", "flops")


def _place(raw: Sequence[str]) -> str:
    x, y, zoom = (float(part) for part in raw[-1].split(","))
    if not (isfinite(x) and isfinite(y) and isfinite(zoom) and zoom > 0):
        raise ValueError(f"graph.view is {raw[-1]!r}, expected X,Y,ZOOM")
    return raw[-1]


GRAPH: Final = text("graph.id", "")
"""Id of the open graph; empty for the newest."""
FUNCTION: Final = text("graph.function", "")
"""The function of it that is shown; empty for the graph itself."""
COSTS: Final = text("graph.costs", "")
"""Id of the trace whose times and sizes stand on the nodes; empty for none."""
COMPARE: Final = text("graph.compare", "")
"""Id of the graph that is compared with; empty for none."""
EXPANDED: Final = names("graph.expanded")
"""Ids of the scopes that are open; an empty one alone where all are closed, none at all for what a first look shows."""
ASIDE: Final = names("graph.aside")
"""Ids of nodes set aside by hand."""
BACK: Final = names("graph.back")
"""Ids of nodes brought back although they would be set aside."""
NODE: Final = text("graph.node", "")
"""Id of the selected node; its scopes are opened."""
COLOR: Final = data_choice("graph.color", COLORS)
"""What nodes are colored by."""
SEARCH: Final = text("graph.search", "")
"""What is searched for."""
REGEX: Final = flag("graph.regex", False)
"""Whether that is a regular expression."""
PLACE: Final[Setting[str]] = Setting("graph.view", "", _place, lambda value: (value,))
"""What is visible: the point in the middle and pixels per unit, as ``X,Y,ZOOM``; empty for all of it."""

SETTINGS: Final = (GRAPH, FUNCTION, COSTS, COMPARE, EXPANDED, ASIDE, BACK, NODE, COLOR, SEARCH, REGEX, PLACE)
