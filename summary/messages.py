"""Fields of many protobuf messages at once, as columns: where they lie in a buffer, without an object for each message.

It is for messages that are as their writers write them. One with bytes that parsers may take in different ways, with a
field that is not expected, or with one twice is not *plain*: protobuf's own parser is to read it. Nothing here looks
whether texts are valid UTF-8.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.interned import Interned

Wire = Literal["number", "double", "bytes"]
"""Varints; fixed64; and texts, bytes, messages and packed fields."""
_WIRES: Final[Mapping[Wire, int]] = {"number": 0, "double": 1, "bytes": 2}
_LONGEST_KEY: Final = 1 << 16
MOST_KEYS: Final = 200_000
MOST_KEY_BYTES: Final = 32 << 20

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]


class Layout:
    """Which fields messages of a type may have.

    Args:
        fields: number of each, from 1 to 15, and how it is written.
        repeated: the number of the one that may come several times.
    """

    def __init__(self, fields: Mapping[int, Wire], repeated: int = -1) -> None:
        self.slots: Final = {number: slot for slot, number in enumerate(fields)}
        self.repeated: Final = repeated
        self.table: Final = np.full((max(fields) + 1, 2), -1, np.int64)
        for number, wire in fields.items():
            self.table[number] = self.slots[number], _WIRES[wire]


class Ranges(NamedTuple):
    """Stretches of a buffer, such as one field of each message; empty ones from 0 to 0 where it is not there."""

    begins: Numbers
    ends: Numbers

    @property
    def lengths(self) -> Numbers:
        """Return how many bytes each has."""
        return self.ends - self.begins

    @property
    def there(self) -> Mask:
        """Return which fields are there; it may be without content."""
        return self.ends > 0


class Fields:
    """What the fields of messages of a buffer are; see `split`."""

    def __init__(self, layout: Layout, found: NDArray[np.int64]) -> None:
        self._layout: Final = layout
        self._found: Final = found

    def numbers(self, field: int) -> Numbers:
        """Return a varint as int64, 0 where it is not there; of the repeated field how often it is there."""
        found: Numbers = self._found[self._layout.slots[field], 0]
        return found

    def ranges(self, field: int) -> Ranges:
        """Return where a double, or bytes, lie in the buffer."""
        begins, ends = self._found[self._layout.slots[field]]
        return Ranges(begins, ends)


def split(buffer: NDArray[np.uint8], messages: Ranges, layout: Layout, plain: Mask) -> Fields:
    """Find the fields of messages.

    Args:
        buffer: what they lie in.
        messages: where; of empty ones all fields are not there.
        layout: their type.
        plain: [n] which messages to look at; those that are not plain are taken out.
    """
    from stepscope.summary import scan_kernel

    found = np.zeros((len(layout.slots), 2, len(plain)), np.int64)
    scan_kernel.split_messages(buffer, *messages, layout.table, layout.repeated, found, plain)
    return Fields(layout, found)


def repeated(buffer: NDArray[np.uint8], messages: Ranges, field: int, counts: Numbers, plain: Mask) -> Ranges:
    """Return where each message of a repeated field lies, in order.

    Args:
        buffer: what the messages lie in that have the field.
        messages: these, which `split` has looked at.
        field: its number.
        counts: how often each of them has it.
        plain: [n] which of them to look at.
    """
    from stepscope.summary import scan_kernel

    found = np.empty((2, int(counts[plain].sum())), np.int64)
    scan_kernel.repeated_messages(buffer, *messages, field, plain, found)
    return Ranges(found[0], found[1])


def varint_counts(buffer: NDArray[np.uint8], packed: Ranges, plain: Mask) -> Numbers:
    """Return how many numbers packed fields have; those that are not plain are taken out."""
    from stepscope.summary import scan_kernel

    counts = np.empty(len(plain), np.int64)
    scan_kernel.count_varints(buffer, *packed, counts, plain)
    return counts


def varints(buffer: NDArray[np.uint8], packed: Ranges, counts: Numbers, plain: Mask) -> Numbers:
    """Return the numbers of packed fields, of which `varint_counts` told how many there are, one after the other."""
    from stepscope.summary import scan_kernel

    found = np.empty(int(counts[plain].sum()), np.int64)
    scan_kernel.packed_varints(buffer, *packed, plain, found)
    return found


def doubles(buffer: NDArray[np.uint8], begins: Numbers, counts: Numbers, most: int) -> NDArray[np.float64]:
    """Return [n, most]: ``counts`` numbers from each place on, and 0 behind them."""
    from stepscope.summary import scan_kernel

    found = np.zeros((len(begins), most))
    scan_kernel.doubles_at(buffer, begins, counts, found)
    return found


class KeyTable:
    """Numbers what messages have in common; it only grows, and no further than the bounds of this module."""

    def __init__(self) -> None:
        self._interned: Final = Interned()
        self._scratch: Final = np.empty(_LONGEST_KEY, np.uint8)

    def __len__(self) -> int:
        return len(self._interned)

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        return self._interned.nbytes + self._scratch.nbytes

    def number(
        self, buffer: NDArray[np.uint8], texts: Sequence[Ranges], numbers: Sequence[Numbers], plain: Mask
    ) -> Numbers:
        """Return the number of the key of each message, which is a new one where it was not there.

        Args:
            buffer: what the messages lie in.
            texts: ranges of each that are part of the key.
            numbers: of each that are part of the key.
            plain: which messages have a key. Where there is no room for further keys, those that would need one are
                taken out.
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
