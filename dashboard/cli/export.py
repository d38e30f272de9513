"""``stepscope export``: write the content of a log directory as CSV, JSON, Parquet, or image and audio files."""

import contextlib
import errno
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, get_args

from rich.console import Console

from stepscope.dashboard.cli.engines import add_engine, exit_code, last_step
from stepscope.dashboard.cli.output_files import check_no_event_file, writable
from stepscope.dashboard.cli.reading import (
    add_directories,
    add_keep_superseded,
    check_logdirs,
    directories,
    read_logdir,
    standard_output,
    tell_losses,
)
from stepscope.dashboard.export.choice import Choice, kinds_with_files, tables
from stepscope.dashboard.export.media_files import media_files
from stepscope.dashboard.export.tables import TableFormat, write_table
from stepscope.summary.contents import LARGEST_FRAME
from stepscope.summary.counts import counted
from stepscope.summary.engine import Progress, engine_at
from stepscope.summary.errors import UserError
from stepscope.summary.frames.selection import SelectionError
from stepscope.summary.storage import is_address, whole_file

if TYPE_CHECKING:
    import polars as pl

    from stepscope.summary.snapshot import Snapshot

STANDARD_OUTPUT: Final = "-"
_FORMATS: Final[Mapping[str, TableFormat]] = MappingProxyType({".csv": "csv", ".json": "json", ".parquet": "parquet"})


@cache
def _options_of() -> Mapping[str, frozenset[str]]:
    """Return the values of ``--kind`` that each option requires."""
    everything = frozenset((*tables(), *kinds_with_files()))
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
    """Writes one kind of data from a log directory."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what to write, and where."""
        add_directories(parser)
        parser.add_argument(
            "--format",
            choices=get_args(TableFormat),
            help="the format of the table (default: from the extension of FILE, or csv)",
        )
        parser.add_argument(
            "--kind",
            choices=tuple(dict.fromkeys((*tables(), *kinds_with_files()))),
            default="scalars",
            help="what to write (default: %(default)s); files are event files",
        )
        parser.add_argument("--run", metavar="REGEX", help="only runs whose name contains a match (case-insensitive)")
        parser.add_argument("--tag", metavar="REGEX", help="only tags that contain a match (case-insensitive)")
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
            help="maximum bytes of images, histograms and the like in a table (default: %(default)s)",
        )
        add_keep_superseded(parser)
        parser.add_argument(
            "-o",
            "--output",
            metavar="FILE",
            default=STANDARD_OUTPUT,
            help='the file to write, "-" for standard output (the default); '
            "for kinds stored as files, such as images and audio, without --format: a folder",
        )
        parser.add_argument("--force", action="store_true", help="overwrite files that exist")
        add_engine(
            parser,
            "read the runs and write parts of the table, or the files, into the folder that -o names",
            default="this process, into one file",
        )

    def run(self, arguments: Namespace) -> int:
        """Write the data, and report on standard error what was written and what was left out.

        Raises:
            UserError: options contradict each other, there is no such log directory, run or tag, or the output exists
                or cannot be written.
        """
        arguments.logdir = directories(arguments)
        table_format = _checked_format(arguments)
        if arguments.engine is not None:
            return _export_parts(arguments, table_format)
        if table_format is None:
            return _export_media(arguments)
        _check_output(arguments.output, force=arguments.force)
        if arguments.format is None:
            _check_extension(Path(arguments.output))
        snapshot = _read(arguments)
        try:
            frame = _choice(arguments).table(snapshot)
        except ValueError as error:
            raise UserError(f"{arguments.kind} cannot be exported: {error}") from error
        if arguments.output == STANDARD_OUTPUT:
            with standard_output() as stream:
                write_table(frame, table_format, stream)
        else:
            _write_file(Path(arguments.output), frame, table_format, force=arguments.force)
            print(f"Wrote {arguments.output}: {counted(len(frame), 'row')} of {arguments.kind}.", file=sys.stderr)
        if frame.is_empty():
            print(_nothing_words(arguments), file=sys.stderr)
        tell_losses(snapshot.left_out)
        return 0


def _read(arguments: Namespace) -> "Snapshot":
    """Read the log directories; raise UserError if ``--run`` or ``--tag`` matches nothing in them."""
    snapshot = read_logdir(arguments.logdir, keep_superseded=arguments.keep_superseded)
    with _naming_what_there_is(arguments):
        _choice(arguments).check(snapshot)
    return snapshot


@contextlib.contextmanager
def _naming_what_there_is(arguments: Namespace) -> Iterator[None]:
    """Raise UserError for a filter that matches nothing; it says how to list the runs and tags."""
    try:
        yield
    except SelectionError as error:
        raise UserError(f"{error}.\n{_listing_words(arguments)}") from error


def _listing_words(arguments: Namespace) -> str:
    places = " ".join(f"--logdir {place}" for place in arguments.logdir)
    return f"To list the runs and their tags: stepscope ls {places} --tags"


def _nothing_words(arguments: Namespace) -> str:
    chosen = "" if arguments.run is None and arguments.tag is None else " in the runs and tags that were chosen"
    return f"{', '.join(arguments.logdir)} has no {arguments.kind}{chosen}.\n{_listing_words(arguments)}"


def _choice(arguments: Namespace) -> Choice:
    return Choice(arguments.kind, arguments.run, arguments.tag, arguments.pivot, arguments.last, arguments.max_bytes)


