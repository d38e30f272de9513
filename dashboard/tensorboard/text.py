"""``/data/plugin/text``: TensorBoard's routes."""

from collections.abc import Iterator
from typing import Any, Final

from fastapi import APIRouter, Response

from stepscope.dashboard.page.safe_html import text_html
from stepscope.dashboard.server.errors import find_series
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.numbers import json_number
from stepscope.dashboard.server.parameters import RunName, TagName
from stepscope.dashboard.server.pieces import json_answer, listed
from stepscope.dashboard.server.work import LightRoute
from stepscope.dashboard.tensorboard.plugin import TensorboardPlugin
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.text import PLUGIN_NAME
from stepscope.summary.series import Series


def points(series: Series, *, markdown: bool) -> Iterator[dict[str, Any]]:
    """Yield the wall time, step, and sanitized HTML of every point that can be decoded."""
    for index, (wall_time, step) in enumerate(zip(series.wall_times.tolist(), series.steps.tolist(), strict=True)):
        try:
            strings = series.read(index).strings
        except PayloadError:
            continue
        html = text_html(strings, markdown=markdown).html
        yield {"wall_time": json_number(wall_time), "step": step, "text": html}


def router(live: Live) -> APIRouter:
    """Return the routes, over the latest snapshot."""
    routes = APIRouter(tags=["text"], route_class=LightRoute)

    @routes.get("/data/plugin/text/tags")
    def tags() -> dict[str, list[str]]:
        """Run -> tags."""
        runs = live.snapshot().runs
        return {name: found for name, run in runs.items() if (found := run.tags_of_kind(PLUGIN_NAME))}

    @routes.get("/data/plugin/text/text")
    def text(
        run: RunName,
        tag: TagName,
        markdown: bool = True,
    ) -> Response:
        """Return every text of one tag of one run as sanitized HTML; tensors of strings are tables."""
        return json_answer(listed(points(find_series(live.snapshot(), run, tag, PLUGIN_NAME), markdown=markdown)))

    return routes


PLUGIN: Final = TensorboardPlugin(name="text", tab="text", kinds=(PLUGIN_NAME,), router=router)
