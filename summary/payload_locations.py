"""Locations and content of the points of a series."""

from collections.abc import Sequence

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from stepscope.summary.blob_cache import BlobCache, BlobKey
from stepscope.summary.bounded_messages import parse
from stepscope.summary.event_file import value_of_event
from stepscope.summary.kinds.base import Payload, PayloadError
from stepscope.summary.kinds.registry import decode, kind_named
from stepscope.summary.points import Part, join
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.records import FOOTER_BYTES, masked_crc
from stepscope.summary.series import Columns
from stepscope.summary.source import Source, read_up_to, readable


class Content:
    """Locations of the points of a series.

    Args:
        source: source from which payloads are read.
        blobs: cache of payloads that were read.
        kind: kind of the series.
        parts: points of each file.
        numbers: numbers of the files.
        shown: indices of the points to show, in order, into the concatenated points of all files; None for all.
    """

    __slots__ = ("_blobs", "_kind", "_numbers", "_parts", "_shown", "_source")

    def __init__(
        self,
        source: Source,
        blobs: BlobCache,
        kind: str,
        parts: Sequence[Part],
        numbers: Sequence[int],
        shown: NDArray[np.intp] | None,
    ) -> None:
        self._source = source
        self._blobs = blobs
        self._kind = kind
        self._parts = parts
        self._numbers = numbers
        self._shown = shown

    def columns(self) -> Columns:
        """Return all points."""
        return join(self._parts, self._shown)

    def payload(self, index: int) -> Payload:
        """Return the payload of a point.

        Raises:
            IndexError: there is no such point.
        """
        position = index if self._shown is None else int(self._shown[index])
        for part, number in zip(self._parts, self._numbers, strict=True):
            if position < len(part.steps):
                return _read_payload(self._source, self._blobs, self._kind, part, number, position)
            position -= len(part.steps)
        raise IndexError(index)


def _read_payload(source: Source, blobs: BlobCache, kind: str, part: Part, number: int, index: int) -> Payload:
    """Decode the payload of a record, which is read unless it is cached."""
    if len(part.values) and not len(part.offsets):
        return float(part.values[index])
    offset, length = int(part.offsets[index]), int(part.lengths[index])
    where = f"the record at offset {offset} of {readable(part.path)}"
    key = BlobKey(number, offset, length)
    data = blobs.get(key)
    if data is None:
        data = _read_record(source, part, offset, length, where)
    try:
        event = parse(Event, data)
    except DecodeError as error:
        raise PayloadError(f"{where} is not an Event message: {error}") from error
    # A rewritten run may have another record of the same length in the same place.
    point = np.array([event.wall_time]).tobytes(), event.step
    if point != (part.wall_times[index : index + 1].tobytes(), part.steps[index]):
        raise PayloadError(f"{where} has changed since it was first read")
    if kind_named(kind).is_kept:
        blobs.put(key, data)
    return decode(kind, value_of_event(event, int(part.indices[index])))


def _read_record(source: Source, part: Part, offset: int, length: int, where: str) -> bytes:
    try:
        with source.open(part.path, offset) as stream:
            # Separately, or a long record would be copied to remove its footer, while no other thread runs.
            data, footer = read_up_to(stream, length), read_up_to(stream, FOOTER_BYTES)
    except OSError as error:
        raise PayloadError(f"{where} cannot be read: {error}") from error
    if len(footer) < FOOTER_BYTES or masked_crc(data) != int.from_bytes(footer, "little"):
        raise PayloadError(f"{where} has changed since it was first read")
    return data
