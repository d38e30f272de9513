"""Figures of values, computed from the values themselves or from the measurements of TensorFlow's debugger.

The layouts of its "debug tensors" are defined in TensorFlow's
``tensorflow/core/api_def/base_api/api_def_DebugNumericSummaryV2.pbtxt``.
"""

import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.debugger.measures import LIMITS, figures_of_numbers
from stepscope.summary.debugger.model import COLUMN, FIGURES, Figure
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.tensor_proto import numbers, real_or_complex_numbers
from stepscope.summary.proto import debug_event_pb2 as tfdbg
from stepscope.summary.proto import types_pb2
from stepscope.summary.proto.tensor_pb2 import TensorProto


class BadElements(NamedTuple):
    """The numbers of nonfinite elements of a value; None where it is known only that there are some."""

    size: float | None = None
    """The number of all elements."""
    negative_infinity: float | None = None
    positive_infinity: float | None = None
    nan: float | None = None


LONGEST_DEBUG_TENSOR: Final = 64
"""Maximum length of a debug tensor; the longest layout has 22 numbers."""
SHAPE_DIMENSIONS: Final = 6
"""Number of dimension sizes that fit in a debug tensor; for a tensor with more, the first ones are omitted."""

_LAYOUTS: Final[Mapping[int, Mapping[Figure, int]]] = {
    tfdbg.CONCISE_HEALTH: {"size": 1, "negative_infinity": 2, "positive_infinity": 3, "nan": 4},
    tfdbg.FULL_HEALTH: {
        "size": 4,
        "negative_infinity": 5,
        "positive_infinity": 6,
        "nan": 7,
        "negatives": 8,
        "zeros": 9,
    },
    tfdbg.SHAPE: {"size": 3},
    tfdbg.FULL_NUMERICS: {
        "size": 10,
        "negative_infinity": 11,
        "positive_infinity": 12,
        "nan": 13,
        "negatives": 15,
        "zeros": 16,
        "minimum": 18,
        "maximum": 19,
        "mean": 20,
        "variance": 21,
    },
}
_LENGTHS: Final[Mapping[int, int]] = {
    tfdbg.CURT_HEALTH: 2,
    tfdbg.CONCISE_HEALTH: 5,
    tfdbg.FULL_HEALTH: 11,
    tfdbg.SHAPE: 10,
    tfdbg.FULL_NUMERICS: 22,
    tfdbg.REDUCE_INF_NAN_THREE_SLOTS: 3,
}
_TELL_NO_COUNTS: Final[Mapping[int, int]] = {tfdbg.CURT_HEALTH: 1, tfdbg.REDUCE_INF_NAN_THREE_SLOTS: 0}
"""Modes without counts, with the index from which a nonzero number means that some element is not finite."""
COUNTED: Final[tuple[Figure, ...]] = ("size", "nan", "positive_infinity", "negative_infinity", "zeros", "negatives")
"""The figures that the modes in `COUNTS_ALONE` provide; they provide no others."""
COUNTS_ALONE: Final = (tfdbg.NO_TENSOR, tfdbg.CURT_HEALTH, tfdbg.CONCISE_HEALTH, tfdbg.FULL_HEALTH, tfdbg.SHAPE)
"""Modes that provide no figures other than `COUNTED`."""
_DENORMAL: Final = 14
_DTYPE_AT: Final[Mapping[int, int]] = {tfdbg.FULL_HEALTH: 2, tfdbg.SHAPE: 1, tfdbg.FULL_NUMERICS: 2}
_RANK_AT: Final[Mapping[int, int]] = {tfdbg.SHAPE: 2, tfdbg.FULL_NUMERICS: 3}
_OTHER_NAMES: Final = {"half": "float16", "float": "float32", "double": "float64"}


def debug_tensor(tensor: TensorProto) -> list[Any] | None:
    """Return the content of a debug tensor as nested lists; None if nothing was measured or it is not a debug tensor.

    Values of nonnumeric types, such as placeholders for strings, are None as in TensorFlow's reader.
    """
    content = tensor.tensor_content
    if tensor.dtype == types_pb2.DT_DOUBLE and len(tensor.tensor_shape.dim) == 1 and content:
        count = tensor.tensor_shape.dim[0].size
        if count <= LONGEST_DEBUG_TENSOR and len(content) == 8 * count:
            return list(struct.unpack(f"<{count}d", content))
    try:
        array = numbers(tensor)
    except PayloadError:
        return None
    if array.size > LONGEST_DEBUG_TENSOR:
        return None
    found = array.tolist()
    return found if isinstance(found, list) else [found]


