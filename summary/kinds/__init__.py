"""The kinds of summaries: one module per kind, for writing and reading it."""

from typing import TYPE_CHECKING

from stepscope.summary.kinds.base import Kind, Payload, PayloadError, PayloadFile, Table

if TYPE_CHECKING:
    from stepscope.summary.kinds.registry import KINDS, all_kinds, decode, kind_named, kind_of

__all__ = [
    "KINDS",
    "Kind",
    "Payload",
    "PayloadError",
    "PayloadFile",
    "Table",
    "all_kinds",
    "decode",
    "kind_named",
    "kind_of",
]


def __getattr__(name: str) -> object:
    # The registry imports every kind, and training code needs few.
    if name in ("KINDS", "all_kinds", "decode", "kind_named", "kind_of"):
        from stepscope.summary.kinds import registry

        return getattr(registry, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
