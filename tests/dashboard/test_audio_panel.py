"""The audio panel on the server: clips of every format and damage, waveforms, spectrograms, and clips by ranges."""

import struct
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import signal

from stepscope.dashboard.panels.audio import routes
from stepscope.dashboard.panels.audio import sound as sounds
from stepscope.dashboard.panels.audio.clips import sniff, sound_of
from stepscope.dashboard.panels.audio.figures import FFT_SIZES, Scale, envelope, row_edges, spectrogram
from stepscope.dashboard.panels.audio.ranges import byte_range
from stepscope.dashboard.panels.audio.routes import read_clip
from stepscope.dashboard.panels.audio.sound import Encoded, Sound, SoundCache, decode
from stepscope.dashboard.server.binary import unpack
from stepscope.summary import SummaryWriter
from stepscope.summary.kinds.audio import Clip
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.tensor_proto import strings_tensor
from stepscope.summary.proto.summary_pb2 import Summary, SummaryMetadata
from stepscope.summary.series import Series
from tests.dashboard.media import client_of

RATE = 8000
WHERE = {"run": "a", "tag": "voice"}


def wav_bytes(
    body: bytes, *, kind: int = 1, bits: int = 16, channels: int = 1, rate: int = RATE, size: int | None = None
) -> bytes:
    block = channels * bits // 8
    fmt = struct.pack("<HHIIHH", kind, channels, rate, rate * block & 0xFFFFFFFF, block, bits)
    data = b"data" + struct.pack("<I", len(body) if size is None else size) + body
    chunks = b"fmt " + struct.pack("<I", len(fmt)) + fmt + b"LIST\x03\0\0\0abc\0" + data
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def int16_wav(samples: Any, *, rate: int = RATE) -> bytes:
    """From [frames] or [frames, channels]."""
    array = np.asarray(samples, "<i2")
    return wav_bytes(array.tobytes(), channels=1 if array.ndim == 1 else array.shape[1], rate=rate)


def of(content: bytes, name: str = "WAV") -> Sound:
    return decode(Encoded(content, name))


def written(samples: Any, container: str, encoding: str, *, rate: int = RATE) -> bytes:
    stream = BytesIO()
    soundfile.write(stream, samples, rate, format=container, subtype=encoding)
    return stream.getvalue()


def sine(hertz: float, frames: int, *, rate: int = RATE) -> NDArray[np.float64]:
    return np.asarray(0.5 * np.sin(2 * np.pi * hertz * np.arange(frames) / rate))


def float_wav(samples: Any) -> Sound:
    array = np.asarray(samples, "<f4")
    return of(wav_bytes(array.tobytes(), kind=3, bits=32, channels=1 if array.ndim == 1 else array.shape[1]))


def legacy(content: bytes, content_type: str = "audio/wav") -> Summary:
    audio = Summary.Audio(encoded_audio_string=content, content_type=content_type)
    return Summary(value=[Summary.Value(tag="voice", audio=audio)])


@pytest.mark.parametrize(
    ("kind", "bits", "body", "numbers"),
    [
        (1, 8, bytes([0, 128, 255]), [-1, 0, 127 / 128]),
        (1, 16, struct.pack("<3h", -32768, 0, 16384), [-1, 0, 0.5]),
        (1, 24, b"\0\0\x80" + b"\0\0\0" + b"\0\0\x40", [-1, 0, 0.5]),
        (1, 32, struct.pack("<3i", -(2**31), 0, 2**30), [-1, 0, 0.5]),
        (3, 32, struct.pack("<3f", -1.5, 0, 0.25), [-1.5, 0, 0.25]),
        (3, 64, struct.pack("<3d", -1, 1e300, 0.25), [-1, np.inf, 0.25]),
    ],
)
def test_every_encoding_of_wav_is_read(kind: int, bits: int, body: bytes, numbers: list[float]) -> None:
    sound = of(wav_bytes(body, kind=kind, bits=bits))
    assert sound.read(0, 9).tolist() == [[number] for number in numbers]
    assert sound.read(2, 3).tolist() == [[numbers[2]]]
    assert (sound.rate, sound.channels, sound.frames, sound.notice) == (RATE, 1, 3, "")


