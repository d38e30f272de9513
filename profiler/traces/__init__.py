"""Read a trace in any format that Stepscope knows, told apart by content."""

import re
from pathlib import Path
from typing import Final

from stepscope.profiler.step_stats import parse_step_stats
from stepscope.profiler.trace import Trace
from stepscope.profiler.traces.cache import MAGIC, read_cache
from stepscope.profiler.traces.chrome import read_chrome
from stepscope.profiler.traces.compression import BEGINNING, is_compressed, unpacked
from stepscope.profiler.traces.error import TraceError
from stepscope.profiler.traces.limits import Limits, limits_of_memory, size_text
from stepscope.profiler.traces.step_stats import trace_of_step_stats
from stepscope.profiler.traces.xplane import looks_like_xplane, read_xplane
from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.errors import UserError
from stepscope.summary.kernels import Group
from stepscope.summary.proto.step_stats_pb2 import StepStats
from stepscope.summary.storage import is_address, read_at

__all__ = ["KERNELS", "TraceError", "load_trace", "read_trace", "trace_of_step_stats"]

KERNELS: Final = Group(
    "traces",
    [
        "stepscope.profiler.traces.json_scan",
        "stepscope.profiler.traces.row_trees",
        "stepscope.profiler.traces.json_values",
        "stepscope.profiler.traces.chrome_events",
        "stepscope.profiler.traces.build",
        "stepscope.profiler.traces.flows",
        "stepscope.profiler.traces.wire",
        "stepscope.profiler.lod",
        "stepscope.profiler.parents",
        "stepscope.profiler.analysis.arguments",
        "stepscope.profiler.analysis.longest_path",
        "stepscope.profiler.analysis.row_loops",
        "stepscope.profiler.analysis.windows",
    ],
)
"""The loops by which traces are read, shown and analyzed."""
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_WHITE_SPACE: Final = b" \t\r\n"
_MOST_WHITE_SPACE: Final = 4096
"""Bytes before the first bracket of a Chrome trace."""
_BEGINS_TEXT: Final = re.compile(rb"[\s\x0b\x0c]*(?:#|[A-Za-z_][A-Za-z0-9_]*\s*[:{<]|\[)")
_EXPECTED: Final = (
    "Expected a Chrome trace (JSON), a RunMetadata or StepStats message (binary or text), an .xplane.pb, or a cache of "
    "Stepscope, each plain or compressed by gzip or zstd."
)


def load_trace(address: str) -> Trace:
    """Read the trace at a local path or an address such as ``s3://bucket/trace.json.gz``, whatever its format.

    Of a Chrome trace that is larger than there is memory for, the beginning is read, and `Trace.losses` says so.

    Raises:
        TraceError: it cannot be read, is of another format and larger than that, or is not a trace.
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
        reason = getattr(error, "strerror", None) or error
        raise TraceError(f"{address} cannot be read: {reason}. Expected the file of a trace.") from error
    return _read(data, address, limits, notes)


def _beginning(path: str, most: int) -> bytes:
    """Return the first bytes of a Chrome trace.

    Raises TraceError for other formats, which are nothing without their end.
    """
    with open(path, "rb") as stream:
        if _looks_like_json(stream.read(_MOST_WHITE_SPACE)):
            stream.seek(0)
            return stream.read(most)
    raise TraceError(
        f"{path} has {size_text(Path(path).stat().st_size)}, and nothing of it was read. Expected at most "
        f"{size_text(most)}, for which there is memory. Record fewer steps, or use a larger machine."
    )


def read_trace(data: bytes, *, name: str, limits: Limits | None = None) -> Trace:
    """Read a trace from the bytes of a file, whatever its format; ``name`` is only for messages.

    ``limits`` bound how much is read, those of the free memory if None.

    Damaged and truncated traces are read as far as they go, and `Trace.losses` says what was lost. Raises
    `TraceError` for what is no trace at all.
    """
    return _read(data, name, limits_of_memory() if limits is None else limits, ())


def _read(data: bytes, name: str, limits: Limits, notes: tuple[str, ...]) -> Trace:
    def check(beginning: bytes) -> None:
        if not beginning or (beginning.isspace() and len(beginning) < BEGINNING):
            raise TraceError(f"{name} is empty. {_EXPECTED}")
        if beginning.isspace() or not _may_be_trace(beginning):
            raise TraceError(f"{name} is not a trace. {_EXPECTED}")

    if is_compressed(data):
        data, notes = unpacked(data, name, limits, check)
    else:
        check(data[:BEGINNING])
    check_cancelled()
    # A binary message may begin with a line feed, and then with what looks like JSON.
    if _looks_like_json(data) and not (data[:1] == b"\n" and _step_stats_of(data, name, limits)):
        return read_chrome(data, name=name, notes=notes, most_events=limits.events)
    if data.startswith(MAGIC):
        return read_cache(data, name=name)
    if looks_like_xplane(data):
        return read_xplane(data, name=name, notes=notes, most_events=limits.events)
    binary = data[:1] == b"\n" or not _BEGINS_TEXT.match(data[:BEGINNING])
    most = limits.message_bytes if binary else limits.text_bytes
    if len(data) > most:
        raise TraceError(
            f"{name} has {size_text(len(data))}, too much for a message{'' if binary else ' as text'}: nothing of it "
            f"was read. Expected at most {size_text(most)}. Record fewer steps."
        )
    step_stats = _step_stats_of(data, name, limits)
    if step_stats is None:
        raise TraceError(f"{name} is not a trace. {_EXPECTED}")
    return trace_of_step_stats(step_stats, notes=notes, most_nodes=limits.nodes)


def _may_be_trace(beginning: bytes) -> bool:
    """Return whether a file that begins like this may be of one of the formats."""
    if _looks_like_json(beginning) or beginning.startswith(MAGIC) or _BEGINS_TEXT.match(beginning):
        return True
    first = beginning[0]
    # The key of a field of any number: what the field is nobody knows, as newer writers may add some.
    return first >> 3 > 0 and first & 7 in (0, 1, 2, 5)


def _looks_like_json(data: bytes) -> bool:
    start = data[: _MOST_WHITE_SPACE + 3].removeprefix(_BYTE_ORDER_MARK).lstrip(_WHITE_SPACE)
    following = start[1:].lstrip(_WHITE_SPACE)[:1]
    return (start[:1] == b"{" and following in (b'"', b"}", b"")) or start[:1] == b"["


def _step_stats_of(data: bytes, name: str, limits: Limits) -> StepStats | None:
    if len(data) > limits.message_bytes:
        return None
    try:
        return parse_step_stats(data, name=name)
    except UserError:
        return None
