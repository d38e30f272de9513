"""Shared parts of the verbs that read a log directory once."""

import contextlib
import glob
import io
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from rich.console import Console
from rich.markup import escape

from stepscope.dashboard.server.steady_output import lead_nowhere
from stepscope.summary.counts import counted
from stepscope.summary.errors import UserError, reason_of
from stepscope.summary.logdir_source import absent_addresses, named_logdir, sources_of
from stepscope.summary.source import Source
from stepscope.summary.storage import is_address

if TYPE_CHECKING:
    from argparse import _ActionsContainer

    from stepscope.summary.contents import LeftOut
    from stepscope.summary.log_index import LogIndex
    from stepscope.summary.snapshot import Snapshot


def add_directories(parser: ArgumentParser, options: "_ActionsContainer | None" = None) -> None:
    """Declare log directories, which may stand alone or after ``--logdir``.

    Args:
        parser: the verb's parser.
        options: the group of ``--logdir``, if it has one.
    """
    parser.add_argument(
        "directory", nargs="*", metavar="LOGDIR", help="a log directory, in any form that --logdir accepts"
    )
    (parser if options is None else options).add_argument(
        "--logdir",
        action="append",
        metavar="[NAME:]DIR",
        help="the directory that holds the runs: a path, which may have wildcards, or an address such as "
        "s3://bucket/logs; or one file of it; may be given several times, with names if you like",
    )


def directories(arguments: Namespace) -> list[str]:
    """Return the log directories that `add_directories` declared.

    Raises:
        UserError: there is none.
    """
    given = [*arguments.directory, *(arguments.logdir or [])]
    if not given:
        raise UserError(f"no log directory is given; expected: stepscope {arguments.verb} LOGDIR")
    return given


def add_keep_superseded(parser: ArgumentParser) -> None:
    """Declare ``--keep-superseded``."""
    parser.add_argument("--keep-superseded", action="store_true", help="include points that a restarted run overwrote")


def check_logdirs(given: Sequence[str], waiting: Console | None = None) -> Source:
    """Return the files of one or several log directories.

    Args:
        given: the user's log directories, each as `stepscope.summary.logdir_source.sources_of` takes it.
        waiting: console that reports a missing or empty directory, which is then waited for; without a console, every
            directory must exist.

    Raises:
        UserError: a directory cannot be read, is a file of another kind, or is an address that cannot be opened.
    """
    for logdir in given:
        _, place = named_logdir(logdir)
        if not is_address(place):
            _check_folder(place, waiting)
    try:
        return sources_of(given)
    except ImportError as error:
        raise UserError(
            f"{', '.join(given)} needs a package that is not installed: {error}\n"
            "Install that package; for s3, gs and http addresses: pip install 'stepscope[remote]'."
        ) from error
    except ValueError as error:
        raise UserError(f"{error}; expected a directory, or an address such as s3://bucket/logs") from error


def index_at(address: str, option: str) -> "LogIndex":
    """Return the index at a path or an address; it need not exist.

    Raises:
        UserError: the address is unknown; ``option`` is the option that gave it.
    """
    from stepscope.summary.log_index import LogIndex

    place = address if is_address(address) else str(Path(address).expanduser().absolute())
    try:
        return LogIndex(place)
    except ImportError as error:
        raise UserError(
            f"{option} needs a package that is not installed: {error}\n"
            "Install that package; for s3, gs and http addresses: pip install 'stepscope[remote]'."
        ) from error
    except (ValueError, RuntimeError) as error:
        raise UserError(f"{option}: {error}; expected a folder, or an address such as s3://bucket/index") from error


def _check_folder(given: str, waiting: Console | None) -> None:
    try:
        _look_at_folder(given, waiting)
    except (OSError, RuntimeError) as error:
        # RuntimeError: the home directory of "~name" is not known.
        reason = reason_of(error)
        raise UserError(
            f"{given} cannot be read: {reason}; expected a directory that holds runs.\n"
            "Check the path, and that you may read it."
        ) from error


