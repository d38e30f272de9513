"""Clips as they were logged: what they are, told from their first bytes, and what is known of them."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from dashboard.page.safe_html import markdown_html
from dashboard.panels.audio.wav import Wav, read_wav
from dashboard.server.numbers import counted, file_size
from summary.kinds.audio import Audio, Clip
from summary.kinds.base import PayloadError
from summary.series import Series

UNKNOWN_TYPE: Final = "application/octet-stream"
EXTENSIONS: Final = {
    "audio/wav": "wav",
    "audio/flac": "flac",
    "audio/ogg": "ogg",
    "audio/mpeg": "mp3",
    "audio/mp4": "m4a",
    "audio/webm": "webm",
    UNKNOWN_TYPE: "bin",
}
"""The types that are said to a browser, and their file names' endings; nothing is ever sent as a page."""
_NAMES: Final = {
    "audio/wav": "WAV",
    "audio/flac": "FLAC",
    "audio/ogg": "Ogg",
    "audio/mpeg": "MP3",
    "audio/mp4": "MPEG-4",
    "audio/webm": "WebM",
    UNKNOWN_TYPE: "unknown format",
}
_SIGNATURES: Final = (
    ("audio/flac", 0, b"fLaC"),
    ("audio/ogg", 0, b"OggS"),
    ("audio/mpeg", 0, b"ID3"),
    ("audio/mpeg", 0, b"\xff\xfb"),
    ("audio/mpeg", 0, b"\xff\xf3"),
    ("audio/mpeg", 0, b"\xff\xf2"),
    ("audio/mp4", 4, b"ftyp"),
    ("audio/webm", 0, b"\x1aE\xdf\xa3"),
)
LONGEST_LABEL: Final = 20_000
"""Characters of a label that are shown."""


@dataclass(frozen=True)
class Facts:
    """What is known of the clip at one step; zeros and empty texts where it is not."""

    samples: int
    """Clips of this step."""
    size: int
    """Bytes of the clip asked for."""
    mime_type: str
    """Empty if there is no clip to download."""
    format: str
    """In words: "WAV, 16-bit PCM"."""
    rate: int
    """Frames a second; 0 where only a browser can tell."""
    channels: int
    frames: int
    label: str
    """Sanitised HTML."""
    notice: str
    """What is odd about the clip; empty if nothing is."""
    error: str
    """Why there is no sound; empty if there is."""


def sniff(data: bytes) -> str:
    """The MIME type by the first bytes; `UNKNOWN_TYPE` if they are of none that is served as sound."""
    if data[:4] in (b"RIFF", b"RF64") and data[8:12] == b"WAVE":
        return "audio/wav"
    for mime_type, offset, signature in _SIGNATURES:
        if data[offset : offset + len(signature)] == signature:
            return mime_type
    return UNKNOWN_TYPE


def etag(clip: Clip) -> str:
    """Names the clip's bytes in HTTP."""
    return f'"{blake2b(clip.encoded, digest_size=12).hexdigest()}"'


def clip_of(audio: Audio, sample: int) -> Clip:
    """One sample.

    Raises:
        PayloadError: there is no such sample.
    """
    if not 0 <= sample < len(audio.clips):
        raise PayloadError(f"there is no sample {sample}: this step has {counted(len(audio.clips), 'clip')}")
    return audio.clips[sample]


def wav_of(clip: Clip) -> Wav:
    """The clip's sound.

    Raises:
        PayloadError: it is damaged, or no WAV.
    """
    if not clip.encoded:
        raise PayloadError("the clip is empty: 0 bytes")
    mime_type = sniff(clip.encoded)
    if mime_type != "audio/wav":
        raise PayloadError(f"{_NAMES[mime_type]} of {file_size(len(clip.encoded))}, which only browsers decode")
    return read_wav(clip.encoded)


def describe(series: Series, index: int, sample: int) -> Facts:
    """What is known of the clip of a point, or why there is none."""
    nothing = Facts(0, 0, "", "", 0, 0, 0, "", "", "")
    try:
        audio: Audio = series.read(index)
    except PayloadError as error:
        return Facts(**{**vars(nothing), "error": str(error)})
    samples = len(audio.clips)
    try:
        clip = clip_of(audio, sample)
    except PayloadError as error:
        return Facts(**{**vars(nothing), "samples": samples, "error": str(error)})
    return _of_clip(clip, samples)


def _of_clip(clip: Clip, samples: int) -> Facts:
    mime_type = sniff(clip.encoded)
    size = len(clip.encoded)
    label, notice = _label(clip)
    rate = channels = frames = 0
    name, error = _NAMES[mime_type], ""
    if mime_type == UNKNOWN_TYPE:
        said = (
            "empty: 0 bytes" if not size else f"{file_size(size)} of no known sound; begins with {clip.encoded[:8]!r}"
        )
        error = f"the clip is {said}"
    elif mime_type == "audio/wav":
        try:
            wav = read_wav(clip.encoded)
        except PayloadError as damaged:
            error = str(damaged)
        else:
            rate, channels, frames, name = wav.rate, wav.channels, wav.frames, wav.format
            notice = " ".join(filter(None, (notice, wav.notice)))
            error = "" if frames else "the clip has 0 samples"
    return Facts(samples, size, mime_type, name, rate, channels, frames, label, notice, error)


def _label(clip: Clip) -> tuple[str, str]:
    label = clip.label.strip()
    if len(label) <= LONGEST_LABEL:
        return markdown_html(label), ""
    return markdown_html(label[:LONGEST_LABEL]), f"The label is cut: {len(label):,} characters."
