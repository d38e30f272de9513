"""Recognition of files by content: the beginning of each file is read once, a limited number of files per update."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from stepscope.summary.local_source import LocalFiles
from stepscope.summary.source import FoundFile, Source, read_up_to
from stepscope.summary.storage import is_address

BEGINNING: Final = 1 << 16
"""Bytes read from the beginning of a file."""
MOST_LOCAL: Final = 500
"""Maximum number of local files examined in one update; the others wait for the next."""
MOST_REMOTE: Final = 16
"""The same for remote files, each of which costs requests."""


@dataclass(frozen=True)
class Recognizer:
    """Recognizes files of one type by their beginning."""

    name: str
    """The type's name in `stepscope.summary.contents.Companion.recognized`."""
    endings: tuple[str, ...]
    """Lower-case endings of the names of such files; files with other endings are not examined."""
    knows: Callable[[bytes], bool]
    """Whether a file that begins with these bytes is of this type."""


class Recognition:
    """Types of the files of one log directory, recognized by content; for use by one thread.

    Args:
        source: the files.
        recognizers: the types of files to look for; the first that recognizes a file names it.
    """

    def __init__(self, source: Source, recognizers: Sequence[Recognizer]) -> None:
        self._source: Final = source
        self._recognizers: Final = tuple(recognizers)
        self._endings: Final = tuple({ending for each in self._recognizers for ending in each.endings})
        self._any_name: Final = isinstance(source, LocalFiles)
        """Whether the user selected the files, so that their names do not matter."""
        self._known: dict[PurePosixPath, tuple[FoundFile, str]] = {}
        self.waiting = 0
        """Number of files not examined yet."""

    def may_know(self, name: str) -> bool:
        """Return whether a file of this name is examined."""
        return bool(self._endings) and (self._any_name or name.lower().endswith(self._endings))

    def look(self, files: Iterable[FoundFile]) -> dict[PurePosixPath, str]:
        """Return the type name of each recognized file; the files written last are examined first."""
        before, self._known = self._known, {}
        unknown: list[FoundFile] = []
        for file in files:
            known = before.get(file.path)
            if known is not None and known[0] == file:
                self._known[file.path] = known
            else:
                unknown.append(file)
        unknown.sort(key=lambda file: -file.modified_ns)
        room = {False: MOST_LOCAL, True: MOST_REMOTE}
        self.waiting = 0
        for file in unknown:
            is_remote = is_address(self._source.locate(file.path))
            if room[is_remote] > 0:
                room[is_remote] -= 1
                self._known[file.path] = (file, self._name_of(file))
                continue
            self.waiting += 1
            # Keep the previous result until the file is examined.
            if file.path in before:
                self._known[file.path] = before[file.path]
        return {path: name for path, (_, name) in self._known.items() if name}

    def _name_of(self, file: FoundFile) -> str:
        beginning = b""
        if file.size:
            try:
                with self._source.open(file.path, 0) as stream:
                    beginning = read_up_to(stream, min(BEGINNING, file.size))
            except OSError:
                pass
        name = os.fsdecode(file.path.name).lower()
        fitting = [each for each in self._recognizers if self._any_name or name.endswith(each.endings)]
        return next((each.name for each in fitting if beginning and each.knows(beginning)), "")
