"""Payloads that were read lately, so that what is looked at again is not read again."""

import threading
from collections import OrderedDict
from typing import Final, NamedTuple

LARGEST: Final = 64 << 20
"""Bytes of records that are kept."""


class BlobKey(NamedTuple):
    """Which record of which reading of a file; a file that was replaced is read by another object."""

    file: int
    offset: int


class BlobCache:
    """The records looked at last, up to a number of bytes; used by any thread.

    Args:
        largest: bytes in all; a record that is larger is never kept.
    """

    def __init__(self, largest: int = LARGEST) -> None:
        self._largest: Final = largest
        self._lock: Final = threading.Lock()
        self._records: Final[OrderedDict[BlobKey, bytes]] = OrderedDict()
        self._held = 0

    def get(self, key: BlobKey) -> bytes | None:
        """Return the record, if it is kept."""
        with self._lock:
            record = self._records.get(key)
            if record is not None:
                self._records.move_to_end(key)
            return record

    def put(self, key: BlobKey, record: bytes) -> None:
        """Keep a record, and forget those looked at longest ago if there are too many."""
        if len(record) > self._largest:
            return
        with self._lock:
            self._held += len(record) - len(self._records.pop(key, b""))
            self._records[key] = record
            while self._held > self._largest:
                self._held -= len(self._records.popitem(last=False)[1])
