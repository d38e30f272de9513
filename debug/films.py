"""Shown arrays as files: a film of how they change, or images in the run."""

import logging
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from stepscope.debug.live import LiveTensors
from stepscope.debug.live_frames import Frame, ShownTensor
from stepscope.debug.pictures import GAP, NOT_FINITE, pixels
from stepscope.debug.showing import LIVE
from stepscope.summary.counts import counted
from stepscope.summary.errors import UserError
from stepscope.summary.full_install import needs_extra
from stepscope.summary.writer import SummaryWriter

if TYPE_CHECKING:
    # Pillow is imported where a picture is made, so that programs that only watch do not wait for it.
    from PIL import Image

LARGEST_FILM: Final = 1280
"""Maximum width and height in pixels; larger arrays are thinned out, and those for which no room is left are left out,
which is logged once."""
MOST_WAITING_BYTES: Final = 512 << 20
"""Maximum size of the pictures of a GIF, which wait in memory until it ends."""
_TEXT_HEIGHT: Final = 12
_LEAST_SIDE: Final = 64
"""Minimum size in pixels; smaller pictures are enlarged by whole factors."""
_BAR_HEIGHT: Final = 24
_BACKGROUND: Final = (32, 32, 32)
_NOT_FINITE_COLOR: Final = (255, 0, 160)
_log = logging.getLogger("stepscope")


class _Encoder(Protocol):
    def add(self, picture: NDArray[np.uint8]) -> None: ...

    def close(self) -> None: ...


class FrameSink:
    """Receives shown arrays until it is closed; also a context manager that closes it.

    Args:
        names: which arrays: names in which * and ? stand for any characters, separated by commas.
        every: take every N-th step.
        live: the source of frames; this process's `show` by default.

    Raises:
        ValueError: ``every`` is less than 1.
    """

    def __init__(self, names: str, every: int, live: LiveTensors = LIVE) -> None:
        if every < 1:
            raise ValueError(f"every must be at least 1, got {every}")
        self.names: Final = names
        self.every: Final = every
        self._live: Final = live
        self._closed = False
        self._has_said_left_out = False
        live.add_sink(self)

    def take(self, frame: Frame) -> None:
        """Process the frame's arrays; an error ends this sink with a warning, and never the program."""
        if self._closed or not frame.tensors:
            return
        if frame.left_out and not self._has_said_left_out:
            self._has_said_left_out = True
            arrays = counted(
                frame.left_out,
                "shown array does not fit in a frame and is",
                "shown arrays do not fit in a frame and are",
            )
            _log.warning("%s left out. Select fewer with `names`.", arrays)
        try:
            self._write(frame)
        except Exception as error:
            _log.warning("Arrays given to debug.show are no longer written: %s", error)
            self._live.remove_sink(self)

    def _write(self, frame: Frame) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Stop receiving, after what was shown of a step that has not ended; may be called again."""
        self._live.remove_sink(self)
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except Exception as failure:
            if error is None:
                raise
            # The program's own error is the one to raise.
            _log.warning("Not all arrays given to debug.show were written: %s", failure)


class film(FrameSink):  # noqa: N801 - used as a function is: with debug.film("weights.gif"):
    """Write the arrays given to `show` into a film: ``.gif``, or ``.mp4`` and ``.webm`` with ``stepscope[video]``.

    Args:
        path: the file; its extension determines the format. Its folder is created if missing.
        names: which arrays: names in which * and ? stand for any characters, separated by commas.
        every: show every N-th step in the film.
        rate: frames per second.

    Raises:
        UserError: the extension is none of these, or Pillow or PyAV is not installed.
        ValueError: ``every`` is less than 1, or ``rate`` is not above 0 and at most 60.
        OSError: the folder cannot be created.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        names: str = "*",
        every: int = 1,
        rate: float = 10.0,
        live: LiveTensors = LIVE,
    ) -> None:
        encoders: dict[str, Callable[[Path, float], _Encoder]] = {".gif": _Gif, ".mp4": _Video, ".webm": _Video}
        self._path: Final = Path(path)
        encoder = encoders.get(self._path.suffix.lower())
        if encoder is None:
            raise UserError(
                f"{self._path.name!r} is not a supported film format. Expected a name that ends with .gif, .mp4 or "
                ".webm."
            )
        if not 0 < rate <= 60:
            raise ValueError(f"rate must be between 0 and 60 frames per second, got {rate}")
        with needs_extra("A film", "stepscope-core[images]"):
            import PIL.Image  # noqa: F401  (now rather than at the first picture)
        self._encoder: Final = encoder(self._path, rate)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._size: tuple[int, int] | None = None
        self._has_left_out = False
        super().__init__(names, every, live)

    def _write(self, frame: Frame) -> None:
        from PIL import Image

        picture, left_out = sheet(frame)
        if left_out and not self._has_left_out:
            self._has_left_out = True
            names = ", ".join(left_out)
            _log.warning(
                "Left out of the film %s, where they do not fit: %s. Select fewer with `names`.", self._path, names
            )
        if self._size is None:
            # Codecs accept only even sizes.
            self._size = (picture.width + picture.width % 2, picture.height + picture.height % 2)
        canvas = Image.new("RGB", self._size, _BACKGROUND)
        canvas.paste(picture)
        self._encoder.add(np.asarray(canvas))

    def close(self) -> None:
        """End the film; may be called again.

        Raises:
            OSError: it cannot be written.
        """
        if not self._closed:
            super().close()
            self._encoder.close()