def bad_in_debug_tensor(mode: int, measured: Sequence[Any] | None) -> BadElements | None:
    """Return a debug tensor's counts of nonfinite elements; None if all are finite or this is not known."""
    if measured is None or not _fits(mode, measured):
        return None
    if mode in _TELL_NO_COUNTS:
        return BadElements() if any(measured[_TELL_NO_COUNTS[mode] :]) else None
    layout = _LAYOUTS[mode]
    if "nan" not in layout:
        return None
    found = BadElements(
        measured[layout["size"]],
        measured[layout["negative_infinity"]],
        measured[layout["positive_infinity"]],
        measured[layout["nan"]],
    )
    return found if any(count > 0 for count in found[1:] if count is not None) else None


def bad_in_value(tensor: TensorProto) -> BadElements | None:
    """Return the counts of nonfinite elements of a whole tensor; None if all are finite or it cannot be decoded."""
    try:
        values = real_or_complex_numbers(tensor)
    except PayloadError:
        return None
    if values.dtype.kind not in "fc" or bool(np.isfinite(values).all()):
        return None
    nan, positive, negative = _not_finite(values[~np.isfinite(values)])
    return BadElements(values.size, negative, positive, nan)


def bad_in_figures(figures: NDArray[np.float64]) -> BadElements | None:
    """Return the result of `bad_in_value`, computed from a value's figures."""
    columns = [COLUMN["size"], COLUMN["negative_infinity"], COLUMN["positive_infinity"], COLUMN["nan"]]
    found = figures[columns]
    return BadElements(*(int(count) for count in found.tolist())) if (found[1:] > 0).any() else None


