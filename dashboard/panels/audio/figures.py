"""Waveforms and spectrograms: pure functions from a range of frames to as many numbers as there are pixels."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, assert_never

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from stepscope.dashboard.panels.audio.sound import Numbers, Sound
from stepscope.summary.cancellation import check_cancelled

Scale: TypeAlias = Literal["linear", "mel"]

FFT_SIZES: Final = (512, 1024, 2048, 4096)
MOST_CHANNELS: Final = 8
"""Maximum number of channels that are drawn."""
MOST_WIDTH: Final = 4096
MOST_HEIGHT: Final = 1024
LEVELS_PER_DB: Final = 2
"""Levels per decibel: byte 255 of a spectrogram is its `Spectrogram.top`; each level below is half a decibel less."""

_AT_A_TIME: Final = 1 << 20
"""Maximum number of values processed at once."""
_MOST_TRANSFORMED: Final = 1 << 24
"""Maximum number of values that go through Fourier transforms for one image: about half a second of work."""


@dataclass(frozen=True)
class Envelope:
    """The minimum and maximum of each pixel."""

    bounds: NDArray[np.float32]
    """[channels, width, 2]; NaN where a pixel has no finite value."""
    not_finite: int
    """Number of NaN or infinite values, which no pixel shows."""


@dataclass(frozen=True)
class Spectrogram:
    """Levels over time and frequency."""

    levels: NDArray[np.uint8]
    """[height, width], highest frequency first; 0 is silence or anything more than 127 dB below ``top``."""
    top: float
    """Decibels of level 255: 0, or the loudest value if that is above 0. 0 dB is a full-scale sine."""
    is_whole: bool
    """Whether every frame was used; otherwise each pixel is the loudest of some of its windows."""


def envelope(sound: Sound, start: int, stop: int, width: int) -> Envelope:
    """Return the waveform of a range of frames, for the first `MOST_CHANNELS` channels.

    Args:
        sound: the clip.
        start: first frame.
        stop: end of the range, after its last frame.
        width: number of pixels; if the range has fewer frames, each frame is one pixel.
    """
    start, stop = _within(sound, start, stop)
    frames = stop - start
    width = min(width, frames)
    channels = min(sound.channels, MOST_CHANNELS)
    if width == 0:
        return Envelope(np.empty((channels, 0, 2), np.float32), 0)
    # A pixel of a very long stretch is computed in parts, so that memory stays bounded.
    parts = -(-frames * sound.channels // (width * _AT_A_TIME))
    edges = start + np.arange(width * parts + 1) * frames // (width * parts)
    bounds = np.empty((2, width * parts, channels), np.float32)
    not_finite = 0
    for first, last in _blocks(width * parts, max(1, _AT_A_TIME * parts * width // (frames * sound.channels))):
        numbers = sound.read(int(edges[first]), int(edges[last]))[:, :channels]
        finite = np.isfinite(numbers)
        if not finite.all():
            not_finite += int(numbers.size - finite.sum())
            numbers = np.where(finite, numbers, np.float32(np.nan))
        at = edges[first:last] - edges[first]
        bounds[0, first:last] = np.fmin.reduceat(numbers, at, axis=0)
        bounds[1, first:last] = np.fmax.reduceat(numbers, at, axis=0)
    of_parts = bounds.reshape(2, width, parts, channels)
    low, high = np.fmin.reduce(of_parts[0], axis=1), np.fmax.reduce(of_parts[1], axis=1)
    return Envelope(np.ascontiguousarray(np.stack([low, high], axis=-1).transpose(1, 0, 2)), not_finite)


def spectrogram(
    sound: Sound, start: int, stop: int, *, width: int, height: int, fft: int, scale: Scale, channel: int | None = None
) -> Spectrogram:
    """Return the amplitude spectrum over time, computed by Fourier transforms of overlapping periodic Hann windows.

    A sine of amplitude 1 is 0 dB: 20 log10(2 |X| / sum(window)). A pixel shows the loudest of its windows, which lie
    half a window apart or closer, and of its frequencies; a pixel without any frequency shows the one nearest to its
    middle. Frames beyond the clip's ends and non-finite values count as silence.

    Args:
        sound: the clip.
        start: first frame.
        stop: end of the range, after its last frame.
        width: maximum number of pixels in time; short ranges have fewer, an eighth of a window apart.
        height: maximum number of pixels in frequency, from 0 to half the rate; never more than there are frequencies.
        fft: number of frames per window.
        scale: whether pixels are equal steps in hertz or in mel.
        channel: channel, counted from 0; None for the mean of all.
    """
    start, stop = _within(sound, start, stop)
    frames = stop - start
    width = min(width, -(-8 * frames // fft))
    height = min(height, fft // 2 + 1)
    if width == 0:
        return Spectrogram(np.zeros((height, 0), np.uint8), 0.0, True)
    wanted = max(1, -(-2 * frames // (width * fft)))
    windows = min(wanted, max(1, _MOST_TRANSFORMED // (width * fft)))
    centers = start + (np.arange(width * windows) + 0.5) * frames / (width * windows)
    first_frames = np.rint(centers - fft / 2).astype(np.int64)
    columns = np.empty((width, height), np.float32)
    rows = _rows(height, fft, sound.rate, scale)
    for first, last in _blocks(width, max(1, _AT_A_TIME // (windows * fft))):
        loudness = _spectra(sound, first_frames[first * windows : last * windows], fft, channel)
        loudest = loudness.reshape(last - first, windows, -1).max(axis=1)
        loudest = np.minimum(loudest, np.finfo(np.float32).max)
        columns[first:last] = np.maximum.reduceat(np.pad(loudest, ((0, 0), (0, 1))), rows, axis=1)[:, ::2]
    return _levels(np.ascontiguousarray(columns.T[::-1]), windows == wanted)


def row_edges(height: int, rate: int, scale: Scale) -> NDArray[np.float64]:
    """Return the edges of a spectrogram's rows in hertz, ascending: float64 ``[height + 1]``."""
    nyquist = rate / 2
    match scale:
        case "linear":
            return np.linspace(0.0, nyquist, height + 1)
        case "mel":
            # O'Shaughnessy's formula, as in HTK.
            highest = 2595 * np.log10(1 + nyquist / 700)
            return np.asarray(700 * (10 ** (np.linspace(0.0, highest, height + 1) / 2595) - 1))
        case _:
            assert_never(scale)


