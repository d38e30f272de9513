"""Clips as they were logged: their type, detected from the first bytes, and facts about them."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Final

from stepscope.dashboard.page.safe_html import markdown_html
from stepscope.dashboard.panels.audio.sound import Encoded, Sound, SoundCache, digest
from stepscope.dashboard.server.numbers import file_size
from stepscope.summary.counts import counted
from stepscope.summary.kinds.audio import Audio, Clip
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.series import Series

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
"""MIME types sent to a browser, with their file name extensions; nothing is ever sent as a page."""
_NAMES: Final = {
    "audio/wav": "WAV",
    "audio/flac": "FLAC",
    "audio/ogg": "Ogg",
    "audio/mpeg": "MP3",
    "audio/mp4": "MPEG-4",
    "audio/webm": "WebM",
    UNKNOWN_TYPE: "unknown format",
}
_DECODED: Final = frozenset({"audio/wav", "audio/flac", "audio/ogg", "audio/mpeg"})
_SIGNATURES: Final = (
    ("audio/flac", 0, b"fLaC"),
    ("audio/ogg", 0, b"OggS"),
    ("audio/mpeg", 0, b"ID3"),
    # Layer III of MPEG 1, 2 and 2.5, with or without a checksum.
    *(("audio/mpeg", 0, b"\xff" + bytes([second])) for second in (0xFB, 0xFA, 0xF3, 0xF2, 0xE3, 0xE2)),
    ("audio/mp4", 4, b"ftyp"),
    ("audio/webm", 0, b"\x1aE\xdf\xa3"),
)
LONGEST_LABEL: Final = 20_000
"""Maximum number of characters of a label that are shown."""


class UndecodedError(PayloadError):
    """The clip may play in a browser, but it is not decoded here."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} are not decoded here: the browser may be able to play the clip, but no waveform is shown"
        )


@dataclass(frozen=True)
class Facts:
    """What is known of the clip at one step; zeros and empty texts where it is not."""

    samples: int
    """Number of clips at this step."""
    size: int
    """Size of the requested clip in bytes."""
    mime_type: str
    """Empty if there is no clip to download."""
    format: str
    """As text: "WAV, 16-bit PCM"."""
    rate: int
    """Frames per second; 0 if only a browser can determine it."""
    channels: int
    frames: int
    seconds: float
    label: str
    """Sanitized HTML."""
    notice: str
    """What is unusual about the clip; empty if nothing."""
    error: str
    """Why there is no sound; empty if there is sound."""


def sniff(data: bytes) -> str:
    """Return the MIME type detected from the first bytes; `UNKNOWN_TYPE` if it is not one that is served as sound."""
    if data[:4] in (b"RIFF", b"RF64") and data[8:12] == b"WAVE":
        return "audio/wav"
    for mime_type, offset, signature in _SIGNATURES:
        if data[offset : offset + len(signature)] == signature:
            return mime_type
    return UNKNOWN_TYPE


def etag(clip: Clip) -> str:
    """Return the HTTP ETag of the clip's bytes."""
    return f'"{digest(clip.encoded)}"'


def clip_of(audio: Audio, sample: int) -> Clip:
    """Return the clip of one sample.

    Raises:
        PayloadError: if the sample does not exist.
    """
    if not 0 <= sample < len(audio.clips):
        raise PayloadError(f"there is no sample {sample}: this step has {counted(len(audio.clips), 'clip')}")
    return audio.clips[sample]


def sound_of(clip: Clip, cache: SoundCache, moment: Hashable = None) -> Sound:
    """Return the clip's sound; if a moment is given, the cache finds the sound by it from then on.

    Raises:
        PayloadError: if the clip is damaged, not decoded here, or too long.
    """
    mime_type = sniff(clip.encoded)
    if mime_type == UNKNOWN_TYPE:
        raise PayloadError(_unknown(clip))
    if mime_type not in _DECODED:
        raise UndecodedError(f"{_NAMES[mime_type]} files")
    encoded = Encoded(clip.encoded, _NAMES[mime_type])
    sound = cache.get(encoded) if moment is None else cache.keep(moment, encoded)
    if sound.is_too_long:
        raise UndecodedError(f"clips of more than {sound.frames / sound.rate / 60:,.0f} minutes")
    return sound


def describe(series: Series, index: int, sample: int, cache: SoundCache) -> Facts:
    """Return the facts about a point's clip, or why there is none."""
    nothing = Facts(0, 0, "", "", 0, 0, 0, 0.0, "", "", "")
    try:
        audio: Audio = series.read(index)
    except PayloadError as error:
        return replace(nothing, error=str(error))
    samples = len(audio.clips)
    try:
        clip = clip_of(audio, sample)
    except PayloadError as error:
        return replace(nothing, samples=samples, error=str(error))
    mime_type = sniff(clip.encoded)
    label, notice = _label(clip)
    known = replace(
        nothing,
        samples=samples,
        size=len(clip.encoded),
        mime_type=mime_type,
        format=_NAMES[mime_type],
        label=label,
        notice=notice,
    )
    try:
        return _with_sound(known, sound_of(clip, cache))
    except UndecodedError as error:
        said = str(error)
        return replace(known, notice=_sentences(notice, f"{said[0].upper()}{said[1:]}."))
    except PayloadError as error:
        return replace(known, error=str(error))


def _with_sound(known: Facts, sound: Sound) -> Facts:
    return replace(
        known,
        format=", ".join(filter(None, (known.format, sound.encoding))),
        rate=sound.rate,
        channels=sound.channels,
        frames=sound.frames,
        seconds=sound.frames / sound.rate,
        notice=_sentences(known.notice, sound.notice),
        error="" if sound.frames else "the clip has 0 samples",
    )


def _unknown(clip: Clip) -> str:
    if not clip.encoded:
        return "the clip is empty: 0 bytes"
    return f"the clip is {file_size(len(clip.encoded))} in an unknown audio format; begins with {clip.encoded[:8]!r}"


def _sentences(*notices: str) -> str:
    return " ".join(filter(None, notices))


def _label(clip: Clip) -> tuple[str, str]:
    label = clip.label.strip()
    if len(label) <= LONGEST_LABEL:
        return markdown_html(label), ""
    return markdown_html(label[:LONGEST_LABEL]), f"The label is truncated; it has {len(label):,} characters."
