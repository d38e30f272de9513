"""All kinds of summaries, Stepscope's own and those of others, and how a value is told and decoded."""

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
"""Stepscope's own kinds by their plugin names. Adding one is adding its module and its name here."""

ALL_ARRAYS: Final = "tensors"
"""The table of the arrays of all kinds."""
_NO_KINDS: Final = (ALL_ARRAYS, "summaries", "runs", "files")
"""What else `stepscope export --kind` writes."""


def _check(kind: Kind) -> None:
    if not kind.plugin_name or kind.plugin_name in _NO_KINDS:
        raise ValueError(f"a kind cannot be called {kind.plugin_name!r}")
    if kind.table is not None and (taken := set(kind.table.columns) & set(POINT_COLUMNS)):
        raise ValueError(f"every table has a column {min(taken)!r} already")


OTHERS: Final = Extensions(
    "kinds", Kind, lambda kind: kind.plugin_name, lambda: tuple(KINDS), _check, lambda kind: kind.about
)
"""What other distributions add."""

_BY_LEGACY_FIELD: Final = MappingProxyType(
    {kind.legacy_field: kind.plugin_name for kind in KINDS.values() if kind.legacy_field is not None}
)


@cache
def all_kinds() -> Mapping[str, Kind]:
    """Return every kind by its plugin name, Stepscope's own first.

    Looks for those of other distributions and imports them, so nothing that a training loop calls may call this. What
    goes wrong in them is a `PayloadError` that names them.
    """
    others = (guarded(kind, plugin, OTHERS.fail) for plugin, kind in OTHERS.loaded())
    return MappingProxyType({**KINDS, **{kind.plugin_name: kind for kind in others}})


def kind_named(name: str) -> Kind:
    """Return the kind with this plugin name, which may be "" or one that nobody knows: then it is that of tensors."""
    if name in KINDS:
        return KINDS[name]
    return all_kinds().get(name, tensor.KIND) if name else tensor.KIND


def kind_of(value: Summary.Value) -> str:
    """Return the kind whose legacy field it uses, else the plugin name in its metadata, which may be "".

    A legacy field says what it is, whatever the metadata beside it, as in TensorBoard's ``data_compat.py``.
    """
    field = value.WhichOneof("value") or ""
    name = _BY_LEGACY_FIELD.get(field, value.metadata.plugin_data.plugin_name)
    if name or field in ("", "tensor"):
        return name
    return next((kind.plugin_name for kind in all_kinds().values() if kind.legacy_field == field), "")


def decode(kind: str, value: Summary.Value | bytes) -> Payload:
    """Return the payload of a value of a kind; later values of a tag need no metadata of their own.

    A value of a kind that nobody knows, or of none, is a `Tensor`. Bytes are what an event field holds instead of
    a summary, such as ``TaggedRunMetadata.run_metadata``.

    Raises:
        PayloadError: the value is not what the kind expects.
    """
    if isinstance(value, bytes):
        value = Summary.Value(tensor=strings_tensor([value], ()))
    return kind_named(kind).decode(value)


def legacy_form(value: Summary.Value) -> Summary.Value:
    """Return a value in the form that PyTorch and TensorFlow 1 write, fields of their own instead of tensors.

    ``EventAccumulator.Images`` and ``Audio`` of TensorBoard, and tbparse, find only these. What has no such form is as
    it was.
    """
    kind = kind_named(value.metadata.plugin_data.plugin_name)
    if kind.legacy_form is None or value.WhichOneof("value") != "tensor":
        return value
    return kind.legacy_form(value)
