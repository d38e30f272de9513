"""Clips decoded to numbers by libsndfile (`soundfile`): WAV, FLAC, Ogg and MP3."""

import re
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from io import BytesIO
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.server.numbers import file_size
from stepscope.dashboard.server.opened_cache import OpenedCache
from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.counts import counted
from stepscope.summary.kinds.base import PayloadError

if TYPE_CHECKING:
    from soundfile import SoundFile

Numbers: TypeAlias = NDArray[np.float32]
"""[frames, channels]; full scale is -1..1, which floats may exceed."""

MOST_KEPT: Final = 1 << 25
"""Maximum number of values of a clip that is kept decoded: 12 minutes at 44,100 Hz. Longer clips are read in parts."""
MOST_COUNTED: Final = 1 << 30
"""Number of values beyond which a clip is too long: decoding that many takes a few seconds."""
_AT_A_TIME: Final = 1 << 19
_MOST_SOUNDS: Final = 64
_UNKNOWN: Final = 1 << 62
"""Frame count from which the header does not know the actual number."""
_MP3_LEAD: Final = 9 * 1152
"""Frames to decode before the requested ones: after a seek, the bits that earlier packets hold are missing."""
_NO_FRAME: Final = 7
"""Error code for MP3 without an audio frame; libsndfile's own message is that there is no file."""
_ENCODINGS: Final = {
    "PCM_U8": "8-bit PCM",
    "PCM_S8": "8-bit PCM",
    "PCM_16": "16-bit PCM",
    "PCM_24": "24-bit PCM",
    "PCM_32": "32-bit PCM",
    "FLOAT": "32-bit float",
    "DOUBLE": "64-bit float",
    "ALAW": "A-law",
    "ULAW": "mu-law",
    "VORBIS": "Vorbis",
    "OPUS": "Opus",
    "MPEG_LAYER_I": "layer I",
    "MPEG_LAYER_II": "layer II",
    "MPEG_LAYER_III": "",
}
_COUNTED_BY_HEADER: Final = frozenset({"PCM_U8", "PCM_S8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"})
_CUT: Final = re.compile(r"^data\s*: (\d+) \(should be (\d+)\)$", re.MULTILINE)
_STREAMED: Final = 0xFFFFFFFF
"""Size of the sound in the header of a WAV that was written before its length was known."""


@dataclass(frozen=True)
class Encoded:
    """A clip to decode."""

    content: bytes
    name: str
    """Name of the format, such as "WAV"."""

    @cached_property
    def id(self) -> str:
        return digest(self.content)

    @property
    def version(self) -> Hashable:
        return self.name


class _Named(NamedTuple):
    """The identity of a clip, without its bytes."""

    id: str
    version: Hashable


class Sound:
    """A clip whose frames are read in parts; thread-safe."""

    def __init__(self, file: "SoundFile", numbers: Numbers | None, frames: int, notice: str, size: int) -> None:
        """Prepare a clip.

        Args:
            file: the opened clip.
            numbers: its decoded frames, if there are few enough to keep.
            frames: the number of frames.
            notice: what is unusual about it.
            size: size of the encoded clip in bytes.
        """
        self.rate: Final = int(file.samplerate)
        self.channels: Final = int(file.channels)
        self.frames: Final = frames
        self.encoding: Final = _ENCODINGS.get(file.subtype, file.subtype_info)
        self.notice: Final = notice
        """What is unusual about the clip but does not prevent reading it; empty if nothing."""
        self.bytes: Final = size if numbers is None else numbers.nbytes
        self._numbers: Final = np.empty((0, self.channels), np.float32) if numbers is None else numbers
        self._file: Final = file if numbers is None else None
        self._lock: Final = Lock()

    @property
    def is_too_long(self) -> bool:
        """Whether the clip has more than can be decoded; ``frames`` does not count them all then."""
        return self.frames * self.channels > MOST_COUNTED

    def read(self, start: int, stop: int) -> Numbers:
        """Return the existing frames from ``start`` up to, but not including, ``stop``.

        Damaged frames are NaN.
        """
        first = min(max(start, 0), self.frames)
        last = min(max(stop, first), self.frames)
        if self._file is None:
            return self._numbers[first:last]
        before = max(0, first - _MP3_LEAD) if self._file.format == "MP3" else first
        found = np.empty((last - before, self.channels), np.float32)
        with self._lock:
            _read(self._file, found, before)
        return found[first - before :]


