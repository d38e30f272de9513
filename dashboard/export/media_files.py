"""Images and audio of a log directory as files, for the folders that ``stepscope export`` writes and ZIP streams."""

import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from stepscope.summary.kinds.base import PayloadError, PayloadFile
from stepscope.summary.kinds.registry import kind_named
from stepscope.summary.series import Series
from stepscope.summary.snapshot import Snapshot

_LONGEST_NAME: Final = 100
_FORBIDDEN: Final = re.compile(r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*%]|^\.+$|[. ]$')
"""What some file system or shell rejects or interprets, and "%", which escapes it."""
LARGEST_ZIP: Final = 1_000_000_000
"""Default limit of the bytes of files in one ZIP stream."""
LEFT_OUT: Final = "left_out.txt"
"""The file in a ZIP stream that lists what was left out, and why."""


@dataclass(frozen=True)
class MediaFile:
    """One image or clip, and its path relative to the folder: ``RUN/TAG/STEP.png``.

    A run takes as many folders as its name has parts, and a tag takes one, so that no two series share a folder.
    """

    path: PurePosixPath
    content: bytes


class Wanted(NamedTuple):
    """One sample of one point; ``step`` identifies the point, so that no other is mistaken for it."""

    run: str
    tag: str
    point: int
    """Position of the point in the series."""
    step: int
    sample: int


def media_files(chosen: Sequence[Series], unreadable: list[str], *, last: int | None = None) -> Iterator[MediaFile]:
    """Yield every image or clip of some series, read one at a time; only from the ``last`` points, if given.

    If one cannot be read, the reason is added to ``unreadable``.
    """
    for series in chosen:
        folder = _folder(series.run, series.tag)
        times: Counter[int] = Counter()
        for index, step in enumerate(series.steps.tolist()):
            times[step] += 1
            if last is not None and index < len(series) - last:
                continue
            try:
                files = _files(series, index)
            except PayloadError as error:
                unreadable.append(str(error))
                continue
            for sample, file in enumerate(files):
                again = f"_again{times[step] - 1}" if times[step] > 1 else ""
                of_several = f"_sample{sample}" if len(files) > 1 else ""
                yield MediaFile(folder / f"{step}{again}{of_several}{file.ending}", file.content)


def chosen_files(snapshot: Snapshot, chosen: Sequence[Wanted], kind: str) -> Iterator[MediaFile]:
    """Yield the requested samples, read one at a time, and finally `LEFT_OUT` if some cannot be read."""
    left_out: list[str] = []
    for wanted in chosen:
        series = snapshot.series(wanted.run, wanted.tag)
        try:
            if series is None or series.kind != kind:
                raise PayloadError(f"the run no longer has {kind} with that tag")
            if not (0 <= wanted.point < len(series)) or int(series.steps[wanted.point]) != wanted.step:
                raise PayloadError("the run was started again")
            files = _files(series, wanted.point)
            if not 0 <= wanted.sample < len(files):
                raise PayloadError(f"there is no sample {wanted.sample} of {len(files)}")
        except PayloadError as error:
            left_out.append(f"{wanted.run}\t{wanted.tag}\tstep {wanted.step}\tsample {wanted.sample}\t{error}")
            continue
        file = files[wanted.sample]
        name = f"{wanted.step}_sample{wanted.sample}" if len(files) > 1 else str(wanted.step)
        yield MediaFile(_folder(wanted.run, wanted.tag) / (name + file.ending), file.content)
    if left_out:
        yield MediaFile(PurePosixPath(LEFT_OUT), "".join(line + "\n" for line in left_out).encode())


def zip_stream(files: Iterator[MediaFile], most_bytes: int = LARGEST_ZIP) -> Iterator[bytes]:
    """Yield a ZIP file piece by piece, with one file in memory at a time.

    Images and clips are stored, as they are already compressed. A repeated path gets a number. Files beyond
    ``most_bytes`` are left out and listed in `LEFT_OUT`.
    """
    out = _Pieces()
    left_out: list[bytes] = []
    used: Counter[PurePosixPath] = Counter()
    total = 0
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for file in files:
            if file.path == PurePosixPath(LEFT_OUT):
                left_out.append(file.content)
                continue
            if total + len(file.content) > most_bytes:
                left_out.append(f"{file.path}\tbeyond {most_bytes:,} bytes in one ZIP file\n".encode())
                continue
            total += len(file.content)
            used[file.path] += 1
            again = f"_again{used[file.path] - 1}" if used[file.path] > 1 else ""
            # The time of a ZIP entry cannot be omitted; the earliest possible time means none.
            entry = zipfile.ZipInfo(str(file.path.with_name(file.path.stem + again + file.path.suffix)))
            archive.writestr(entry, file.content)
            yield out.taken()
        if left_out:
            archive.writestr(zipfile.ZipInfo(LEFT_OUT), b"".join(left_out))
    yield out.taken()


class _Pieces(io.RawIOBase):
    """A file for writing whose content is passed on piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._pieces.append(piece)
        return len(piece)

    def taken(self) -> bytes:
        """Return what was written since the last time."""
        joined = b"".join(self._pieces)
        self._pieces.clear()
        return joined


def _folder(run: str, tag: str) -> PurePosixPath:
    parts = [] if run == "." else [safe_name(part) for part in run.split("/")]
    return PurePosixPath(*parts, safe_name(tag))


def safe_name(name: str) -> str:
    """Return a name as a file name that is valid on every system.

    Invalid characters are percent-encoded, as in URLs. A name that is too long is cut, and a checksum distinguishes it
    from others that begin alike.
    """
    encoded = _FORBIDDEN.sub(lambda match: quote(match[0], safe="").replace(".", "%2E"), name) or "%"
    data = encoded.encode()
    if len(data) <= _LONGEST_NAME:
        return encoded
    return f"{data[:_LONGEST_NAME].decode(errors='ignore')}%{zlib.crc32(name.encode()):08x}"


def _files(series: Series, index: int) -> Sequence[PayloadFile]:
    files = kind_named(series.kind).files
    if files is None:
        raise PayloadError(f"values of {series.kind} are not stored as files")
    return files(series.read(index))
