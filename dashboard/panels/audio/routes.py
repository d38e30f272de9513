"""Clips over HTTP: their bytes, facts about them, and their waveforms and spectrograms."""

from collections.abc import Hashable
from typing import Annotated, Final

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import Response

from stepscope.dashboard.panels.audio.clips import EXTENSIONS, Facts, clip_of, describe, etag, sniff, sound_of
from stepscope.dashboard.panels.audio.figures import FFT_SIZES, MOST_CHANNELS, MOST_HEIGHT, MOST_WIDTH, Scale, envelope
from stepscope.dashboard.panels.audio.figures import spectrogram as make_spectrogram
from stepscope.dashboard.panels.audio.messages import SpectrogramHeader, WaveformHeader
from stepscope.dashboard.panels.audio.ranges import ranged
from stepscope.dashboard.panels.audio.sound import Sound, SoundCache
from stepscope.dashboard.server.binary import ColumnPack
from stepscope.dashboard.server.errors import find_series
from stepscope.dashboard.server.headers import LOOK_AGAIN, SAFE_HEADERS, UNCHANGING, attachment
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.parameters import Index, RunName, Step, TagName
from stepscope.dashboard.server.work import LightRoute, heavy
from stepscope.summary.counts import counted
from stepscope.summary.kinds.audio import PLUGIN_NAME, Clip
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.series import Series

Frame = Annotated[int, Query(ge=0, le=1 << 40)]
Width = Annotated[int, Query(ge=1, le=MOST_WIDTH)]
Height = Annotated[int, Query(ge=1, le=MOST_HEIGHT)]
WHOLE: Final = 1 << 40
_PLAYED: Final = {**SAFE_HEADERS, "Content-Security-Policy": "default-src 'none'; media-src 'self'; sandbox"}


def read_clip(series: Series, index: int, sample: int) -> Clip:
    """Return a clip of a series.

    Raises:
        HTTPException: 404 if the point does not exist; 422 if it cannot be read or does not have the sample.
    """
    try:
        return clip_of(series.read(index), sample)
    except IndexError as error:
        raise HTTPException(404, f"{error}.") from error
    except PayloadError as error:
        raise HTTPException(422, f"No clip: {error}.") from error


def read_sound(live: Live, series: Series, index: int, sample: int) -> Sound:
    """Return the sound of a clip.

    Raises:
        HTTPException: 404 if the point does not exist; 422 if its sound cannot be decoded here.
    """
    cache = live.shared(SoundCache)
    moment = _moment_of(series, index, sample)
    known = None if moment is None else cache.at(moment)
    if known is not None and not known.is_too_long:
        return known
    clip = read_clip(series, index, sample)
    try:
        return sound_of(clip, cache, moment)
    except PayloadError as error:
        raise HTTPException(422, f"No sound: {error}.") from error


def _moment_of(series: Series, index: int, sample: int) -> Hashable:
    """Return a key that identifies a sample of a point; None if the point does not exist."""
    if index >= len(series):
        return None
    written = int(series.steps[index]), float(series.wall_times[index])
    return series.run, series.tag, series.epoch, index, sample, written


def caching(series: Series, index: int, step: int | None, wall_time: float | None) -> dict[str, str]:
    """Return the header that says how long a response may be cached: for good, if the request names the point's moment.

    Raises:
        HTTPException: 404 if the point has another moment, because the run was restarted.
    """
    if step is None or wall_time is None:
        return {"Cache-Control": LOOK_AGAIN}
    if index < len(series) and (int(series.steps[index]), float(series.wall_times[index])) == (step, wall_time):
        return {"Cache-Control": UNCHANGING}
    raise HTTPException(404, f"Point {index} of {series.run!r}, {series.tag!r} has changed; request it without step.")


def make_router(live: Live) -> APIRouter:
    """Return the panel's routes for the latest snapshot."""
    routes = APIRouter(route_class=LightRoute)
    _add_clip_routes(routes, live)
    _add_picture_routes(routes, live)
    return routes


