"""The form of images and sound that PyTorch and TensorFlow 1 write: fields of their own instead of tensors.

``EventAccumulator.Images`` and ``Audio`` of TensorBoard, and tbparse, find only these.
"""

import math
import warnings
import wave
from collections.abc import Sequence
from io import BytesIO
from typing import Final

from stepscope.summary.kinds.audio import decode_audio
from stepscope.summary.kinds.image import decode_images
from stepscope.summary.kinds.pixels import png_of
from stepscope.summary.proto.summary_pb2 import Summary

_COLUMNS: Final = 8
"""Of a grid of pictures, as in PyTorch's ``make_grid``."""
_CHANNELS: Final = {"L": 1, "RGB": 3, "RGBA": 4}


def legacy_form(value: Summary.Value) -> Summary.Value:
    """Return an image, with several pictures as one grid, or the first clip of audio in the older form.

    All else as it is.
    """
    if value.WhichOneof("value") != "tensor":
        return value
    match value.metadata.plugin_data.plugin_name:
        case "images":
            return _image(value)
        case "audio":
            return _audio(value)
        case _:
            return value


def _image(value: Summary.Value) -> Summary.Value:
    from PIL import Image

    images = decode_images(value)
    encoded = images.encoded[0] if len(images.encoded) == 1 else _grid(images.encoded, images.width, images.height)
    with Image.open(BytesIO(encoded)) as picture:
        channels = _CHANNELS.get(picture.mode, 3)
        image = Summary.Image(
            height=picture.height, width=picture.width, colorspace=channels, encoded_image_string=encoded
        )
    return Summary.Value(tag=value.tag, image=image)


def _grid(encoded: Sequence[bytes], width: int, height: int) -> bytes:
    from PIL import Image

    columns = min(len(encoded), _COLUMNS)
    pictures = [Image.open(BytesIO(each)) for each in encoded]
    grid = Image.new(pictures[0].mode, (columns * width, math.ceil(len(encoded) / columns) * height))
    for place, picture in enumerate(pictures):
        grid.paste(picture, (place % columns * width, place // columns * height))
    return png_of(grid)


def _audio(value: Summary.Value) -> Summary.Value:
    clips = decode_audio(value).clips
    if not clips:
        return value
    if len(clips) > 1:
        warnings.warn(
            f"{value.tag!r} has {len(clips)} clips at a step; only the first is written, as the legacy form holds one. "
            "Write each under a tag of its own, or without legacy=True.",
            stacklevel=2,
        )
    with wave.open(BytesIO(clips[0].encoded)) as sound:
        audio = Summary.Audio(
            sample_rate=sound.getframerate(),
            num_channels=sound.getnchannels(),
            length_frames=sound.getnframes(),
            encoded_audio_string=clips[0].encoded,
            content_type=clips[0].content_type,
        )
    return Summary.Value(tag=value.tag, audio=audio)