def numbers_in_mode(modes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the length of the debug tensors of each mode in `COUNTS_ALONE`; -1 for other modes."""
    lengths = np.full(max(tfdbg.TensorDebugMode.values()) + 2, -1, np.int64)
    for mode in COUNTS_ALONE:
        lengths[mode] = _LENGTHS.get(mode, 0)
    found: NDArray[np.int64] = lengths[np.where((modes >= 0) & (modes < len(lengths)), modes, -1)]
    return found


def counted_figures(
    modes: NDArray[np.int64], measured: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return `figures_of_debug_tensor` and `bad_in_debug_tensor` for many debug tensors that fit their modes.

    Args:
        modes: [n], each in `COUNTS_ALONE`.
        measured: [n, most], with as many numbers per row as `numbers_in_mode` returns.

    Returns:
        ``[len(COUNTED), n]`` with NaN where a figure is unknown, and which values had nonfinite elements.
    """
    figures = np.full((len(COUNTED), len(modes)), np.nan)
    bad = np.zeros(len(modes), np.bool_)
    for mode in COUNTS_ALONE:
        rows = slice(None) if (modes == mode).all() else np.flatnonzero(modes == mode)
        numbers, layout = measured[rows], _LAYOUTS.get(mode, {})
        if not len(numbers):
            continue
        for figure, place in layout.items():
            figures[COUNTED.index(figure), rows] = numbers[:, place]
        if mode in _TELL_NO_COUNTS:
            bad[rows] = (numbers[:, _TELL_NO_COUNTS[mode] : _LENGTHS[mode]] != 0).any(axis=1)
        elif "nan" in layout:
            counts = [layout["negative_infinity"], layout["positive_infinity"], layout["nan"]]
            bad[rows] = (numbers[:, counts] > 0).any(axis=1)
    return figures, bad


def figures_of_debug_tensor(mode: int, measured: Sequence[Any] | None) -> NDArray[np.float64]:
    """Return the `FIGURES` that a debug tensor provides; NaN for the others."""
    found = np.full(len(FIGURES), np.nan)
    if measured is None or not _fits(mode, measured):
        return found
    for figure, place in _LAYOUTS.get(mode, {}).items():
        found[COLUMN[figure]] = measured[place]
    if mode == tfdbg.FULL_NUMERICS and measured[10] > 0:
        found[COLUMN["underflow"]] = measured[_DENORMAL] / measured[10]
    return found


def type_and_shape(mode: int, measured: Sequence[Any] | None) -> tuple[str, tuple[int, ...] | None]:
    """Return the type and shape of the measured value; "" and None where they are unknown."""
    if measured is None or not _fits(mode, measured):
        return "", None
    dtype = dtype_name(_whole(measured[_DTYPE_AT[mode]])) if mode in _DTYPE_AT else ""
    shape = None
    if mode in _RANK_AT:
        rank = _whole(measured[_RANK_AT[mode]])
        if 0 <= rank <= SHAPE_DIMENSIONS:
            begin = _RANK_AT[mode] + 1 + (mode == tfdbg.SHAPE)
            shape = tuple(_whole(size) for size in measured[begin : begin + rank])
    return dtype, shape


def dtype_name(number: int) -> str:
    """Return NumPy's name for a TensorFlow type, such as "float32"; empty for an unknown type."""
    known = types_pb2.DataType.DESCRIPTOR.values_by_number.get(number)
    if known is None or number == types_pb2.DT_INVALID:
        return ""
    name = known.name.removeprefix("DT_").removesuffix("_REF").lower()
    return _OTHER_NAMES.get(name, name)


def figures_of_values(values: NDArray[Any], dtype: str = "") -> NDArray[np.float64]:
    """Return all `FIGURES` of an array: counts of its elements, and measurements of the finite ones.

    Infinities count neither as negatives nor as zeros, as in TensorFlow's FULL_HEALTH. For complex numbers, only counts
    are computed; for strings, only the size.

    Args:
        values: an array of any shape.
        dtype: the original type of the values, if NumPy lacks it, such as "bfloat16".
    """
    found = np.full(len(FIGURES), np.nan)
    found[COLUMN["size"]] = values.size
    if values.dtype.kind not in "fciub":
        return found
    flat = values.reshape(-1)
    if values.dtype.kind != "c":
        return figures_of_numbers(flat, dtype if dtype in LIMITS else str(flat.dtype))
    is_finite = np.isfinite(flat)
    columns = [COLUMN["nan"], COLUMN["positive_infinity"], COLUMN["negative_infinity"]]
    found[columns] = _not_finite(flat[~is_finite])
    found[COLUMN["zeros"]] = np.count_nonzero(flat[is_finite] == 0)
    return found


def figures_of_tensor(mode: int, tensor: TensorProto | None) -> NDArray[np.float64]:
    """Return the `FIGURES` that a dump provides for a value recorded in a mode; NaN for the others."""
    if tensor is None or mode == tfdbg.NO_TENSOR:
        return np.full(len(FIGURES), np.nan)
    if mode != tfdbg.FULL_TENSOR:
        return figures_of_debug_tensor(mode, debug_tensor(tensor))
    try:
        return figures_of_values(real_or_complex_numbers(tensor), dtype_name(tensor.dtype))
    except PayloadError:
        found = np.full(len(FIGURES), np.nan)
        sizes = [dim.size for dim in tensor.tensor_shape.dim]
        if tensor.dtype == types_pb2.DT_STRING and not tensor.tensor_shape.unknown_rank and min(sizes, default=0) >= 0:
            found[0] = float(np.prod(np.array(sizes, np.float64)))
        return found


def _not_finite(values: NDArray[Any]) -> tuple[int, int, int]:
    """Return how many of the given nonfinite values are NaN, positive infinity and negative infinity.

    A complex number with a NaN part counts as NaN; otherwise, the sign of the real part decides if that is infinite,
    and the sign of the imaginary part if not.
    """
    nan = int(np.count_nonzero(np.isnan(values)))
    infinite = values[~np.isnan(values)]
    sign = np.where(np.isinf(infinite.real), infinite.real, infinite.imag)
    positive = int(np.count_nonzero(sign > 0))
    return nan, positive, len(infinite) - positive


def _fits(mode: int, measured: Sequence[Any]) -> bool:
    return len(measured) == _LENGTHS.get(mode) and all(isinstance(number, int | float) for number in measured)


def _whole(number: float) -> int:
    """Return a number that should be whole and small as an int; -1 if it is not."""
    return int(number) if 0 <= number < 2**53 else -1
