"""The contents of an index for a log directory."""

from pathlib import Path

from stepscope.summary.log_index import IndexedFiles, LogIndex
from stepscope.summary.logdir_source import identity_of, source_of


def loaded_index(index: Path | str, logs: Path) -> tuple[LogIndex, IndexedFiles]:
    """Return an index that has been loaded for a log directory, and its files for that directory."""
    found = LogIndex(str(index))
    found.logs = identity_of(source_of(str(logs)))
    return found, found.load()


def files_of(index: Path | str, logs: Path) -> IndexedFiles:
    """Return the files of a log directory that an index contains."""
    return loaded_index(index, logs)[1]
