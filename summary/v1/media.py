"""Images and audio in the style of TensorFlow 1: one value per image or clip, each under its own tag."""

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.arguments import checked_number
from stepscope.summary.kinds.audio import audio as audio_value
from stepscope.summary.kinds.pixels import arranged
from stepscope.summary.kinds.png import png
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.tensorflow_compat import array_of, pcm16, whole_number
from stepscope.summary.v1.names import tag_of, tags_of_outputs

_BAD_COLOR: Final = np.array([255, 0, 0, 255], np.uint8)
_DARK: Final = np.float32(1e-6)
"""Images whose largest value is below this are black."""


def image(
    name: str,
    tensor: Any,
    max_outputs: int = 3,
    collections: Iterable[str] | None = None,
    family: str | None = None,
) -> bytes:
    """Return a summary of up to ``max_outputs`` images, each in its own field under ``<tag>/image/<i>``.

    Floats are scaled per image, as in TensorFlow's ``core/kernels/summary_image_op.cc``: by 255 / max or, if any is
    negative, by 127 / max(abs) and shifted by 128. A pixel with NaN or infinity is red.

    Args:
        name: the tag; see `stepscope.summary.v1.names.tag_of`. With ``max_outputs`` of 1, it is ``<tag>/image``.
        tensor: uint8 in 0..255 or floats, shape [images, height, width, channels] with 1, 3 or 4 channels.
        max_outputs: maximum number of images, from the first; it alone determines whether the tag has a number.
        collections: no effect.
        family: prefix of the tag.

    Raises:
        TypeError: any other dtype.
        ValueError: any other shape, or ``max_outputs`` is below 1.
    """
    tag = tag_of(name, family)
    what = f"the image {tag!r}"
    most = whole_number(max_outputs, f"max_outputs of {what}", least=1)
    pictures = array_of(tensor, what)
    if pictures.dtype != np.uint8 and pictures.dtype.kind != "f":
        raise TypeError(f"{what} must be uint8 (0..255) or floats, got {pictures.dtype}")
    if pictures.ndim == 4 and len(pictures) == 0:
        return b""
    kept = arranged(pictures, "NHWC", "NHWC", what, channels=(1, 3, 4))[:most]
    _, height, width, channels = kept.shape
    values = [
        Summary.Value(
            tag=of_output,
            image=Summary.Image(
                height=height,
                width=width,
                colorspace=channels,
                encoded_image_string=png(picture if picture.dtype == np.uint8 else _scaled(picture)),
            ),
        )
        for of_output, picture in zip(tags_of_outputs(tag, "image", len(kept), most), kept, strict=True)
    ]
    return Summary(value=values).SerializeToString()


def audio(
    name: str,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: Iterable[str] | None = None,
    family: str | None = None,
) -> bytes:
    """Return a summary of up to ``max_outputs`` clips as 16-bit WAV, each in its own field under ``<tag>/audio/<i>``.

    Args:
        name: the tag; see `stepscope.summary.v1.names.tag_of`. With ``max_outputs`` of 1, it is ``<tag>/audio``.
        tensor: floats in -1..1, shape [clips, frames, channels] with 1 or 2 channels, or [clips, frames]; values
            outside this range are clipped with a warning.
        sample_rate: frames per second; rounded in the WAV.
        max_outputs: maximum number of clips, from the first; it alone determines whether the tag has a number.
        collections: no effect.
        family: prefix of the tag.

    Raises:
        TypeError: any other dtype.
        ValueError: any other shape, NaN, or a number out of range.
    """
    tag = tag_of(name, family)
    what = f"the audio {tag!r}"
    most = whole_number(max_outputs, f"max_outputs of {what}", least=1)
    rate = checked_number(sample_rate, f"sample_rate of {what}")
    if not rate > 0:
        raise ValueError(f"sample_rate of {what} must be above 0, got {rate:g}")
    clips = pcm16(tensor, (2, 3), what, stacklevel=3)[:most]
    encoded = audio_value(tag, clips, max(1, np.rint(rate))).tensor.string_val[::2]
    _, frames, channels = clips.shape
    values = [
        Summary.Value(
            tag=of_output,
            audio=Summary.Audio(
                sample_rate=rate,
                num_channels=channels,
                length_frames=frames,
                encoded_audio_string=clip,
                content_type="audio/wav",
            ),
        )
        for of_output, clip in zip(tags_of_outputs(tag, "audio", len(clips), most), encoded, strict=True)
    ]
    return Summary(value=values).SerializeToString()


def _scaled(picture: NDArray[Any]) -> NDArray[np.uint8]:
    """Return floats [height, width, channels] as bytes, computed in their own dtype and truncated, not rounded; in
    float32 if the image is too dark for a factor of its own dtype.
    """
    finite = np.isfinite(picture).all(axis=-1)
    known = picture[finite].astype(np.float32)
    smallest, largest = (known.min(), known.max()) if known.size else (np.float32(0), np.float32(0))
    span = np.maximum(np.abs(smallest), np.abs(largest))
    full = np.float32(127 if smallest < 0 else 255)
    scale = np.float32(0) if span < _DARK else full / span
    dtype = picture.dtype if scale <= np.finfo(picture.dtype).max else scale.dtype
    offset = 128 if smallest < 0 else 0
    pixels = np.empty(picture.shape, np.uint8)
    scaled = picture[finite].astype(dtype) * dtype.type(scale) + dtype.type(offset)
    pixels[finite] = scaled.astype(np.uint8)
    pixels[~finite] = _BAD_COLOR[: picture.shape[-1]]
    return pixels
