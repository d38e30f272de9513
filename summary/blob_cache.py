"""A cache of recently read payloads, so that viewing one again does not read it again."""

import threading
from collections import OrderedDict
from typing import Final, NamedTuple

LARGEST: Final = 64 << 20
"""Maximum bytes of records that are kept."""


class BlobKey(NamedTuple):
    """Identifies the bytes of a record in one reading of a file; a replaced file is read by another object."""

    file: int
    offset: int
    length: int
    """A block and its first part begin at the same offset."""


class BlobCache:
    """The most recently used records, up to a number of bytes; any thread may use it.

    Args:
        largest: maximum bytes in all; a larger record is never kept.
    """

    def __init__(self, largest: int = LARGEST) -> None:
        self._largest: Final = largest
        self._lock: Final = threading.Lock()
        self._records: Final[OrderedDict[BlobKey, bytes]] = OrderedDict()
        self._held = 0

    def get(self, key: BlobKey) -> bytes | None:
        """Return the record, or None if it is not kept."""
        with self._lock:
            record = self._records.get(key)
            if record is not None:
                self._records.move_to_end(key)
            return record

    def put(self, key: BlobKey, record: bytes) -> None:
        """Keep a record, and evict the least recently used ones if there are too many."""
        if len(record) > self._largest:
            return
        with self._lock:
            self._held += len(record) - len(self._records.pop(key, b""))
            self._records[key] = record
            while self._held > self._largest:
                self._held -= len(self._records.popitem(last=False)[1])
