"""What a kind of summary is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from stepscope.summary.proto.summary_pb2 import Summary

Payload: TypeAlias = Any
"""What a kind decodes a value to: `Images`, `Histogram`, `Text`, ...; each kind documents its own."""


class PayloadError(ValueError):
    """A value is not what its kind expects; says what was found and what was expected."""


@dataclass(frozen=True)
class Kind:
    """One kind of summary: its name in files, and how a value of it is decoded."""

    plugin_name: str
    """The name in ``SummaryMetadata.plugin_data``, and so the kind's name everywhere here."""
    legacy_field: str | None
    """The field of ``Summary.Value`` that older writers use instead of a tensor, if there is one."""
    decode: Callable[[Summary.Value], Payload]
    """Decodes both forms; raises `PayloadError`."""


@dataclass(frozen=True)
class Prepared:
    """A value whose arguments are checked and copied, and that any thread may encode later."""

    encode: Callable[[], Summary.Value]
    """Cannot fail for what the caller passed."""
    held_bytes: int
    """About how much memory waits with it."""
