"""``stepscope trace``: show trace files on the Timeline, without any log directory."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from stepscope.dashboard.cli.reading import check_logdirs
from stepscope.dashboard.cli.serve import ServeVerb
from stepscope.dashboard.server.steady_output import steady_console
from stepscope.dashboard.traces.folders import is_trace_file, traces_at
from stepscope.profiler.traces.registry import formats_in_words
from stepscope.summary.errors import UserError, reason_of
from stepscope.summary.storage import is_address


class TraceVerb:
    """Shows traces."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the files, and how to serve."""
        parser.add_argument("file", nargs="+", metavar="FILE", help="a trace file with any name, or a folder of traces")
        ServeVerb.add_server_arguments(parser)

    def run(self, arguments: Namespace) -> int:
        """Serve the files until Ctrl+C.

        Raises:
            UserError: a file is not a trace, or does not exist.
        """
        files = [path for given in arguments.file for path in traces_at(_path(given))]
        for file in files:
            _check(file)
        console = steady_console()
        return ServeVerb.run_with(arguments, check_logdirs(files, console), console, tab="timeline")


def _path(given: str) -> str:
    if is_address(given):
        raise UserError(
            f"{given} is an address. Expected a local file; open its folder with "
            f"stepscope --logdir {given.rpartition('/')[0]}"
        )
    return str(Path(given).expanduser())


def _check(file: str) -> None:
    try:
        is_trace = is_trace_file(Path(file))
    except OSError as error:
        raise UserError(f"{file} cannot be read: {reason_of(error)}. Expected a trace file.") from error
    if not is_trace:
        raise UserError(f"{file} is not a trace. Expected {formats_in_words()}")
