"""The pictures' bytes over HTTP, and what is known of them."""

from dataclasses import asdict
from typing import Any, Final

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response

from dashboard.api.downloads import attachment
from dashboard.api.errors import find_series
from dashboard.api.parameters import Index, RunName, TagName
from dashboard.live import Live
from dashboard.panels.images.pictures import EXTENSIONS, Picture, describe, picture
from summary.kinds.base import PayloadError
from summary.kinds.image import PLUGIN_NAME
from summary.snapshot import Series

SAFE_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
}
LOOK_AGAIN: Final = "private, no-cache"
UNCHANGING: Final = "private, max-age=86400, immutable"


def read_picture(series: Series, index: int, sample: int) -> Picture:
    """A picture of a series.

    Raises:
        HTTPException: 404 where there is no such point; 422 where it cannot be read or is no picture.
    """
    try:
        return picture(series.read(index), sample)
    except IndexError as error:
        raise HTTPException(404, f"{error}.") from error
    except PayloadError as error:
        raise HTTPException(422, f"No picture: {error}.") from error


def answer(request: Request, found: Picture, headers: dict[str, str]) -> Response:
    """The picture's bytes, or 304 where the client has them; never as anything but a picture."""
    headers = {**SAFE_HEADERS, "Cache-Control": LOOK_AGAIN, "ETag": found.etag, **headers}
    if found.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(found.data, media_type=found.mime_type, headers=headers)


def check_moment(series: Series, index: int, step: int | None, wall_time: float | None) -> bool:
    """Whether a client named the moment of a point, which makes the answer one for ever.

    Raises:
        HTTPException: 404 where the point is of another moment, because the run was started again.
    """
    if step is None or wall_time is None:
        return False
    if index < len(series) and (int(series.steps[index]), float(series.wall_times[index])) == (step, wall_time):
        return True
    raise HTTPException(404, f"Point {index} of {series.run!r}, {series.tag!r} is another now; ask without step.")


def make_router(live: Live) -> APIRouter:
    """The panel's routes, over the latest snapshot."""
    routes = APIRouter()

    @routes.get("/point")
    def point(
        run: RunName,
        tag: TagName,
        index: Index,
        sample: Index = 0,
    ) -> dict[str, Any]:
        """What is known of the pictures at one step, or why they cannot be shown."""
        series = find_series(live.snapshot(), run, tag, PLUGIN_NAME)
        if index >= len(series):
            raise HTTPException(404, f"{run!r} has {len(series)} points of {tag!r}; there is no number {index}.")
        return asdict(describe(series, index, sample))

    @routes.get("/image", response_class=Response)
    def image(
        request: Request,
        run: RunName,
        tag: TagName,
        index: Index,
        sample: Index = 0,
        step: int | None = None,
        wall_time: float | None = None,
        download: bool = False,
    ) -> Response:
        """The bytes of one picture, by its place in the series; cached for good if its step and time are given too."""
        series = find_series(live.snapshot(), run, tag, PLUGIN_NAME)
        headers = {"Cache-Control": UNCHANGING} if check_moment(series, index, step, wall_time) else {}
        found = read_picture(series, index, sample)
        if download:
            name = f"{run}_{tag}_step{int(series.steps[index])}_{sample}"
            headers |= attachment(name, EXTENSIONS[found.mime_type])
        return answer(request, found, headers)

    return routes
