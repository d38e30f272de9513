"""Parses messages of others within bounds: how many parts they have is counted first, and they are parsed in pieces.

A part of two bytes takes some hundred in memory, and while protobuf parses nobody else can run.
"""

from collections.abc import Mapping
from typing import Final, TypeVar

from google.protobuf.message import Message

from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.kinds.base import PayloadError

Kind = TypeVar("Kind", bound=Message)
Parts = Mapping[int, "Parts"]
"""Fields that hold messages, by number, with those inside of them."""

GRAPH: Final[Parts] = {1: {}, 2: {1: {3: {}}}}
"""Nodes of a GraphDef, and those of its functions."""
META_GRAPH: Final[Parts] = {2: GRAPH}
RUN_METADATA: Final[Parts] = {1: {1: {2: {}}}, 3: GRAPH, 4: {1: GRAPH, 2: GRAPH, 3: GRAPH}}
"""Nodes of the step statistics and of the graphs of a RunMetadata."""

MOST_PARTS: Final = 2_000_000
_PIECE_BYTES: Final = 1 << 20
_PARTS_AT_ONCE: Final = 1 << 16


def parse(kind: type[Kind], encoded: bytes, parts: Parts, *, most_parts: int = MOST_PARTS) -> Kind:
    """Return a message.

    Args:
        kind: its type.
        encoded: its bytes.
        parts: which of its fields are counted.
        most_parts: of these fields, and of those beside them.

    Raises:
        PayloadError: it has more parts.
        DecodeError: it is no such message.
    """
    ends: list[int] = []
    if _count(encoded, 0, len(encoded), parts, most_parts, ends) < 0:
        raise PayloadError(f"it has more than {most_parts:,} nodes and other parts, which is too many to be read")
    message = kind()
    begin = 0
    for end in [*(end for end in ends if end < len(encoded)), len(encoded)]:
        check_cancelled()
        message.MergeFromString(encoded[begin:end])
        begin = end
    return message


def _count(encoded: bytes, begin: int, end: int, parts: Parts, room: int, ends: list[int] | None = None) -> int:
    """Return for how many parts there is room after those of the message in ``begin:end``.

    That is -1 where there are more. Bytes that are no fields are left to the parser. ``ends`` takes where pieces may
    end.
    """
    position = last = begin
    while position < end:
        room -= 1
        if room < 0:
            break
        if room % _PARTS_AT_ONCE == 0:
            check_cancelled()
        key, start = _varint(encoded, position, end)
        length, content = 0, start
        match key & 7:
            case 0:
                _, content = _varint(encoded, start, end)
            case 1:
                length = 8
            case 2:
                length, content = _varint(encoded, start, end)
            case 5:
                length = 4
            case _:
                break
        position = content + length
        if content < 0 or start < 0 or position > end:
            break
        inside = parts.get(key >> 3) if key & 7 == 2 else None
        if inside:
            room = _count(encoded, content, position, inside, room)
        if ends is not None and position - last >= _PIECE_BYTES:
            ends.append(position)
            last = position
    return room


def _varint(encoded: bytes, position: int, end: int) -> tuple[int, int]:
    """Return a number and the offset after it, which is -1 where there is none."""
    value = shift = 0
    while 0 <= position < end and shift < 70:
        byte = encoded[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7
    return 0, -1
