"""What descriptors of messages say, in one way for all versions of protobuf."""

from typing import Any, Final

_REPEATED: Final = 3
"""The label of lists and maps in ``descriptor.proto``."""


def is_repeated(field: Any) -> bool:
    """Return whether the field of a descriptor holds a list or a map.

    Newer versions of protobuf have this as a property, and warn of the label, by which older ones say it.
    """
    found: bool | None = getattr(field, "is_repeated", None)
    return bool(field.label == _REPEATED) if found is None else found
