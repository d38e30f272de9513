"""Parses messages from outside within bounds: their parts are counted first, and they are parsed in pieces.

A part of two bytes takes about a hundred in memory, and no other thread can run while protobuf parses.
"""

from functools import cache
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from numpy.typing import NDArray

from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.descriptors import is_repeated
from stepscope.summary.kernels import Group

Kind = TypeVar("Kind", bound=Message)

KERNELS: Final = Group("messages", ["stepscope.summary.part_kernel"])
MOST_PARTS: Final = 20_000_000
"""Maximum parts of any message: nested messages, list elements and unknown fields."""
SMALL_PARTS: Final = 2_000_000
"""Maximum parts of a message whose parts have fewer than `_LEAST_BYTES` each."""
_LEAST_BYTES: Final = 8
"""Average bytes per part: parts of real graphs have ten, parts of malicious ones two."""
_PIECE_BYTES: Final = 1 << 20
_FIELDS_AT_ONCE: Final = 1 << 16
_DEEPEST: Final = 100
"""Levels of nested messages; protobuf accepts no more."""
_UNKNOWN, _SINGLE, _NUMBERS = -1, -2, -3
_NUMBERS_IN_PART: Final = 16
"""A number of one byte takes eight in a list."""
_FIXED: Final = frozenset(
    (
        FieldDescriptor.TYPE_DOUBLE,
        FieldDescriptor.TYPE_FLOAT,
        FieldDescriptor.TYPE_FIXED32,
        FieldDescriptor.TYPE_FIXED64,
        FieldDescriptor.TYPE_SFIXED32,
        FieldDescriptor.TYPE_SFIXED64,
        FieldDescriptor.TYPE_STRING,
        FieldDescriptor.TYPE_BYTES,
    )
)


class TooManyPartsError(DecodeError):
    """A message would take too much memory and was not parsed."""


