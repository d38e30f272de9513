"""Convert spans of JSON text to columns: times to integers, and texts to the numbers of unique texts."""

import json
import re
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.traces.json_scan import Buffer
from stepscope.summary.kernels import kernel

UNREADABLE_TIME: Final = np.iinfo(np.int64).min
"""Marks a time that is missing or not a number."""


_HALVES: Final = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
"""Escapes in JSON, of which the group is half a character: a surrogate without the other."""


@kernel()
def _nanoseconds(buffer: Buffer, start: int, length: int) -> int:
    """Convert microseconds in decimal text to nanoseconds, rounded half away from zero at the fourth decimal."""
    position = start
    end = start + length
    negative = False
    if position < end and (buffer[position] == 45 or buffer[position] == 43):
        negative = buffer[position] == 45
        position += 1
    mantissa = 0
    exponent = 3
    digits = 0
    after_point = False
    while position < end:
        byte = buffer[position]
        if byte == 46 and not after_point:
            after_point = True
        elif 48 <= byte <= 57:
            digits += 1
            if mantissa < 400_000_000_000_000_000:
                mantissa = mantissa * 10 + (byte - 48)
                exponent -= after_point
            else:
                exponent += not after_point
        else:
            break
        position += 1
    if digits == 0:
        return UNREADABLE_TIME
    if position < end and (buffer[position] == 101 or buffer[position] == 69):
        position += 1
        sign = 1
        if position < end and (buffer[position] == 45 or buffer[position] == 43):
            sign = -1 if buffer[position] == 45 else 1
            position += 1
        written = 0
        if position == end:
            return UNREADABLE_TIME
        while position < end and 48 <= buffer[position] <= 57 and written < 1000:
            written = written * 10 + (buffer[position] - 48)
            position += 1
        exponent += sign * written
    if position != end:
        return UNREADABLE_TIME
    while exponent > 0 and mantissa != 0:
        if mantissa > 400_000_000_000_000_000:
            return UNREADABLE_TIME
        mantissa *= 10
        exponent -= 1
    if exponent < 0:
        while exponent < -1 and mantissa != 0:
            mantissa //= 10
            exponent += 1
        mantissa = (mantissa + 5) // 10
    if mantissa > 4_000_000_000_000_000_000:
        return UNREADABLE_TIME
    return -mantissa if negative else mantissa


