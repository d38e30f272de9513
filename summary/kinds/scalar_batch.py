"""Encodes many scalar events as record bytes at once, in NumPy.

Each point becomes the record of an `Event` with one scalar, at a fraction of the cost of protobuf. A record's CRC is
computed by linearity: CRC-32C is the XOR of a term for the message's length and one table entry per byte, chosen by the
byte and its distance from the end. The contribution of a tag is then a constant.
"""

import itertools
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.distinct import numbered
from stepscope.summary.kinds.scalar import ScalarForm, scalar, scalar_metadata, scalar_tensor
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.records import FOOTER_BYTES, HEADER_BYTES, crc32c, frame, header, masked_crcs

POINT: Final = np.dtype([("template", "<i8"), ("wall_time", "<f8"), ("step", "<i8"), ("number", "<f8")])
"""One point waiting to be written; ``struct`` format "<qdqd"."""

LONGEST_PREFIX: Final = 512
_LONGEST_MESSAGE: Final = LONGEST_PREFIX + 32
_FEW: Final = 24
"""Below this many points, the fixed cost of the NumPy calls exceeds that of protobuf."""


@dataclass(frozen=True)
class ScalarTemplate:
    """The common part of all events of one tag and form."""

    tag: str
    form: ScalarForm
    prefix: bytes
    """The event's bytes between the step and the number, which comes last."""
    number_bytes: int

    @property
    def fits(self) -> bool:
        """Whether many points can be encoded at once; points of longer tags are encoded one by one."""
        return len(self.prefix) <= LONGEST_PREFIX


def scalar_template(tag: str, form: ScalarForm) -> ScalarTemplate:
    """Lay the fields out so that the number comes last, whatever the order of the field numbers."""
    if form == "simple_value":
        value, number_bytes = scalar(tag, 0.0).SerializeToString(), 4
    else:
        number_bytes = 4 if form == "float32" else 8
        head = Summary.Value(tag=tag, metadata=scalar_metadata()).SerializeToString()
        tensor = scalar_tensor(0.0, form).SerializeToString()
        value = head + b"\x42" + varint(len(tensor)) + tensor
    summary = b"\x0a" + varint(len(value)) + value
    event = b"\x2a" + varint(len(summary)) + summary
    return ScalarTemplate(tag, form, event[:-number_bytes], number_bytes)


def encode_scalars(templates: list[ScalarTemplate], points: NDArray[np.void]) -> bytes:
    """Return the records of ``points``, dtype `POINT`, in order; "template" indexes ``templates``."""
    if len(points) >= _FEW:
        batch = _Batch(templates, points)
        if batch.fits:
            return batch.encode()
    return b"".join(frame(encode_scalar(templates[p["template"]], p)) for p in points)


def encode_scalar(template: ScalarTemplate, point: np.void) -> bytes:
    """Return one event, encoded by protobuf."""
    value = scalar(template.tag, float(point["number"]), template.form)
    return Event(
        wall_time=float(point["wall_time"]), step=int(point["step"]), summary=Summary(value=[value])
    ).SerializeToString()