def _add_clip_routes(routes: APIRouter, live: Live) -> None:
    @routes.get("/point")
    @heavy
    def point(run: RunName, tag: TagName, index: Index, sample: Index = 0) -> Facts:
        """Return facts about the clip at one step, or why there is no sound."""
        series = find_series(live.snapshot(), run, tag, PLUGIN_NAME)
        if index >= len(series):
            raise HTTPException(
                404,
                f"{series.run!r} has {counted(len(series), 'point')} of {series.tag!r}; "
                f"expected a number from 0 to {len(series) - 1}, got {index}.",
            )
        return describe(series, index, sample, live.shared(SoundCache))

    @routes.get("/clip", response_class=Response)
    def clip(
        request: Request,
        run: RunName,
        tag: TagName,
        index: Index,
        sample: Index = 0,
        step: Step | None = None,
        wall_time: float | None = None,
        download: bool = False,
    ) -> Response:
        """Return the bytes of one clip, or the part of them that the Range header requests."""
        series = find_series(live.snapshot(), run, tag, PLUGIN_NAME)
        headers = caching(series, index, step, wall_time)
        found = read_clip(series, index, sample)
        mime_type = sniff(found.encoded)
        if download:
            name = f"{run}_{tag}_step{int(series.steps[index])}_{sample}"
            headers |= attachment(name, EXTENSIONS[mime_type])
        return ranged(request, found.encoded, mime_type, {**_PLAYED, **headers, "ETag": etag(found)})


def _add_picture_routes(routes: APIRouter, live: Live) -> None:
    @routes.get("/waveform", response_class=Response)
    @heavy
    def waveform(
        run: RunName,
        tag: TagName,
        index: Index,
        width: Width,
        sample: Index = 0,
        start: Frame = 0,
        stop: Frame = WHOLE,
        step: Step | None = None,
        wall_time: float | None = None,
    ) -> Response:
        """Return the minimum and maximum of each pixel of a range, in the format of
        `stepscope.dashboard.server.binary`.

        The header has "channels", "width" and "not_finite"; the column "bounds" is float32 ``[channels, width, 2]``.
        """
        series = find_series(live.snapshot(), run, tag, PLUGIN_NAME)
        headers = caching(series, index, step, wall_time)
        found = envelope(read_sound(live, series, index, sample), start, stop, width)
        channels, columns, _ = found.bounds.shape
        pack = ColumnPack()
        at = pack.add(found.bounds.reshape(-1))
        header: WaveformHeader = {
            "channels": channels,
            "width": columns,
            "not_finite": found.not_finite,
            "bounds": at,
        }
        return _binary(pack.body(header), headers)

    @routes.get("/spectrogram", response_class=Response)
    @heavy
    def spectrogram(
        run: RunName,
        tag: TagName,
        index: Index,
        width: Width,
        height: Height,
        fft: int = 1024,
        scale: Scale = "linear",
        channel: Annotated[int | None, Query(ge=0, lt=MOST_CHANNELS)] = None,
        sample: Index = 0,
        start: Frame = 0,
        stop: Frame = WHOLE,
        step: Step | None = None,
        wall_time: float | None = None,
    ) -> Response:
        """Return levels of half a decibel over frequency and time, packed as in `stepscope.dashboard.server.binary`.

        The header has "height", "width", "top" (decibels of level 255) and "is_whole"; the column "levels" is uint8
        ``[height, width]``.
        """
        if fft not in FFT_SIZES:
            raise HTTPException(422, f"fft is {fft}, expected one of {', '.join(map(str, FFT_SIZES))}.")
        series = find_series(live.snapshot(), run, tag, PLUGIN_NAME)
        headers = caching(series, index, step, wall_time)
        sound = read_sound(live, series, index, sample)
        if channel is not None and channel >= sound.channels:
            raise HTTPException(422, f"There is no channel {channel}: the clip has {sound.channels}.")
        found = make_spectrogram(sound, start, stop, width=width, height=height, fft=fft, scale=scale, channel=channel)
        rows, columns = found.levels.shape
        pack = ColumnPack()
        at = pack.add(found.levels.reshape(-1))
        header: SpectrogramHeader = {
            "height": rows,
            "width": columns,
            "top": found.top,
            "is_whole": found.is_whole,
            "levels": at,
        }
        return _binary(pack.body(header), headers)


def _binary(content: bytes, headers: dict[str, str]) -> Response:
    return Response(content, media_type="application/octet-stream", headers={**SAFE_HEADERS, **headers})