def _rows(height: int, fft: int, rate: int, scale: Scale) -> NDArray[np.int64]:
    """Return the first bin, and the one after the last, of every row, flat, as `numpy.maximum.reduceat` takes them."""
    edges = row_edges(height, rate, scale) * fft / rate
    first, stop = np.ceil(edges[:-1]).astype(np.int64), np.ceil(edges[1:]).astype(np.int64)
    stop[-1] = fft // 2 + 1
    nearest = np.clip(np.rint((edges[:-1] + edges[1:]) / 2).astype(np.int64), 0, fft // 2)
    empty = stop <= first
    first[empty] = nearest[empty]
    stop[empty] = nearest[empty] + 1
    return np.stack([first, stop], axis=1).reshape(-1)


def _spectra(sound: Sound, first_frames: NDArray[np.int64], fft: int, channel: int | None) -> NDArray[np.float64]:
    """Return the amplitudes ``[windows, fft / 2 + 1]`` of the windows that begin at these frames."""
    # Hann window without its last value, so that it is periodic.
    hann = np.hanning(fft + 1)[:-1]
    amplitudes = np.abs(np.fft.rfft(_windows(sound, first_frames, fft, channel) * (hann / hann.sum())))
    # Negative frequencies have the same amplitudes.
    amplitudes[:, 1:-1] *= 2
    return amplitudes


def _windows(sound: Sound, first_frames: NDArray[np.int64], fft: int, channel: int | None) -> Numbers:
    """Return the frames ``[windows, fft]`` of the windows that begin at these frames."""
    base, stop = int(first_frames[0]), int(first_frames[-1]) + fft
    found = np.zeros((len(first_frames), fft), np.float32)
    if stop - base > found.size:
        for row, first in zip(found, first_frames.tolist(), strict=True):
            _fill(row, sound, first, channel)
        return found
    span = np.zeros(stop - base, np.float32)
    _fill(span, sound, base, channel)
    return np.take(sliding_window_view(span, fft), first_frames - base, axis=0, out=found)


def _fill(row: NDArray[np.float32], sound: Sound, first: int, channel: int | None) -> None:
    """Copy the frames from ``first`` on into ``row``, which is silence where the clip has no frames."""
    piece = sound.read(first, first + len(row))
    before = max(0, -first)
    row[before : before + len(piece)] = piece.mean(axis=1, dtype=np.float64) if channel is None else piece[:, channel]
    row[~np.isfinite(row)] = 0


def _levels(amplitudes: NDArray[np.float32], is_whole: bool) -> Spectrogram:
    with np.errstate(divide="ignore"):
        decibels = 20 * np.log10(amplitudes)
    # Rounding errors in a full-scale sine are no reason for another scale.
    top = float(max(0.0, np.ceil(decibels.max() - 0.25)))
    levels = np.rint(255 + (decibels - top) * LEVELS_PER_DB).clip(0, 255)
    return Spectrogram(levels.astype(np.uint8), top, is_whole)


def _within(sound: Sound, start: int, stop: int) -> tuple[int, int]:
    start = min(max(start, 0), sound.frames)
    return start, min(max(stop, start), sound.frames)


def _blocks(count: int, size: int) -> Iterator[tuple[int, int]]:
    for first in range(0, count, size):
        check_cancelled()
        yield first, min(first + size, count)