class SoundCache(OpenedCache[Encoded, Sound]):
    """The most recently decoded clips, found by their bytes or by the moment of a point.

    Reading a point takes longer than drawing a long clip.
    """

    def __init__(self) -> None:
        super().__init__(decode, PayloadError, most=_MOST_SOUNDS, max_bytes=1 << 29)
        self._moments: Final = OrderedDict[Hashable, _Named]()
        self._lock_of_moments: Final = Lock()

    def at(self, moment: Hashable) -> Sound | None:
        """Return the sound of a moment if it is cached."""
        with self._lock_of_moments:
            named = self._moments.get(moment)
        return None if named is None else self.peek(named)

    def keep(self, moment: Hashable, encoded: Encoded) -> Sound:
        """Return the sound of a clip, which can be found by the moment from now on; raises as `decode` does."""
        named = _Named(encoded.id, encoded.version)
        with self._lock_of_moments:
            self._moments[moment] = named
            if len(self._moments) > _MOST_SOUNDS:
                self._moments.popitem(last=False)
        return self.get(encoded)


def digest(content: bytes) -> str:
    """Return a digest that identifies the bytes of a clip."""
    return blake2b(content, digest_size=12).hexdigest()


def decode(encoded: Encoded) -> Sound:
    """Return the sound of a clip.

    Raises:
        PayloadError: if the clip is damaged from its beginning, or its encoding is unknown.
    """
    file = _opened(encoded)
    size, capacity = len(encoded.content), MOST_KEPT // file.channels
    notice = _cut_wav(file)
    if file.frames > capacity and file.format != "FLAC" and file.subtype in _COUNTED_BY_HEADER:
        return Sound(file, None, file.frames, notice, size)
    numbers, frames, is_damaged = _decoded(file, min(capacity, file.frames))
    if is_damaged and not frames:
        raise PayloadError(f"{encoded.name} of {file_size(size)} cannot be decoded: it is damaged")
    is_whole = frames >= file.frames or frames * file.channels > MOST_COUNTED
    # The length that an MP3 states may be a guess.
    if not is_whole and file.frames < _UNKNOWN and (is_damaged or file.format != "MP3"):
        notice = f"Cut short: {frames:,} of the {counted(file.frames, 'frame')} stated by the header."
    return Sound(_opened(encoded) if is_damaged else file, numbers, frames, notice, size)


def _opened(encoded: Encoded) -> "SoundFile":
    try:
        import soundfile
    except OSError as error:
        raise PayloadError(f"libsndfile, which decodes audio, cannot be loaded here: {error}") from error
    try:
        return soundfile.SoundFile(BytesIO(encoded.content))
    except soundfile.LibsndfileError as error:
        said = "no audio frame" if error.code == _NO_FRAME else error.error_string
        why = re.sub(r"^Error( in [^.:]+)? ?[.:] ", "", said).rstrip(".")
        size = file_size(len(encoded.content))
        raise PayloadError(f"{encoded.name} of {size} cannot be decoded: {why}") from error


def _decoded(file: "SoundFile", capacity: int) -> tuple[Numbers | None, int, bool]:
    """Return the frames (None if more than ``capacity``), their number, and whether damage ends them."""
    # Memory is taken only for values that are written, whatever a header promises.
    numbers = np.empty((capacity, file.channels), np.float32)
    block = np.empty((max(1, _AT_A_TIME // file.channels), file.channels), np.float32)
    frames, is_damaged, done = 0, False, len(block)
    while done == len(block) and not is_damaged:
        check_cancelled()
        done, is_damaged = _read(file, block)
        if frames + done <= capacity:
            numbers[frames : frames + done] = block[:done]
        frames += done
        if frames * file.channels > MOST_COUNTED:
            break
    return (numbers[:frames] if frames <= capacity else None), frames, is_damaged


def _read(file: "SoundFile", into: Numbers, at: int | None = None) -> tuple[int, bool]:
    """Read frames from the current or a given position; return how many, and whether damage ends them."""
    import soundfile

    # After a failure, this shows what was read before it.
    into.fill(np.nan)
    try:
        if at is not None:
            file.seek(at)
        return len(file.read(out=into)), False
    except soundfile.SoundFileError:
        is_missing = np.isnan(into[:, 0])
        return int(is_missing.argmax()) if is_missing.any() else len(into), True


def _cut_wav(file: "SoundFile") -> str:
    found = _CUT.search(file.extra_info)
    if found is None or int(found[1]) == _STREAMED:
        return ""
    return f"Cut short: {file_size(int(found[2]))} of the {file_size(int(found[1]))} stated by the header."
