"""Reports about event files in the health panel: pure functions from `FileHealth` to text, table rows and CSV rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Final

from stepscope.dashboard.page.health_badge import is_bad, is_read, writers_text
from stepscope.dashboard.panels.health.messages import FileRow, Severity
from stepscope.dashboard.server.numbers import count, file_size
from stepscope.summary.contents import FileHealth
from stepscope.summary.counts import counted

FILE_COLUMNS: Final = (
    "File", "Run", "Records", "Size in bytes", "Read up to byte", "Skipped stretches", "Skipped bytes",
    "Superseded points", "Writers at once", "State", "Last written",
)  # fmt: skip
DAMAGE_COLUMNS: Final = ("File", "Run", "Offset", "Length", "Reason")


@dataclass(frozen=True)
class Condition:
    """A file's state as text, with its severity."""

    severity: Severity
    words: str


def condition(file: FileHealth) -> Condition:
    """Return the state of one file."""
    if file.error:
        return Condition("bad", f"cannot be {'listed' if file.is_folder else 'opened'}: {file.error}")
    rest = f"waiting for the rest of a record at byte {count(file.bytes_read)}" if file.waiting else ""
    if file.damage_count:
        return Condition("bad", f"damaged; {rest}" if rest else "damaged")
    if rest:
        return Condition("open", rest)
    if not is_read(file):
        return Condition("open", "not read yet")
    if not file.size:
        return Condition("good", "empty")
    return Condition("good", "growing" if file.growing else "up to date")


def worst_first(files: Iterable[FileHealth]) -> list[FileHealth]:
    """Return the files in the order of the table, each group sorted by path.

    Unreadable and damaged files come first, then those that wait for the rest of a record, then the others.
    """
    return sorted(files, key=lambda file: (not is_bad(file), not file.waiting, file.path))


def table_row(file: FileHealth) -> FileRow:
    """Return one row of the table; ``health/web/index.ts`` formats its numbers."""
    state = condition(file)
    return {
        "path": file.path,
        "file": PurePosixPath(file.path).name,
        "run": file.run,
        "records": file.records,
        "size": max(file.size, file.bytes_read),
        "read": file.bytes_read,
        "stretches": file.damage_count,
        "skipped": file.skipped_bytes,
        "superseded": file.superseded,
        "modified": file.modified,
        "state": state.words,
        "severity": state.severity,
    }


def file_csv_rows(files: Iterable[FileHealth]) -> Iterable[Sequence[object]]:
    """Yield one row of `FILE_COLUMNS` per file."""
    for file in files:
        yield (
            file.path, file.run, file.records, max(file.size, file.bytes_read), file.bytes_read, file.damage_count,
            file.skipped_bytes, file.superseded, file.writers, condition(file).words,
            "" if file.modified is None else datetime.fromtimestamp(file.modified, UTC).isoformat(timespec="seconds"),
        )  # fmt: skip


def damage_csv_rows(files: Iterable[FileHealth]) -> Iterable[Sequence[object]]:
    """Yield one row of `DAMAGE_COLUMNS` per listed damage of the files."""
    for file in files:
        for damage in file.damages:
            yield file.path, file.run, damage.offset, damage.length, damage.reason


@dataclass(frozen=True)
class Verdict:
    """The state of all files in one sentence, with further facts."""

    severity: Severity
    sentence: str
    facts: tuple[str, ...]


def verdict(
    files: Sequence[FileHealth], superseded: int, at_once: Mapping[str, int] | None = None, *, loading: bool
) -> Verdict:
    """Return a summary of what was lost in the whole log directory.

    Args:
        files: all event files of the log directory.
        superseded: number of points that restarts overwrote.
        at_once: runs that several writers wrote to at once, with the number of writers.
        loading: whether files are still being read.
    """
    folders = sum(file.is_folder for file in files)
    broken = sum(1 for file in files if file.error and not file.is_folder)
    damaged = [file for file in files if file.damage_count and not file.error]
    waiting = sum(file.waiting for file in files)
    total = len(files) - folders
    facts = [f"{counted(sum(f.records for f in files), 'record')}, {file_size(sum(f.bytes_read for f in files))} read"]
    if damaged:
        lost = file_size(sum(file.skipped_bytes for file in damaged))
        stretches = counted(sum(file.damage_count for file in damaged), "stretch", "stretches")
        facts.append(f"{stretches} skipped as unreadable, {lost}; everything else is shown")
    if growing := sum(file.growing for file in files):
        facts.append(f"{counted(growing, 'file')} growing")
    if waiting:
        ends = "ends" if waiting == 1 else "end"
        facts.append(
            f"{counted(waiting, 'file')} {ends} in the middle of a record, which is read when the rest arrives"
        )
    if superseded:
        facts.append(f"{counted(superseded, 'point')} superseded by a restart; start with --keep-superseded to see all")
    if at_once:
        facts.append(f"{writers_text(at_once)}: every point is shown")
    if broken or damaged or folders:
        return Verdict("bad", _loss(len(damaged), broken, total, folders), tuple(facts))
    if loading:
        return Verdict("open", "No damage so far; still reading", tuple(facts))
    return Verdict("good", f"{counted(total, 'file')} read without errors", tuple(facts))


def _loss(damaged: int, broken: int, total: int, folders: int) -> str:
    of_all = f" of {counted(total, 'file')}"
    losses = []
    if damaged:
        losses.append(f"{count(damaged)}{of_all} {'is' if damaged == 1 else 'are'} damaged")
    if broken:
        losses.append(f"{count(broken)}{'' if damaged else of_all} cannot be opened")
    if folders:
        losses.append(f"{counted(folders, 'folder')} cannot be listed")
    return ", ".join(losses)


def advice(file: FileHealth) -> list[str]:
    """Return what the user can do about a file or needs to know about it."""
    sentences: list[str] = []
    if file.is_folder:
        sentences.append(
            "It may contain files that are not shown. Check that you have permission to list it. Stepscope keeps "
            "retrying, and still shows what it has already read."
        )
    elif file.error:
        sentences.append("Check that the file is still there and that you may read it; it is retried at every poll.")
    if file.damage_count:
        sentences.append(
            "The stretches below were skipped, and reading continued after each. Replace the file with an undamaged "
            "copy, if there is one: it is then read again."
        )
    if file.waiting:
        sentences.append(
            "The last record appears once it is complete. If the program that wrote the file has ended, only "
            "that record is lost."
        )
    if file.superseded:
        sentences.append(
            f"{counted(file.superseded, 'point was', 'points were')} superseded, because the run was restarted at an "
            "earlier step. Start with --keep-superseded to see all."
        )
    if file.writers > 1:
        sentences.append(
            f"{count(file.writers)} writers at once: files of this folder were written at the same time with the same "
            "tags. Every point of them is shown. Log from one process only, or into a separate folder per process."
        )
    return sentences
