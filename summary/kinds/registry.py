"""All kinds of summaries, and how a value is told and decoded."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from summary.kinds import (
    audio,
    custom_scalars,
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
from summary.kinds.base import Kind, Payload, PayloadError
from summary.kinds.tensors import strings_tensor
from summary.proto.summary_pb2 import Summary

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
        )
    }
)
"""Every kind by its plugin name."""

_BY_LEGACY_FIELD: Final = MappingProxyType(
    {kind.legacy_field: kind.plugin_name for kind in KINDS.values() if kind.legacy_field is not None}
)


def kind_of(value: Summary.Value) -> str:
    """The plugin name in the value's metadata, else the kind whose legacy field it uses, else ""."""
    if value.metadata.plugin_data.plugin_name:
        return value.metadata.plugin_data.plugin_name
    field = value.WhichOneof("value")
    return _BY_LEGACY_FIELD.get(field, "") if field is not None else ""


def decode(kind: str, value: Summary.Value | bytes) -> Payload:
    """The payload of a value of a kind in `KINDS`; later values of a tag need no metadata of their own.

    Bytes are what an event field holds instead of a summary, such as ``TaggedRunMetadata.run_metadata``.

    Raises:
        PayloadError: the value is not what the kind expects, or nobody knows the kind.
    """
    if kind not in KINDS:
        raise PayloadError(f"expected one of the kinds {', '.join(KINDS)}, got {kind!r}")
    if isinstance(value, bytes):
        value = Summary.Value(tensor=strings_tensor([value], ()))
    return KINDS[kind].decode(value)
