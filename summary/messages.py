"""Fields of many protobuf messages at once, as columns of positions in a buffer, without an object for each message.

This is for messages as written by their usual writers. A message with bytes that parsers may interpret differently,
with an unexpected field, or with a field that occurs twice is not *plain*: protobuf's own parser must read it. Nothing
here checks whether texts are valid UTF-8.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.interned import Interned

Wire = Literal["number", "double", "bytes"]
"""Varints ("number"); fixed64 ("double"); texts, bytes, messages and packed fields ("bytes")."""
_WIRES: Final[Mapping[Wire, int]] = {"number": 0, "double": 1, "bytes": 2}
_LONGEST_KEY: Final = 1 << 16
MOST_KEYS: Final = 200_000
MOST_KEY_BYTES: Final = 32 << 20

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]


class Layout:
    """The fields that messages of a type may have.

    Args:
        fields: the wire type of each field by its number, from 1 to 15.
        repeated: the number of the field that may occur several times.
    """

    def __init__(self, fields: Mapping[int, Wire], repeated: int = -1) -> None:
        self.slots: Final = {number: slot for slot, number in enumerate(fields)}
        self.repeated: Final = repeated
        self.table: Final = np.full((max(fields) + 1, 2), -1, np.int64)
        for number, wire in fields.items():
            self.table[number] = self.slots[number], _WIRES[wire]


class Ranges(NamedTuple):
    """Ranges of a buffer, such as one field of each message; from 0 to 0 if the field is missing."""

    begins: Numbers
    ends: Numbers

    @property
    def lengths(self) -> Numbers:
        """Return the number of bytes of each."""
        return self.ends - self.begins

    @property
    def there(self) -> Mask:
        """Return which fields exist; they may be empty."""
        return self.ends > 0


class Fields:
    """The fields of the messages in a buffer; see `split`."""

    def __init__(self, layout: Layout, found: NDArray[np.int64]) -> None:
        self._layout: Final = layout
        self._found: Final = found

    def numbers(self, field: int) -> Numbers:
        """Return a varint field as int64, 0 if missing; for the repeated field, return its number of occurrences."""
        found: Numbers = self._found[self._layout.slots[field], 0]
        return found

    def ranges(self, field: int) -> Ranges:
        """Return the positions of a double or bytes field in the buffer."""
        begins, ends = self._found[self._layout.slots[field]]
        return Ranges(begins, ends)


def split(buffer: NDArray[np.uint8], messages: Ranges, layout: Layout, plain: Mask) -> Fields:
    """Find the fields of messages.

    Args:
        buffer: the buffer that holds the messages.
        messages: positions of the messages; empty messages have no fields.
        layout: the type of the messages.
        plain: [n] which messages to examine; set to False for messages that are not plain.
    """
    from stepscope.summary import scan_kernel

    found = np.zeros((len(layout.slots), 2, len(plain)), np.int64)
    scan_kernel.split_messages(buffer, *messages, layout.table, layout.repeated, found, plain)
    return Fields(layout, found)


def repeated(buffer: NDArray[np.uint8], messages: Ranges, field: int, counts: Numbers, plain: Mask) -> Ranges:
    """Return the position of each message of a repeated field, in order.

    Args:
        buffer: the buffer that holds the messages with the field.
        messages: positions of these messages, which `split` has examined.
        field: the number of the field.
        counts: number of occurrences of the field in each message.
        plain: [n] which messages to examine.
    """
    from stepscope.summary import scan_kernel

    found = np.empty((2, int(counts[plain].sum())), np.int64)
    scan_kernel.repeated_messages(buffer, *messages, field, plain, found)
    return Ranges(found[0], found[1])


def varint_counts(buffer: NDArray[np.uint8], packed: Ranges, plain: Mask) -> Numbers:
    """Return the count of numbers in each packed field; ``plain`` is set to False for those that are not plain."""
    from stepscope.summary import scan_kernel

    counts = np.empty(len(plain), np.int64)
    scan_kernel.count_varints(buffer, *packed, counts, plain)
    return counts


def varints(buffer: NDArray[np.uint8], packed: Ranges, counts: Numbers, plain: Mask) -> Numbers:
    """Return the numbers of packed fields, concatenated; ``counts`` come from `varint_counts`."""
    from stepscope.summary import scan_kernel

    found = np.empty(int(counts[plain].sum()), np.int64)
    scan_kernel.packed_varints(buffer, *packed, plain, found)
    return found


def doubles(buffer: NDArray[np.uint8], begins: Numbers, counts: Numbers, most: int) -> NDArray[np.float64]:
    """Return [n, most]: ``counts`` numbers starting at each position, padded with 0."""
    from stepscope.summary import scan_kernel

    found = np.zeros((len(begins), most))
    scan_kernel.doubles_at(buffer, begins, counts, found)
    return found


class KeyTable:
    """Assigns numbers to keys shared by messages; the table only grows, up to the limits of this module."""

    def __init__(self) -> None:
        self._interned: Final = Interned()
        self._scratch: Final = np.empty(_LONGEST_KEY, np.uint8)

    def __len__(self) -> int:
        return len(self._interned)

    @property
    def nbytes(self) -> int:
        """Memory used, in bytes."""
        return self._interned.nbytes + self._scratch.nbytes

    def number(
        self, buffer: NDArray[np.uint8], texts: Sequence[Ranges], numbers: Sequence[Numbers], plain: Mask
    ) -> Numbers:
        """Return the number of each message's key; a key not in the table gets a new number.

        Args:
            buffer: the buffer that holds the messages.
            texts: ranges of each message that are part of the key.
            numbers: numbers of each message that are part of the key.
            plain: which messages have a key. If there is no room for further keys, set to False for messages that
                would need one.
        """
        from stepscope.summary import scan_kernel

        table = self._interned
        keys = np.empty(len(plain), np.int64)
        parts, values = np.array(texts, np.int64), np.array(numbers, np.int64)
        first = 0
        while True:
            first = scan_kernel.number_keys(
                buffer,
                first,
                parts,
                values,
                plain,
                self._scratch,
                table.state,
                table.arena,
                table.starts,
                table.slots,
                table.successors,
                keys,
            )
            if first == len(keys):
                return keys
            if len(table) >= MOST_KEYS or table.nbytes >= MOST_KEY_BYTES:
                plain[first] = False
            else:
                table.grow()
