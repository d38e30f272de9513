"""Short fingerprints of values, which tell whether they are still the same."""

import hashlib
import secrets
from typing import Any, Final

_OF_THIS_SERVER: Final = secrets.token_bytes(16)
"""Counters such as revisions and versions of series may be equal in two servers that have read different files."""


def fingerprint(value: Any) -> str:
    """Return a fingerprint: equal for equal values in one server, and short enough to travel with every request.

    A page that another server answered brings fingerprints that match nothing here, and is sent everything.
    """
    return _digest(value, _OF_THIS_SERVER)


def lasting_fingerprint(value: Any) -> str:
    """Return a fingerprint that is the same in any server, for values that hold all that is shown and no counters."""
    return _digest(value, b"")


def _digest(value: Any, key: bytes) -> str:
    return hashlib.blake2b(repr(value).encode("utf-8", "surrogatepass"), digest_size=8, key=key).hexdigest()
