"""The health of TensorFlow tensors, as part of the graph that runs: one row of sums per tensor."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from stepscope.debug.health import COUNTS, SUMS, figures_of_sums
from stepscope.summary.debugger.measures import LIMITS

_INTEGERS: Final = {2: tf.int16, 4: tf.int32, 8: tf.int64}
_FRACTION_BITS: Final = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}


def is_measurable(tensor: Any) -> bool:
    """Return whether a tensor has numbers or booleans."""
    dtype = tensor.dtype
    return bool(dtype.is_floating or dtype.is_integer or dtype.is_complex or dtype.is_bool) and not dtype.is_quantized


def size_and_sums(tensor: Any) -> Any:
    """Return the number of elements, and `stepscope.debug.health.SUMS`: float64 [1 + len(SUMS)]."""
    if tensor.dtype.is_complex:
        tensor = tf.stack([tf.math.real(tensor), tf.math.imag(tensor)])
    return _measuring(tensor.dtype)(tf.reshape(tensor, [-1]))


@cache
def _measuring(dtype: Any) -> Any:
    """Return a function of vectors of a type, which graphs call as one operation.

    If it were part of the graphs, TensorFlow would optimize some 90 additional operations for each value, which takes
    minutes if every operation is measured.
    """
    measuring = tf.function(_measured, autograph=False, experimental_attributes={"_noinline": True})
    return measuring.get_concrete_function(tf.TensorSpec([None], dtype))


def _measured(flat: Any) -> Any:
    dtype = flat.dtype
    wide = tf.cast(flat, tf.float64)
    finite = tf.math.is_finite(wide)
    plain = tf.where(finite, wide, tf.zeros_like(wide))
    zero, subnormal, negative = _by_bits(flat) if dtype.name in _FRACTION_BITS else _by_value(wide)
    limits = LIMITS.get(dtype.name)
    large = tf.zeros_like(finite) if limits is None else tf.abs(wide) >= limits.largest / 2
    infinity = tf.constant(np.inf, tf.float64)
    conditions = [
        tf.math.is_nan(wide),
        tf.equal(wide, infinity),
        tf.equal(wide, -infinity),
        zero,
        negative & finite,
        subnormal,
        large,
    ]
    counts = [tf.cast(tf.math.count_nonzero(condition), tf.float64) for condition in conditions]
    size = tf.cast(tf.size(flat), tf.float64)
    low = tf.reduce_min(tf.where(finite, wide, infinity))
    high = tf.reduce_max(tf.where(finite, wide, -infinity))
    total = tf.reduce_sum(plain)
    mean = total / tf.maximum(size, 1)
    sums = [total, *(tf.reduce_sum(each) for each in (plain * plain, tf.abs(plain), (plain - mean) ** 2))]
    return tf.stack([size, *counts, low, high, *sums])


def _by_bits(flat: Any) -> tuple[Any, Any, Any]:
    """Return which elements are zero, subnormal, and negative, by their bits: kernels flush subnormals to zero."""
    integer = _INTEGERS[flat.dtype.size]
    bits = tf.bitcast(flat, integer)
    width, fraction_bits = 8 * flat.dtype.size, _FRACTION_BITS[flat.dtype.name]
    fraction = tf.bitwise.bitwise_and(bits, tf.constant((1 << fraction_bits) - 1, integer))
    exponent_mask = (1 << (width - 1)) - (1 << fraction_bits)
    exponent = tf.bitwise.bitwise_and(bits, tf.constant(exponent_mask, integer))
    small = tf.equal(exponent, 0)
    zero = small & tf.equal(fraction, 0)
    return zero, small & ~zero, (bits < 0) & ~zero


def _by_value(wide: Any) -> tuple[Any, Any, Any]:
    return tf.equal(wide, 0), tf.zeros_like(wide, tf.bool), wide < 0


class TensorFlowHealth:
    """The health of a step's tensors; see `stepscope.debug.recorder.Measured`.

    Args:
        rows: float64 [n, 1 + len(SUMS)], from `size_and_sums`.
        dtypes: the types' names.
    """

    def __init__(self, rows: Any, dtypes: Sequence[str]) -> None:
        self._rows: Final = rows
        self._dtypes: Final = dtypes

    def __len__(self) -> int:
        return len(self._dtypes)

    @property
    def is_here(self) -> bool:
        """Whether all results are available without waiting for a device."""
        return "GPU" not in str(self._rows.device)

    def figures(self) -> NDArray[np.float64]:
        """Return the statistics of all tensors, [n, len(FIGURES)]; waits for the device."""
        table = np.asarray(self._rows, np.float64).reshape(-1, 1 + len(SUMS))
        sums = table[:, 1:].copy()
        bounds = sums[:, COUNTS : COUNTS + 2]
        bounds[np.isinf(bounds)] = np.nan
        floating = np.array([dtype in LIMITS or dtype.startswith("complex") for dtype in self._dtypes], bool)
        return figures_of_sums(sums, table[:, 0], floating)