FORMATS = [
    ("WAV", "PCM_U8", "8-bit PCM", 0.01),
    ("WAV", "PCM_16", "16-bit PCM", 1e-4),
    ("WAV", "PCM_24", "24-bit PCM", 1e-6),
    ("WAV", "PCM_32", "32-bit PCM", 1e-6),
    ("WAV", "FLOAT", "32-bit float", 1e-6),
    ("WAV", "DOUBLE", "64-bit float", 1e-6),
    ("WAVEX", "PCM_24", "24-bit PCM", 1e-6),
    ("RF64", "PCM_16", "16-bit PCM", 1e-4),
    ("WAV", "ULAW", "mu-law", 0.02),
    ("FLAC", "PCM_16", "16-bit PCM", 1e-4),
    ("FLAC", "PCM_24", "24-bit PCM", 1e-6),
    ("OGG", "VORBIS", "Vorbis", 0.05),
    ("OGG", "OPUS", "Opus", 0.05),
    ("MP3", "MPEG_LAYER_III", "", 0.05),
]


@pytest.mark.parametrize(("container", "encoding", "name", "error"), FORMATS)
def test_every_format_is_decoded(container: str, encoding: str, name: str, error: float) -> None:
    stereo = np.stack([sine(500, 48_000, rate=48_000), sine(3000, 48_000, rate=48_000)], axis=1)
    sound = of(written(stereo, container, encoding, rate=48_000), container)
    assert (sound.rate, sound.channels, sound.encoding, sound.notice) == (48_000, 2, name, "")
    assert sound.frames == 48_000
    # Only where nothing is cut off at the ends.
    assert np.abs(sound.read(9_600, 38_400) - stereo[9_600:38_400]).max() < error
    for channel, bin_of_sine in ((0, 500 * 1024 / 48_000), (1, 3000 * 1024 / 48_000)):
        found = spectrogram(sound, 9_600, 38_400, width=9, height=513, fft=1024, scale="linear", channel=channel)
        assert set(found.levels[::-1].argmax(axis=0).tolist()) == {round(bin_of_sine)}


@pytest.mark.parametrize(("container", "encoding", "name", "error"), FORMATS)
def test_long_clips_are_read_by_stretches(
    monkeypatch: pytest.MonkeyPatch, container: str, encoding: str, name: str, error: float
) -> None:
    content = written(sine(500, 48_000, rate=48_000), container, encoding, rate=48_000)
    kept = of(content, container)
    monkeypatch.setattr(sounds, "MOST_KEPT", 1000)
    monkeypatch.setattr(sounds, "_AT_A_TIME", 700)
    long = of(content, container)
    assert (long.frames, long.bytes, kept.bytes) == (48_000, len(content), 4 * 48_000)
    assert np.abs(long.read(30_000, 40_000) - kept.read(30_000, 40_000)).max() < max(error, 1e-6)
    assert np.abs(long.read(0, 48_000) - kept.read(0, 48_000)).max() < max(error, 1e-6)
    assert long.read(47_000, 99_000).shape == (1000, 1)
    found, expected = (
        spectrogram(one, 0, 48_000, width=40, height=513, fft=1024, scale="linear") for one in (long, kept)
    )
    assert found.levels.argmax(axis=0).tolist() == expected.levels.argmax(axis=0).tolist()


def test_clips_that_are_too_long_play_without_a_picture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sounds, "MOST_COUNTED", 50_000)
    with SummaryWriter(str(tmp_path / "a")) as writer:
        writer.add_summary(legacy(written(np.zeros(600_000), "FLAC", "PCM_16")), 0)
        writer.add_summary(legacy(b"\x1aE\xdf\xa3" + bytes(60)), 1)
    client = client_of(tmp_path)
    long, webm = (client.get("/api/audio/point", params={**WHERE, "index": index}).json() for index in (0, 1))
    assert (long["error"], long["rate"], long["mime_type"]) == ("", 0, "audio/flac")
    why = "are not decoded here: the browser may be able to play the clip, but no waveform is shown."
    assert long["notice"] == f"Clips of more than 1 minutes {why}"
    assert (webm["error"], webm["rate"], webm["notice"]) == ("", 0, f"WebM files {why}")
    answer = client.get("/api/audio/waveform", params={**WHERE, "index": 0, "width": 9})
    assert (answer.status_code, answer.json()["detail"]) == (422, f"No sound: clips of more than 1 minutes {why}")


