"""Images over HTTP: their bytes, facts about them, a catalog, and ZIP files of many images."""

from typing import Annotated, Final

import orjson
from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import JSONResponse, Response

from stepscope.dashboard.export.media_files import Wanted, chosen_files, zip_stream
from stepscope.dashboard.page.state import MAX_QUERY, decode
from stepscope.dashboard.panels.cards import Draw
from stepscope.dashboard.panels.images.messages import (
    FACTS_HEADER,
    Catalog,
    CatalogRun,
    NoPicture,
    PictureFacts,
    SeriesSteps,
)
from stepscope.dashboard.panels.images.thumbnails import EDGES, Small, Thumbnails, shape
from stepscope.dashboard.panels.steps import epoch
from stepscope.dashboard.server.arrays import typed
from stepscope.dashboard.server.bodies import Body, parsed
from stepscope.dashboard.server.errors import find_series
from stepscope.dashboard.server.headers import LOOK_AGAIN, SAFE_HEADERS, UNCHANGING, attachment
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.numbers import count, json_number
from stepscope.dashboard.server.parameters import Index, RunName, Step, TagName
from stepscope.dashboard.server.pictures import EXTENSIONS, Picture, picture, picture_answer, read_picture
from stepscope.dashboard.server.work import LightRoute, Pieces, heavy
from stepscope.summary.counts import counted
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.image import PLUGIN_NAME, Images
from stepscope.summary.series import Series

MOST_ZIPPED: Final = 5_000
"""Maximum number of images in one ZIP file."""


def look_at(series: Series, index: int, sample: int, edge: int, thumbnails: Thumbnails) -> tuple[Picture, PictureFacts]:
    """Return an image and facts about it: the original, or one of at most ``edge`` pixels if that is not 0.

    Raises:
        PayloadError: if the image cannot be read or drawn.
    """
    images: Images = series.read(index)
    original = picture(images, sample)
    made = thumbnails.of(original, edge) if edge else Small(original, shape(original.data), False)
    facts: PictureFacts = {
        "samples": len(images.encoded),
        "width": made.shape.width,
        "height": made.shape.height,
        "frames": made.shape.frames,
        "size": len(original.data),
        "mime_type": original.mime_type,
        "wall_time": json_number(float(series.wall_times[index])),
        "reduced": made.reduced,
    }
    return made.picture, facts


def samples_at(series: Series, index: int) -> int:
    """Return the number of images of a point; 0 if it cannot be read."""
    try:
        return len(series.read(index).encoded)
    except (PayloadError, IndexError):
        return 0


def said(series: Series, index: int, why: str) -> Response:
    """Return the answer in place of an image.

    This is not an HTTP error: damage is data, and nothing went wrong in transit.
    """
    body: NoPicture = {"error": why, "samples": samples_at(series, index)}
    return JSONResponse(body, headers={"Cache-Control": LOOK_AGAIN})


def catalog(on: Draw) -> Catalog:
    """Return all tags of the shown runs, and each of these runs with its colors and the indices of its tags."""
    places: dict[str, int] = {}
    runs: list[CatalogRun] = [
        {
            "run": run,
            "light": on.colors[run].light,
            "dark": on.colors[run].dark,
            "tags": [places.setdefault(series.tag, len(places)) for series in found],
        }
        for run in on.shown_runs
        if (found := on.snapshot.runs[run].of_kind(PLUGIN_NAME))
    ]
    return {"tags": list(places), "runs": runs}


def wanted_of(body: bytes) -> list[Wanted]:
    """Return the images that a request names: a JSON array of ``[run, tag, index, step, sample]``.

    Raises:
        HTTPException: 413 if there are too many, 422 if the body is something else.
    """
    wanted = parsed(body, list[Wanted], "Expected an array of [run, tag, index, step, sample]")
    if len(wanted) > MOST_ZIPPED:
        raise HTTPException(413, f"{counted(len(wanted), 'image')} requested; a ZIP file holds {count(MOST_ZIPPED)}.")
    return wanted


def make_router(live: Live) -> APIRouter:
    """Return the panel's routes for the latest snapshot."""
    routes = APIRouter(route_class=LightRoute)
    thumbnails = Thumbnails()

    @routes.get("/catalog")
    def shown_series(view: Annotated[str, Query(max_length=MAX_QUERY)] = "") -> Catalog:
        """Return all tags of the runs that a view shows, and each run's colors and the indices of its tags."""
        return catalog(Draw(live.snapshot(), decode(view), "light", {}))

    @routes.get("/steps")
    def steps(run: RunName, tag: TagName) -> SeriesSteps:
        """Return the steps of one tag of one run, and the epoch that `/look` takes."""
        series = find_series(live.snapshot(), run, tag, PLUGIN_NAME)
        return {"steps": typed(series.steps), "epoch": epoch(series)}

    @routes.get("/look", response_class=Response)
    @heavy
    def look(
        request: Request,
        run: RunName,
        tag: TagName,
        index: Index,
        step: Step,
        epoch_: Annotated[str, Query(alias="epoch", max_length=40)],
        sample: Index = 0,
        edge: Annotated[int, Query(ge=0)] = 0,
    ) -> Response:
        """Return an image, with facts about it in the X-Picture header, or JSON that says why there is none.

        Without ``edge``, the image is the original; with it, at most that size. The step and the series' epoch show
        whether the point is the one that the client means.
        """
        if edge and edge not in EDGES:
            raise HTTPException(422, f"edge is {edge}, expected 0 or one of {', '.join(map(str, EDGES))}.")
        series = find_series(live.snapshot(), run, tag, PLUGIN_NAME)
        if index >= len(series) or int(series.steps[index]) != step or epoch(series) != epoch_:
            return said(series, index, "the run was restarted, and this image no longer exists")
        try:
            sent, facts = look_at(series, index, sample, edge, thumbnails)
        except PayloadError as error:
            return said(series, index, str(error))
        headers = {FACTS_HEADER: orjson.dumps(facts).decode(), "Cache-Control": UNCHANGING}
        return picture_answer(request, sent, headers)

    @routes.get("/image", response_class=Response)
    def image(
        request: Request,
        run: RunName,
        tag: TagName,
        index: Index,
        sample: Index = 0,
        download: bool = False,
    ) -> Response:
        """Return the bytes of one image as logged, by its index in the series."""
        series = find_series(live.snapshot(), run, tag, PLUGIN_NAME)
        found = read_picture(series, index, sample)
        if not download:
            return picture_answer(request, found, {})
        name = f"{run}_{tag}_step{int(series.steps[index])}_{sample}"
        return picture_answer(request, found, attachment(name, EXTENSIONS[found.mime_type]))

    @routes.post("/zip", response_class=Response)
    @heavy
    def zipped(body: Body) -> Response:
        """Return images as logged, in one ZIP file.

        A text file in it lists the images that could not be read.
        """
        files = chosen_files(live.snapshot(), wanted_of(body), PLUGIN_NAME)
        headers = {**SAFE_HEADERS, "Cache-Control": "no-store", **attachment("images", "zip")}
        return Pieces(zip_stream(files), media_type="application/zip", headers=headers)

    return routes