class record_images(FrameSink):  # noqa: N801
    """Write the arrays given to `show` into a run, as images with the tags ``live/<name>``.

    Args:
        writer: the run's writer.
        names: which arrays: names in which * and ? stand for any characters, separated by commas.
        every: write every N-th step.
    """

    def __init__(self, writer: SummaryWriter, *, names: str = "*", every: int = 100, live: LiveTensors = LIVE) -> None:
        self._writer: Final = writer
        super().__init__(names, every, live)

    def _write(self, frame: Frame) -> None:
        step = frame.number if frame.step is None else frame.step
        for tensor in frame.tensors:
            self._writer.add_image(f"live/{tensor.name}", picture(tensor), step, dataformats="HWC")


def picture(tensor: ShownTensor) -> NDArray[np.uint8]:
    """Return an array as a picture [height, width, 3], enlarged if it is small; grays start at its minimum."""
    plane = tensor.plane
    if plane.layout == "colors":
        drawn = np.rint(np.nan_to_num(np.clip(plane.values, 0, 1)) * 255).astype(np.uint8)
    else:
        finite = plane.finite
        limits = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
        index = pixels(plane.values, *limits)
        drawn = np.repeat(index[..., None], 3, axis=2)
        drawn[index == NOT_FINITE] = _NOT_FINITE_COLOR
        drawn[index == GAP] = _BACKGROUND
    height, width = drawn.shape[:2]
    if 0 in (height, width):
        return np.full((1, 1, 3), _BACKGROUND, np.uint8)
    if plane.layout == "bars":
        return np.repeat(np.repeat(drawn, _BAR_HEIGHT, axis=0), max(1, _LEAST_SIDE // width), axis=1)
    scale = max(1, _LEAST_SIDE // max(height, width))
    return np.repeat(np.repeat(drawn, scale, axis=0), scale, axis=1)


def sheet(frame: Frame) -> tuple["Image.Image", list[str]]:
    """Return the arrays of a frame arranged in rows, each below its name, and the names for which no room was left."""
    from PIL import Image, ImageDraw

    x, y, row_height, width, places = 0, _TEXT_HEIGHT, 0, 0, []
    left_out: list[str] = []
    for tensor in frame.tensors:
        name, drawn = tensor.name, _thinned(picture(tensor))
        if x and x + drawn.shape[1] > LARGEST_FILM:
            x, y, row_height = 0, y + row_height, 0
        if y + _TEXT_HEIGHT + drawn.shape[0] > LARGEST_FILM:
            left_out.append(name)
            continue
        places.append((name, drawn, x, y))
        x += max(drawn.shape[1], min(6 * len(name), 2 * drawn.shape[1])) + 4
        row_height = max(row_height, drawn.shape[0] + _TEXT_HEIGHT + 2)
        width = max(width, min(x, LARGEST_FILM))
    canvas = Image.new("RGB", (max(width, 120), y + row_height), _BACKGROUND)
    draw = ImageDraw.Draw(canvas)
    draw.text((2, 0), f"step {frame.number if frame.step is None else frame.step}", fill=(200, 200, 200))
    for name, drawn, left, top in places:
        draw.text((left, top), name, fill=(200, 200, 200))
        canvas.paste(Image.fromarray(drawn), (left, top + _TEXT_HEIGHT))
    return canvas, left_out


def _thinned(drawn: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return every nth row and column of a picture that is too large for a film."""
    every = -(-max(drawn.shape[:2]) // (LARGEST_FILM - 2 * _TEXT_HEIGHT))
    return drawn[::every, ::every]


class _Gif:
    """Compresses pictures when the film ends; until then they are kept with palettes of 64 colors."""

    def __init__(self, path: Path, rate: float) -> None:
        self._path = path
        self._milliseconds = 1000 / rate
        self._pictures: list[Image.Image] = []

    def add(self, picture: NDArray[np.uint8]) -> None:
        from PIL import Image

        if (len(self._pictures) + 1) * picture[..., 0].size > MOST_WAITING_BYTES:
            raise UserError(
                f"the film {self._path} is full after {counted(len(self._pictures), 'frame')}. Use a larger `every`."
            )
        self._pictures.append(Image.fromarray(picture).quantize(64))

    def close(self) -> None:
        if self._pictures:
            first, *rest = self._pictures
            first.save(
                self._path, save_all=True, append_images=rest, duration=self._milliseconds, loop=0, optimize=False
            )
            self._pictures = []


class _Video:
    """Encodes pictures as they arrive, with PyAV."""

    def __init__(self, path: Path, rate: float) -> None:
        with needs_extra(f"A film in {path.suffix}", "stepscope[video]"):
            import av
        self._av: Any = av
        self._path = path
        self._rate = rate
        self._container: Any = None
        self._stream: Any = None

    def add(self, picture: NDArray[np.uint8]) -> None:
        from fractions import Fraction

        if self._container is None:
            self._container = self._av.open(str(self._path), "w")
            codec = "libvpx-vp9" if self._path.suffix.lower() == ".webm" else "libx264"
            self._stream = self._container.add_stream(codec, rate=Fraction(self._rate).limit_denominator(1000))
            self._stream.height, self._stream.width = picture.shape[:2]
            self._stream.pix_fmt = "yuv420p"
        for packet in self._stream.encode(self._av.VideoFrame.from_ndarray(picture, format="rgb24")):
            self._container.mux(packet)

    def close(self) -> None:
        if self._container is not None:
            with self._container:
                for packet in self._stream.encode():
                    self._container.mux(packet)
            self._container = None