def test_equal_clips_are_decoded_once() -> None:
    cache = SoundCache()
    one, other = (Clip(int16_wav([1, 2]), "audio/wav", "") for _ in range(2))
    assert sound_of(one, cache) is sound_of(other, cache)


@pytest.mark.parametrize(
    ("content", "name", "why"),
    [
        (b"RIFF\0\0\0\0WAVE", "WAV", "WAV of 12 B cannot be decoded: No 'data' chunk marker"),
        (b"RIFF\0\0\0\0WAVEfmt \x02\0\0\0\x01\0", "WAV", "Short 'fmt ' chunk"),
        (b"RIFF\0\0\0\0WAVEdata\0\0\0\0", "WAV", "No 'data' chunk marker"),
        (wav_bytes(b"", kind=0x1234, bits=8), "WAV", "Malformed 'fmt ' chunk"),
        (wav_bytes(b"", rate=0), "WAV", "cannot be decoded"),
        (wav_bytes(b"", rate=0xFFFFFFFF), "WAV", "cannot be decoded"),
        (wav_bytes(b"", channels=0), "WAV", "Channel count is zero"),
        (wav_bytes(b"", channels=2000), "WAV", "Too many channels specified"),
        (b"fLaC" + bytes(60), "FLAC", "FLAC of 64 B cannot be decoded"),
        (b"OggS" + bytes(60), "Ogg", "Ogg of 64 B cannot be decoded"),
        (b"ID3" + bytes(60), "MP3", "MP3 of 63 B cannot be decoded: Format not recogni"),
        (b"\xff\xfb" + bytes(200), "MP3", "MP3 of 202 B cannot be decoded: no audio frame"),
    ],
)
def test_what_is_no_sound_says_why(content: bytes, name: str, why: str) -> None:
    with pytest.raises(PayloadError, match=why):
        of(content, name)


@given(st.binary(max_size=200), st.integers(0, 200), st.sampled_from(["WAV", "FLAC", "OGG", "MP3"]))
def test_any_bytes_are_read_or_refused(garbage: bytes, at: int, container: str) -> None:
    good = GOOD[container]
    for content in (garbage, good[:12] + garbage, good[:at] + garbage[:3] + good[at + 3 :], good[: at * 10]):
        try:
            sound = of(content)
        except PayloadError:
            continue
        assert sound.frames < len(content) * 10_000
        assert sound.read(0, sound.frames).shape == (sound.frames, sound.channels)


GOOD = {
    container: written(sine(500, 8000), container, encoding)
    for container, encoding in (("WAV", "PCM_16"), ("FLAC", "PCM_16"), ("OGG", "VORBIS"), ("MP3", "MPEG_LAYER_III"))
}


def lying_flac(frames: int) -> bytes:
    """A second of sound whose header states a different number of frames."""
    content = bytearray(GOOD["FLAC"])
    # The last 36 bits of these are the length in the stream's header.
    known = int.from_bytes(content[18:26], "big")
    content[18:26] = ((known >> 36 << 36) | frames).to_bytes(8, "big")
    return bytes(content)


def test_a_header_that_promises_too_much_takes_no_memory() -> None:
    lie = of(lying_flac((1 << 36) - 1), "FLAC")
    assert (lie.frames, lie.bytes) == (8000, 32_000)
    assert lie.notice == "Cut short: 8,000 of the 68,719,476,735 frames stated by the header."
    unknown = of(lying_flac(0), "FLAC")
    assert (unknown.frames, unknown.notice) == (8000, "")


