"""Which slices have the same arguments for some keys, so that each distinct set is decoded once.

Millions of calls state a few hundred shapes. Decoding the arguments of each call takes minutes and gigabytes, and
creating objects by the million blocks every other thread. Arguments that are spans of JSON text are distinguished by
their bytes, in a compiled loop; all others, and texts with anything unusual in them, are decoded one by one.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.trace import Arguments
from stepscope.profiler.traces.chrome_arguments import JsonArguments
from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.kernels import kernel
from stepscope.summary.listed import listed

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")

Column = NDArray[np.int64]
_PIECE: Final = 1 << 17
"""Number of slices processed at once."""
_FRAMES: Final = "stack"
"""The key of frames that a file stores beside the arguments, and that are then not in their text."""


class DistinctArguments(NamedTuple):
    """Slices by their arguments for some keys. Equal arguments that are written differently may be distinguished."""

    arguments: Arguments
    example: Column
    """One slice for each distinct set of arguments, int64 ``[k]``, in order of appearance."""
    number: Column
    """Index of each slice's distinct set, int64 ``[n]``."""

    def column(self, read: Callable[[Mapping[str, Any]], str]) -> "pl.Series":
        """Return the result of a function of the arguments for these keys, one per slice, ``[n]``."""
        import polars as pl

        return pl.Series("", self.each(read), dtype=pl.String)[self.number]

    def each(self, read: Callable[[Mapping[str, Any]], T]) -> list[T]:
        """Return the result of a function of the arguments for these keys, one per distinct set, ``[k]``."""
        return [read(self.arguments[index]) for index in listed(self.example)]


def distinct_arguments(arguments: Arguments, slices: Column, keys: Sequence[str]) -> DistinctArguments:
    """Return which of some slices have the same arguments for ``keys``."""
    aside = isinstance(arguments, JsonArguments) and arguments.has_stacks and _FRAMES in keys
    if not isinstance(arguments, JsonArguments) or aside or not len(slices):
        return _one_by_one(arguments, slices, keys)
    return _by_texts(arguments, slices, keys)


def _by_texts(arguments: JsonArguments, slices: Column, keys: Sequence[str]) -> DistinctArguments:
    encoded = [key.encode() for key in keys]
    letters = np.zeros((len(keys), max(map(len, encoded))), np.uint8)
    for row, key in enumerate(encoded):
        letters[row, : len(key)] = np.frombuffer(key, np.uint8)
    sizes = np.array([len(key) for key in encoded], np.int64)
    table = np.full(1 << (2 * len(slices) - 1).bit_length(), -1, np.int64)
    example, number = np.empty(0, np.int64), np.empty(len(slices), np.int64)
    spans = np.empty((0, len(keys), 2), np.int64)
    # Random, so that a file cannot know which of its texts collide in the table.
    start = random.getrandbits(62)
    known = 0
    for first in range(0, len(slices), _PIECE):
        check_cancelled()
        chosen = slices[first : first + _PIECE]
        if len(example) < known + len(chosen):
            room = max(known, len(chosen))
            example = np.concatenate([example, np.empty(room, np.int64)])
            spans = np.concatenate([spans, np.empty((room, len(keys), 2), np.int64)])
        begins, ends = arguments.offsets[chosen], arguments.offsets[chosen + 1]
        odd, found = _spans(arguments.texts, begins, ends, letters, sizes)
        into = number[first : first + len(chosen)]
        known = _number(arguments.texts, chosen, odd, found, start, table, example, spans, known, into)
    return DistinctArguments(arguments, example[:known].copy(), number)


def _one_by_one(arguments: Arguments, slices: Column, keys: Sequence[str]) -> DistinctArguments:
    known: dict[tuple[str, ...], int] = {}
    example: list[int] = []
    number = np.empty(len(slices), np.int64)
    for place, index in enumerate(listed(slices)):
        mapping = arguments[index]
        stated = tuple(repr(mapping.get(key)) for key in keys)
        number[place] = found = known.setdefault(stated, len(known))
        if found == len(example):
            example.append(index)
    return DistinctArguments(arguments, np.array(example, np.int64), number)


