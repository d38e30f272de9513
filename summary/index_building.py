"""Fills the index of a log directory with an engine, whose workers read event files and write index segments."""

from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from stepscope.summary.companions import is_event_file
from stepscope.summary.contents import LeftOut
from stepscope.summary.engine import Engine, Progress
from stepscope.summary.errors import UserError
from stepscope.summary.log_index import IndexedFiles, LogIndex, PartOfIndex, SegmentPlace
from stepscope.summary.log_parts import LogPart, cut, work_through
from stepscope.summary.logdir_source import identity_of, requests_of, sources_of
from stepscope.summary.remote_source import Requests
from stepscope.summary.source import FoundFile


@dataclass(frozen=True)
class IndexTotals:
    """Totals of a log directory and of the work to bring its index up to date."""

    runs: int
    files: int
    size: int
    """Bytes of all event files."""
    taken: int
    """Files that had been read before."""
    left_out: LeftOut
    """Data left out of what was read now."""
    requests: Requests
    """Requests to stores for the logs."""


@dataclass(frozen=True)
class _Work:
    logs: LogPart
    index: str
    segments: tuple[SegmentPlace, ...]
    """Segments of the index that hold these files."""


@dataclass(frozen=True)
class _Done:
    segments: tuple[SegmentPlace, ...]
    """Segments written for these files."""
    taken: int
    left_out: LeftOut
    requests: Requests
    refused: str
    """Why segments cannot be written; empty if they can."""


def fill_index(
    logdirs: Sequence[str], index: LogIndex, engine: Engine, progress: Progress
) -> Generator[IndexTotals, None, None]:
    """Bring an index up to date; yield the totals at the start and after each part.

    Everything that was read is in the index, whenever this ends. A file that kills its worker, perhaps because it needs
    more memory than the worker has, is recorded as a failure in ``progress``, and the others are read.

    Args:
        logdirs: see `stepscope.summary.log_parts.from_anywhere`.
        index: an index that all workers can reach.
        engine: runs the parts.
        progress: updated as the work advances, in event files and their bytes.

    Raises:
        UserError: the engine cannot be used, or the index cannot be written.
    """
    source = sources_of(logdirs)
    index.logs = identity_of(source)
    files = [file for file in source.list() if is_event_file(file.path.name)]
    parts = cut(logdirs, _of_changed_runs(files, index.load()))
    totals = IndexTotals(
        len(_folders(files)),
        len(files),
        sum(file.size for file in files),
        len(files) - sum(len(part.files) for part in parts),
        LeftOut(folders=len(source.unlisted)),
        requests_of(source),
    )
    yield totals

    def work_on(logs: LogPart) -> _Work:
        return _Work(logs, index.address, index.segments_of(file.path for file in logs.files))

    try:
        for done in work_through(engine, _read_part, parts, work_on, progress):
            if done.refused:
                raise UserError(unwritable(index.address, done.refused))
            index.adopt(done.segments)
            totals = replace(
                totals,
                taken=totals.taken + done.taken,
                left_out=totals.left_out.plus(done.left_out),
                requests=totals.requests.plus(done.requests),
            )
            yield totals
    finally:
        index.store((), listed={file.path for file in files})
    if index.refused:
        raise UserError(unwritable(index.address, index.refused))


def unwritable(address: str, reason: str) -> str:
    """Return the message that an index cannot be written."""
    return (
        f"The index at {address} cannot be written: {reason}; expected a folder that is yours to write to.\n"
        "Choose another: stepscope index LOGDIR --to ADDRESS"
    )


def _of_changed_runs(files: Sequence[FoundFile], indexed: IndexedFiles) -> Iterator[FoundFile]:
    """Yield all files of runs that are not up to date in the index: the others show what a restart overwrote."""
    changed = _folders(file for file in files if not _is_indexed(file, indexed))
    return (file for file in files if file.path.parent in changed)


def _is_indexed(file: FoundFile, indexed: IndexedFiles) -> bool:
    then = indexed.get(file.path)
    return then is not None and then.is_certainly(file)


def _folders(files: Iterable[FoundFile]) -> Collection[PurePosixPath]:
    return {file.path.parent for file in files}


def _read_part(work: _Work) -> _Done:
    """Read a part in a worker and write its data into the index."""
    index = PartOfIndex(work.index, work.segments)
    logdir = work.logs.logdir(index=index)
    snapshot = logdir.update()
    logdir.wait_until_stored()
    return _Done(tuple(index.written), logdir.taken_files, snapshot.left_out, requests_of(logdir.source), index.refused)