def test_a_file_cut_short_gives_what_is_there() -> None:
    cut = of(int16_wav([1, 2, 3, 4])[:-3])
    assert (cut.frames, cut.notice) == (2, "Cut short: 5 B of the 8 B stated by the header.")
    odd = of(wav_bytes(b"\1\0\2"))
    assert (odd.frames, odd.notice) == (1, "")
    streamed = of(wav_bytes(b"\1\0\2\0", size=0xFFFFFFFF))
    assert (streamed.frames, streamed.notice) == (2, "")
    noise = np.random.default_rng(0).normal(0, 0.1, 40_000)
    flac = of(written(noise, "FLAC", "PCM_16")[:40_000], "FLAC")
    assert 8000 < flac.frames < 40_000
    assert flac.notice == f"Cut short: {flac.frames:,} of the 40,000 frames stated by the header."
    assert np.abs(flac.read(0, 8000)[:, 0] - noise[:8000]).max() < 1e-4


def test_waveform_has_the_extremes_of_each_pixel() -> None:
    wav = float_wav([[0.5, 0], [-0.25, 0], [0, 0.75], [0.125, 1], [1, -1]])
    found = envelope(wav, 0, 5, 2)
    assert found.bounds.tolist() == [[[-0.25, 0.5], [0, 1]], [[0, 0], [-1, 1]]]
    assert envelope(wav, 1, 3, 9).bounds.tolist() == [[[-0.25, -0.25], [0, 0]], [[0, 0], [0.75, 0.75]]]


def test_waveform_counts_what_is_no_number() -> None:
    found = envelope(float_wav([np.nan, 0.5, np.nan, np.inf]), 0, 4, 2)
    assert found.not_finite == 3
    assert found.bounds[0, 0].tolist() == [0.5, 0.5]
    assert np.isnan(found.bounds[0, 1]).all()


def test_long_waveforms_are_made_of_blocks() -> None:
    sound = np.random.default_rng(0).uniform(-1, 1, 3_000_001).astype(np.float32)
    wav = float_wav(sound)
    for width in (1, 7, 4096):
        edges = np.arange(width + 1) * len(sound) // width
        low, high = envelope(wav, 0, len(sound), width).bounds[0].T
        pieces = [sound[first:last] for first, last in pairwise(edges)]
        assert low.tolist() == [piece.min() for piece in pieces]
        assert high.tolist() == [piece.max() for piece in pieces]


