"""Functions of TensorFlow 2 that write summaries to the default writer.

All take ``step``, by default the default step, and return whether something was written. They raise TypeError and
ValueError before anything is written, and RuntimeError if the default writer is closed.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.arguments import checked_number
from stepscope.summary.kinds.audio import audio as audio_value
from stepscope.summary.kinds.audio import encoded_audio
from stepscope.summary.kinds.base import Prepared
from stepscope.summary.kinds.histogram import prepared_histogram_of_equal_buckets
from stepscope.summary.kinds.image import encoded_images
from stepscope.summary.kinds.pixels import arranged
from stepscope.summary.kinds.png import png
from stepscope.summary.kinds.scalar import scalar as scalar_value
from stepscope.summary.kinds.text import text as text_value
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.tensorflow_compat import array_of, graph_def_of, pcm16, strings_of, whole_number
from stepscope.summary.v2.state import DEFAULT_WRITER, tag_of
from stepscope.summary.v2.writing import destination, write_value

_BUCKETS: Final = 30


def scalar(name: str, data: Any, step: Any = None, description: str | None = None) -> bool:
    """Write one number as a float32 tensor.

    Args:
        name: the tag, to be prefixed with the enclosing scopes.
        data: one real number, or an array or tensor of one element.
        step: by default the default step.
        description: a Markdown description of the tag.
    """
    if description is not None:
        return write_value(
            name,
            lambda tag: scalar_value(tag, checked_number(data, f"the scalar {tag!r}"), "float32"),
            step,
            description,
        )
    place = destination(step)
    if place is None:
        return False
    file, whole = place
    tag = tag_of(name)
    file.add_scalar(tag, checked_number(data, f"the scalar {tag!r}"), whole, form="float32")
    return True


def image(name: str, data: Any, step: Any = None, max_outputs: int = 3, description: str | None = None) -> bool:
    """Write up to ``max_outputs`` images as PNG.

    Args:
        name: the tag, to be prefixed with the enclosing scopes.
        data: shape [images, height, width, channels] with 1 (gray), 2 (gray and alpha), 3 (RGB) or 4 (RGBA) channels.
            Floats in 0..1 are multiplied by 255.5 and truncated; uint8 is unchanged; other whole numbers are scaled
            from the dtype's range to the range of uint8, whatever the values. Values outside the range are clipped, and
            NaN becomes 0 (``tf.image.convert_image_dtype``).
        step: by default the default step.
        max_outputs: maximum number of images, from the first.
        description: a Markdown description of the tag.
    """

    def prepared(tag: str) -> Prepared:
        what = f"the image {tag!r}"
        most = whole_number(max_outputs, f"max_outputs of {what}", least=0)
        pictures = array_of(data, what)
        if pictures.ndim == 4 and len(pictures) == 0:
            return Prepared(lambda: encoded_images(tag, pictures.shape[2], pictures.shape[1], []), 0)
        kept = arranged(pictures, "NHWC", "NHWC", what)[:most]
        _, height, width, _ = kept.shape
        pixels = [np.array(_bytes(picture)) for picture in kept]
        held_bytes = sum(picture.nbytes for picture in pixels)
        return Prepared(lambda: encoded_images(tag, width, height, [png(each) for each in pixels]), held_bytes)

    return write_value(name, prepared, step, description)


def audio(
    name: str,
    data: Any,
    sample_rate: int,
    step: Any = None,
    max_outputs: int = 3,
    encoding: str | None = None,
    description: str | None = None,
) -> bool:
    """Write up to ``max_outputs`` clips as 16-bit WAV.

    Args:
        name: the tag, to be prefixed with the enclosing scopes.
        data: floats in -1..1, shape [clips, frames, channels] with 1 or 2 channels; values outside this range are
            clipped with a warning.
        sample_rate: frames per second.
        step: by default the default step.
        max_outputs: maximum number of clips, from the first.
        encoding: "wav" or None.
        description: a Markdown description of the tag.

    Raises:
        ValueError: ``encoding`` is neither.
    """
    if encoding not in (None, "wav"):
        raise ValueError(f"encoding must be 'wav' or None, got {encoding!r}")

    def value(tag: str) -> Summary.Value:
        what = f"the audio {tag!r}"
        most = whole_number(max_outputs, f"max_outputs of {what}", least=0)
        clips = array_of(data, what)
        if clips.ndim == 3 and (most == 0 or len(clips) == 0):
            return encoded_audio(tag, [])
        return audio_value(tag, pcm16(data, (3,), what, stacklevel=5)[:most], sample_rate)

    return write_value(name, value, step, description)


def histogram(
    name: str, data: Any, step: Any = None, buckets: int | None = None, description: str | None = None
) -> bool:
    """Write the distribution of ``data`` in buckets of equal width.

    Args:
        name: the tag, to be prefixed with the enclosing scopes.
        data: real numbers of any shape; may be empty.
        step: by default the default step.
        buckets: number of buckets, by default 30; see `stepscope.summary.kinds.histogram.histogram_of_equal_buckets`.
        description: a Markdown description of the tag.
    """
    count = _BUCKETS if buckets is None else buckets
    return write_value(name, lambda tag: prepared_histogram_of_equal_buckets(tag, data, count), step, description)


def text(name: str, data: Any, step: Any = None, description: str | None = None) -> bool:
    """Write Markdown.

    Args:
        name: the tag, to be prefixed with the enclosing scopes.
        data: a string, or an array of strings, which is shown as a table; `str` or UTF-8 bytes.
        step: by default the default step.
        description: a Markdown description of the tag.
    """
    return write_value(name, lambda tag: text_value(tag, strings_of(data, f"the text {tag!r}")), step, description)


def graph(graph_data: Any) -> bool:
    """Write a graph at step 0.

    Args:
        graph_data: a GraphDef, its bytes, a ``tf.Graph``, or a model that `stepscope.summary.graphs.graph_of` takes.
    """
    if DEFAULT_WRITER.get() is None:
        return False
    place = destination(0)
    if place is None:
        return False
    file, step = place
    file.add_event(Event(step=step, graph_def=graph_def_of(graph_data).SerializeToString()))
    return True


def _bytes(picture: NDArray[Any]) -> NDArray[np.uint8]:
    match picture.dtype.kind:
        case "b":
            return picture.astype(np.uint8) * np.uint8(255)
        case "f":
            scaled = np.nan_to_num(picture * picture.dtype.type(255.5), nan=0, posinf=255, neginf=0)
            return np.asarray(scaled.clip(0, 255), dtype=np.uint8)
        case _:
            largest, byte = int(np.iinfo(picture.dtype).max), 255
            if largest >= byte:
                return np.asarray((picture // ((largest + 1) // (byte + 1))).clip(0, byte), dtype=np.uint8)
            return picture.clip(0).astype(np.uint8) * np.uint8((byte + 1) // (largest + 1))
