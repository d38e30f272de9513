"""Export by an engine: each worker reads some runs and writes a part of the table, or their files, into a folder."""

import io
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass

from stepscope.dashboard.export.choice import Choice
from stepscope.dashboard.export.media_files import media_files
from stepscope.dashboard.export.tables import TableFormat, write_table
from stepscope.summary.contents import LeftOut
from stepscope.summary.engine import Engine, Progress
from stepscope.summary.errors import reason_of
from stepscope.summary.frames.selection import no_match
from stepscope.summary.log_parts import LogPart, cut, work_through
from stepscope.summary.logdir_source import sources_of
from stepscope.summary.safe_regex import Pattern
from stepscope.summary.snapshot import EMPTY_SNAPSHOT
from stepscope.summary.source import FoundFile, readable
from stepscope.summary.storage import folder_at


@dataclass(frozen=True)
class Exported:
    """The result of an export so far."""

    written: int
    """Number of table rows, or of image or audio files, written."""
    left_out: LeftOut
    unreadable: tuple[str, ...] = ()
    """Reasons why points could not be written as files."""
    refused: str = ""
    """The reason why a part cannot be written."""

    def plus(self, other: "Exported") -> "Exported":
        """Return the sum of both results."""
        return Exported(
            self.written + other.written,
            self.left_out.plus(other.left_out),
            self.unreadable + other.unreadable,
            self.refused or other.refused,
        )


@dataclass(frozen=True)
class _Work:
    logs: LogPart
    choice: Choice
    table_format: TableFormat | None
    """None for files."""
    keep_superseded: bool
    folder: str


def export_parts(
    logdirs: Sequence[str],
    choice: Choice,
    table_format: TableFormat | None,
    folder: str,
    engine: Engine,
    progress: Progress,
    *,
    keep_superseded: bool,
) -> Generator[Exported, None, None]:
    """Export runs in parts, ordered by name; yield the result so far, initially an empty one.

    Args:
        logdirs: see `stepscope.summary.log_parts.from_anywhere`.
        choice: what to export; each row of its tables must belong to a single run.
        table_format: format of ``part-NUMBER.FORMAT``; None for a folder of files.
        folder: a path or an address that all workers can write to.
        engine: the engine that runs the parts.
        progress: updated with the progress, in event files and their bytes.
        keep_superseded: whether to include points that a restart overwrote.

    Raises:
        UserError: the engine cannot be used, an expression of the choice is invalid, or its runs do not exist.
    """
    # An invalid expression is reported before anything is read.
    _ = choice.series(EMPTY_SNAPSHOT) if table_format is None else choice.table(EMPTY_SNAPSHOT)
    source = sources_of(logdirs)
    parts = cut(logdirs, _of_runs(source.list(), choice.run))
    so_far = Exported(0, LeftOut(folders=len(source.unlisted)))
    yield so_far

    def work_on(logs: LogPart) -> _Work:
        return _Work(logs, choice, table_format, keep_superseded, folder)

    for done in work_through(engine, _export_part, parts, work_on, progress):
        so_far = so_far.plus(done)
        yield so_far


def _of_runs(files: Iterable[FoundFile], expression: str | None) -> list[FoundFile]:
    found = list(files)
    if expression is None:
        return found
    folders = sorted({file.path.parent for file in found})
    runs = [readable(folder) for folder in folders]
    chosen = {folder for folder, matched in zip(folders, Pattern(expression).matches(runs), strict=True) if matched}
    if runs and not chosen:
        raise no_match(runs, expression, "run")
    return [file for file in found if file.path.parent in chosen]


def _export_part(work: _Work) -> Exported:
    """Read a part in a worker and write the chosen data from it.

    Raises:
        ValueError: the table is larger than allowed; one of fewer runs may not be.
    """
    snapshot = work.logs.logdir(keep_superseded=work.keep_superseded).update()
    folder = folder_at(work.folder)
    unreadable: list[str] = []
    written = 0
    try:
        if work.table_format is None:
            for file in media_files(work.choice.series(snapshot), unreadable, last=work.choice.last):
                folder.replace(str(file.path), file.content)
                written += 1
        else:
            frame = work.choice.table(snapshot)
            written = len(frame)
            if written:
                content = io.BytesIO()
                write_table(frame, work.table_format, content)
                folder.replace(f"part-{work.logs.name}.{work.table_format}", content.getvalue())
    except OSError as error:
        return Exported(0, LeftOut(), refused=reason_of(error))
    return Exported(written, snapshot.left_out, tuple(unreadable))
