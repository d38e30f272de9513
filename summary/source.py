"""Where the bytes of a log directory come from."""

import os
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final, NamedTuple, Protocol

_MOST_WAYS: Final = 16
"""How many paths to one folder are followed."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file below the log directory, as a listing saw it."""

    path: PurePosixPath
    """Relative to the log directory."""
    size: int
    modified_ns: int
    identity: tuple[int, int]
    """Differs when a file of the same path is another file."""


class Source(Protocol):
    """A tree of files that can be listed, and opened at an offset."""

    def list(self) -> Iterator[FoundFile]:
        """All files, in no particular order. What cannot be listed is left out; an absent tree is empty."""
        ...

    def open(self, path: PurePosixPath, offset: int) -> BinaryIO:
        """Opens a file for reading from ``offset`` on; raises OSError."""
        ...


class LocalSource:
    """Files below a local directory.

    Symbolic links are followed, and loops of them found. A folder that can be reached in very many ways, as folders
    that link to each other can, is listed for the shortest of them only.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def list(self) -> Iterator[FoundFile]:
        try:
            top = self.root.stat()
        except OSError:
            return
        # No recursion, which ends at a thousand folders below each other; and the shortest paths first.
        identity = (top.st_dev, top.st_ino)
        folders = deque([_Folder(str(self.root), PurePosixPath(), identity, frozenset({identity}))])
        times_listed: Counter[tuple[int, int]] = Counter()
        while folders:
            folder = folders.popleft()
            times_listed[folder.identity] += 1
            if times_listed[folder.identity] <= _MOST_WAYS:
                yield from _list_folder(folder, folders)

    def open(self, path: PurePosixPath, offset: int) -> BinaryIO:
        stream = (self.root / path).open("rb", buffering=0)
        stream.seek(offset)
        return stream


def read_up_to(stream: BinaryIO, size: int) -> bytes:
    """Reads ``size`` bytes, or fewer only at the end of the file."""
    pieces: list[bytes] = []
    missing = size
    while missing > 0 and (piece := stream.read(missing)):
        pieces.append(piece)
        missing -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def readable(path: PurePosixPath) -> str:
    """A path as text that UTF-8 can encode; other bytes of a name become a backslash, "x" and two hex digits."""
    return os.fsencode(path).decode(errors="backslashreplace")


class _Folder(NamedTuple):
    path: str
    relative: PurePosixPath
    identity: tuple[int, int]
    """Device and inode."""
    ancestors: frozenset[tuple[int, int]]
    """Identities of the folder and of those it was reached through."""


def _list_folder(folder: _Folder, to_list: deque[_Folder]) -> Iterator[FoundFile]:
    """The files directly in ``folder``; the folders in it are added to ``to_list``."""
    try:
        entries = list(os.scandir(folder.path))
    except OSError:
        return
    for entry in entries:
        try:
            status = entry.stat()
            is_folder, is_file = entry.is_dir(), entry.is_file()
        except OSError:
            continue
        identity = (status.st_dev, status.st_ino)
        relative = folder.relative / entry.name
        if is_folder and identity not in folder.ancestors:
            to_list.append(_Folder(entry.path, relative, identity, folder.ancestors | {identity}))
        elif is_file:
            yield FoundFile(relative, status.st_size, status.st_mtime_ns, identity)
