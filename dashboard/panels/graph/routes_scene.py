"""The route for the visible part of a graph with its layout, mounted under ``/api/graph``."""

import re
from math import isfinite
from typing import Annotated, Any, Final

from fastapi import APIRouter, HTTPException, Query, Request, Response

from stepscope.dashboard.graphs.layout import Box, Placed, place
from stepscope.dashboard.graphs.levels import LayoutCache
from stepscope.dashboard.graphs.measures import MEASURES
from stepscope.dashboard.graphs.scene import Scene, first_look, scene_of
from stepscope.dashboard.graphs.tree import Tree
from stepscope.dashboard.panels.graph.requests import LONGEST, FunctionName, GraphId, GraphRequests
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.sentence_routes import SentenceRoute, json_answer

MOST_PATHS: Final = 5_000
"""Maximum number of paths in each list of a request."""
MOST_VISIBLE: Final = 20_000
"""Maximum number of nodes of a scene."""
FARTHEST: Final = 1e9
"""Largest accepted coordinate of an anchor, in pixels."""
_ANCHOR: Final = re.compile(r"(.+),(-?[0-9.]{1,20}(?:e[+-]?[0-9]{1,3})?),(-?[0-9.]{1,20}(?:e[+-]?[0-9]{1,3})?)", re.S)

Paths = Annotated[list[str], Query(max_length=MOST_PATHS, description="Paths of entries, one parameter each.")]
Anchor = Annotated[
    str | None,
    Query(max_length=LONGEST + 64, description="PATH,X,Y: the scene is moved so that this entry's corner is there."),
]


def make_router(live: Live) -> APIRouter:
    """Return the route for the log directory that ``live`` follows."""
    router = APIRouter(tags=["graph"], route_class=SentenceRoute)
    requested = GraphRequests(live)
    cache = live.shared(LayoutCache)

    @router.get("/scene")
    def scene(
        request: Request,
        graph_id: GraphId,
        function: FunctionName = None,
        expanded: Paths = [],  # noqa: B006 - FastAPI copies it
        first: bool = False,
        aside: Paths = [],  # noqa: B006
        back: Paths = [],  # noqa: B006
        anchor: Anchor = None,
    ) -> Response:
        """Return what is visible when some groups are open, with positions, edge lines and totals of the whole graph.

        With ``first``, return the initial view: a small graph expanded, or the top level of a large one.
        Unknown paths are ignored, so that a link stays valid after small changes to the graph.
        """
        where = _anchor_of(anchor)
        tree = requested.tree(graph_id, function)
        opened = first_look(tree) if first else frozenset(expanded)
        found = scene_of(tree, opened, frozenset(aside), frozenset(back))
        if len(found.nodes) > MOST_VISIBLE:
            raise HTTPException(
                422,
                f"{len(found.nodes):,} nodes would be visible, at most {MOST_VISIBLE:,} can be. Expand fewer scopes.",
            )
        placed = place(found, cache=cache)
        return json_answer(request, scene_json(tree, found, placed, where))

    return router


def _anchor_of(text: str | None) -> tuple[str, float, float] | None:
    if text is None:
        return None
    if found := _ANCHOR.fullmatch(text):
        try:
            x, y = float(found[2]), float(found[3])
        except ValueError:
            x = y = FARTHEST
        if max(abs(x), abs(y)) < FARTHEST:
            return found[1], x, y
    raise HTTPException(422, f"Parameter 'anchor' must be PATH,X,Y with two numbers of pixels, but is {text!r}.")


def scene_json(
    tree: Tree, scene: Scene, placed: Placed, anchor: tuple[str, float, float] | None = None
) -> dict[str, Any]:
    """Return a scene with its layout, as sent to the browser.

    Args:
        tree: The graph, for totals and problems.
        scene: The visible part of the graph.
        placed: The layout of the scene.
        anchor: A node and the position for its upper left corner; if not found, nothing is moved.
    """
    x, y = _shift(placed, anchor)
    return {
        "key": placed.key,
        "x": x,
        "y": y,
        "width": placed.width,
        "height": placed.height,
        "measures": MEASURES.as_json(),
        "nodes": [{**vars(n), **_place(placed.nodes[n.id], x, y)} for n in scene.nodes if n.id in placed.nodes],
        "edges": [
            {**vars(edge), "points": [round(n + (y if i % 2 else x), 1) for i, n in enumerate(points)]}
            for edge, points in zip(scene.edges, placed.edges, strict=True)
        ],
        "aside": [vars(node) for node in scene.nodes if node.id not in placed.nodes],
        "problems": [vars(problem) for problem in tree.problems],
        "total": _totals(tree),
    }


def _shift(placed: Placed, anchor: tuple[str, float, float] | None) -> tuple[float, float]:
    box = placed.nodes.get(anchor[0]) if anchor else None
    if anchor is None or box is None:
        return 0.0, 0.0
    return round(anchor[1] - box.x, 1), round(anchor[2] - box.y, 1)


def _place(box: Box, x: float, y: float) -> dict[str, float]:
    return {"x": round(box.x + x, 1), "y": round(box.y + y, 1), "w": box.width, "h": box.height}


def _totals(tree: Tree) -> dict[str, Any]:
    """Return the numbers of nodes and edges of the graph as written, without the bodies of called functions.

    Weights and FLOPs include everything.
    """
    flops = float(tree.flops[0])
    return {
        "nodes": len(tree.original),
        "edges": len(tree.original.source),
        "parameters": int(tree.parameters[0]),
        "bytes": int(tree.bytes[0]),
        "flops": flops if isfinite(flops) else None,
    }