def most_parts(size: int) -> int:
    """Return how many parts a text or message from outside may have, given its size in bytes."""
    return min(MOST_PARTS, max(SMALL_PARTS, size // _LEAST_BYTES))


def parse(kind: type[Kind], encoded: bytes) -> Kind:
    """Parse a message.

    Args:
        kind: its type.
        encoded: its bytes.

    Raises:
        TooManyPartsError: the message has more than `MOST_PARTS`, or more than `SMALL_PARTS` of a few bytes each.
        DecodeError: the bytes are not such a message.
        Cancelled: the result is no longer wanted.
    """
    most = most_parts(len(encoded))
    # A part has at least two bytes.
    if len(encoded) // 2 > most and count_parts(kind, encoded, most) > most:
        raise TooManyPartsError(f"it has more than {most:,} parts, which is too many to be read")
    message = kind()
    _merge(message, encoded, 0, len(encoded))
    return message


def _merge(message: Any, encoded: bytes, begin: int, end: int) -> None:
    """Add the fields in ``begin:end`` to a message in pieces; large nested messages are split in turn."""
    while begin < end:
        check_cancelled()
        if end - begin <= _PIECE_BYTES:
            message.MergeFromString(encoded[begin:end])
            return
        stop = begin
        field = _Field(0, 0, begin, begin)
        while stop < end and stop - begin < _PIECE_BYTES:
            field = _field_at(encoded, stop, end)
            if field.end < 0:
                # Not a field: the parser reports why.
                stop = end
            elif field.end - field.begin >= _PIECE_BYTES:
                break
            else:
                stop = field.end
        if stop > begin:
            message.MergeFromString(encoded[begin:stop])
            begin = stop
        else:
            _merge_large(message, encoded, begin, field)
            begin = field.end


def _merge_large(message: Any, encoded: bytes, begin: int, field: "_Field") -> None:
    known = message.DESCRIPTOR.fields_by_number.get(field.number)
    inner = None if known is None else known.message_type
    if inner is None or field.wire != 2 or inner.GetOptions().map_entry:
        message.MergeFromString(encoded[begin : field.end])
        return
    held = getattr(message, known.name)
    if is_repeated(known):
        held = held.add()
    else:
        held.SetInParent()
    _merge(held, encoded, field.begin, field.end)


class _Field(NamedTuple):
    number: int
    wire: int
    begin: int
    """Offset of its content."""
    end: int
    """-1 if it is not a field."""


_NO_FIELD: Final = _Field(0, 0, -1, -1)


def _field_at(encoded: bytes, position: int, end: int) -> _Field:
    key, position = _varint(encoded, position, end)
    wire, length = key & 7, 0
    if position < 0 or wire > 5:
        return _NO_FIELD
    begin = position
    match wire:
        case 0:
            _, begin = _varint(encoded, position, end)
        case 1:
            length = 8
        case 2:
            length, begin = _varint(encoded, position, end)
        case 5:
            length = 4
    if begin < 0 or length > end - begin:
        return _NO_FIELD
    return _Field(key >> 3, wire, begin, begin + length)


def _varint(encoded: bytes, position: int, end: int) -> tuple[int, int]:
    """Return a number and the offset after it, which is -1 where there is none."""
    value = shift = 0
    while position < end and shift < 70:
        byte = encoded[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7
    return 0, -1


class _Table(NamedTuple):
    """How the fields of a message type and of all types nested in it are counted, as columns; the first is type 0.

    The kind of a field is the number of the type that it holds, `_SINGLE` if it adds nothing to its message,
    `_NUMBERS` if it may be a list of numbers, or `_UNKNOWN`.
    """

    first: NDArray[np.int64]
    """Index of the first field of each type, and the number of fields, int64 ``[types + 1]``."""
    numbers: NDArray[np.int64]
    kinds: NDArray[np.int64]
    by_number: list[dict[int, int]]
    """The same, for plain Python."""


@cache
def _table(root: Any) -> _Table:
    types = [root]
    by_number: list[dict[int, int]] = []
    for descriptor in types:
        kinds: dict[int, int] = {}
        for field in descriptor.fields:
            if field.message_type is not None:
                if field.message_type not in types:
                    types.append(field.message_type)
                kinds[field.number] = types.index(field.message_type)
            elif not is_repeated(field):
                kinds[field.number] = _SINGLE
            else:
                kinds[field.number] = _UNKNOWN if field.type in _FIXED else _NUMBERS
        by_number.append(kinds)
    first = np.cumsum([0, *map(len, by_number)], dtype=np.int64)
    numbers = np.array([number for kinds in by_number for number in kinds], np.int64)
    return _Table(
        first, numbers, np.array([kind for kinds in by_number for kind in kinds.values()], np.int64), by_number
    )


def count_parts(kind: type[Message], encoded: bytes, most: int) -> int:
    """Return the number of parts of a serialized message, or some number above ``most``; counts while it is valid."""
    descriptor: Any = kind.DESCRIPTOR
    table = _table(descriptor)
    if not KERNELS.ready:
        return _count_plainly(table, encoded, most)
    from stepscope.summary import part_kernel

    buffer = np.frombuffer(encoded, np.uint8)
    return int(part_kernel.count_parts(buffer, table.first, table.numbers, table.kinds, most, _DEEPEST))


def _count_plainly(table: _Table, encoded: bytes, most: int) -> int:
    """Count as the compiled loop does, while that is not available."""
    within = [(len(encoded), 0)]
    at = parts = fields = 0
    while parts <= most and within:
        end, of = within[-1]
        if at >= end:
            within.pop()
            continue
        field = _field_at(encoded, at, end)
        if field.end < 0:
            break
        fields += 1
        if fields % _FIELDS_AT_ONCE == 0:
            check_cancelled()
        kind = table.by_number[of].get(field.number, _UNKNOWN)
        parts += kind != _SINGLE
        if kind == _NUMBERS and field.wire == 2:
            parts += (field.end - field.begin) // _NUMBERS_IN_PART
        if kind >= 0 and field.wire == 2 and len(within) <= _DEEPEST:
            within.append((field.end, kind))
            at = field.begin
        else:
            at = field.end
    return parts
