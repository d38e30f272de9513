"""Find the events of a Chrome trace in its JSON text, as spans of bytes, without building objects.

The scan checks only what it needs (brackets, strings, keys of events) and leaves the values of ``args`` undecoded, so
it costs one pass over the bytes. After a damaged event it resumes at the next place where an event can start.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.kernels import kernel

FIELDS: Final = (
    "ph", "name", "cat", "ts", "dur", "pid", "tid", "id", "args",
    "bp", "id2", "bind_id", "flow_in", "flow_out", "sf", "stack",
)  # fmt: skip
"""Keys of an event whose values are recorded, in the order of the columns of `Spans`."""
PH, NAME, CAT, TS, DUR, PID, TID, ID, ARGS, BP, ID2, BIND_ID, FLOW_IN, FLOW_OUT, SF, STACK = range(len(FIELDS))

_KEY_BYTES: Final = np.frombuffer("".join(FIELDS).encode(), np.uint8)
_KEY_STARTS: Final = np.cumsum([0] + [len(key) for key in FIELDS])

_LOCAL: Final = np.frombuffer(b'"local"', np.uint8)

TRUNCATED: Final = -1
"""Returned instead of an offset if the data ends first. Damage at offset p is returned as ``-2 - p``."""
_MAX_NESTING: Final = 512
_MAX_REREADS: Final = 4
_QUOTE, _BACKSLASH, _COMMA, _COLON = 34, 92, 44, 58
_OPEN_BRACE, _CLOSE_BRACE, _OPEN_BRACKET, _CLOSE_BRACKET = 123, 125, 91, 93

Buffer = NDArray[np.uint8]


class Spans(NamedTuple):
    """Positions of the values of one batch of events; ``starts`` and ``lengths`` are int64 ``[FIELDS, events]``.

    The span of a string excludes its quotes. A key that an event lacks has start -1. If "ph" is absent, its length is
    -1 if the event has any other key, and 0 if it has none.
    """

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]


class Progress(NamedTuple):
    """State of a scan after a batch."""

    position: int
    events: int
    """Events in this batch."""
    unreadable: int
    """Number of elements of the array that are damaged or not events."""
    first_unreadable: int
    """Offset of the first unreadable element, or -1."""
    reread: int
    """Number of bytes scanned in vain in damaged events so far."""
    ended: int
    """0 if there may be more events, 1 after the closing bracket, `TRUNCATED` if the data ends without one."""


@kernel()
def skip_space(buffer: Buffer, position: int) -> int:
    """Return the first offset, from ``position`` on, that holds no JSON white space."""
    size = buffer.size
    while position < size and (
        buffer[position] == 32 or buffer[position] == 10 or buffer[position] == 13 or buffer[position] == 9
    ):
        position += 1
    return position


@kernel()
def _skip_string(buffer: Buffer, position: int) -> int:
    """Return the offset after the closing quote of the string whose opening quote precedes ``position``.

    Control characters are accepted: JSON forbids them, but some writers emit them.
    """
    size = buffer.size
    while position < size:
        byte = buffer[position]
        if byte == _QUOTE:
            return position + 1
        if byte == _BACKSLASH:
            position += 2
            continue
        position += 1
    return TRUNCATED


@kernel()
def _skip_nested(buffer: Buffer, position: int) -> int:
    size = buffer.size
    closing = np.empty(_MAX_NESTING, np.uint8)
    depth = 0
    while position < size:
        byte = buffer[position]
        position += 1
        if byte == _QUOTE:
            position = _skip_string(buffer, position)
            if position < 0:
                return position
        elif byte in (_OPEN_BRACE, _OPEN_BRACKET):
            if depth == _MAX_NESTING:
                return -2 - position
            closing[depth] = byte + 2
            depth += 1
        elif byte in (_CLOSE_BRACE, _CLOSE_BRACKET):
            depth -= 1
            if closing[depth] != byte:
                return -2 - position
            if depth == 0:
                return position
    return TRUNCATED


@kernel()
def skip_value(buffer: Buffer, position: int) -> int:
    """Return the offset after the JSON value at ``position``; negative if it has no end."""
    size = buffer.size
    if position >= size:
        return TRUNCATED
    byte = buffer[position]
    if byte == _QUOTE:
        return _skip_string(buffer, position + 1)
    if byte in (_OPEN_BRACE, _OPEN_BRACKET):
        return _skip_nested(buffer, position)
    start = position
    while position < size:
        byte = buffer[position]
        if byte in (_COMMA, _CLOSE_BRACE, _CLOSE_BRACKET) or byte <= 32:
            return position if position > start else -2 - position
        if byte in (_QUOTE, _COLON, _OPEN_BRACE, _OPEN_BRACKET):
            return -2 - position
        position += 1
    return TRUNCATED


@kernel()
def count_parts(buffer: Buffer, start: int, end: int) -> int:
    """Return an upper bound for the number of values in a JSON text, without those of a text inside a string."""
    parts = 1
    while start < end:
        byte = buffer[start]
        start += 1
        if byte == _QUOTE:
            start = _skip_string(buffer, start)
            if start < 0:
                return parts
        elif byte in (_COMMA, _OPEN_BRACE, _OPEN_BRACKET):
            parts += 1
    return parts


@kernel()
def _field_of(buffer: Buffer, start: int, length: int, key_bytes: Buffer, key_starts: NDArray[np.int64]) -> int:
    for field in range(key_starts.size - 1):
        first = key_starts[field]
        if key_starts[field + 1] - first != length:
            continue
        same = True
        for index in range(length):
            if buffer[start + index] != key_bytes[first + index]:
                same = False
                break
        if same:
            return field
    return -1


@kernel()
def _scan_event(
    buffer: Buffer,
    position: int,
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    key_bytes: Buffer,
    key_starts: NDArray[np.int64],
) -> int:
    """Fill in the spans of the object whose brace precedes ``position``; return the offset after the object."""
    size = buffer.size
    starts[:] = -1
    lengths[:] = 0
    some_key = False
    while True:
        position = skip_space(buffer, position)
        if position >= size:
            return TRUNCATED
        byte = buffer[position]
        position += 1
        if byte == _CLOSE_BRACE:
            if some_key and starts[PH] < 0:
                lengths[PH] = -1
            return position
        if byte == _COMMA:
            continue
        if byte != _QUOTE:
            return -2 - position
        some_key = True
        key = position
        position = _skip_string(buffer, position)
        if position < 0:
            return position
        field = _field_of(buffer, key, position - 1 - key, key_bytes, key_starts)
        position = skip_space(buffer, position)
        if position >= size:
            return TRUNCATED
        if buffer[position] != _COLON:
            return -2 - position
        value = skip_space(buffer, position + 1)
        position = skip_value(buffer, value)
        if position < 0:
            return position
        if field >= 0:
            quoted = 1 if buffer[value] == _QUOTE and field != ARGS else 0
            starts[field] = value + quoted
            lengths[field] = position - value - 2 * quoted


@kernel()
def _next_event(buffer: Buffer, position: int) -> int:
    """Return the offset of the next brace that follows another object and a comma, or `TRUNCATED`."""
    size = buffer.size
    while position < size:
        if buffer[position] == _CLOSE_BRACE:
            comma = skip_space(buffer, position + 1)
            if comma < size and buffer[comma] == _COMMA:
                brace = skip_space(buffer, comma + 1)
                if brace < size and buffer[brace] == _OPEN_BRACE:
                    return brace
        position += 1
    return TRUNCATED


@kernel()
def _scan_batch(
    buffer: Buffer,
    position: int,
    reread: int,
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    key_bytes: Buffer,
    key_starts: NDArray[np.int64],
) -> tuple[int, int, int, int, int, int]:
    size = buffer.size
    events = 0
    unreadable = 0
    first_unreadable = -1
    while events < starts.shape[1]:
        position = skip_space(buffer, position)
        if position >= size:
            return position, events, unreadable, first_unreadable, reread, TRUNCATED
        byte = buffer[position]
        if byte == _COMMA:
            position += 1
            continue
        if byte == _CLOSE_BRACKET:
            following = skip_space(buffer, position + 1)
            if following >= size or buffer[following] in (_CLOSE_BRACE, _COMMA):
                return position + 1, events, unreadable, first_unreadable, reread, 1
            end = -2 - position
        elif byte == _OPEN_BRACE:
            end = _scan_event(buffer, position + 1, starts[:, events], lengths[:, events], key_bytes, key_starts)
            if end >= 0:
                position = end
                events += 1
                continue
        else:
            end = skip_value(buffer, position)
        unreadable += 1
        if first_unreadable < 0:
            first_unreadable = position
        if end >= 0:
            position = end
            continue
        # One lost bracket can swallow the rest of the file: rescan from the damaged event itself, unless
        # that was done so often that a file of nothing but lost brackets would take forever.
        failed_at = size if end == TRUNCATED else -2 - end
        reread += failed_at - position
        following = _next_event(buffer, position if reread <= _MAX_REREADS * size else failed_at)
        if following < 0:
            return position, events, unreadable, first_unreadable, reread, TRUNCATED
        position = following
    return position, events, unreadable, first_unreadable, reread, 0


@kernel()
def local_ids(buffer: Buffer, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which values of "id2" are objects with the key "local"; absent ones have start -1."""
    found = np.zeros(starts.size, np.bool_)
    for index in range(starts.size):
        start = starts[index]
        if start < 0 or buffer[start] != _OPEN_BRACE:
            continue
        end = start + lengths[index]
        key = skip_space(buffer, start + 1)
        found[index] = end - key > _LOCAL.size
        for byte in range(_LOCAL.size):
            found[index] &= key + byte < end and buffer[key + byte] == _LOCAL[byte]
    return found


def scan_batch(buffer: Buffer, position: int, reread: int, spans: Spans) -> Progress:
    """Scan events of a JSON array from ``position`` until ``spans`` is full or the array ends.

    ``reread`` is the value from the previous batch, or 0 for the first.
    """
    return Progress(*_scan_batch(buffer, position, reread, *spans, _KEY_BYTES, _KEY_STARTS))
