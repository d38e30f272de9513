"""``/data/plugin/<kind>``: other distributions' kinds, for which TensorBoard has no routes; their values as tables."""

from typing import Annotated

from fastapi import APIRouter, HTTPException, Path
from fastapi.responses import Response

from stepscope.dashboard.export.tables import json_pieces
from stepscope.dashboard.server.errors import find_series
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.parameters import MAX_NAME, RunName, TagName
from stepscope.dashboard.server.work import HeavyRoute, Pieces
from stepscope.dashboard.tensorboard.tag_indexes import TagIndexes
from stepscope.summary.errors import UserError
from stepscope.summary.kinds.registry import KINDS, all_kinds

KindName = Annotated[str, Path(max_length=MAX_NAME, description="The kind's name in the files.")]


def other_kinds() -> tuple[str, ...]:
    """Return the kinds of other distributions."""
    return tuple(name for name in all_kinds() if name not in KINDS)


def router(live: Live) -> APIRouter:
    """Return the routes, over the latest snapshot; those of TensorBoard's own plugins must come before them."""
    routes = APIRouter(tags=["other kinds"], route_class=HeavyRoute)
    indexes: dict[str, TagIndexes] = {}

    @routes.get("/data/plugin/{kind}/tags")
    def tags(kind: KindName) -> Response:
        """Run -> tag -> display name and description, of a kind that another distribution adds."""
        _check(kind)
        return indexes.setdefault(kind, TagIndexes(kind)).answer(live.snapshot())

    @routes.get("/data/plugin/{kind}/table")
    def table(kind: KindName, run: RunName, tag: TagName) -> Response:
        """Return every point of one tag of one run: an array of objects with a key per column of the kind's table."""
        _check(kind)
        snapshot = live.snapshot()
        find_series(snapshot, run, tag, kind)
        try:
            rows = snapshot.table(kind, [run], [tag])
        except UserError as error:
            raise HTTPException(422, str(error)) from error
        return Pieces(json_pieces(rows), media_type="application/json")

    return routes


def _check(kind: str) -> None:
    if kind not in other_kinds():
        raise HTTPException(404, f"No plug-in adds the kind {kind!r}. See stepscope plugins.")
