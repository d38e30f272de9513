"""``stepscope convert``: convert a trace from any format to another."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, assert_never, get_args

from zlib_ng import zlib_ng

from stepscope.dashboard.cli.output_files import check_output
from stepscope.profiler.trace import Trace
from stepscope.summary.counts import counted
from stepscope.summary.errors import UserError, reason_of
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.storage import folder_at

TraceFormat = Literal["chrome", "run-metadata", "step-stats", "cache"]
_GZIP_WINDOW = 31


class ConvertVerb:
    """Converts a trace."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the trace to read, the file to write and its format."""
        parser.add_argument(
            "trace",
            metavar="TRACE",
            help="a trace of any format, recognized by its content: Chrome JSON (of PyTorch, TensorFlow, viztracer, "
            "...), StepStats, RunMetadata, .xplane.pb or a cache; a path, or an address such as s3://bucket/trace.json.gz",
        )
        parser.add_argument(
            "-o",
            "--output",
            metavar="FILE",
            required=True,
            help="the file to write; its extension sets the format: .json, .json.gz and .json.zst (Chrome), "
            ".pb (RunMetadata), .step_stats.pb (StepStats), .sstrace (cache)",
        )
        parser.add_argument(
            "--to", choices=get_args(TraceFormat), help="the format, if the extension of FILE does not set it"
        )

    def run(self, arguments: Namespace) -> int:
        """Write the converted trace, and report on standard error what was written and what could not be read.

        Raises:
            UserError: the file is not a trace, the format is unknown, or the output cannot be written, is the trace
                itself, or has the name of an event file.
        """
        # The compiled loops of the readers take long to import, and the other verbs do not need them.
        from stepscope.profiler.traces import load_trace

        target: TraceFormat = arguments.to or _format_of(arguments.output)
        check_output(arguments.output, arguments.trace, "trace.json.gz")
        trace = load_trace(arguments.trace)
        content = _encoded(trace, target, arguments.output)
        path = Path(arguments.output)
        folder, _, name = arguments.output.rpartition("/")
        try:
            folder_at(folder if "://" in folder else path.parent).replace(name or path.name, content)
        except (OSError, ValueError, ImportError) as error:
            reason = reason_of(error)
            raise UserError(
                f"{arguments.output} cannot be written: {reason}. Expected a file in a directory that may be "
                "written to."
            ) from error
        print(_report(trace, target, arguments.output, len(content)), file=sys.stderr)
        return 0


def _format_of(output: str) -> TraceFormat:
    name = output.lower()
    if name.endswith((".json", ".json.gz", ".json.zst")):
        return "chrome"
    if name.endswith("step_stats.pb"):
        return "step-stats"
    if name.endswith(".pb"):
        return "run-metadata"
    if name.endswith(".sstrace"):
        return "cache"
    raise UserError(
        f"{output} does not name a format. Expected an extension of .json, .json.gz, .json.zst, .pb, "
        f".step_stats.pb or .sstrace, or --to with one of {', '.join(get_args(TraceFormat))}."
    )


def _encoded(trace: Trace, target: TraceFormat, output: str) -> bytes:
    from stepscope.profiler.traces.cache import encode_cache
    from stepscope.profiler.traces.to_chrome import chrome_json
    from stepscope.profiler.traces.to_step_stats import step_stats_of_trace

    match target:
        case "chrome":
            return _compressed(chrome_json(trace), output.lower())
        case "run-metadata":
            return RunMetadata(step_stats=step_stats_of_trace(trace)).SerializeToString()
        case "step-stats":
            return step_stats_of_trace(trace).SerializeToString()
        case "cache":
            return encode_cache(trace)
        case _:
            assert_never(target)


def _compressed(pieces: Iterator[bytes], name: str) -> bytes:
    """Return the pieces as one file.

    If gzip is wanted, they are compressed as they arrive, so that they are never all in memory.
    """
    from stepscope.profiler.traces.compression import zstd_compress

    if name.endswith(".zst"):
        return zstd_compress(b"".join(pieces))
    if not name.endswith(".gz"):
        return b"".join(pieces)
    stream = zlib_ng.compressobj(6, zlib_ng.DEFLATED, _GZIP_WINDOW)
    packed = [stream.compress(piece) for piece in pieces]
    return b"".join([*packed, stream.flush()])


def _report(trace: Trace, target: TraceFormat, output: str, size: int) -> str:
    content = f"{counted(len(trace), 'slice')} on {counted(len(trace.lanes), 'lane')}"
    lines = [f"Wrote {output}: {content}, {counted(size, 'byte')}."]
    lost = ", ".join(f"{count:,} x {reason}" for reason, count in trace.losses.counts.items())
    if lost:
        lines.append(f"Skipped or altered: {lost}.")
    lines += [f"Note: {note}." for note in trace.losses.notes]
    from stepscope.profiler.traces.to_step_stats import not_carried

    if target in ("run-metadata", "step-stats") and (missing := not_carried(trace)):
        lines.append(missing)
    return "\n".join(lines)
