"""``stepscope export``: what a log directory holds, as CSV, JSON, Parquet, or files of pictures and sound."""

import contextlib
import errno
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, BinaryIO, Final, get_args

from stepscope.dashboard.cli.reading import add_keep_superseded, add_logdir, read_logdir, standard_output, tell_losses
from stepscope.dashboard.export.media_files import media_files
from stepscope.dashboard.export.tables import TableFormat, write_table
from stepscope.dashboard.server.numbers import counted
from stepscope.summary.companions import is_event_file
from stepscope.summary.contents import LARGEST_FRAME
from stepscope.summary.errors import UserError
from stepscope.summary.kinds.registry import ALL_ARRAYS, all_kinds
from stepscope.summary.snapshot import Snapshot

if TYPE_CHECKING:
    import polars as pl

STANDARD_OUTPUT: Final = "-"
_FORMATS: Final[Mapping[str, TableFormat]] = MappingProxyType({".csv": "csv", ".json": "json", ".parquet": "parquet"})


def _payloads(kind: str) -> "Callable[[Snapshot, Namespace], pl.DataFrame]":
    def table(snapshot: Snapshot, arguments: Namespace) -> "pl.DataFrame":
        return snapshot.table(kind, arguments.run, arguments.tag, last=arguments.last, max_bytes=arguments.max_bytes)

    return table


@cache
def _tables() -> "Mapping[str, Callable[[Snapshot, Namespace], pl.DataFrame]]":
    """Return what makes each table, by what ``--kind`` calls it."""
    return MappingProxyType(
        {
            "scalars": lambda snapshot, given: snapshot.scalars(given.run, given.tag, pivot=given.pivot),
            "hparams": lambda snapshot, given: snapshot.hparams(given.run),
            **{name: _payloads(name) for name, kind in all_kinds().items() if kind.table is not None},
            ALL_ARRAYS: lambda snapshot, given: snapshot.tensors(
                given.run, given.tag, last=given.last, max_bytes=given.max_bytes
            ),
            "summaries": lambda snapshot, given: snapshot.summaries(given.run, given.tag),
            "runs": lambda snapshot, given: snapshot.runs_frame(given.run),
            "files": lambda snapshot, given: snapshot.health_frame(),
        }
    )


@cache
def _with_files() -> Sequence[str]:
    """Return the kinds of which each value is made of files."""
    return [name for name, kind in all_kinds().items() if kind.files is not None]


@cache
def _options_of() -> Mapping[str, frozenset[str]]:
    """Return what ``--kind`` must be for each option."""
    everything = frozenset((*_tables(), *_with_files()))
    plain = {"scalars", "hparams", "summaries", "runs", "files"}
    return MappingProxyType(
        {
            "--run": everything - {"files"},
            "--tag": everything - {"files", "runs", "hparams"},
            "--pivot": frozenset({"scalars"}),
            "--last": everything - plain,
        }
    )


class ExportVerb:
    """Writes one kind of data of a log directory."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what to write, and where to."""
        add_logdir(parser)
        parser.add_argument(
            "--format",
            choices=get_args(TableFormat),
            help="the format of the table (from the extension of FILE, or csv)",
        )
        parser.add_argument(
            "--kind",
            choices=tuple(dict.fromkeys((*_tables(), *_with_files()))),
            default="scalars",
            help="what to write (%(default)s); files are event files",
        )
        parser.add_argument("--run", metavar="REGEX", help="only runs whose name matches somewhere, ignoring case")
        parser.add_argument("--tag", metavar="REGEX", help="only tags that match somewhere, ignoring case")
        parser.add_argument("--pivot", action="store_true", help="one row per run and step, with a column per tag")
        parser.add_argument(
            "--last",
            type=int,
            metavar="N",
            help="export only the last N points per tag of images, histograms and the like",
        )
        parser.add_argument(
            "--max-bytes",
            type=int,
            default=LARGEST_FRAME,
            metavar="N",
            help="maximum bytes of images, histograms and the like in a table (%(default)s)",
        )
        add_keep_superseded(parser)
        parser.add_argument(
            "-o",
            "--output",
            metavar="FILE",
            default=STANDARD_OUTPUT,
            help='the file to write, "-" for standard output (the default); '
            "for what is made of files, such as images and audio, without --format a folder",
        )
        parser.add_argument("--force", action="store_true", help="overwrite files that exist")

    def run(self, arguments: Namespace) -> int:
        """Write the data, and say on standard error what was written and what was left out.

        Raises:
            UserError: options contradict each other, there is no such log directory, run or tag, or the output exists
                or cannot be written.
        """
        table_format = _checked_format(arguments)
        if table_format is None:
            return _export_media(arguments)
        _check_output(arguments.output, force=arguments.force)
        snapshot = read_logdir(arguments.logdir, keep_superseded=arguments.keep_superseded)
        try:
            frame = _tables()[arguments.kind](snapshot, arguments)
        except ValueError as error:
            raise UserError(f"{arguments.kind} cannot be exported: {error}") from error
        if arguments.output == STANDARD_OUTPUT:
            with standard_output() as stream:
                write_table(frame, table_format, stream)
        else:
            _write_file(Path(arguments.output), frame, table_format, force=arguments.force)
            print(f"Wrote {arguments.output}: {counted(len(frame), 'row')} of {arguments.kind}.", file=sys.stderr)
        tell_losses(snapshot.left_out)
        return 0