@kernel()
def _spans(
    data: NDArray[np.uint8], begins: Column, ends: Column, letters: NDArray[np.uint8], sizes: Column
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return which texts are not plain JSON objects, and where the values of some keys are in the others.

    The latter is ``[n, k, 2]``, start and end; -1 if a key is missing. If a key occurs twice, the last counts.
    """
    odd = np.zeros(begins.size, np.bool_)
    found = np.full((begins.size, sizes.size, 2), -1, np.int64)
    for index in range(begins.size):
        at = begins[index]
        end = ends[index]
        if at == end:
            continue
        depth = 0
        wanted = -1
        is_key = False
        while at < end:
            byte = data[at]
            if byte == 34:
                first = at + 1
                at = first
                escaped = False
                while at < end and data[at] != 34:
                    if data[at] == 92:
                        escaped = True
                        at += 1
                    at += 1
                if depth == 1 and is_key:
                    is_key = False
                    # The key may be any of the wanted ones, written with escapes.
                    if escaped:
                        odd[index] = True
                    for key in range(sizes.size):
                        if sizes[key] != at - first:
                            continue
                        same = True
                        for offset in range(sizes[key]):
                            if letters[key, offset] != data[first + offset]:
                                same = False
                                break
                        if same:
                            wanted = key
                at += 1
                continue
            if byte == 123 or byte == 91:
                depth += 1
                is_key = depth == 1
            elif byte == 125 or byte == 93:
                depth -= 1
                if depth == 0 and wanted >= 0:
                    found[index, wanted, 1] = max(at, found[index, wanted, 0])
                    wanted = -1
            elif depth == 1 and byte == 58 and wanted >= 0 and not is_key:
                found[index, wanted, 0] = at + 1
            elif depth == 1 and byte == 44:
                if wanted >= 0:
                    found[index, wanted, 1] = max(at, found[index, wanted, 0])
                    wanted = -1
                is_key = True
            at += 1
        if depth != 0 or data[begins[index]] != 123:
            odd[index] = True
    return odd, found


@kernel()
def _number(
    data: NDArray[np.uint8],
    slices: Column,
    odd: NDArray[np.bool_],
    found: NDArray[np.int64],
    start: int,
    table: Column,
    example: Column,
    spans: NDArray[np.int64],
    known: int,
    number: Column,
) -> int:
    """Assign numbers to slices by the bytes in their spans, and return how many distinct ones are known."""
    last = table.size - 1
    for index in range(slices.size):
        place = np.int64(-1)
        same = False
        if not odd[index]:
            mixed = np.uint64(start)
            for key in range(found.shape[1]):
                for at in range(found[index, key, 0], found[index, key, 1]):
                    mixed = (mixed ^ np.uint64(data[at])) * np.uint64(0x100000001B3)
                mixed = (mixed ^ np.uint64(256 + (found[index, key, 0] < 0))) * np.uint64(0x100000001B3)
            place = np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(last))
            while table[place] >= 0 and not same:
                other = table[place]
                same = True
                for key in range(found.shape[1]):
                    begin = found[index, key, 0]
                    size = found[index, key, 1] - begin
                    if size != spans[other, key, 1] - spans[other, key, 0] or (begin < 0) != (spans[other, key, 0] < 0):
                        same = False
                        break
                    for offset in range(size):
                        if data[begin + offset] != data[spans[other, key, 0] + offset]:
                            same = False
                            break
                    if not same:
                        break
                if same:
                    number[index] = other
                else:
                    place = (place + 1) & last
        if not same:
            if place >= 0:
                table[place] = known
            number[index] = known
            example[known] = slices[index]
            for key in range(found.shape[1]):
                spans[known, key, 0] = found[index, key, 0]
                spans[known, key, 1] = found[index, key, 1]
            known += 1
    return known
