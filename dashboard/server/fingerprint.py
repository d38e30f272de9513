"""Short marks of values, by which it is told whether they are still the same."""

import hashlib
import secrets
from typing import Any, Final

_OF_THIS_SERVER: Final = secrets.token_bytes(16)
"""Counts such as revisions and versions of series are equal in two servers that have read different files."""


def fingerprint(value: Any) -> str:
    """Return equal values have equal fingerprints in one server; short enough to travel with every request.

    A page that another server answers brings marks that fit nothing here, and is told everything.
    """
    return _digest(value, _OF_THIS_SERVER)


def lasting_fingerprint(value: Any) -> str:
    """Return the same in any server, for values that have all that is shown in them, and no counts."""
    return _digest(value, b"")


def _digest(value: Any, key: bytes) -> str:
    return hashlib.blake2b(repr(value).encode("utf-8", "surrogatepass"), digest_size=8, key=key).hexdigest()
