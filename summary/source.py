"""Where the bytes of a log directory come from."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple, Protocol

from stepscope.summary.names import readable_name


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file below the log directory, as a listing saw it."""

    path: PurePosixPath
    """Relative to the log directory."""
    size: int
    modified_ns: int
    identity: tuple[int, int]
    """Differs when a file of the same path is another file."""
    changed_ns: int = 0
    """When its content, its rights or its name changed last, as no program can set it; 0 where that is not known."""
    etag: str = ""
    """What a store calls this content, and never another of the same path; empty where nobody says."""


class Changes(NamedTuple):
    """How the files of a tree differ from those of the look before."""

    found: Sequence[FoundFile]
    """Those that are new, or other than they were."""
    gone: Collection[PurePosixPath]


class Source(Protocol):
    """A tree of files that can be listed, and opened at an offset; listed by one thread, opened by any."""

    @property
    def address(self) -> str:
        """What the user calls the tree: a path or an address."""
        ...

    @property
    def watchable_folders(self) -> Sequence[Path]:
        """Local folders in which the operating system can tell of changes."""
        ...

    def folders_to_watch(self, most: int) -> Sequence[str]:
        """Return the folders of the last listing whose changes are worth a watch of the system, at most so many.

        Those in which further folders may come go first, then those that changed last.
        """
        ...

    def list(self, changed: Collection[str] | None = None) -> Iterator[FoundFile]:
        """Return all files, in no particular order; an absent tree is empty.

        What cannot be listed has the files that it had the last time, if there was one, and is in `unlisted`.

        Args:
            changed: what is known to have changed since the last listing, as local paths; folders that have long
                been quiet may then be reported as they were seen last. None asks for a look at everything.
        """
        ...

    @property
    def unlisted(self) -> Mapping[PurePosixPath, str]:
        """The folders of the last listing that could not be listed, or not all of them, with the system's reason."""
        ...

    def open(self, path: PurePosixPath, offset: int) -> BinaryIO:
        """Open a file for reading from ``offset`` on; raises OSError."""
        ...

    def locate(self, path: PurePosixPath) -> str:
        """Return the local path or the address of a file."""
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
    """Return a path as text that UTF-8 can encode; other bytes of a name become a backslash, "x" and two hex digits."""
    return readable_name(os.fsencode(path).decode(errors="backslashreplace"))