def _checked_format(arguments: Namespace) -> TableFormat | None:
    """Return the format of the table, or None for a folder of images or audio."""
    for option, kinds in _options_of().items():
        if getattr(arguments, option.lstrip("-")) and arguments.kind not in kinds:
            raise UserError(f"{option} goes with --kind {', '.join(sorted(kinds))}; it is {arguments.kind}")
    if arguments.last is not None and arguments.last < 1:
        raise UserError(f"--last is {arguments.last}; expected a number above 0, such as 1")
    to_standard_output = arguments.output == STANDARD_OUTPUT
    named = None if arguments.engine is not None else _FORMATS.get(Path(arguments.output).suffix.lower())
    table_format: TableFormat | None = arguments.format or named
    if arguments.kind not in tables() and table_format is not None:
        raise UserError(f"{arguments.kind} are files, not a table; they go to a folder, as in -o FOLDER")
    if arguments.engine is not None:
        _check_parts(arguments)
    if table_format is None and arguments.kind in kinds_with_files():
        if to_standard_output:
            raise UserError(f"--kind {arguments.kind} needs a folder to write to, as in -o FOLDER, or a --format")
        return None
    if table_format == "parquet" and to_standard_output:
        raise UserError("--format parquet needs a file to write to, as in -o scalars.parquet")
    return table_format or "csv"


def _check_output(output: str, *, force: bool) -> None:
    """Raise UserError before anything is read, rather than after minutes, or rather than replace a valuable file."""
    if output == STANDARD_OUTPUT:
        return
    path = Path(output)
    with writable(path):
        _check_file(path, force=force)


def _check_file(path: Path, *, force: bool) -> None:
    check_no_event_file(path, "scalars.csv")
    if path.is_dir():
        raise UserError(f"-o {path} is a directory; expected a file, such as {path / 'scalars.csv'}")
    if path.is_file() and not force:
        raise UserError(f"-o {path} exists already; choose another name, or overwrite it with --force")


def _check_extension(path: Path) -> None:
    if path.suffix and path.suffix.lower() not in _FORMATS:
        raise UserError(
            f"-o {path} ends in {path.suffix}; expected {', '.join(_FORMATS)}, or --format, such as --format csv"
        )


def _write_file(path: Path, frame: "pl.DataFrame", table_format: TableFormat, *, force: bool) -> None:
    with writable(path):
        if path.is_file() and not force:
            raise FileExistsError(errno.EEXIST, "it exists already; overwrite it with --force")
        with whole_file(path) as stream:
            write_table(frame, table_format, stream)


def _export_media(arguments: Namespace) -> int:
    folder = Path(arguments.output)
    with writable(folder):
        taken = folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not arguments.force))
    if taken:
        raise UserError(
            f"-o {folder} exists already; expected a new or an empty folder, or --force to overwrite files in it"
        )
    snapshot = _read(arguments)
    chosen = _choice(arguments).series(snapshot)
    unreadable: list[str] = []
    written = 0
    for file in media_files(chosen, unreadable, last=arguments.last):
        path = folder / file.path
        with writable(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb" if arguments.force else "xb") as stream:
                stream.write(file.content)
        written += 1
    print(f"Wrote {counted(written, 'file')} of {arguments.kind} to {folder}.", file=sys.stderr)
    if not chosen:
        print(_nothing_words(arguments), file=sys.stderr)
    if unreadable:
        print(_unreadable_words(unreadable), file=sys.stderr)
    tell_losses(snapshot.left_out)
    return 0


def _check_parts(arguments: Namespace) -> None:
    """Raise UserError if workers cannot write the export in parts."""
    if arguments.output == STANDARD_OUTPUT:
        raise UserError("--engine needs a folder or an address to write parts to, as in -o FOLDER")
    for given, reason in (
        (arguments.pivot, "--pivot, because the columns of a part would depend on its runs"),
        (arguments.kind == "hparams", "--kind hparams, whose columns depend on all runs together"),
        (arguments.kind == "files", "--kind files, which needs no engine; leave --engine out"),
        (arguments.force, "--force; name a folder that is new or empty"),
    ):
        if given:
            raise UserError(f"--engine cannot be combined with {reason}")
    if is_address(arguments.output):
        return
    path = Path(arguments.output)
    with writable(path):
        taken = path.exists() and (not path.is_dir() or any(path.iterdir()))
    if taken:
        raise UserError(f"-o {path} exists already; expected a new or empty folder, because --engine writes parts")


def _export_parts(arguments: Namespace, table_format: TableFormat | None) -> int:
    from stepscope.dashboard.export.parts import export_parts
    from stepscope.summary.log_parts import from_anywhere

    check_logdirs(arguments.logdir)
    output = arguments.output if is_address(arguments.output) else str(Path(arguments.output).absolute())
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    progress = Progress(0, 0)
    with engine_at(arguments.engine) as engine, _naming_what_there_is(arguments):
        steps = export_parts(
            from_anywhere(arguments.logdir),
            _choice(arguments),
            table_format,
            output,
            engine,
            progress,
            keep_superseded=arguments.keep_superseded,
        )
        done, interrupted = last_step(steps, progress, "file", console)
    assert done is not None, "the first step comes before any work"
    if done.refused:
        raise UserError(f"{output} cannot be written: {done.refused}. Expected a folder that workers may write to.")
    noun = "file" if table_format is None else "row"
    print(f"Wrote {counted(done.written, noun)} of {arguments.kind} to {output}.", file=sys.stderr)
    if not done.written:
        print(_nothing_words(arguments), file=sys.stderr)
    if missing := progress.parts - progress.done:
        print(f"Not exported: {counted(missing, 'event file')} of {progress.parts:,}.", file=sys.stderr)
    if done.unreadable:
        print(_unreadable_words(done.unreadable), file=sys.stderr)
    tell_losses(done.left_out)
    return exit_code(progress, interrupted=interrupted)


def _unreadable_words(unreadable: Sequence[str]) -> str:
    return f"Not readable: {counted(len(unreadable), 'point')}; the first: {unreadable[0]}"