class _Batch:
    """The output of one `encode_scalars` while it is being filled, field by field over all records."""

    def __init__(self, templates: list[ScalarTemplate], points: NDArray[np.void]) -> None:
        self._points = points
        used, _, self._which = numbered(points["template"])
        self._used = [templates[index] for index in used]
        self._prefix_lengths = self._per_template([len(t.prefix) for t in self._used])
        self._number_lengths = self._per_template([t.number_bytes for t in self._used])

    @property
    def fits(self) -> bool:
        return all(template.fits for template in self._used)

    def encode(self) -> bytes:
        steps, step_lengths = step_fields(self._points["step"])
        wall_times = self._points["wall_time"].copy().view(np.uint8).reshape(-1, 8)
        lengths = 9 + step_lengths + self._prefix_lengths + self._number_lengths
        self._ends = np.cumsum(lengths + (HEADER_BYTES + FOOTER_BYTES)) - FOOTER_BYTES
        self._out = np.empty(int(self._ends[-1]) + FOOTER_BYTES, np.uint8)
        self._crcs = _length_terms()[lengths]
        starts = self._ends - lengths
        self._put_rows(_headers()[lengths], starts - HEADER_BYTES)
        self._put_field(np.full((len(starts), 1), 0x09, np.uint8), starts)
        self._put_field(wall_times, starts + 1)
        self._put_field(steps, starts + 9, step_lengths)
        self._put_prefixes(starts + 9 + step_lengths)
        self._put_field(self._numbers(), self._ends - self._number_lengths, self._number_lengths)
        self._put_rows(masked_crcs(self._crcs).astype("<u4").view(np.uint8).reshape(-1, FOOTER_BYTES), self._ends)
        return self._out.tobytes()

    def _per_template(self, numbers: list[int]) -> NDArray[np.int64]:
        return np.array(numbers, dtype=np.int64)[self._which]

    def _put_rows(self, rows: NDArray[np.uint8], starts: NDArray[np.int64]) -> None:
        self._out[starts[:, np.newaxis] + np.arange(rows.shape[1])] = rows

    def _put_field(
        self, rows: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64] | None = None
    ) -> None:
        """Write the first ``lengths`` bytes of each row, and add them to the CRCs."""
        table = _byte_terms().reshape(-1)
        everything = np.arange(len(rows))
        for column in range(rows.shape[1]):
            chosen = everything if lengths is None else np.flatnonzero(lengths > column)
            at = starts[chosen] + column
            byte = rows[chosen, column]
            self._out[at] = byte
            self._crcs[chosen] ^= table[(self._ends[chosen] - 1 - at) * 256 + byte]

    def _put_prefixes(self, starts: NDArray[np.int64]) -> None:
        pool = np.frombuffer(b"".join(t.prefix for t in self._used), np.uint8)
        begins = list(itertools.accumulate((len(t.prefix) for t in self._used[:-1]), initial=0))
        lengths = self._prefix_lengths
        before = np.cumsum(lengths) - lengths
        inside = np.arange(int(lengths.sum())) - np.repeat(before, lengths)
        source = np.repeat(self._per_template(begins), lengths) + inside
        self._out[np.repeat(starts, lengths) + inside] = pool[source]
        self._crcs ^= self._per_template([_prefix_term(t) for t in self._used]).astype(np.uint32)

    def _numbers(self) -> NDArray[np.uint8]:
        doubles = self._points["number"].astype("<f8")
        rows = doubles.view(np.uint8).reshape(-1, 8).copy()
        single = self._number_lengths == 4
        with np.errstate(over="ignore"):
            rows[single, :4] = doubles[single].astype("<f4").view(np.uint8).reshape(-1, 4)
        return rows


def step_fields(steps: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the key and varint of each step as rows of bytes, and their lengths; step 0 is not written."""
    rest = steps.astype(np.uint64)
    rows = np.zeros((len(steps), 11), np.uint8)
    rows[:, 0] = 0x10
    lengths = np.where(rest > 0, 1, 0)
    for column in range(1, 11):
        present = rest > 0
        if not present.any():
            return rows[:, :column], lengths
        lengths += present
        more = rest > 127
        rows[:, column] = (rest & np.uint64(127)).astype(np.uint8) | (more.astype(np.uint8) << np.uint8(7))
        rest >>= np.uint64(7)
    return rows, lengths


@cache
def _byte_terms() -> NDArray[np.uint32]:
    """Return what a byte adds to a message's CRC, by [distance from the end, byte]."""
    zero = crc32c(b"\0")
    terms = np.empty((_LONGEST_MESSAGE + 1, 256), np.uint32)
    terms[0] = [crc32c(bytes([byte])) ^ zero for byte in range(256)]
    for distance in range(1, len(terms)):
        closer = terms[distance - 1]
        terms[distance] = (closer >> np.uint32(8)) ^ terms[0][closer & np.uint32(255)]
    terms.flags.writeable = False
    return terms


@cache
def _length_terms() -> NDArray[np.uint32]:
    """Return the CRC of zero bytes, by their number."""
    terms = np.array([crc32c(bytes(length)) for length in range(_LONGEST_MESSAGE + 1)], np.uint32)
    terms.flags.writeable = False
    return terms


@cache
def _headers() -> NDArray[np.uint8]:
    """Return the frame before a message of each length, as [length, HEADER_BYTES]."""
    rows = b"".join(header(length) for length in range(_LONGEST_MESSAGE + 1))
    return np.frombuffer(rows, np.uint8).reshape(-1, HEADER_BYTES)


def _prefix_term(template: ScalarTemplate) -> int:
    padded = template.prefix + bytes(template.number_bytes)
    return crc32c(padded) ^ crc32c(bytes(len(padded)))


def varint(number: int) -> bytes:
    """Return a non-negative whole number as protobuf encodes it."""
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