def reference(sound: NDArray[np.float32], fft: int, hop: int) -> NDArray[np.float64]:
    """SciPy's decibels [frequencies, windows]: a window every ``hop`` frames, the first around frame ``hop / 2``."""
    before = fft // 2 - hop // 2
    padded = np.pad(sound.astype(np.float64), (before, fft))
    _, _, found = signal.spectrogram(
        padded, RATE, "hann", fft, fft - hop, detrend=False, scaling="spectrum", mode="magnitude"
    )
    amplitudes = found[:, : len(sound) // hop] * 2
    amplitudes[[0, -1]] /= 2
    return np.asarray(20 * np.log10(amplitudes))


@pytest.mark.parametrize("fft", FFT_SIZES)
def test_spectrogram_is_that_of_scipy(fft: int) -> None:
    noise = np.random.default_rng(fft).normal(0, 0.1, fft * 8).astype(np.float32)
    hop = fft // 4
    expected = reference(noise, fft, hop)
    found = spectrogram(float_wav(noise), 0, len(noise), width=len(noise) // hop, height=9999, fft=fft, scale="linear")
    assert found.levels.shape == expected.shape == (fft // 2 + 1, 32)
    decibels = found.top - (255 - found.levels[::-1].astype(float)) / 2
    assert np.abs(decibels - expected.clip(-127.5)).max() < 0.26


@pytest.mark.parametrize("scale", ["linear", "mel"])
def test_rows_and_columns_have_the_loudest_of_theirs(scale: Scale) -> None:
    noise = np.random.default_rng(1).normal(0, 0.1, 512 * 16).astype(np.float32)
    every = reference(noise, 512, 256)
    height = 40
    found = spectrogram(float_wav(noise), 0, len(noise), width=16, height=height, fft=512, scale=scale)
    edges = row_edges(height, RATE, scale)
    frequencies = np.arange(257) * RATE / 512
    for row in range(height):
        in_row = (frequencies >= edges[row]) & (frequencies < edges[row + 1] + (row == height - 1))
        if not in_row.any():
            in_row = np.arange(257) == np.abs(frequencies - (edges[row] + edges[row + 1]) / 2).argmin()
        expected = every[in_row].max(axis=0).reshape(16, 2).max(axis=1)
        decibels = found.top - (255 - found.levels[height - 1 - row].astype(float)) / 2
        assert np.abs(decibels - expected).max() < 0.26


def test_a_sine_of_full_scale_is_zero_decibels_at_its_frequency() -> None:
    sine = np.sin(2 * np.pi * 1000 * np.arange(RATE) / RATE)
    found = spectrogram(float_wav(sine), 2000, 6000, width=1, height=999, fft=1024, scale="linear")
    assert (found.top, found.levels.shape) == (0, (513, 1))
    assert found.levels[::-1].argmax() == 128
    assert found.levels.max() == 255


def test_mel_rows_follow_the_formula() -> None:
    edges = row_edges(10, 16000, "mel")
    assert (edges[0], round(edges[-1], 6)) == (0, 8000)
    assert round(row_edges(1, 2000, "mel")[1], 6) == 1000
    mel = 2595 * np.log10(1 + edges / 700)
    assert np.allclose(np.diff(mel), mel[-1] / 10)


def test_silence_loud_floats_and_no_numbers_are_levels_too() -> None:
    silent = spectrogram(float_wav(np.zeros(4000)), 0, 4000, width=5, height=8, fft=512, scale="mel")
    assert (silent.levels.max(), silent.top) == (0, 0)
    loud = spectrogram(
        float_wav(8 * np.sin(2 * np.pi * np.arange(4000) / 32)), 0, 4000, width=5, height=9999, fft=512, scale="linear"
    )
    assert (loud.top, loud.levels.max()) == (18, 255)
    loudest = np.finfo(np.float32).max * np.array([[1, -1]] * 2000).ravel()
    found = spectrogram(float_wav(loudest), 0, 4000, width=5, height=9999, fft=512, scale="linear", channel=0)
    assert (found.top, found.levels.max()) == (771, 254)
    broken = spectrogram(float_wav(np.full(4000, np.nan)), 0, 4000, width=5, height=8, fft=512, scale="mel")
    assert broken.levels.max() == 0
    empty = spectrogram(float_wav([]), 0, 4000, width=5, height=8, fft=512, scale="mel")
    assert empty.levels.shape == (8, 0)


def test_one_frame_is_a_column() -> None:
    assert spectrogram(float_wav([1.0]), 0, 1, width=50, height=8, fft=512, scale="mel").levels.shape == (8, 1)
    assert envelope(float_wav([0.5]), 0, 1, 50).bounds.tolist() == [[[0.5, 0.5]]]


def test_of_very_long_clips_some_windows_are_taken() -> None:
    wav = of(wav_bytes(bytes(2 * 20_000_000)))
    found = spectrogram(wav, 0, wav.frames, width=100, height=16, fft=512, scale="mel")
    assert (found.levels.shape, found.is_whole) == ((16, 100), False)


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        ("bytes=0-", (0, 10)),
        ("bytes=3-5", (3, 6)),
        ("bytes=3-99", (3, 10)),
        ("bytes=-4", (6, 10)),
        ("bytes=-40", (0, 10)),
        ("bytes=10-", "unsatisfiable"),
        ("bytes=-0", "unsatisfiable"),
        ("", "none"),
        ("bytes=-", "none"),
        ("bytes=5-3", "none"),
        ("bytes=0-1,3-4", "none"),
        ("rows=0-1", "none"),
    ],
)
def test_ranges(header: str, wanted: Any) -> None:
    assert byte_range(header, 10) == wanted


@pytest.mark.parametrize(
    ("content", "mime_type"),
    [
        (int16_wav([1]), "audio/wav"),
        (b"fLaC....", "audio/flac"),
        (b"OggS....", "audio/ogg"),
        (b"ID3.....", "audio/mpeg"),
        (b"\xff\xfb....", "audio/mpeg"),
        (GOOD["MP3"], "audio/mpeg"),
        (b"\xff\xf1 AAC", "application/octet-stream"),
        (b"\0\0\0\x20ftypM4A ", "audio/mp4"),
        (b"\x1aE\xdf\xa3", "audio/webm"),
        (b"<!DOCTYPE html>", "application/octet-stream"),
        (b"", "application/octet-stream"),
    ],
)
def test_types_are_told_from_the_bytes(content: bytes, mime_type: str) -> None:
    assert sniff(content) == mime_type


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    """Two stereo samples with labels, then HTML, then a cut WAV, then one without sound."""
    logs = tmp_path_factory.mktemp("logs")
    with SummaryWriter(str(logs / "a")) as writer:
        sound = np.stack([np.arange(-4, 4) / 8, np.zeros(8)], axis=1)
        writer.add_audio("voice", np.stack([sound, -sound]), 0, sample_rate=RATE, walltime=100.0)
        writer.add_summary(legacy(b"<!DOCTYPE html>", "text/html"), 10, walltime=110.0)
        writer.add_summary(legacy(int16_wav([1, 2, 3, 4])[:50]), 20, walltime=120.0)
        writer.add_summary(legacy(int16_wav([])), 30, walltime=130.0)
    return client_of(logs)


def test_clip_is_sent_whole_or_by_parts(client: TestClient) -> None:
    whole = client.get("/api/audio/clip", params={**WHERE, "index": 0})
    headers = {name: whole.headers[name] for name in ("content-type", "accept-ranges", "x-content-type-options")}
    assert (whole.status_code, len(whole.content)) == (200, 44 + 32)
    assert headers == {"content-type": "audio/wav", "accept-ranges": "bytes", "x-content-type-options": "nosniff"}
    part = client.get("/api/audio/clip", params={**WHERE, "index": 0}, headers={"Range": "bytes=44-51"})
    assert (part.status_code, part.content) == (206, whole.content[44:52])
    assert (part.headers["content-range"], part.headers["content-length"]) == ("bytes 44-51/76", "8")
    beyond = client.get("/api/audio/clip", params={**WHERE, "index": 0}, headers={"Range": "bytes=76-"})
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, "bytes */76")
    known = {"If-None-Match": whole.headers["etag"]}
    assert client.get("/api/audio/clip", params={**WHERE, "index": 0}, headers=known).status_code == 304
    changed = {"Range": "bytes=0-3", "If-Range": '"other"'}
    assert client.get("/api/audio/clip", params={**WHERE, "index": 0}, headers=changed).status_code == 200


