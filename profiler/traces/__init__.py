"""Read a trace in any format that Stepscope knows, told apart by content."""

from pathlib import Path
from typing import Final

from profiler.step_stats import parse_step_stats
from profiler.trace import Trace
from profiler.traces.cache import MAGIC, read_cache
from profiler.traces.chrome import read_chrome
from profiler.traces.compression import is_compressed, most_bytes, unpacked
from profiler.traces.error import TraceError
from profiler.traces.step_stats import trace_of_step_stats
from profiler.traces.xplane import looks_like_xplane, read_xplane
from summary.errors import UserError
from summary.kernels import Group
from summary.proto.step_stats_pb2 import StepStats
from summary.storage import is_address, read_at

__all__ = ["KERNELS", "TraceError", "load_trace", "read_trace", "trace_of_step_stats"]

KERNELS: Final = Group(
    "traces",
    [
        "profiler.traces.json_scan",
        "profiler.traces.json_values",
        "profiler.traces.chrome_events",
        "profiler.traces.build",
        "profiler.traces.flows",
        "profiler.traces.wire",
        "profiler.lod",
        "profiler.analysis.arguments",
        "profiler.analysis.critical_path",
        "profiler.analysis.row_kernels",
        "profiler.analysis.windows",
    ],
)
"""The loops by which traces are read, shown and analyzed."""
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_EXPECTED: Final = (
    "Expected a Chrome trace (JSON), a RunMetadata or StepStats message (binary or text), an .xplane.pb, or a cache of "
    "Stepscope, each plain or compressed by gzip or zstd."
)


def load_trace(address: str) -> Trace:
    """Read the trace at a local path or an address such as ``s3://bucket/trace.json.gz``, whatever its format.

    Of a Chrome trace that is larger than `most_bytes`, that many are read, and `Trace.losses` says so.

    Raises:
        TraceError: it cannot be read, is of another format and larger than `most_bytes`, or is no trace.
    """
    most = most_bytes()
    notes: tuple[str, ...] = ()
    try:
        size = 0 if is_address(address) else Path(address).stat().st_size
        if size > most:
            data = _beginning(address, most)
            notes = (f"only the first {most / (1 << 30):.1f} of the file's {size / (1 << 30):.1f} GiB were read",)
        else:
            data = read_at(address)
    except (OSError, ImportError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TraceError(f"{address} cannot be read: {reason}. Expected the file of a trace.") from error
    return _read(data, address, notes)


def _beginning(path: str, most: int) -> bytes:
    """The first bytes of a Chrome trace; raises TraceError for other formats, which are nothing without their end."""
    with open(path, "rb") as stream:
        if _looks_like_json(stream.read(4096)):
            stream.seek(0)
            return stream.read(most)
    raise TraceError(
        f"{path} has {Path(path).stat().st_size / (1 << 30):.1f} GiB, and nothing of it was read. Expected at most "
        f"{most / (1 << 30):.1f} GiB, for which there is memory. Record fewer steps, or use a larger machine."
    )


def read_trace(data: bytes, *, name: str) -> Trace:
    """Read a trace from the bytes of a file, whatever its format; ``name`` is only for messages.

    Damaged and truncated traces are read as far as they go, and `Trace.losses` says what was lost. Raises
    `TraceError` for what is no trace at all.
    """
    return _read(data, name, ())


def _read(data: bytes, name: str, notes: tuple[str, ...]) -> Trace:
    if is_compressed(data):
        data, notes = unpacked(data, name)
    if not data or data.isspace():
        raise TraceError(f"{name} is empty. {_EXPECTED}")
    # A binary message may begin with a line feed, and then with what looks like JSON.
    if _looks_like_json(data) and not (data[:1] == b"\n" and _step_stats_of(data, name)):
        return read_chrome(data, name=name, notes=notes)
    if data.startswith(MAGIC):
        return read_cache(data, name=name)
    if looks_like_xplane(data):
        return read_xplane(data, name=name, notes=notes)
    step_stats = _step_stats_of(data, name)
    if step_stats is None:
        raise TraceError(f"{name} is no trace. {_EXPECTED}")
    return trace_of_step_stats(step_stats, notes=notes)


def _looks_like_json(data: bytes) -> bool:
    start = data.removeprefix(_BYTE_ORDER_MARK)[:4096].lstrip(b" \t\r\n")
    following = start[1:].lstrip(b" \t\r\n")[:1]
    return (start[:1] == b"{" and following in (b'"', b"}", b"")) or start[:1] == b"["


def _step_stats_of(data: bytes, name: str) -> StepStats | None:
    try:
        return parse_step_stats(data, name=name)
    except UserError:
        return None
