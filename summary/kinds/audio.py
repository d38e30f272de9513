"""Audio: one or more clips at a step."""

import warnings
import wave
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.arguments import as_array, checked_number
from stepscope.summary.kinds.base import Kind, PayloadError, PayloadFile, Table
from stepscope.summary.kinds.media_endings import media_ending
from stepscope.summary.kinds.tensor_proto import plugin_metadata, strings, strings_tensor
from stepscope.summary.proto import summary_pb2
from stepscope.summary.proto.plugin_data_pb2 import AudioPluginData
from stepscope.summary.proto.summary_pb2 import Summary

PLUGIN_NAME: Final = "audio"

_WAV: Final = "audio/wav"
_MOST_CHANNELS: Final = 2
_LOUDEST: Final = np.iinfo(np.int16).max
_HIGHEST_RATE: Final = (1 << 32) // (2 * _MOST_CHANNELS)
"""A WAV header counts bytes per second in 32 bits."""


@dataclass(frozen=True)
class Clip:
    """A clip as encoded."""

    encoded: bytes
    content_type: str
    """A MIME type; "audio/wav" from nearly every writer."""
    label: str
    """Markdown, or ""."""


@dataclass(frozen=True)
class Audio:
    """The clips of a step, in order."""

    clips: tuple[Clip, ...]


def audio(tag: str, samples: Any, sample_rate: Any) -> Summary.Value:
    """Return a value with one 16-bit WAV per clip.

    Args:
        tag: the tag of the series.
        samples: int16, or floats in -1..1, which are scaled to +-32767 and rounded; values outside this range are
            clipped with a warning. Shape [frames]; or [channels, frames] or [frames, channels], where the shorter axis
            is the channels; or [clips, frames, channels], as in TensorFlow. One or two channels.
        sample_rate: frames per second.

    Raises:
        TypeError: any other dtype, or ``sample_rate`` is not a whole number.
        ValueError: any other shape, no frames, NaN, or ``sample_rate`` is out of range.
    """
    name = f"the audio {tag!r}"
    rate = _checked_rate(sample_rate, name)
    clips = _to_int16(_clips(as_array(samples, name), name), name)
    return encoded_audio(tag, [_to_wav(clip, rate) for clip in clips])


def encoded_audio(tag: str, clips: Sequence[bytes]) -> Summary.Value:
    """Return a value with clips that are already WAV; there may be none."""
    parts = [part for clip in clips for part in (clip, b"")]
    content = AudioPluginData(encoding=AudioPluginData.WAV).SerializeToString()
    # With a data class, TensorBoard's Python reader would mistake labels for clips.
    metadata = plugin_metadata(PLUGIN_NAME, summary_pb2.DATA_CLASS_UNKNOWN, content)
    return Summary.Value(tag=tag, metadata=metadata, tensor=strings_tensor(parts, (len(clips), 2)))


def decode_audio(value: Summary.Value) -> Audio:
    """Decode a string tensor, [clips, 2] of sound and label or [clips] of sound, or the legacy field with one clip.

    Raises:
        PayloadError: the value is neither.
    """
    field = value.WhichOneof("value")
    if field == "audio":
        return Audio((Clip(value.audio.encoded_audio_string, value.audio.content_type or _WAV, ""),))
    if field != "tensor":
        raise PayloadError(f"expected audio as audio or tensor, got {field or 'no value'}")
    parts = strings(value.tensor)
    if parts.ndim == 1:
        return Audio(tuple(Clip(sound, _WAV, "") for sound in parts.tolist()))
    if parts.ndim != 2 or parts.shape[1] != 2:
        raise PayloadError(f"expected audio of shape [clips] or [clips, 2], got shape {list(parts.shape)}")
    return Audio(tuple(Clip(sound, _WAV, label.decode(errors="replace")) for sound, label in parts.tolist()))


def _checked_rate(sample_rate: Any, name: str) -> int:
    number = checked_number(sample_rate, f"sample_rate of {name}")
    if not (0 < number < _HIGHEST_RATE and number.is_integer()):
        raise ValueError(f"sample_rate of {name} must be a whole number in 1..{_HIGHEST_RATE - 1}, got {number:g}")
    return int(number)


def _clips(array: NDArray[Any], name: str) -> NDArray[Any]:
    """As [clips, frames, channels]."""
    if array.ndim == 1:
        shaped = array[np.newaxis, :, np.newaxis]
    elif array.ndim == 2:
        shaped = (array.T if array.shape[0] < array.shape[1] else array)[np.newaxis]
    else:
        shaped = array
    if shaped.ndim != 3 or shaped.size == 0 or shaped.shape[2] > _MOST_CHANNELS:
        wanted = "[frames], [channels, frames], [frames, channels] or [clips, frames, channels] with 1 or 2 channels"
        raise ValueError(f"{name} must have frames of shape {wanted}, got shape {array.shape}")
    return shaped


def _to_int16(array: NDArray[Any], name: str) -> NDArray[np.int16]:
    if array.dtype == np.int16:
        return array.astype("<i2", copy=False)
    if array.dtype.kind != "f":
        raise TypeError(f"{name} must be int16 or floats (-1..1), got {array.dtype}")
    if np.isnan(array).any():
        raise ValueError(f"{name} must have numbers only, got {int(np.isnan(array).sum())} NaN")
    outside = int((np.abs(array) > 1).sum())
    if outside:
        warnings.warn(f"{name} clips {outside} of {array.size} samples to -1..1", stacklevel=4)
    return np.asarray(np.rint(array.astype(np.float64).clip(-1, 1) * _LOUDEST), dtype="<i2")


def _to_wav(frames: NDArray[np.int16], rate: int) -> bytes:
    stream = BytesIO()
    with wave.open(stream, "wb") as writer:
        writer.setnchannels(frames.shape[1])
        writer.setsampwidth(2)
        writer.setframerate(rate)
        writer.writeframes(np.ascontiguousarray(frames).tobytes())
    return stream.getvalue()


def _legacy_form(value: Summary.Value) -> Summary.Value:
    """Return the first clip in the dedicated audio field."""
    clips = decode_audio(value).clips
    if not clips:
        return value
    if len(clips) > 1:
        warnings.warn(
            f"{value.tag!r} has {len(clips)} clips at a step; only the first is written, as the legacy form holds one. "
            "Write each under a separate tag, or without legacy=True.",
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


def _rows(found: Audio) -> list[tuple[Any, ...]]:
    return [(sample, clip.content_type, clip.label, clip.encoded) for sample, clip in enumerate(found.clips)]


KIND: Final = Kind(
    plugin_name=PLUGIN_NAME,
    decode=decode_audio,
    about="one or several clips",
    table=Table({"sample": "int", "content_type": "str", "label": "str", "encoded": "bytes"}, _rows),
    files=lambda found: [PayloadFile(clip.encoded, media_ending(clip.encoded)) for clip in found.clips],
    legacy_field="audio",
    legacy_form=_legacy_form,
)
