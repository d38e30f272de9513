"""Columns of numbers from the arguments of many slices, without decoding all of each.

If arguments are spans of JSON text, a compiled loop scans them for the wanted keys only; all others, and spans with
anything unusual in the wanted places, are decoded one by one. Both give the same result.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.trace import Arguments
from stepscope.profiler.traces.chrome_arguments import JsonArguments
from stepscope.summary.kernels import kernel

_MISSING, _INTEGER, _NUMBER, _UNUSUAL, _DECIMAL = range(5)
_LARGEST: Final = 1 << 62
_ABSURD: Final = 1e300
"""Numbers of at least this size are not quantities, and sums of them would not be numbers."""
NO_SIZE: Final = 2**60
"""At least this many bytes cannot be an amount of memory. Cast to int64, such values differ between processors."""


class _Found(NamedTuple):
    """The result of a scan, ``[n, k]`` for n slices and k keys."""

    state: NDArray[np.int8]
    integer: NDArray[np.int64]
    start: NDArray[np.int64]
    length: NDArray[np.int64]
    decimal: NDArray[np.float64]

    def behind(self, count: int) -> "_Found":
        """Return the result without the first keys."""
        return _Found(
            self.state[:, count:],
            self.integer[:, count:],
            self.start[:, count:],
            self.length[:, count:],
            self.decimal[:, count:],
        )


@kernel()
def _scan(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    keys: NDArray[np.uint8],
    key_lengths: NDArray[np.int64],
) -> tuple[NDArray[np.int8], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Find the numbers of some keys of JSON objects; ``keys`` is ``[k, longest]``, padded."""
    count = key_lengths.size
    state = np.zeros((starts.size, count), np.int8)
    integer = np.zeros((starts.size, count), np.int64)
    where = np.zeros((starts.size, count), np.int64)
    size = np.zeros((starts.size, count), np.int64)
    decimal = np.zeros((starts.size, count), np.float64)
    for index in range(starts.size):
        at = starts[index]
        end = at + lengths[index]
        if at < 0:
            continue
        depth = 0
        while at < end:
            byte = data[at]
            if byte == 123 or byte == 91:
                depth += 1
            elif byte == 125 or byte == 93:
                depth -= 1
            if byte != 34:
                at += 1
                continue
            first = at + 1
            at = first
            escaped = False
            while at < end and data[at] != 34:
                if data[at] == 92:
                    escaped = True
                    at += 1
                at += 1
            last = at
            at += 1
            after = at
            while after < end and (data[after] == 32 or data[after] == 9 or data[after] == 10 or data[after] == 13):
                after += 1
            if depth != 1 or after >= end or data[after] != 58:
                continue
            if escaped:
                # The key may be any of the wanted ones, written with escapes.
                for wanted in range(count):
                    state[index, wanted] = 3
                break
            for wanted in range(count):
                if key_lengths[wanted] != last - first:
                    continue
                same = True
                for offset in range(last - first):
                    if keys[wanted, offset] != data[first + offset]:
                        same = False
                        break
                if not same:
                    continue
                at = after + 1
                while at < end and (data[at] == 32 or data[at] == 9 or data[at] == 10 or data[at] == 13):
                    at += 1
                begin = at
                negative = at < end and data[at] == 45
                if negative:
                    at += 1
                value = np.int64(0)
                digits = 0
                while at < end and 48 <= data[at] <= 57:
                    if digits < 18:
                        value = value * 10 + np.int64(data[at] - 48)
                    digits += 1
                    at += 1
                decimals = 0
                if at < end and data[at] == 46 and digits > 0:
                    point = at
                    at += 1
                    while at < end and 48 <= data[at] <= 57:
                        if digits < 18:
                            value = value * 10 + np.int64(data[at] - 48)
                        digits += 1
                        decimals += 1
                        at += 1
                    if decimals == 0:
                        at = point
                whole = at < end and (
                    data[at] == 44 or data[at] == 125 or data[at] == 32 or data[at] == 10 or data[at] == 13
                )
                while at < end and (
                    48 <= data[at] <= 57 or data[at] == 46 or data[at] == 43 or data[at] == 45 or (data[at] | 32) == 101
                ):
                    at += 1
                if digits == 0:
                    state[index, wanted] = 3
                elif whole and decimals > 0 and digits <= 15:
                    # Both fit into 53 bits, so the quotient is the nearest number, as with any parser.
                    state[index, wanted] = 4
                    decimal[index, wanted] = (-value if negative else value) / 10.0**decimals
                elif whole and decimals == 0 and digits <= 18:
                    state[index, wanted] = 1
                    integer[index, wanted] = -value if negative else value
                else:
                    state[index, wanted] = 2
                    where[index, wanted] = begin
                    size[index, wanted] = at - begin
                break
    return state, integer, where, size, decimal


