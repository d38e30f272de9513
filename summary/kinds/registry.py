"""All kinds of summaries, and how a value is told and decoded."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from stepscope.summary.kinds import (
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
from stepscope.summary.kinds.base import Kind, Payload
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
        )
    }
)
"""Every kind by its plugin name."""

_BY_LEGACY_FIELD: Final = MappingProxyType(
    {kind.legacy_field: kind.plugin_name for kind in KINDS.values() if kind.legacy_field is not None}
)


def kind_of(value: Summary.Value) -> str:
    """Return the kind whose legacy field it uses, else the plugin name in its metadata, which may be "".

    A legacy field says what it is, whatever the metadata beside it, as in TensorBoard's ``data_compat.py``.
    """
    return _BY_LEGACY_FIELD.get(value.WhichOneof("value") or "", value.metadata.plugin_data.plugin_name)


def decode(kind: str, value: Summary.Value | bytes) -> Payload:
    """Return the payload of a value of a kind; later values of a tag need no metadata of their own.

    A value of a kind that is not in `KINDS`, or of none, is a `Tensor`. Bytes are what an event field holds instead of
    a summary, such as ``TaggedRunMetadata.run_metadata``.

    Raises:
        PayloadError: the value is not what the kind expects.
    """
    if isinstance(value, bytes):
        value = Summary.Value(tensor=strings_tensor([value], ()))
    return KINDS.get(kind, tensor.KIND).decode(value)