def _checked_format(arguments: Namespace) -> TableFormat | None:
    """Return the format of the table, or None for a folder of images or audio."""
    for option, kinds in _options_of().items():
        if getattr(arguments, option.lstrip("-")) and arguments.kind not in kinds:
            raise UserError(f"{option} goes with --kind {', '.join(sorted(kinds))}; it is {arguments.kind}")
    if arguments.last is not None and arguments.last < 1:
        raise UserError(f"--last is {arguments.last}; expected a number above 0, such as 1")
    to_standard_output = arguments.output == STANDARD_OUTPUT
    table_format: TableFormat | None = arguments.format or _FORMATS.get(Path(arguments.output).suffix.lower())
    if arguments.kind not in _tables() and table_format is not None:
        raise UserError(f"{arguments.kind} are files, not a table; they go to a folder, as in -o FOLDER")
    if table_format is None and arguments.kind in _with_files():
        if to_standard_output:
            raise UserError(f"--kind {arguments.kind} needs a folder to write to, as in -o FOLDER, or a --format")
        return None
    if table_format == "parquet" and to_standard_output:
        raise UserError("--format parquet needs a file to write to, as in -o scalars.parquet")
    return table_format or "csv"


def _check_output(output: str, *, force: bool) -> None:
    """Raise UserError before anything is read, rather than after minutes, or over a file of value."""
    if output == STANDARD_OUTPUT:
        return
    path = Path(output)
    if is_event_file(path.name):
        raise UserError(f"-o {output} has the name of an event file; expected another name, such as scalars.csv")
    if path.is_dir():
        raise UserError(f"-o {output} is a directory; expected a file, such as {path / 'scalars.csv'}")
    if path.is_file() and not force:
        raise UserError(f"-o {output} exists already; choose another name, or overwrite it with --force")


def _write_file(path: Path, frame: "pl.DataFrame", table_format: TableFormat, *, force: bool) -> None:
    try:
        with _created(path, force=force) as stream:
            write_table(frame, table_format, stream)
    except OSError as error:
        raise _cannot_be_written(path, error) from error


@contextlib.contextmanager
def _created(path: Path, *, force: bool) -> Iterator[BinaryIO]:
    """Provide a file that appears when it is whole: what fails half-way leaves nothing, and what was there before
    stays.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as device:
            yield device
        return
    if path.exists() and not force:
        raise FileExistsError(errno.EEXIST, "it exists already; overwrite it with --force")
    path = path.resolve()
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        with unfinished.open("xb") as stream:
            yield stream
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _cannot_be_written(path: Path, error: OSError) -> UserError:
    return UserError(
        f"{path} cannot be written: {error.strerror or error}. Expected a file in a directory that exists and may be "
        "written to."
    )


def _export_media(arguments: Namespace) -> int:
    from stepscope.summary.frames.selection import selected_series

    folder = Path(arguments.output)
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not arguments.force)):
        raise UserError(
            f"-o {folder} exists already; expected a new or an empty folder, or --force to overwrite files in it"
        )
    snapshot = read_logdir(arguments.logdir, keep_superseded=arguments.keep_superseded)
    chosen = selected_series(snapshot, {arguments.kind}, arguments.run, arguments.tag)
    unreadable: list[str] = []
    written = 0
    for file in media_files(chosen, unreadable, last=arguments.last):
        path = folder / file.path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb" if arguments.force else "xb") as stream:
                stream.write(file.content)
        except OSError as error:
            raise _cannot_be_written(path, error) from error
        written += 1
    print(f"Wrote {counted(written, 'file')} of {arguments.kind} to {folder}.", file=sys.stderr)
    if unreadable:
        print(f"Not readable: {counted(len(unreadable), 'point')}; the first: {unreadable[0]}", file=sys.stderr)
    tell_losses(snapshot.left_out)
    return 0
