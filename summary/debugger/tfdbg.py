"""Dumps of TensorFlow's debugger (``tf.debugging.experimental.enable_dump_debug_info``), read without TensorFlow.

    dump = open_dump("runs/first")
    data = dump.data()       # the model used by rules, the command and the page
    dump = dump.refreshed()  # with the data written since

Only the locations of records and a few numbers of each are kept in memory; their contents are read on demand.
"""

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import BinaryIO, Final

from stepscope.summary.debugger.dump_contents import DumpContents
from stepscope.summary.debugger.file_names import set_of_file
from stepscope.summary.debugger.file_sets import choose, file_sets, missing_files
from stepscope.summary.debugger.growth import Growth
from stepscope.summary.debugger.model import DebugData
from stepscope.summary.debugger.record_file import OpenAt, ReplacedError
from stepscope.summary.debugger.tfdbg_data import TfdbgData
from stepscope.summary.logdir_source import source_of
from stepscope.summary.source import Source

_LISTED_AGAIN: Final = 3
"""How many times files that are replaced while being read are immediately reread."""

Sizes = Mapping[str, int]
"""The sizes of a folder's files in bytes, by name."""


class NoDumpError(ValueError):
    """There is no dump; the message is a human-readable sentence."""


@dataclass(frozen=True, eq=False)
class TfdbgDump(DumpContents):
    """A dump at one moment; usable by any thread."""

    following: "Following"

    def data(self) -> DebugData:
        """Return the contents of the dump in the same form as recordings of `stepscope.debug`."""
        return self._data

    @cached_property
    def _data(self) -> DebugData:
        return TfdbgData(self)

    def refreshed(self, sizes: Sizes | None = None) -> "TfdbgDump":
        """Return the dump as it is now, which is this one if nothing was written.

        Args:
            sizes: the sizes of the folder's files as listed before; if omitted, the folder is listed now.

        Raises:
            NoDumpError: the files of the dump are gone.
            OSError: the folder cannot be listed.
        """
        return self.following.update(sizes)


class Following:
    """Follows the dump in one folder; any thread may call it, and one at a time reads.

    Args:
        list_files: returns the folder's files with their sizes; raises OSError.
        open_at: opens a file of the folder at an offset; raises OSError.
        folder: the name of the folder in messages.
    """

    def __init__(self, list_files: Callable[[], Sizes], open_at: OpenAt, folder: str) -> None:
        self._list_files: Final = list_files
        self._open_at: Final = open_at
        self._folder: Final = folder
        self._lock: Final = threading.Lock()
        self._growth: Growth | None = None
        self._replaced: list[str] = []
        self._latest: tuple[Sizes, TfdbgDump] | None = None

    @property
    def latest(self) -> TfdbgDump | None:
        """The dump as last read; None if it has not been read yet."""
        latest = self._latest
        return None if latest is None else latest[1]

    def update(self, sizes: Sizes | None = None) -> TfdbgDump:
        """Read new data and return the dump; raise the same errors as `TfdbgDump.refreshed`."""
        with self._lock:
            listed = {name: n for name, n in (sizes or self._list_files()).items() if set_of_file(name) is not None}
            if self._latest is not None and self._latest[0] == listed:
                return self._latest[1]
            sets = file_sets(listed, self._open_at)
            if not sets:
                raise NoDumpError(
                    f"{self._folder} has no dump of TensorFlow's debugger: expected files tfdbg_events.*.metadata and "
                    "those beside them, as tf.debugging.experimental.enable_dump_debug_info writes them."
                )
            chosen = choose(sets)
            for attempt in range(_LISTED_AGAIN):
                if self._growth is None or self._growth.key != chosen.key:
                    self._growth = Growth(chosen, self._open_at)
                try:
                    self._growth.read_new(listed)
                    break
                except ReplacedError as error:
                    self._growth = None
                    if len(self._replaced) < _LISTED_AGAIN:
                        self._replaced.append(str(error))
                    if attempt + 1 == _LISTED_AGAIN:
                        raise OSError(f"the files of {self._folder} keep being replaced while they are read") from error
            assert self._growth is not None
            growth, first = self._growth, chosen.sets[0]
            dump = TfdbgDump(
                self._open_at,
                first.metadata,
                first.start,
                growth.code,
                growth.graphs,
                growth.places,
                growth.executions.columns(),
                tuple(file.columns() for file in growth.traces.values()),
                tuple(file.health(self._folder) for file in growth.files.values()),
                (*chosen.problems, *missing_files(chosen), *self._replaced),
                self,
            )
            self._latest = listed, dump
            return dump


def open_dump(source: Source | str | os.PathLike[str], folder: str | PurePosixPath = ".") -> TfdbgDump:
    """Return the dump in a folder as it is now.

    Args:
        source: a folder, an address such as ``s3://bucket/run``, or a `Source`.
        folder: the dump's folder within the source.

    Raises:
        NoDumpError: there is none.
        OSError: the files cannot be listed.
    """
    files: Source = source_of(source) if isinstance(source, str | os.PathLike) else source
    inside = PurePosixPath(folder)

    def list_files() -> Sizes:
        found = {each.path.name: each.size for each in files.list() if each.path.parent == inside}
        if not found and inside in files.unlisted:
            raise OSError(files.unlisted[inside])
        return found

    def open_at(name: str, offset: int) -> BinaryIO:
        return files.open(inside / name, offset)

    shown = files.locate(inside) if str(inside) != "." else files.address
    return Following(list_files, open_at, shown).update()