def _look_at_folder(given: str, waiting: Console | None) -> None:
    """Report possible mistakes of the user."""
    path = Path(given).expanduser().absolute()
    if path.is_file():
        _look_at_file(given, path)
        return
    is_pattern = glob.has_magic(given) and not path.exists()
    if waiting is None:
        if not is_pattern:
            next(path.iterdir(), None)
    elif is_pattern:
        if not glob.glob(str(path)):
            waiting.print(f"[yellow]nothing matches {escape(str(path))} yet;[/] waiting for it.")
    elif not path.exists():
        waiting.print(f"[yellow]{escape(str(path))} does not exist yet;[/] waiting for it. Is the path right?")
    elif not any(path.iterdir()):
        waiting.print(f"[yellow]{escape(str(path))} is empty;[/] waiting for event files.")


def _look_at_file(given: str, path: Path) -> None:
    # This takes long to import, and folders do not need it.
    from stepscope.dashboard.traces.folders import is_trace_file
    from stepscope.summary.companions import is_event_file

    if is_event_file(path.name) or is_trace_file(path):
        return
    raise UserError(
        f"{given} is a file, but neither an event file, whose name contains tfevents, nor a trace.\n"
        f"A folder with runs: stepscope {path.parent}\nVectors or weights: stepscope project {given}\n"
        f"A model's graph: stepscope graph {given}"
    )


def read_logdir(given: Sequence[str], *, keep_superseded: bool = False) -> "Snapshot":
    """Return a snapshot of the log directories; raises the errors of `check_logdirs` and `check_addresses`."""
    # A starting server does not need this until later.
    from stepscope.summary.logdir import Logdir

    source = check_logdirs(given)
    snapshot = Logdir(source, keep_superseded=keep_superseded).update()
    check_addresses(source)
    return snapshot


def check_addresses(source: Source) -> None:
    """Check that something exists at each address of a source that was read.

    Raises:
        UserError: nothing exists at one of them.
    """
    for address in absent_addresses(source):
        raise UserError(
            f"{address} does not exist; expected an address that holds runs.\n"
            "Check the address, and that you may read it."
        )


@contextlib.contextmanager
def standard_output() -> Iterator[BinaryIO]:
    """Provide standard output for bytes.

    A reader that closes the pipe early, such as ``head``, ends the output silently.

    Raises:
        UserError: standard output is closed, or does not take everything, as on a full disk.
    """
    if sys.stdout is None:
        raise UserError(_unwritable("it is closed"))
    with _flushed():
        raw = sys.stdout.buffer
        if not isinstance(raw, io.RawIOBase):
            yield raw
            return
        # With PYTHONUNBUFFERED, it may take only a part of what is written, without an error.
        stream = io.BufferedWriter(raw)
        try:
            yield stream
            stream.flush()
        except OSError:
            lead_nowhere(sys.stdout)
            raise
        finally:
            # Its end would otherwise close standard output.
            stream.detach()


@contextlib.contextmanager
def flushed_output() -> Iterator[None]:
    """Flush what was printed when the block ends, if there is a standard output; raises as `standard_output`."""
    try:
        yield
    finally:
        if sys.stdout is not None:
            with _flushed():
                pass


@contextlib.contextmanager
def _flushed() -> Iterator[None]:
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        lead_nowhere(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            raise UserError(_unwritable(reason_of(error))) from error


def _unwritable(reason: str) -> str:
    return (
        f"standard output cannot be written: {reason}. Expected a terminal, a pipe, or a file on a disk that has room "
        "for all of it."
    )


def print_lines(*lines: str) -> None:
    """Print lines without control characters; raises as `standard_output`."""
    with standard_output() as stream:
        stream.write("".join(f"{printable(line)}\n" for line in lines).encode())


def printable(text: str) -> str:
    """Return text without control characters, which names of runs and tags may contain and terminals obey."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def tell_losses(left_out: "LeftOut") -> None:
    """Report on standard error what was left out of the output."""
    losses = []
    if left_out.damages:
        losses.append(counted(left_out.damages, "damaged stretch", "damaged stretches"))
    if left_out.files:
        losses.append(counted(left_out.files, "unreadable file"))
    if left_out.folders:
        losses.append(counted(left_out.folders, "unreadable folder"))
    if left_out.points:
        losses.append(f"{counted(left_out.points, 'point')} superseded by a restart")
    if losses:
        print(f"Not included: {', '.join(losses)}. For details, run: stepscope inspect", file=sys.stderr)
