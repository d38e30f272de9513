"""The sources from which the bytes of a log directory are read."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple, Protocol

from stepscope.summary.names import readable_name


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file below the log directory, as found by a listing."""

    path: PurePosixPath
    """Relative to the log directory."""
    size: int
    modified_ns: int
    identity: tuple[int, int]
    """Changes when the path refers to a different file."""
    changed_ns: int = 0
    """Time of the last change of content, permissions or name, which no program can set; 0 if unknown."""
    etag: str = ""
    """The store's identifier of this content, never reused for other content of the path; empty if there is none."""


class Changes(NamedTuple):
    """Differences between the files of a tree now and at the last check."""

    found: Sequence[FoundFile]
    """New and changed files."""
    gone: Collection[PurePosixPath]


class Source(Protocol):
    """A tree of files that can be listed, by one thread, and opened at an offset, by any thread."""

    @property
    def address(self) -> str:
        """The path or address by which the user refers to the tree."""
        ...

    @property
    def watchable_folders(self) -> Sequence[Path]:
        """Local folders whose changes the operating system can report."""
        ...

    def folders_to_watch(self, most: int) -> Sequence[str]:
        """Return up to ``most`` folders of the last listing that are worth watching for changes.

        Folders that may get further folders come first, then those that changed last.
        """
        ...

    def list(self, changed: Collection[str] | None = None) -> Iterator[FoundFile]:
        """Return all files, in no particular order; an absent tree is empty.

        A folder that cannot be listed is in `unlisted` and keeps the files of its last listing, if any.

        Args:
            changed: local paths known to have changed since the last listing; folders that have not changed for long
                may then be reported as last seen. None checks everything.
        """
        ...

    @property
    def unlisted(self) -> Mapping[PurePosixPath, str]:
        """Folders that the last listing could not list, or not completely, with the system's reason."""
        ...

    def open(self, path: PurePosixPath, offset: int) -> BinaryIO:
        """Open a file for reading, starting at ``offset``; raises OSError."""
        ...

    def locate(self, path: PurePosixPath) -> str:
        """Return the local path or address of a file."""
        ...


class Opener:
    """Opens one file of a source at an offset; raises OSError."""

    __slots__ = ("_path", "_source")

    def __init__(self, source: Source, path: PurePosixPath) -> None:
        self._source = source
        self._path = path

    def __call__(self, offset: int) -> BinaryIO:
        return self._source.open(self._path, offset)


def read_up_to(stream: BinaryIO, size: int) -> bytes:
    """Read ``size`` bytes, or fewer only at the end of the file."""
    pieces: list[bytes] = []
    missing = size
    while missing > 0 and (piece := stream.read(missing)):
        pieces.append(piece)
        missing -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def readable(path: PurePosixPath | str) -> str:
    """Return a path as text that UTF-8 can encode; other bytes become a backslash, "x" and two hex digits."""
    return readable_name(os.fsencode(path).decode(errors="backslashreplace"))
