"""The TensorFlow debugger dumps of a log directory, found by their files; each is a run named after its folder."""

import os
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import BinaryIO, Final

from stepscope.summary.contents import Companion
from stepscope.summary.debugger.file_names import set_of_file
from stepscope.summary.debugger.tfdbg import Following
from stepscope.summary.logdir_source import source_of
from stepscope.summary.snapshot import Snapshot
from stepscope.summary.source import Source


@dataclass(frozen=True)
class DumpSource:
    """A dump in a snapshot, not yet opened."""

    run: str
    """The run that it belongs to or forms: the folder of its files."""
    title: str
    """The display name of the run."""
    files: tuple[Companion, ...]

    @property
    def id(self) -> str:
        """An identifier that differs from those of other dumps in the log directory and of any other run content."""
        return f"{self.run}|tfdbg"

    @property
    def folder(self) -> str:
        """The path or address of the folder of its files."""
        return self.files[0].path[: -len(self.files[0].relative_path.name)].rstrip("/") or os.sep

    @property
    def version(self) -> tuple[tuple[str, int, int], ...]:
        """A key that is equal for equal content."""
        return tuple((file.path, file.size, file.modified_ns) for file in self.files)

    @property
    def modified(self) -> float:
        """The time of the last write to the dump, in seconds since the epoch."""
        return max(file.modified_ns for file in self.files) / 1e9

    @property
    def sizes(self) -> dict[str, int]:
        """The size of each file in bytes, by name, for `stepscope.summary.debugger.tfdbg.TfdbgDump.refreshed`."""
        return {file.relative_path.name: file.size for file in self.files}

    def following(self) -> Following:
        """Return a `Following` that reads the dump from its beginning; nothing is read yet."""
        return Following(lambda: self.sizes, _Opener(self.folder), self.title)


def dump_sources(snapshot: Snapshot) -> tuple[DumpSource, ...]:
    """Return the dumps of a snapshot in the order of its runs."""
    found: dict[tuple[str, PurePosixPath], list[Companion]] = {}
    for companion in snapshot.companions:
        if set_of_file(companion.relative_path.name) is not None:
            found.setdefault((companion.run, companion.relative_path.parent), []).append(companion)
    order = {name: number for number, name in enumerate(snapshot.runs)}
    runs = sorted(found, key=lambda key: (order.get(key[0], len(order)), key[0], str(key[1])))
    return tuple(DumpSource(run, snapshot.run_title(run), tuple(found[run, folder])) for run, folder in runs)


def has_dumps(snapshot: Snapshot) -> bool:
    """Return whether a log directory has any dumps."""
    return any(set_of_file(companion.relative_path.name) is not None for companion in snapshot.companions)


class _Opener:
    """Opens files of a dump's folder by name."""

    def __init__(self, folder: str) -> None:
        self._folder: Final = folder
        self._source: Source | None = None

    def __call__(self, name: str, offset: int) -> BinaryIO:
        if self._source is None:
            self._source = source_of(self._folder)
        return self._source.open(PurePosixPath(name), offset)
