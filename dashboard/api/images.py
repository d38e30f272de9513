"""``/data/plugin/images``: TensorBoard's routes."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from typing import Annotated, Any, Final

import numpy as np
import orjson
from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import Response

from dashboard.api.errors import find_series
from dashboard.api.parameters import MAX_NAME, Index, RunName, TagName
from dashboard.live import Live
from dashboard.numbers import json_number
from dashboard.panels.images.routes import answer, read_picture
from dashboard.panels.text.rendering import markdown_html
from summary.kinds.base import PayloadError
from summary.kinds.image import PLUGIN_NAME
from summary.snapshot import Series, Snapshot

MOST_COUNTED: Final = 32
"""Steps that are read to find the number of samples a tag has."""


def blob_key(series: Series, index: int, sample: int) -> str:
    """Names a picture: opaque to clients, and stable while a run is not started again at an earlier step."""
    where = [series.run, series.tag, int(series.steps[index]), float(series.wall_times[index]), sample]
    return urlsafe_b64encode(orjson.dumps(where)).decode().rstrip("=")


def find_blob(snapshot: Snapshot, key: str) -> tuple[Series, int, int]:
    """Series, index and sample that a key names.

    Raises:
        HTTPException: 400 where the text is no key, 404 where the picture is gone.
    """
    try:
        run, tag, step, wall_time, sample = orjson.loads(urlsafe_b64decode(key + "=" * (-len(key) % 4)))
        series = find_series(snapshot, str(run), str(tag), PLUGIN_NAME)
        at = np.flatnonzero((series.steps == int(step)) & (series.wall_times == float(wall_time)))
        number = int(sample)
    except (ValueError, TypeError, OverflowError) as error:
        raise HTTPException(400, f"{key[:80]!r} is no blob_key of /data/plugin/images/images.") from error
    if len(at) == 0:
        raise HTTPException(404, f"The picture of {run!r}, {tag!r} at step {step} is gone: the run was started again.")
    return series, int(at[-1]), number


def samples_of(series: Series) -> int:
    """The largest number of pictures at a step, of up to `MOST_COUNTED` steps, evenly picked."""
    chosen = np.unique(np.linspace(0, len(series) - 1, min(len(series), MOST_COUNTED)).round().astype(np.int64))
    most = 0
    for index in chosen.tolist():
        try:
            most = max(most, len(series.read(index).encoded))
        except PayloadError:
            continue
    return most


def points(series: Series, sample: int) -> Iterator[dict[str, Any]]:
    """Wall time, step and query of ``individualImage`` of every point that has the sample."""
    for index, (wall_time, step) in enumerate(zip(series.wall_times.tolist(), series.steps.tolist(), strict=True)):
        try:
            encoded = series.read(index).encoded
        except PayloadError:
            continue
        if sample < len(encoded):
            query = f"blob_key={blob_key(series, index, sample)}"
            yield {"wall_time": json_number(wall_time), "step": step, "query": query}


def router(live: Live) -> APIRouter:
    """The routes, over the latest snapshot."""
    routes = APIRouter(tags=["images"])

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
    ) -> list[dict[str, Any]]:
        """Every step of one tag of one run, with the query for ``individualImage``."""
        return list(points(find_series(live.snapshot(), run, tag, PLUGIN_NAME), sample))

    @routes.get("/data/plugin/images/individualImage", response_class=Response)
    def individual_image(request: Request, blob_key: Annotated[str, Query(max_length=4 * MAX_NAME)]) -> Response:
        """The bytes of one picture."""
        return answer(request, read_picture(*find_blob(live.snapshot(), blob_key)), {})

    return routes
