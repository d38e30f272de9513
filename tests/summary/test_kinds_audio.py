import io
import wave
from typing import Any

import numpy as np
import pytest

from stepscope.summary.kinds import PayloadError, decode, kind_of
from stepscope.summary.kinds.audio import Audio, Clip, audio
from stepscope.summary.kinds.tensor_proto import numbers_tensor, strings_tensor
from stepscope.summary.proto.plugin_data_pb2 import AudioPluginData
from stepscope.summary.proto.summary_pb2 import Summary


def sounds(value: Summary.Value) -> list[tuple[int, int, list[list[int]]]]:
    """Sample rate, bytes per sample, and frames of every clip, as the standard library reads them."""
    found = []
    for clip in decode("audio", value).clips:
        assert (clip.content_type, clip.label) == ("audio/wav", "")
        with wave.open(io.BytesIO(clip.encoded)) as reader:
            samples = np.frombuffer(reader.readframes(reader.getnframes()), "<i2")
            frames = samples.reshape(-1, reader.getnchannels()).tolist()
            found.append((reader.getframerate(), reader.getsampwidth(), frames))
    return found


MONO = np.array([0.0, 1.0, -1.0, 0.5], np.float32)
STEREO = np.array([[1, -1], [2, -2], [3, -3]], np.int16)


@pytest.mark.parametrize(
    ("samples", "frames"),
    [
        (MONO, [[[0], [32767], [-32767], [16384]]]),
        (MONO[np.newaxis], [[[0], [32767], [-32767], [16384]]]),
        (MONO[:, np.newaxis].astype(np.float64), [[[0], [32767], [-32767], [16384]]]),
        (STEREO, [STEREO.tolist()]),
        (STEREO.T, [STEREO.tolist()]),
        (STEREO[:2], [STEREO[:2].tolist()]),
        (np.stack([STEREO, STEREO + 5]), [STEREO.tolist(), (STEREO + 5).tolist()]),
        (np.array([0.25], np.float16), [[[8192]]]),
    ],
)
def test_every_layout_and_dtype(samples: Any, frames: list[Any]) -> None:
    value = audio("tone", samples, 8000)
    assert (value.tag, kind_of(value)) == ("tone", "audio")
    assert AudioPluginData.FromString(value.metadata.plugin_data.content).encoding == AudioPluginData.WAV
    assert sounds(value) == [(8000, 2, clip) for clip in frames]


def test_what_is_too_loud_is_clipped_with_a_warning() -> None:
    with pytest.warns(UserWarning, match=r"'t' clips 3 of 4 samples to -1..1"):
        value = audio("t", [0.0, 2.0, -np.inf, np.inf], 1)
    assert sounds(value) == [(1, 2, [[0], [32767], [-32767], [32767]])]


@pytest.mark.parametrize(
    ("value", "clips"),
    [
        (Summary.Value(audio=Summary.Audio(encoded_audio_string=b"x")), (Clip(b"x", "audio/wav", ""),)),
        (
            Summary.Value(audio=Summary.Audio(encoded_audio_string=b"x", content_type="audio/ogg")),
            (Clip(b"x", "audio/ogg", ""),),
        ),
        (
            Summary.Value(tensor=strings_tensor([b"x", b"y"], (2,))),
            (Clip(b"x", "audio/wav", ""), Clip(b"y", "audio/wav", "")),
        ),
        (Summary.Value(tensor=strings_tensor([b"x", "ä".encode()], (1, 2))), (Clip(b"x", "audio/wav", "ä"),)),
        (Summary.Value(tensor=strings_tensor([], (0, 2))), ()),
    ],
)
def test_every_form_is_read(value: Summary.Value, clips: tuple[Clip, ...]) -> None:
    assert decode("audio", value) == Audio(clips)


def test_the_older_field_is_audio() -> None:
    assert kind_of(Summary.Value(audio=Summary.Audio())) == "audio"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Summary.Value(simple_value=1), "as audio or tensor, got simple_value"),
        (Summary.Value(tensor=strings_tensor([b"x"], ())), r"\[clips\] or \[clips, 2\], got shape \[\]"),
        (Summary.Value(tensor=strings_tensor([b"x"] * 3, (1, 3))), r"got shape \[1, 3\]"),
        (Summary.Value(tensor=numbers_tensor(np.zeros(1))), "a tensor of strings, got DT_DOUBLE"),
    ],
)
def test_what_is_no_audio(value: Summary.Value, message: str) -> None:
    with pytest.raises(PayloadError, match=message):
        decode("audio", value)


@pytest.mark.parametrize(
    ("samples", "rate", "error", "message"),
    [
        ([], 8000, ValueError, r"frames of shape .*, got shape \(0,\)"),
        (np.zeros((3, 3)), 8000, ValueError, r"1 or 2 channels, got shape \(3, 3\)"),
        (np.zeros((1, 1, 1, 1)), 8000, ValueError, r"got shape \(1, 1, 1, 1\)"),
        (0.5, 8000, ValueError, r"got shape \(\)"),
        ([0.0, np.nan], 8000, ValueError, "numbers only, got 1 NaN"),
        ([0, 1], 8000, TypeError, r"int16 or floats \(-1..1\), got int64"),
        (["a"], 8000, TypeError, "must be real numbers"),
        ([0.0], 0, ValueError, "a whole number in 1..1073741823, got 0"),
        ([0.0], 0.5, ValueError, "a whole number .*, got 0.5"),
        ([0.0], "8000", TypeError, "sample_rate of the audio 't' must be real numbers, got str '8000'"),
    ],
)
def test_audio_refuses(samples: Any, rate: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        audio("t", samples, rate)