@kernel()
def nanoseconds(buffer: Buffer, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Convert times in microseconds, as numbers or strings, to int64 nanoseconds.

    Missing times become `UNREADABLE_TIME`. The decimal text itself is converted, because a float64 near 1.7e15 us has a
    granularity of 0.25 us.
    """
    result = np.empty(starts.size, np.int64)
    for index in range(starts.size):
        result[index] = UNREADABLE_TIME if starts[index] < 0 else _nanoseconds(buffer, starts[index], lengths[index])
    return result


@kernel()
def _word(buffer: Buffer, at: int) -> np.uint64:
    """Return eight bytes as a number, written so that it compiles to one load."""
    word = np.uint64(0)
    for byte in range(8):
        word |= np.uint64(buffer[at + byte]) << np.uint64(8 * byte)
    return word


@kernel()
def _hash(buffer: Buffer, start: int, length: int) -> np.uint64:
    """Return FNV-1a over words of eight bytes, folded after each because its high bits never reach the low ones."""
    code = np.uint64(14695981039346656037) ^ np.uint64(length)
    at = start
    stop = start + length
    while at + 8 <= stop:
        code = (code ^ _word(buffer, at)) * np.uint64(1099511628211)
        code ^= code >> np.uint64(32)
        at += 8
    while at < stop:
        code = (code ^ np.uint64(buffer[at])) * np.uint64(1099511628211)
        at += 1
    return code ^ (code >> np.uint64(32))


@kernel()
def _same(buffer: Buffer, one: int, other: int, length: int) -> bool:
    at = 0
    while at + 8 <= length:
        if _word(buffer, one + at) != _word(buffer, other + at):
            return False
        at += 8
    while at < length:
        if buffer[one + at] != buffer[other + at]:
            return False
        at += 1
    return True


@kernel()
def _intern(
    buffer: Buffer,
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    table: NDArray[np.int32],
    hashes: NDArray[np.uint64],
    unique_starts: NDArray[np.int64],
    unique_lengths: NDArray[np.int64],
    uniques: int,
) -> tuple[NDArray[np.int32], int]:
    mask = table.size - 1
    ids = np.empty(starts.size, np.int32)
    for index in range(starts.size):
        start = starts[index]
        length = lengths[index]
        if start < 0:
            ids[index] = -1
            continue
        code = _hash(buffer, start, length)
        slot = np.int64(code) & mask
        while True:
            known = table[slot]
            if known < 0:
                table[slot] = uniques
                hashes[uniques] = code
                unique_starts[uniques] = start
                unique_lengths[uniques] = length
                ids[index] = uniques
                uniques += 1
                break
            alike = hashes[known] == code and unique_lengths[known] == length
            if alike and _same(buffer, unique_starts[known], start, length):
                ids[index] = known
                break
            slot = (slot + 1) & mask
    return ids, uniques


@kernel()
def _fill_table(table: NDArray[np.int32], hashes: NDArray[np.uint64], uniques: int) -> None:
    mask = table.size - 1
    for known in range(uniques):
        slot = np.int64(hashes[known]) & mask
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = known


class Interner:
    """Numbers distinct spans of bytes 0, 1, 2, ... in order of first appearance; absent spans get -1."""

    def __init__(self, buffer: Buffer) -> None:
        self._buffer = buffer
        self._table: NDArray[np.int32] = np.full(64, -1, np.int32)
        self._hashes: NDArray[np.uint64] = np.empty(0, np.uint64)
        self._starts: NDArray[np.int64] = np.empty(0, np.int64)
        self._lengths: NDArray[np.int64] = np.empty(0, np.int64)
        self._uniques = 0

    def ids(self, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the numbers of a batch of spans, int32 ``[n]``."""
        self._reserve(self._uniques + starts.size)
        ids, self._uniques = _intern(
            self._buffer,
            starts,
            lengths,
            self._table,
            self._hashes,
            self._starts,
            self._lengths,
            self._uniques,
        )
        return ids

    def __len__(self) -> int:
        return self._uniques

    def texts(self, most: int) -> list[bytes]:
        """Return the bytes of each number, cut to the first ``most``."""
        starts = self._starts[: self._uniques]
        ends = starts + np.minimum(self._lengths[: self._uniques], most)
        return [self._buffer[start:end].tobytes() for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]

    def longer_than(self, most: int) -> list[int]:
        """Return the numbers of texts with more than ``most`` bytes."""
        found: list[int] = np.flatnonzero(self._lengths[: self._uniques] > most).tolist()
        return found

    def length(self, number: int) -> int:
        """Return the length in bytes of the text with a number."""
        return int(self._lengths[number])

    def beginning(self, number: int, most: int) -> bytes:
        """Return the first bytes, up to ``most``, of the text with a number."""
        start = int(self._starts[number])
        return self._buffer[start : start + min(most, self.length(number))].tobytes()

    def span(self, number: int) -> Buffer:
        """Return the bytes of the text with a number, without copying them."""
        return self._buffer[int(self._starts[number]) :][: self.length(number)]

    def _reserve(self, capacity: int) -> None:
        if capacity > self._starts.size:
            grown = max(capacity, 2 * self._starts.size)
            self._hashes = np.resize(self._hashes, grown)
            self._starts = np.resize(self._starts, grown)
            self._lengths = np.resize(self._lengths, grown)
        if 2 * capacity > self._table.size:
            self._table = np.full(1 << (2 * capacity).bit_length(), -1, np.int32)
            _fill_table(self._table, self._hashes, self._uniques)


def decode_json(text: bytes) -> Any:
    """Decode a JSON value, accepting control characters in strings, NaN and Infinity.

    Halves of characters (lone surrogates), which UTF-8 cannot encode, become their escapes. Return None if the text is
    not JSON.
    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        escaped = text.decode("utf-8", "surrogatepass").encode(errors="backslashreplace")
        return json.loads(_HALVES.sub(lambda found: b"\\" * bool(found[1]) + found[0], escaped), strict=False)
    except (ValueError, RecursionError):
        return None
