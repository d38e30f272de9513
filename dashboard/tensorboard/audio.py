"""``/data/plugin/audio``: TensorBoard's routes."""

from collections.abc import Iterator
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import Response

from stepscope.dashboard.page.safe_html import markdown_html
from stepscope.dashboard.server.errors import find_series
from stepscope.dashboard.server.headers import LOOK_AGAIN, SAFE_HEADERS
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.numbers import json_number
from stepscope.dashboard.server.parameters import Index, RunName, TagName
from stepscope.dashboard.server.pieces import json_answer, listed
from stepscope.dashboard.server.work import LightRoute
from stepscope.dashboard.tensorboard.blobs import BlobKey, blob_key, find_blob, most_samples
from stepscope.dashboard.tensorboard.plugin import TensorboardPlugin
from stepscope.summary.kinds.audio import PLUGIN_NAME, Clip
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.series import Series

UNKNOWN_TYPE: Final = "application/octet-stream"
PLAYABLE_TYPES: Final = frozenset(
    {"audio/wav", "audio/x-wav", "audio/mpeg", "audio/ogg", "audio/flac", "audio/aac", "audio/mp4", "audio/webm"}
)
"""The types announced to a browser; nothing in a log directory is ever sent as a page."""


def type_of(clip: Clip) -> str:
    """Return the clip's MIME type, if it is an audio type."""
    return clip.content_type if clip.content_type in PLAYABLE_TYPES else UNKNOWN_TYPE


def points(series: Series, sample: int) -> Iterator[dict[str, Any]]:
    """Yield the data of the clip at every point that has the sample, with the query of ``individualAudio``."""
    for index, (wall_time, step) in enumerate(zip(series.wall_times.tolist(), series.steps.tolist(), strict=True)):
        try:
            clips = series.read(index).clips
        except PayloadError:
            continue
        if sample < len(clips):
            content_type = type_of(clips[sample])
            yield {
                "wall_time": json_number(wall_time),
                "step": step,
                "label": markdown_html(clips[sample].label),
                "contentType": content_type,
                "query": urlencode({"blob_key": blob_key(series, index, sample), "content_type": content_type}),
            }


def router(live: Live) -> APIRouter:
    """Return the routes, over the latest snapshot."""
    routes = APIRouter(tags=["audio"], route_class=LightRoute)

    @routes.get("/data/plugin/audio/tags")
    def tags() -> dict[str, dict[str, dict[str, Any]]]:
        """Run -> tag -> display name, description and number of clips at a step."""
        return {
            name: {
                series.tag: {
                    "displayName": series.display_name or series.tag,
                    "description": markdown_html(series.description),
                    "samples": most_samples(series, lambda payload: len(payload.clips)),
                }
                for series in found
            }
            for name, run in live.snapshot().runs.items()
            if (found := run.of_kind(PLUGIN_NAME))
        }

    @routes.get("/data/plugin/audio/audio")
    def audio(run: RunName, tag: TagName, sample: Index = 0) -> Response:
        """Return every step of one tag of one run that has the clip, with the query for ``individualAudio``."""
        return json_answer(listed(points(find_series(live.snapshot(), run, tag, PLUGIN_NAME), sample)))

    @routes.get("/data/plugin/audio/individualAudio", response_class=Response)
    def individual_audio(blob_key: BlobKey, content_type: Annotated[str, Query(max_length=80)] = "") -> Response:
        """Return the bytes of one clip with its own type; a ``content_type`` that is not an audio type is refused."""
        if content_type and content_type not in PLAYABLE_TYPES | {UNKNOWN_TYPE}:
            raise HTTPException(400, f"Expected an audio content type, got {content_type!r}.")
        series, index, sample = find_blob(live.snapshot(), blob_key, PLUGIN_NAME)
        try:
            clips = series.read(index).clips
        except PayloadError as error:
            raise HTTPException(422, f"No clip: {error}.") from error
        if not 0 <= sample < len(clips):
            raise HTTPException(404, f"There is no clip {sample}: this step has {len(clips)}.")
        headers = {**SAFE_HEADERS, "Cache-Control": LOOK_AGAIN}
        return Response(clips[sample].encoded, media_type=type_of(clips[sample]), headers=headers)

    return routes


PLUGIN: Final = TensorboardPlugin(name="audio", tab="audio", kinds=(PLUGIN_NAME,), router=router)
