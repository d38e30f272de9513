"""Encodes many points of one tag as record bytes at once, in NumPy.

Records of one tag whose steps take the same number of bytes have the same length, so they are the rows of one array,
which is filled by whole columns. The CRC of a row is the CRC of a row of zeros XOR a term for each pair of its bytes
(CRC-32C is linear); most bytes are the same in all rows and add a constant.
"""

import itertools
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.kinds.scalar_batch import POINT, ScalarTemplate, encode_scalar, step_fields
from stepscope.summary.records import FOOTER_BYTES, HEADER_BYTES, crc32c, frame, header, masked_crcs

_WALL_TIME = HEADER_BYTES + 1
_STEP = _WALL_TIME + 8
_FEWEST_ROWS = 64
"""Below this many records of one length, arrays cost more than they save."""


def encode_series(
    template: ScalarTemplate,
    steps: NDArray[np.int64],
    wall_times: NDArray[np.float64],
    numbers: NDArray[np.float64],
) -> list[bytes | memoryview]:
    """Return the records of one tag's points, in order and in pieces.

    Args:
        template: the tag and the form of the numbers.
        steps: shape [n].
        wall_times: seconds, shape [n].
        numbers: shape [n]; a float32 form stores numbers beyond float32 as infinity.
    """
    fields, lengths = step_fields(steps)
    bounds = [0, *(np.flatnonzero(np.diff(lengths)) + 1).tolist(), len(steps)]
    pieces: list[bytes | memoryview] = []
    for begin, end in itertools.pairwise(bounds):
        piece = slice(begin, end)
        if end - begin < _FEWEST_ROWS or not template.fits:
            pieces.append(_one_by_one(template, steps[piece], wall_times[piece], numbers[piece]))
        else:
            pieces.append(_rows(template, fields[piece, : lengths[begin]], wall_times[piece], numbers[piece]))
    return pieces


def _one_by_one(
    template: ScalarTemplate,
    steps: NDArray[np.int64],
    wall_times: NDArray[np.float64],
    numbers: NDArray[np.float64],
) -> bytes:
    points = np.empty(len(steps), POINT)
    points["wall_time"], points["step"], points["number"] = wall_times, steps, numbers
    return b"".join(frame(encode_scalar(template, point)) for point in points)


def _rows(
    template: ScalarTemplate,
    step_bytes: NDArray[np.uint8],
    wall_times: NDArray[np.float64],
    numbers: NDArray[np.float64],
) -> memoryview:
    step_length = step_bytes.shape[1]
    number_at = _STEP + step_length + len(template.prefix)
    end = number_at + template.number_bytes
    message = bytearray(end - HEADER_BYTES)
    message[0] = 0x09
    message[_STEP + step_length - HEADER_BYTES : number_at - HEADER_BYTES] = template.prefix
    rows = np.empty((len(numbers), end + FOOTER_BYTES), np.uint8)
    rows[:, :end] = np.frombuffer(header(len(message)) + bytes(message), np.uint8)
    with np.errstate(over="ignore"):
        number_bytes = _bytes_of(numbers.astype("<f4" if template.number_bytes == 4 else "<f8"))
    crcs = np.full(len(rows), crc32c(bytes(message)), np.uint32)
    for begin, columns in ((_WALL_TIME, _bytes_of(wall_times)), (_STEP, step_bytes), (number_at, number_bytes)):
        rows[:, begin : begin + columns.shape[1]] = columns
        _add_terms(crcs, columns, end - begin)
    rows[:, end:] = _bytes_of(masked_crcs(crcs))
    return rows.reshape(-1).data


def _add_terms(crcs: NDArray[np.uint32], columns: NDArray[np.uint8], distance: int) -> None:
    """Add what ``columns`` contribute, the first of which lies ``distance`` bytes before the message's end."""
    for first in range(0, columns.shape[1], 2):
        pair = columns[:, first : first + 2]
        values = pair[:, 0] if pair.shape[1] == 1 else pair[:, 0] | pair[:, 1].astype(np.uint16) << np.uint16(8)
        terms = _terms(distance - first)
        if (values == values[0]).all():
            crcs ^= terms[values[0]]
        else:
            crcs ^= terms[values]


@lru_cache(maxsize=64)
def _terms(distance: int) -> NDArray[np.uint32]:
    """Return what two bytes add, the first ``distance`` bytes before the end, by [first byte | second byte << 8]."""
    singles = [_single_terms(distance - 1), _single_terms(distance - 2) if distance > 1 else np.zeros(1, np.uint32)]
    return (singles[1][:, np.newaxis] ^ singles[0][np.newaxis, :]).reshape(-1)


def _single_terms(bytes_after: int) -> NDArray[np.uint32]:
    zeros = crc32c(bytes(bytes_after + 1))
    terms = [crc32c(bytes([byte]) + bytes(bytes_after)) ^ zeros for byte in range(256)]
    return np.array(terms, np.uint32)


def _bytes_of(column: NDArray[np.generic]) -> NDArray[np.uint8]:
    little_endian = np.ascontiguousarray(column, dtype=column.dtype.newbyteorder("<"))
    return little_endian.view(np.uint8).reshape(len(column), -1)
