"""URL parameters of the Graph panel."""

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
"""The shown function of the graph; empty for the graph itself."""
COSTS: Final = text("graph.costs", "")
"""Id of the trace whose times and sizes are shown on the nodes; empty for none."""
COMPARE: Final = text("graph.compare", "")
"""Id of the graph to compare with; empty for none."""
EXPANDED: Final = names("graph.expanded")
"""Ids of the expanded scopes; a single empty id if all are collapsed, none at all for the initial view."""
ASIDE: Final = names("graph.aside")
"""Ids of nodes set aside by hand."""
BACK: Final = names("graph.back")
"""Ids of nodes brought back that would otherwise be set aside."""
NODE: Final = text("graph.node", "")
"""Id of the selected node; its scopes are expanded."""
COLOR: Final = data_choice("graph.color", COLORS)
"""Property that determines the colors of nodes."""
SEARCH: Final = text("graph.search", "")
"""The search text."""
REGEX: Final = flag("graph.regex", False)
"""Whether the search text is a regular expression."""
PLACE: Final[Setting[str]] = Setting("graph.view", "", _place, lambda value: (value,))
"""Visible part: the point in the middle and pixels per unit, as ``X,Y,ZOOM``; empty for the whole graph."""

SETTINGS: Final = (GRAPH, FUNCTION, COSTS, COMPARE, EXPANDED, ASIDE, BACK, NODE, COLOR, SEARCH, REGEX, PLACE)
