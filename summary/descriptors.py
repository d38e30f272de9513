"""Reads message descriptors in one way for all versions of protobuf."""

from typing import Any, Final

_REPEATED: Final = 3
"""The label of lists and maps in ``descriptor.proto``."""


def is_repeated(field: Any) -> bool:
    """Return whether the field of a descriptor holds a list or a map.

    Newer versions of protobuf have a property for this and warn about the label, which older versions use.
    """
    found: bool | None = getattr(field, "is_repeated", None)
    return bool(field.label == _REPEATED) if found is None else found
