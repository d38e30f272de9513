"""Read a trace in any format that Stepscope knows, told apart by content."""

import zlib
from typing import Final

from profiler.step_stats import parse_step_stats
from profiler.trace import Trace
from profiler.traces.chrome import read_chrome
from profiler.traces.error import TraceError
from profiler.traces.step_stats import trace_of_step_stats
from summary.errors import UserError
from summary.proto.step_stats_pb2 import StepStats

__all__ = ["TraceError", "read_trace", "trace_of_step_stats"]

_GZIP: Final = b"\x1f\x8b"
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_EXPECTED: Final = (
    "Expected a Chrome trace (JSON, gzip-compressed or not), or a RunMetadata or StepStats message (binary or text)."
)


def read_trace(data: bytes, *, name: str) -> Trace:
    """Read a trace from the bytes of a file, whatever its format; ``name`` is only for messages.

    Damaged and truncated traces are read as far as they go, and `Trace.losses` says what was lost. Raises
    `TraceError` for what is no trace at all.
    """
    notes: tuple[str, ...] = ()
    if data.startswith(_GZIP):
        data, notes = _decompress(data, name)
    if not data.strip():
        raise TraceError(f"{name} is empty. {_EXPECTED}")
    # A binary message may begin with a line feed, and then with what looks like JSON.
    if _looks_like_json(data) and not (data[:1] == b"\n" and _step_stats_of(data, name)):
        return read_chrome(data, name=name, notes=notes)
    step_stats = _step_stats_of(data, name)
    if step_stats is None:
        raise TraceError(f"{name} is no trace. {_EXPECTED}")
    return trace_of_step_stats(step_stats, notes=notes)


def _decompress(data: bytes, name: str) -> tuple[bytes, tuple[str, ...]]:
    """All members of a gzip file, as far as they can be read."""
    parts = []
    rest = data
    while rest.startswith(_GZIP):
        stream = zlib.decompressobj(wbits=31)
        view = memoryview(rest)
        try:
            for offset in range(0, len(view), 1 << 16):
                parts.append(stream.decompress(view[offset : offset + (1 << 16)]))
                if stream.eof:
                    rest = stream.unused_data + bytes(view[offset + (1 << 16) :])
                    break
            else:
                return b"".join(parts), ("the compressed file ends early",)
        except zlib.error as error:
            if not any(parts):
                raise TraceError(f"{name} is a damaged gzip file: {error}. Expected a whole one.") from None
            return b"".join(parts), (f"the compressed file is damaged: {error}",)
    return b"".join(parts), ()


def _looks_like_json(data: bytes) -> bool:
    start = data.removeprefix(_BYTE_ORDER_MARK)[:4096].lstrip(b" \t\r\n")
    following = start[1:].lstrip(b" \t\r\n")[:1]
    return (start[:1] == b"{" and following in (b'"', b"}", b"")) or start[:1] == b"["


def _step_stats_of(data: bytes, name: str) -> StepStats | None:
    try:
        return parse_step_stats(data, name=name)
    except UserError:
        return None