def _find(arguments: Arguments, slices: NDArray[np.int64], keys: Sequence[str]) -> _Found | None:
    """Return the result of scanning the arguments' JSON texts, or None if they are stored in another way."""
    if not isinstance(arguments, JsonArguments) or not len(slices):
        return None
    encoded = [key.encode() for key in keys]
    table = np.zeros((len(keys), max(map(len, encoded))), np.uint8)
    for row, key in enumerate(encoded):
        table[row, : len(key)] = np.frombuffer(key, np.uint8)
    sizes = np.array([len(key) for key in encoded], np.int64)
    starts, ends = arguments.offsets[slices], arguments.offsets[slices + 1]
    return _Found(*_scan(arguments.texts, starts, ends - starts, table, sizes))


def number_columns(arguments: Arguments, slices: NDArray[np.int64], keys: Sequence[str]) -> NDArray[np.float64]:
    """Return the numbers of some keys, float64 ``[k, n]``; NaN if missing."""
    return columns(arguments, slices, (), keys)[1]


def identifier_columns(arguments: Arguments, slices: NDArray[np.int64], keys: Sequence[str]) -> NDArray[np.int64]:
    """Return the integers of some keys, int64 ``[k, n]``; -1 if missing. Digits in quotes count."""
    return columns(arguments, slices, keys, ())[0]


def columns(
    arguments: Arguments, slices: NDArray[np.int64], identifiers: Sequence[str], numbers: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return `identifier_columns` and `number_columns` of the same slices, from one scan."""
    found = _find(arguments, slices, [*identifiers, *numbers])
    count = len(identifiers)
    if found is None or not isinstance(arguments, JsonArguments):
        ids = np.full((count, len(slices)), -1, np.int64)
        values = np.full((len(numbers), len(slices)), np.nan)
        _decode_identifiers(arguments, slices, identifiers, ids, np.arange(len(slices)))
        _decode_numbers(arguments, slices, numbers, values, np.arange(len(slices)))
        return ids, values
    ids = np.where(found.state[:, :count] == _INTEGER, found.integer[:, :count], -1).T
    odd = np.isin(found.state[:, :count], (_NUMBER, _UNUSUAL, _DECIMAL)).any(axis=1)
    _decode_identifiers(arguments, slices, identifiers, ids, np.flatnonzero(odd))
    return ids, _numbers_found(arguments, slices, numbers, found.behind(count))


def _numbers_found(
    arguments: JsonArguments, slices: NDArray[np.int64], keys: Sequence[str], found: _Found
) -> NDArray[np.float64]:
    state = found.state
    known = [state == _INTEGER, state == _DECIMAL]
    result = np.select(known, [found.integer.astype(np.float64), found.decimal], np.nan).T
    for place, row in zip(*(part.tolist() for part in np.nonzero(state == _NUMBER)), strict=True):
        begin = int(found.start[place, row])
        try:
            result[row, place] = float(arguments.texts[begin : begin + int(found.length[place, row])].tobytes())
        except ValueError:
            state[place, row] = _UNUSUAL
    result[np.abs(result) >= _ABSURD] = np.nan
    _decode_numbers(arguments, slices, keys, result, np.flatnonzero((state == _UNUSUAL).any(axis=1)))
    return result


def _decode_identifiers(
    arguments: Arguments,
    slices: NDArray[np.int64],
    keys: Sequence[str],
    result: NDArray[np.int64],
    places: NDArray[np.intp],
) -> None:
    for place in places.tolist() if keys else ():
        mapping = arguments[int(slices[place])]
        for row, key in enumerate(keys):
            result[row, place] = _identifier(mapping.get(key))


def _decode_numbers(
    arguments: Arguments,
    slices: NDArray[np.int64],
    keys: Sequence[str],
    result: NDArray[np.float64],
    places: NDArray[np.intp],
) -> None:
    for place in places.tolist() if keys else ():
        mapping = arguments[int(slices[place])]
        for row, key in enumerate(keys):
            value = mapping.get(key)
            usable = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < _ABSURD
            result[row, place] = value if usable else np.nan


def _identifier(value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 18:
        value = int(value)
    usable = isinstance(value, int) and not isinstance(value, bool) and -_LARGEST < value < _LARGEST
    return int(value) if usable else -1


def first_known(columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first known identifier among several keys: ``[n]`` from ``[k, n]``."""
    result: NDArray[np.int64] = columns[0].copy()
    for column in columns[1:]:
        result = np.where(result < 0, column, result)
    return result
