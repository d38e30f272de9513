"""Read a trace in any format that Stepscope supports, detected from its content."""

from pathlib import Path
from typing import Final

from stepscope.profiler.trace import Trace
from stepscope.profiler.traces.compression import BEGINNING, is_compressed, unpacked
from stepscope.profiler.traces.error import TraceError
from stepscope.profiler.traces.limits import Limits, limits_of_memory, size_text
from stepscope.profiler.traces.reader import TraceReader
from stepscope.profiler.traces.registry import (
    READERS,
    formats_in_words,
    may_be_trace,
    readers_for,
    trace_readers,
)
from stepscope.profiler.traces.step_stats import trace_of_step_stats
from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.errors import reason_of
from stepscope.summary.kernels import Group
from stepscope.summary.storage import is_address, read_at

__all__ = [
    "KERNELS",
    "READERS",
    "TraceError",
    "TraceReader",
    "load_trace",
    "read_trace",
    "trace_of_step_stats",
    "trace_readers",
]

KERNELS: Final = Group(
    "traces",
    [
        "stepscope.profiler.traces.json_scan",
        "stepscope.profiler.traces.row_trees",
        "stepscope.profiler.traces.json_values",
        "stepscope.profiler.traces.chrome_arguments",
        "stepscope.profiler.traces.chrome_pairs",
        "stepscope.profiler.traces.build",
        "stepscope.profiler.traces.flows",
        "stepscope.profiler.traces.wire",
        "stepscope.profiler.lod",
        "stepscope.profiler.parents",
        "stepscope.profiler.analysis.arguments",
        "stepscope.profiler.analysis.distinct_arguments",
        "stepscope.profiler.analysis.longest_path",
        "stepscope.profiler.analysis.memory",
        "stepscope.profiler.analysis.reached_sums",
        "stepscope.profiler.analysis.row_loops",
        "stepscope.profiler.analysis.windows",
    ],
)
"""The loops that read, show and analyze traces."""


def load_trace(address: str) -> Trace:
    """Read the trace at a local path or an address such as ``s3://bucket/trace.json.gz``, in any supported format.

    If a Chrome trace does not fit in memory, only its beginning is read, and `Trace.losses` reports it.

    Raises:
        TraceError: the file cannot be read, is not a trace, or does not fit in memory and has another format.
    """
    limits = limits_of_memory()
    most = limits.file_bytes
    notes: tuple[str, ...] = ()
    try:
        size = 0 if is_address(address) else Path(address).stat().st_size
        if size > most:
            data = _beginning(address, most)
            notes = (f"only the first {size_text(most)} of the file's {size_text(size)} were read",)
        else:
            data = read_at(address)
    except (OSError, ImportError) as error:
        reason = reason_of(error)
        raise TraceError(f"{address} cannot be read: {reason}. Expected a trace file.") from error
    return _read(data, address, limits, notes)


def _beginning(path: str, most: int) -> bytes:
    """Return the first bytes of a trace whose format can be read without its end.

    Raises TraceError for other formats, which are unreadable without their end.
    """
    with open(path, "rb") as stream:
        beginning = stream.read(BEGINNING)
        if next((reader.reads_beginning for reader in readers_for(beginning)), False):
            stream.seek(0)
            return stream.read(most)
    raise TraceError(
        f"{path} is {size_text(Path(path).stat().st_size)} and was not read: only {size_text(most)} fit in memory. "
        "Record fewer steps, or use a larger machine."
    )


def read_trace(data: bytes, *, name: str, limits: Limits | None = None) -> Trace:
    """Read a trace from the bytes of a file, in any supported format; ``name`` is used only in messages.

    ``limits`` bound how much is read; None derives them from the free memory.

    Damaged and truncated traces are read as far as possible, and `Trace.losses` reports what was lost. Raises
    `TraceError` if the data is not a trace at all.
    """
    return _read(data, name, limits_of_memory() if limits is None else limits, ())


def _read(data: bytes, name: str, limits: Limits, notes: tuple[str, ...]) -> Trace:
    def check(beginning: bytes) -> None:
        if not beginning or (beginning.isspace() and len(beginning) < BEGINNING):
            raise TraceError(f"{name} is empty. Expected {formats_in_words()}")
        if beginning.isspace() or not may_be_trace(beginning):
            raise TraceError(f"{name} is not a trace. Expected {formats_in_words()}")

    if is_compressed(data):
        data, notes = unpacked(data, name, limits, check)
    else:
        check(data[:BEGINNING])
    check_cancelled()
    for reader in readers_for(data):
        trace = reader.read(data, name, notes, limits)
        if trace is not None:
            return trace
    raise TraceError(f"{name} is not a trace. Expected {formats_in_words()}")
