"""What is measured of values: from the values themselves, and from what TensorFlow's debugger had measured of them.

The layouts of its "debug tensors" are those of TensorFlow's
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
    """How many elements of a value are not finite; None where it is known only that some are."""

    size: float | None = None
    """All elements."""
    negative_infinity: float | None = None
    positive_infinity: float | None = None
    nan: float | None = None


LONGEST_DEBUG_TENSOR: Final = 64
"""Numbers; the longest layout has 22."""
SHAPE_DIMENSIONS: Final = 6
"""Sizes that a debug tensor has room for; of a tensor of more dimensions the first are left out."""

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
"""Modes whose numbers from a place on are not 0 where some element is not finite."""
COUNTED: Final[tuple[Figure, ...]] = ("size", "nan", "positive_infinity", "negative_infinity", "zeros", "negatives")
"""The figures that modes tell which `COUNTS_ALONE` has; others tell none."""
COUNTS_ALONE: Final = (tfdbg.NO_TENSOR, tfdbg.CURT_HEALTH, tfdbg.CONCISE_HEALTH, tfdbg.FULL_HEALTH, tfdbg.SHAPE)
"""Modes that tell no figures but `COUNTED`."""
_DENORMAL: Final = 14
_DTYPE_AT: Final[Mapping[int, int]] = {tfdbg.FULL_HEALTH: 2, tfdbg.SHAPE: 1, tfdbg.FULL_NUMERICS: 2}
_RANK_AT: Final[Mapping[int, int]] = {tfdbg.SHAPE: 2, tfdbg.FULL_NUMERICS: 3}
_OTHER_NAMES: Final = {"half": "float16", "float": "float32", "double": "float64"}


def debug_tensor(tensor: TensorProto) -> list[Any] | None:
    """Return what a debug tensor holds, as nested lists; None where nothing was measured, or where it is none.

    Values of no numeric type, such as what stands for a text, are None as in TensorFlow's reader.
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
    """Return what a debug tensor tells of elements that are not finite; None where all are, or it does not tell."""
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
    """Return how many elements of a whole tensor are not finite; None where all are, or it cannot be decoded."""
    try:
        values = real_or_complex_numbers(tensor)
    except PayloadError:
        return None
    if values.dtype.kind not in "fc" or bool(np.isfinite(values).all()):
        return None
    nan, positive, negative = _not_finite(values[~np.isfinite(values)])
    return BadElements(values.size, negative, positive, nan)


def bad_in_figures(figures: NDArray[np.float64]) -> BadElements | None:
    """Return what `bad_in_value` tells of a value, of its figures."""
    columns = [COLUMN["size"], COLUMN["negative_infinity"], COLUMN["positive_infinity"], COLUMN["nan"]]
    found = figures[columns]
    return BadElements(*(int(count) for count in found.tolist())) if (found[1:] > 0).any() else None


def numbers_in_mode(modes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many numbers debug tensors of modes have, which are of `COUNTS_ALONE`; -1 for other modes."""
    lengths = np.full(max(tfdbg.TensorDebugMode.values()) + 2, -1, np.int64)
    for mode in COUNTS_ALONE:
        lengths[mode] = _LENGTHS.get(mode, 0)
    found: NDArray[np.int64] = lengths[np.where((modes >= 0) & (modes < len(lengths)), modes, -1)]
    return found


def counted_figures(
    modes: NDArray[np.int64], measured: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return what `figures_of_debug_tensor` and `bad_in_debug_tensor` tell of many debug tensors that fit their modes.

    Args:
        modes: [n], of `COUNTS_ALONE`.
        measured: [n, most]: as many numbers as `numbers_in_mode` says.

    Returns:
        ``[len(COUNTED), n]`` with NaN where a figure is not told; and which values had elements that are not finite.
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
    """Return the `FIGURES` that a debug tensor tells; NaN where it does not."""
    found = np.full(len(FIGURES), np.nan)
    if measured is None or not _fits(mode, measured):
        return found
    for figure, place in _LAYOUTS.get(mode, {}).items():
        found[COLUMN[figure]] = measured[place]
    if mode == tfdbg.FULL_NUMERICS and measured[10] > 0:
        found[COLUMN["underflow"]] = measured[_DENORMAL] / measured[10]
    return found


def type_and_shape(mode: int, measured: Sequence[Any] | None) -> tuple[str, tuple[int, ...] | None]:
    """Return the type of the value that was measured, and its shape; "" and None where they are not told."""
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
    """Return what NumPy calls one of TensorFlow's types, such as "float32"; empty for none that is known."""
    known = types_pb2.DataType.DESCRIPTOR.values_by_number.get(number)
    if known is None or number == types_pb2.DT_INVALID:
        return ""
    name = known.name.removeprefix("DT_").removesuffix("_REF").lower()
    return _OTHER_NAMES.get(name, name)


def figures_of_values(values: NDArray[Any], dtype: str = "") -> NDArray[np.float64]:
    """Return all `FIGURES` of an array: counts of its elements, and what is measured of the finite ones.

    Infinities count neither as negatives nor as zeros, as in TensorFlow's FULL_HEALTH. Of complex numbers only counts
    are taken, of texts the size alone.

    Args:
        values: any shape.
        dtype: the type that they had, where NumPy has none for it, such as "bfloat16".
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
    """Return the `FIGURES` that a dump tells of a value, by what it holds of it in a mode; NaN for the others."""
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
    """Return how many of some values that are not finite are NaN, and plus and minus infinity.

    Of complex numbers, those with a part that is NaN are NaN, and others go by the sign of the real part, if that is
    infinite, else by that of the imaginary part.
    """
    nan = int(np.count_nonzero(np.isnan(values)))
    infinite = values[~np.isnan(values)]
    sign = np.where(np.isinf(infinite.real), infinite.real, infinite.imag)
    positive = int(np.count_nonzero(sign > 0))
    return nan, positive, len(infinite) - positive


def _fits(mode: int, measured: Sequence[Any]) -> bool:
    return len(measured) == _LENGTHS.get(mode) and all(isinstance(number, int | float) for number in measured)


def _whole(number: float) -> int:
    """Return a number that should be whole, and small, as an int; -1 for others."""
    return int(number) if 0 <= number < 2**53 else -1
