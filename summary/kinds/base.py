"""The definition of a kind of summary."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from numpy.typing import NDArray

from stepscope.summary.proto.summary_pb2 import Summary

Payload: TypeAlias = Any
"""A decoded value: `Images`, `Histogram`, `Text`, ...; each kind documents its own."""

ColumnType = Literal["bool", "int", "float", "str", "name", "bytes", "list[int]", "list[float]", "list[str]"]
"""The type of a table's column, which may also hold nulls. Numbers have 64 bits; a "name" is a string that many rows
share, which takes four bytes per row."""
POINT_COLUMNS: Final = ("run", "tag", "step", "wall_time", "error")
"""Columns of every table of values; a kind's own columns come before the last one."""


class PayloadError(ValueError):
    """A value is not what its kind expects; the message states what was found and what was expected."""


@dataclass(frozen=True)
class Table:
    """How the values of a kind become rows of a table."""

    columns: Mapping[str, ColumnType]
    """By name, in their order. Before them come run, tag, step and wall_time, after them error."""
    rows: Callable[[Payload], Sequence[tuple[Any, ...]]]
    """The rows of one decoded value, each with one element per column; a value without any gets a row of nulls."""


class PayloadFile(NamedTuple):
    """Part of a value as a separate file, such as an image."""

    content: bytes
    """The whole file."""
    ending: str
    """Of the file's name, such as ".png"."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of summary: its name in files, and how its values are processed."""

    plugin_name: str
    """The name in ``SummaryMetadata.plugin_data``, and so the kind's name everywhere here."""
    decode: Callable[[Summary.Value], Payload]
    """Decodes all forms; raises `PayloadError`. Values after the first of a tag need no metadata of their own."""
    about: str
    """What a value is, in a few words, such as "one or several images"."""
    table: Table | None = None
    """How values are rows of ``Snapshot.table(plugin_name)`` and ``stepscope export --kind plugin_name``; None where
    they are in no table of their own."""
    array: Callable[[Payload], NDArray[Any]] | None = None
    """A decoded value as an array, for ``Snapshot.tensors()`` and ``stepscope export --kind tensors``; None where it is
    not one array."""
    files: Callable[[Payload], Sequence[PayloadFile]] | None = None
    """A decoded value as files, which ``stepscope export --kind plugin_name -o FOLDER`` writes; None where it is not
    made of any."""
    is_kept: bool = True
    """Whether records stay in memory for a while after they were read, as of what is looked at again and again; not
    where whole series are read from end to end, and whoever does that keeps what is made of them."""
    legacy_field: str | None = None
    """The field of ``Summary.Value`` that older writers use instead of a tensor, if there is one."""
    legacy_form: Callable[[Summary.Value], Summary.Value] | None = None
    """Gives a value the form that ``SummaryWriter(legacy=True)`` writes; None where there is no other."""


@dataclass(frozen=True)
class Prepared:
    """A value whose arguments are checked and copied, and which any thread may encode later."""

    encode: Callable[[], Summary.Value]
    """Cannot fail for what the caller passed."""
    held_bytes: int
    """About how much memory waits with it."""
