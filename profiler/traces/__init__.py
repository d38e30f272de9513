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

MOST_BYTES: Final = 8 << 30
"""A compressed file is unpacked up to this size; a small file may claim any."""
_GZIP: Final = b"\x1f\x8b"
_PIECE_BYTES: Final = 1 << 16
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
    parts: list[bytes] = []
    size = 0
    notes: tuple[str, ...] = ()
    view = memoryview(data)
    at = 0
    while data.startswith(_GZIP, at):
        stream = zlib.decompressobj(wbits=31)
        try:
            while not stream.eof and at < len(data):
                piece = view[at : at + _PIECE_BYTES]
                parts.append(stream.decompress(piece, MOST_BYTES - size))
                size += len(parts[-1])
                if stream.unconsumed_tail:
                    return b"".join(parts), (f"only the first {MOST_BYTES >> 30} GiB of the unpacked file were read",)
                at += len(piece) - len(stream.unused_data)
        except zlib.error as error:
            if not any(parts):
                raise TraceError(f"{name} is a damaged gzip file: {error}. Expected a whole one.") from None
            return b"".join(parts), (f"the compressed file is damaged: {error}",)
        if not stream.eof:
            notes = ("the compressed file ends early",)
    if data[at:].strip(b"\0"):
        notes = (f"what follows byte {at} of the compressed file's {len(data)} is not compressed",)
    return b"".join(parts), notes


def _looks_like_json(data: bytes) -> bool:
    start = data.removeprefix(_BYTE_ORDER_MARK)[:4096].lstrip(b" \t\r\n")
    following = start[1:].lstrip(b" \t\r\n")[:1]
    return (start[:1] == b"{" and following in (b'"', b"}", b"")) or start[:1] == b"["


def _step_stats_of(data: bytes, name: str) -> StepStats | None:
    try:
        return parse_step_stats(data, name=name)
    except UserError:
        return None