def test_clip_of_a_named_moment_is_cached_for_good(client: TestClient) -> None:
    right = client.get("/api/audio/clip", params={**WHERE, "index": 3, "step": 30, "wall_time": 130.0})
    wrong = client.get("/api/audio/clip", params={**WHERE, "index": 3, "step": 31, "wall_time": 130.0})
    assert right.headers["cache-control"] == "private, max-age=86400, immutable"
    assert wrong.status_code == 404


def test_what_is_no_sound_is_downloaded_but_never_shown(client: TestClient) -> None:
    answer = client.get("/api/audio/clip", params={**WHERE, "index": 1, "download": True})
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == 'attachment; filename="a_voice_step10_0.bin"'
    assert answer.content == b"<!DOCTYPE html>"


def test_point_says_what_is_there_or_why_nothing_is(client: TestClient) -> None:
    def point(index: int, sample: int = 0) -> Any:
        return client.get("/api/audio/point", params={**WHERE, "index": index, "sample": sample}).json()

    assert point(0, 1) == {
        "samples": 2,
        "size": 76,
        "mime_type": "audio/wav",
        "format": "WAV, 16-bit PCM",
        "rate": 8000,
        "channels": 2,
        "frames": 8,
        "seconds": 0.001,
        "label": "",
        "notice": "",
        "error": "",
    }
    assert point(0, 2)["error"] == "there is no sample 2: this step has 2 clips"
    assert point(1)["error"] == "the clip is 15 B in an unknown audio format; begins with b'<!DOCTYP'"
    assert point(2)["error"] == "WAV of 50 B cannot be decoded: No 'data' chunk marker"
    assert (point(3)["error"], point(3)["mime_type"]) == ("the clip has 0 samples", "audio/wav")


