"""Files that only their content tells: each is looked at once, by its beginning, and some at a time."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from stepscope.summary.local_source import LocalFiles
from stepscope.summary.source import FoundFile, Source, read_up_to
from stepscope.summary.storage import is_address

BEGINNING: Final = 1 << 16
"""Bytes of a file that are looked at."""
MOST_LOCAL: Final = 500
"""Local files that are looked at in one update; the others wait for the next."""
MOST_REMOTE: Final = 16
"""The same for remote files, each of which takes requests."""


@dataclass(frozen=True)
class Recognizer:
    """Knows files of one sort by how they begin."""

    name: str
    """What `stepscope.summary.contents.Companion.recognized` calls them."""
    endings: tuple[str, ...]
    """Of the names that such files may have, in lower case; no others are looked at."""
    knows: Callable[[bytes], bool]
    """Whether a file that begins with these bytes is one."""


class Recognition:
    """What is known of the files of one log directory; asked by one thread.

    Args:
        source: where the files are.
        recognizers: the sorts of files to look for; the first that knows a file names it.
    """

    def __init__(self, source: Source, recognizers: Sequence[Recognizer]) -> None:
        self._source: Final = source
        self._recognizers: Final = tuple(recognizers)
        self._endings: Final = tuple({ending for each in self._recognizers for ending in each.endings})
        self._any_name: Final = isinstance(source, LocalFiles)
        """The user has chosen these files, whatever they are called."""
        self._known: dict[PurePosixPath, tuple[FoundFile, str]] = {}
        self.waiting = 0
        """Files that were not looked at yet."""

    def may_know(self, name: str) -> bool:
        """Return whether a file of this name is looked at."""
        return bool(self._endings) and (self._any_name or name.lower().endswith(self._endings))

    def look(self, files: Iterable[FoundFile]) -> dict[PurePosixPath, str]:
        """Return the names of those of the files that are known, of which the ones written last are looked at first."""
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
            # It is what it was, until somebody has looked at it.
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
