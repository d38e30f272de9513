"""Where the bytes of a log directory come from."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Protocol


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
    """Files below a local directory; symbolic links are followed, and loops of them found."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def list(self) -> Iterator[FoundFile]:
        try:
            top = self.root.stat()
        except OSError:
            return
        yield from self._list(str(self.root), PurePosixPath(), frozenset({(top.st_dev, top.st_ino)}))

    def open(self, path: PurePosixPath, offset: int) -> BinaryIO:
        stream = (self.root / path).open("rb", buffering=0)
        stream.seek(offset)
        return stream

    def _list(self, folder: str, relative: PurePosixPath, ancestors: frozenset[tuple[int, int]]) -> Iterator[FoundFile]:
        try:
            entries = list(os.scandir(folder))
        except OSError:
            return
        for entry in entries:
            try:
                status = entry.stat()
                if entry.is_dir():
                    identity = (status.st_dev, status.st_ino)
                    if identity not in ancestors:
                        yield from self._list(entry.path, relative / entry.name, ancestors | {identity})
                elif entry.is_file():
                    yield FoundFile(
                        relative / entry.name,
                        status.st_size,
                        status.st_mtime_ns,
                        (status.st_dev, status.st_ino),
                    )
            except OSError:
                continue