def test_waveform_and_spectrogram_are_columns(client: TestClient) -> None:
    header, (bounds,) = unpack(client.get("/api/audio/waveform", params={**WHERE, "index": 0, "width": 2}).content)
    assert header == {"channels": 2, "width": 2, "not_finite": 0, "bounds": 0}
    assert bounds.dtype == np.float32
    assert np.abs(bounds.reshape(2, 2, 2) - [[[-0.5, -0.125], [0, 0.375]], [[0, 0], [0, 0]]]).max() < 1e-4
    where = {**WHERE, "index": 0, "width": 3, "height": 5, "fft": 512}
    header, (levels,) = unpack(client.get("/api/audio/spectrogram", params=where).content)
    assert header == {"height": 5, "width": 1, "top": 0, "is_whole": True, "levels": 0}
    assert (levels.dtype.name, levels.shape) == ("uint8", (5,))
    assert levels.any()
    _, (silent,) = unpack(client.get("/api/audio/spectrogram", params={**where, "channel": 1}).content)
    assert silent.tolist() == [0] * 5


def test_the_record_of_a_clip_is_read_once_for_its_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading ten minutes of sound takes longer than drawing them, and keeps others waiting."""
    with SummaryWriter(str(tmp_path / "a")) as writer:
        writer.add_audio("voice", np.zeros((8, 1)), 0, sample_rate=RATE)
    client = client_of(tmp_path)
    read: list[int] = []

    def counting(series: Series, index: int, sample: int) -> Clip:
        read.append(index)
        return read_clip(series, index, sample)

    monkeypatch.setattr(routes, "read_clip", counting)
    for path, width in (("waveform", 4), ("spectrogram", 4), ("waveform", 2)):
        where = {**WHERE, "index": 0, "width": width, "height": 4}
        assert client.get(f"/api/audio/{path}", params=where).status_code == 200
    assert read == [0]


@pytest.mark.parametrize(
    ("path", "changed", "status"),
    [
        ("clip", {"index": 4}, 404),
        ("clip", {"index": 0, "sample": 2}, 422),
        ("point", {"index": 4}, 404),
        ("waveform", {"index": 1, "width": 9}, 422),
        ("waveform", {"index": 0, "width": 99999}, 422),
        ("spectrogram", {"index": 2, "width": 9, "height": 9}, 422),
        ("spectrogram", {"index": 0, "width": 9, "height": 9, "fft": 1000}, 422),
        ("spectrogram", {"index": 0, "width": 9, "height": 9, "channel": 2}, 422),
        ("spectrogram", {"index": 0, "width": 9, "height": 9, "scale": "bark"}, 422),
    ],
)
def test_what_cannot_be_had_is_said(client: TestClient, path: str, changed: dict[str, Any], status: int) -> None:
    assert client.get(f"/api/audio/{path}", params={**WHERE, **changed}).status_code == status


def test_label_is_sanitized_markdown(tmp_path: Path) -> None:
    parts = [int16_wav([1]), b"**hi** <script>alert(1)</script>"]
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="audio"))
    value = Summary.Value(tag="voice", metadata=metadata, tensor=strings_tensor(parts, (1, 2)))
    with SummaryWriter(str(tmp_path / "a")) as writer:
        writer.add_summary(Summary(value=[value]), 0)
    label = client_of(tmp_path).get("/api/audio/point", params={**WHERE, "index": 0}).json()["label"]
    assert label == "<p><strong>hi</strong> &lt;script&gt;alert(1)&lt;/script&gt;</p>"
