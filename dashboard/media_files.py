"""Images and audio of a log directory as files: what ``stepscope export`` writes into a folder."""

import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import quote

from summary.kinds.audio import Audio
from summary.kinds.base import Payload, PayloadError
from summary.kinds.image import Images
from summary.snapshot import Series

_LONGEST_NAME: Final = 100
_FORBIDDEN: Final = re.compile(r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*%]|^\.+$|[. ]$')
"""What some file system or shell does not take, or takes for something else; and "%", which stands for them."""
_MAGIC: Final = (
    (b"\x89PNG", ".png"),
    (b"\xff\xd8\xff", ".jpg"),
    (b"GIF8", ".gif"),
    (b"RIFF", ".wav"),
    (b"BM", ".bmp"),
)


@dataclass(frozen=True)
class MediaFile:
    """One picture or clip, and where it belongs: ``RUN/TAG/STEP.png``, relative to the folder.

    A run is as many folders as its name has parts, a tag is one, so that no two series share a folder.
    """

    path: PurePosixPath
    content: bytes


def media_files(chosen: Sequence[Series], unreadable: list[str], *, last: int | None = None) -> Iterator[MediaFile]:
    """Every picture or clip of some series, read one at a time; of the ``last`` points only, if given.

    Why one cannot be read is added to ``unreadable``.
    """
    for series in chosen:
        run = [] if series.run == "." else [safe_name(part) for part in series.run.split("/")]
        folder = PurePosixPath(*run, safe_name(series.tag))
        times: Counter[int] = Counter()
        for index, step in enumerate(series.steps.tolist()):
            times[step] += 1
            if last is not None and index < len(series) - last:
                continue
            try:
                contents = _contents(series.read(index))
            except PayloadError as error:
                unreadable.append(str(error))
                continue
            for sample, content in enumerate(contents):
                again = f"_again{times[step] - 1}" if times[step] > 1 else ""
                of_several = f"_sample{sample}" if len(contents) > 1 else ""
                yield MediaFile(folder / f"{step}{again}{of_several}{_ending(content)}", content)


def safe_name(name: str) -> str:
    """A name as a file name that every system takes.

    What may not be in one is percent-encoded, as in addresses. A name that is too long is cut, and a checksum tells it
    from others that begin alike.
    """
    encoded = _FORBIDDEN.sub(lambda match: quote(match[0], safe="").replace(".", "%2E"), name) or "%"
    data = encoded.encode()
    if len(data) <= _LONGEST_NAME:
        return encoded
    return f"{data[:_LONGEST_NAME].decode(errors='ignore')}%{zlib.crc32(name.encode()):08x}"


def _contents(payload: Payload) -> tuple[bytes, ...]:
    match payload:
        case Images():
            return payload.encoded
        case Audio():
            return tuple(clip.encoded for clip in payload.clips)
        case _:
            raise PayloadError(f"expected images or audio, got {type(payload).__name__}")


def _ending(content: bytes) -> str:
    return next((ending for magic, ending in _MAGIC if content.startswith(magic)), ".bin")
