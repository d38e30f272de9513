"""The kind "spectrum": the singular values of a matrix at a step, largest first."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary import SummaryWriter
from stepscope.summary.kinds import Kind, PayloadError, Table
from stepscope.summary.kinds.tensor_proto import numbers, numbers_tensor, plugin_metadata
from stepscope.summary.proto.summary_pb2 import DATA_CLASS_TENSOR, Summary

NAME: Final = "spectrum"


def add_spectrum(writer: SummaryWriter, tag: str, matrix: Any, step: int) -> None:
    """Log the singular values of a matrix.

    Args:
        writer: the writer to log to.
        tag: the name of the matrix.
        matrix: float [m, n]; an array with more dimensions is taken as [first, all others].
        step: the training step.

    Raises:
        ValueError: ``matrix`` is not a matrix, or has values that are not finite.
    """
    array = np.asarray(matrix, np.float64)
    if array.ndim < 2 or not array.size or not np.isfinite(array).all():
        raise ValueError(f"the matrix {tag!r} must have two dimensions or more and be finite, got {array.shape}")
    values = np.linalg.svd(array.reshape(len(array), -1), compute_uv=False).astype(np.float32)
    metadata = plugin_metadata(NAME, DATA_CLASS_TENSOR)
    writer.add_value(Summary.Value(tag=tag, metadata=metadata, tensor=numbers_tensor(values)), step)


def decode_spectrum(value: Summary.Value) -> NDArray[np.float64]:
    """Return the singular values: float64 [k].

    Raises:
        PayloadError: the value is not what `add_spectrum` writes.
    """
    if value.WhichOneof("value") != "tensor":
        raise PayloadError(f"expected a tensor, got {value.WhichOneof('value') or 'no value'}")
    values = numbers(value.tensor)
    if values.ndim != 1:
        raise PayloadError(f"expected one dimension, got the shape {values.shape}")
    return values.astype(np.float64)


def effective_rank(values: NDArray[np.float64]) -> float:
    """Return how many directions a matrix uses: the exponential of the entropy of its normalized singular values.

    O. Roy and M. Vetterli, "The effective rank", EUSIPCO 2007. 0 if all values are 0.
    """
    total = values.sum()
    if not total > 0:
        return 0.0
    shares = values[values > 0] / total
    return float(np.exp(-(shares * np.log(shares)).sum()))


KIND: Final = Kind(
    plugin_name=NAME,
    decode=decode_spectrum,
    about="the singular values of a matrix",
    table=Table({"rank": "float", "values": "list[float]"}, lambda values: [(effective_rank(values), values.tolist())]),
    array=lambda values: values,
)
