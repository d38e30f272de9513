"""``/data/plugin/images``: TensorBoard's routes."""

from collections.abc import Iterator
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from stepscope.dashboard.page.safe_html import markdown_html
from stepscope.dashboard.server.errors import find_series
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.numbers import json_number
from stepscope.dashboard.server.parameters import Index, RunName, TagName
from stepscope.dashboard.server.pictures import picture_answer, read_picture
from stepscope.dashboard.server.pieces import json_answer, listed
from stepscope.dashboard.server.work import LightRoute
from stepscope.dashboard.tensorboard.blobs import BlobKey, blob_key, find_blob, most_samples
from stepscope.dashboard.tensorboard.plugin import TensorboardPlugin
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.image import PLUGIN_NAME
from stepscope.summary.series import Series


def samples_of(series: Series) -> int:
    """Return the largest number of pictures at a step."""
    return most_samples(series, lambda payload: len(payload.encoded))


def pictures_at(series: Series, sample: int) -> Iterator[tuple[float | str, int, str]]:
    """Yield the wall time, step, and key of every point that has the sample."""
    for index, (wall_time, step) in enumerate(zip(series.wall_times.tolist(), series.steps.tolist(), strict=True)):
        try:
            encoded = series.read(index).encoded
        except PayloadError:
            continue
        if sample < len(encoded):
            yield json_number(wall_time), step, blob_key(series, index, sample)


def router(live: Live) -> APIRouter:
    """Return the routes, over the latest snapshot."""
    routes = APIRouter(tags=["images"], route_class=LightRoute)

    @routes.get("/data/plugin/images/tags")
    def tags() -> dict[str, dict[str, dict[str, Any]]]:
        """Run -> tag -> display name, description and number of samples."""
        return {
            name: {
                series.tag: {
                    "displayName": series.display_name or series.tag,
                    "description": markdown_html(series.description),
                    "samples": samples_of(series),
                }
                for series in found
            }
            for name, run in live.snapshot().runs.items()
            if (found := run.of_kind(PLUGIN_NAME))
        }

    @routes.get("/data/plugin/images/images")
    def images(
        run: RunName,
        tag: TagName,
        sample: Index = 0,
    ) -> Response:
        """Return every step of one tag of one run, with the query for ``individualImage``."""
        found = pictures_at(find_series(live.snapshot(), run, tag, PLUGIN_NAME), sample)
        return json_answer(
            listed({"wall_time": wall_time, "step": step, "query": f"blob_key={key}"} for wall_time, step, key in found)
        )

    @routes.get("/data/plugin/images/individualImage", response_class=Response)
    def individual_image(request: Request, blob_key: BlobKey) -> Response:
        """Return the bytes of one picture."""
        return picture_answer(request, read_picture(*find_blob(live.snapshot(), blob_key, PLUGIN_NAME)), {})

    return routes


PLUGIN: Final = TensorboardPlugin(name="images", tab="images", kinds=(PLUGIN_NAME,), router=router)
