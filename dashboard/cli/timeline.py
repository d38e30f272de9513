"""``stepscope timeline``: convert StepStats to a Chrome trace, as TensorFlow's ``Timeline`` does."""

import gzip
import json
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import get_args

from stepscope.dashboard.cli.output_files import check_output, writable
from stepscope.dashboard.cli.reading import standard_output
from stepscope.profiler.step_stats import load_step_stats
from stepscope.profiler.timeline import OpTime, chrome_trace
from stepscope.summary.storage import whole_file

STANDARD_OUTPUT = "-"


class TimelineVerb:
    """Converts a file with StepStats into a Chrome trace."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the file to convert, the file to write, and what the trace shows."""
        parser.add_argument(
            "step_stats",
            metavar="STEP_STATS_OR_RUN_METADATA",
            help="file with a StepStats or RunMetadata message, as binary or text protobuf",
        )
        parser.add_argument(
            "-o",
            "--output",
            metavar="FILE",
            required=True,
            help='the trace to write; compressed if it ends in ".gz", standard output if it is "-"',
        )
        parser.add_argument(
            "--show-memory",
            action="store_true",
            help="show the lifetimes of tensors and the bytes that each allocator holds",
        )
        parser.add_argument(
            "--no-dataflow",
            action="store_true",
            help="leave out the arrows from producers to consumers of tensors",
        )
        parser.add_argument(
            "--op-time",
            choices=get_args(OpTime),
            default="schedule",
            help="show operations when the host launched them (schedule, the default), when their GPU kernels ran "
            "(gpu), or from the launch to the end of the last kernel (all)",
        )

    def run(self, arguments: Namespace) -> int:
        """Write the trace, and report on standard error what was written.

        Raises:
            UserError: the file holds no StepStats, or the output cannot be written, is the file itself, or has the name
                of an event file.
        """
        if arguments.output != STANDARD_OUTPUT:
            check_output(arguments.output, arguments.step_stats, "trace.json.gz")
        step_stats = load_step_stats(arguments.step_stats)
        trace = chrome_trace(
            step_stats,
            show_dataflow=not arguments.no_dataflow,
            show_memory=arguments.show_memory,
            op_time=arguments.op_time,
        )
        # Not orjson: sums of 64-bit times and sizes may need more than 64 bits.
        _write(arguments.output, json.dumps(trace, separators=(",", ":")).encode())
        nodes = sum(len(device.node_stats) for device in step_stats.dev_stats)
        print(
            f"Wrote {_shown(arguments.output)}: {len(trace['traceEvents']):,} events; operations: {nodes:,}; "
            f"devices: {len(step_stats.dev_stats):,}. "
            "Open it in Perfetto or chrome://tracing.",
            file=sys.stderr,
        )
        return 0


def _write(output: str, content: bytes) -> None:
    if output == STANDARD_OUTPUT:
        with standard_output() as stream:
            stream.write(content + b"\n")
        return
    path = Path(output)
    with writable(path), whole_file(path) as stream:
        stream.write(gzip.compress(content, compresslevel=6) if path.suffix == ".gz" else content)


def _shown(output: str) -> str:
    return "standard output" if output == STANDARD_OUTPUT else output
