"""The files of a log directory that hold no events but belong to its runs, such as traces and dumps."""

import os
import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final

from stepscope.summary.contents import Companion
from stepscope.summary.debugger.file_names import set_of_file, start_of_file
from stepscope.summary.logdir_source import SeveralSources
from stepscope.summary.recognition import Recognition, Recognizer
from stepscope.summary.series import Run
from stepscope.summary.source import Changes, FoundFile, Source, readable

_PROFILE_FOLDERS: Final = ("plugins", "profile")


class Companions:
    """The companion files that snapshots list; each look at the directory costs only as much as it found new.

    Args:
        source: where the files are.
        patterns: names of files to list, with wildcards.
        recognizers: decide by the content which other files to list.
    """

    def __init__(self, source: Source, patterns: Sequence[str], recognizers: Sequence[Recognizer]) -> None:
        self._source: Final = source
        self._patterns: Final = tuple(patterns)
        self._recognition: Final = Recognition(source, recognizers)
        self._named: dict[PurePosixPath, Companion] = {}
        self._untold: dict[PurePosixPath, FoundFile] = {}
        """Files that can be recognized only by their content."""
        self._listed: tuple[Companion, ...] = ()

    @property
    def paths(self) -> list[PurePosixPath]:
        """The paths of all known files."""
        return [*self._named, *self._untold]

    def take(self, changes: Changes) -> tuple[Companion, ...]:
        """Return the companions after changes, in order of runs and paths; the same object if they are the same."""
        news = self._recognition.waiting > 0
        for path in changes.gone:
            news |= self._named.pop(path, None) is not None
            news |= self._untold.pop(path, None) is not None
        for found in changes.found:
            name = found.path.name
            if is_event_file(name):
                continue
            if set_of_file(name) or any(fnmatch(name, pattern) for pattern in self._patterns):
                self._named[found.path] = self._companion(found)
                news = True
            elif self._recognition.may_know(name):
                self._untold[found.path] = found
                news = True
        if news:
            recognized = self._recognition.look(self._untold.values())
            told = [self._companion(self._untold[path], name) for path, name in recognized.items()]
            listed = sorted([*self._named.values(), *told], key=lambda c: (c.run, str(c.relative_path)))
            if tuple(listed) != self._listed:
                self._listed = tuple(listed)
        return self._listed

    def _companion(self, found: FoundFile, recognized: str = "") -> Companion:
        path = self._source.locate(found.path)
        # With several log directories, each is below a name of its own.
        below = len(found.path.parts) - isinstance(self._source, SeveralSources)
        root = re.split(r"[/\\]" if os.sep == "\\" else "/", path)[:-below]
        return Companion(
            run_of_companion(found.path),
            found.path,
            path,
            found.size,
            found.modified_ns,
            path[: len("/".join(root))],
            recognized,
        )


def is_event_file(name: str) -> bool:
    """Return whether a file of this name holds events, by TensorBoard's rule.

    ``.profile-empty`` files only mark a run.
    """
    return "tfevents" in name and not name.endswith(".profile-empty")


def run_of_companion(path: PurePosixPath) -> str:
    """Return the run that a file belongs to: its directory, or RUN for ``RUN/plugins/profile/TIME/file``."""
    folder = path.parent
    if len(folder.parts) >= 3 and folder.parts[-3:-1] == _PROFILE_FOLDERS:
        return readable(PurePosixPath(*folder.parts[:-3]))
    return readable(folder)


def runs_of_dumps(companions: Iterable[Companion]) -> dict[str, Run]:
    """Return a run without series for each folder that has a dump from TensorFlow's debugger."""
    starts: dict[str, float] = {}
    for companion in companions:
        if set_of_file(companion.relative_path.name):
            named = start_of_file(companion.relative_path.name)
            start = companion.modified_ns / 1e9 if named is None else named
            starts[companion.run] = min(start, starts.get(companion.run, start))
    return {name: Run(name, start, MappingProxyType({})) for name, start in starts.items()}
