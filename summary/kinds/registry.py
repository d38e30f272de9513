"""All kinds of summaries, of Stepscope and of other distributions, and how values are identified and decoded."""

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from stepscope.plugins import Extensions
from stepscope.summary.kinds import (
    audio,
    custom_scalars,
    debug,
    graph,
    histogram,
    hparams,
    image,
    mesh,
    pr_curve,
    run_metadata,
    scalar,
    tensor,
    text,
)
from stepscope.summary.kinds.base import POINT_COLUMNS, Kind, Payload
from stepscope.summary.kinds.guard import guarded
from stepscope.summary.kinds.tensor_proto import strings_tensor
from stepscope.summary.proto.summary_pb2 import Summary

KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        kind.plugin_name: kind
        for kind in (
            scalar.KIND,
            histogram.KIND,
            image.KIND,
            text.KIND,
            audio.KIND,
            pr_curve.KIND,
            mesh.KIND,
            tensor.KIND,
            hparams.KIND,
            custom_scalars.KIND,
            run_metadata.KIND,
            run_metadata.TAGGED_KIND,
            graph.KIND,
            graph.KERAS_KIND,
            graph.FUNCTIONS_KIND,
            debug.STEPS_KIND,
            debug.CATALOG_KIND,
            debug.ALERTS_KIND,
        )
    }
)
"""Stepscope's own kinds by plugin name. To add a kind, add its module and its name here."""

ALL_ARRAYS: Final = "tensors"
"""The table of the arrays of all kinds."""
_NO_KINDS: Final = (ALL_ARRAYS, "summaries", "runs", "files")
"""Other values of `stepscope export --kind`."""


def _check(kind: Kind) -> None:
    if kind.plugin_name in _NO_KINDS:
        raise ValueError(f"a kind cannot be called {kind.plugin_name!r}")
    # It is one part of an address.
    if not re.fullmatch(r"[A-Za-z0-9_-]+", kind.plugin_name):
        raise ValueError(f"its plugin_name is {kind.plugin_name!r}, expected letters, digits, underscores and hyphens")
    if kind.legacy_field not in (None, *_FREE_LEGACY_FIELDS):
        expected = " or ".join(map(repr, (None, *_FREE_LEGACY_FIELDS)))
        raise ValueError(f"its legacy_field is {kind.legacy_field!r}, expected {expected}")
    if kind.table is not None and not all(name.strip() for name in kind.table.columns):
        raise ValueError("a column of its table has no name")
    if kind.table is not None and (taken := set(kind.table.columns) & set(POINT_COLUMNS)):
        raise ValueError(f"every table already has a column {min(taken)!r}")


OTHERS: Final = Extensions(
    "kinds",
    Kind,
    lambda kind: kind.plugin_name,
    taken=lambda: tuple(KINDS),
    check=_check,
    about_of=lambda kind: kind.about,
    alone_in=lambda kind: () if kind.legacy_field is None else (f"the legacy_field {kind.legacy_field!r}",),
)
"""Kinds that other distributions add."""

_BY_LEGACY_FIELD: Final = MappingProxyType(
    {kind.legacy_field: kind.plugin_name for kind in KINDS.values() if kind.legacy_field is not None}
)
_FREE_LEGACY_FIELDS: Final = tuple(
    field.name
    for field in Summary.Value.DESCRIPTOR.oneofs_by_name["value"].fields
    if field.name not in {"tensor", *_BY_LEGACY_FIELD}
)


@cache
def all_kinds() -> Mapping[str, Kind]:
    """Return every kind by its plugin name, Stepscope's own first.

    The kinds of other distributions are searched for and imported, so nothing that a training loop calls may call this.
    Any error in one of them becomes a `PayloadError` that names it.
    """
    others = (guarded(kind, plugin, OTHERS.fail) for plugin, kind in OTHERS.loaded())
    return MappingProxyType({**KINDS, **{kind.plugin_name: kind for kind in others}})


def kind_named(name: str) -> Kind:
    """Return the kind with this plugin name; if the name is "" or unknown, the kind of tensors."""
    if name in KINDS:
        return KINDS[name]
    return all_kinds().get(name, tensor.KIND) if name else tensor.KIND


def kind_of(value: Summary.Value) -> str:
    """Return the kind whose legacy field the value uses, else the plugin name in its metadata, which may be "".

    A legacy field determines the kind, whatever the metadata, as in TensorBoard's ``data_compat.py``.
    """
    field = value.WhichOneof("value") or ""
    name = _BY_LEGACY_FIELD.get(field, value.metadata.plugin_data.plugin_name)
    if name or field in ("", "tensor"):
        return name
    return next((kind.plugin_name for kind in all_kinds().values() if kind.legacy_field == field), "")


def decode(kind: str, value: Summary.Value | bytes) -> Payload:
    """Return the payload of a value of a kind; later values of a tag need no metadata of their own.

    A value of an unknown kind, or of none, becomes a `Tensor`. Bytes are the content of an event field that is used
    instead of a summary, such as ``TaggedRunMetadata.run_metadata``.

    Raises:
        PayloadError: the value is not what the kind expects.
    """
    if isinstance(value, bytes):
        value = Summary.Value(tensor=strings_tensor([value], ()))
    return kind_named(kind).decode(value)


def legacy_form(value: Summary.Value) -> Summary.Value:
    """Return a value in the form that PyTorch and TensorFlow 1 write, with dedicated fields instead of tensors.

    TensorBoard's ``EventAccumulator.Images`` and ``Audio``, and tbparse, find only these. A value without such a form
    is returned unchanged.
    """
    kind = kind_named(value.metadata.plugin_data.plugin_name)
    if kind.legacy_form is None or value.WhichOneof("value") != "tensor":
        return value
    return kind.legacy_form(value)
