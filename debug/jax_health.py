"""The health of JAX arrays, as part of the compiled program: one pass, and one copy for all arrays."""

from collections.abc import Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.typing import NDArray

from stepscope.debug.health import COUNTS, SUMS, figures_of_sums
from stepscope.summary.debugger.measures import LIMITS

MEASURES: Final = 7
"""Minimum, maximum, and the largest magnitude; then, of the values divided by it so that no square overflows, the sum,
and the sums of squares, of absolute values and of squared deviations."""


def counts_and_measures(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the measurements of an array: int32 [COUNTS] and float32 [MEASURES], or float64 for float64."""
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        x = jnp.stack([x.real, x.imag])
    if not x.size:
        return jnp.zeros(COUNTS, jnp.int32), jnp.full(MEASURES, jnp.nan, jnp.float32)
    underflow = overflow = jnp.zeros((), jnp.int32)
    zero, negative = x == 0, x < 0
    if str(x.dtype) in LIMITS:
        zero, subnormal, negative = _by_bits(x)
        underflow = subnormal.sum(dtype=jnp.int32)
        half = jnp.asarray(LIMITS[str(x.dtype)].largest / 2, x.dtype)
        overflow = (jnp.abs(x) >= half).sum(dtype=jnp.int32)
    if x.dtype != jnp.float64:
        x = x.astype(jnp.float32)
    finite = jnp.isfinite(x)
    plain = jnp.where(finite, x, 0)
    counts = [jnp.isnan(x), x == jnp.inf, x == -jnp.inf, zero, negative & finite]
    low = jnp.where(finite, x, jnp.inf).min()
    high = jnp.where(finite, x, -jnp.inf).max()
    # Compilers multiply by the reciprocal, which has to be a normal number.
    tiny = jnp.finfo(x.dtype).tiny
    scale = jnp.clip(jnp.abs(plain).max(), tiny, 1 / tiny)
    unit = plain / scale
    total = unit.sum()
    sums = [total, (unit**2).sum(), jnp.abs(unit).sum(), ((unit - total / x.size) ** 2).sum()]
    return (
        jnp.stack([*(count.sum(dtype=jnp.int32) for count in counts), underflow, overflow]),
        jnp.stack([low, high, scale, *sums]),
    )


def _by_bits(x: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return which elements are zero, subnormal, and negative, by their bits: compilers may flush to zero."""
    info = jnp.finfo(x.dtype)
    unsigned = {8: jnp.uint8, 16: jnp.uint16, 32: jnp.uint32, 64: jnp.uint64}[info.bits]
    bits = lax.bitcast_convert_type(x, unsigned)
    fraction = bits & ((1 << info.nmant) - 1)
    exponent = (bits >> info.nmant) & ((1 << (info.bits - 1 - info.nmant)) - 1)
    small = exponent == 0
    zero = small & (fraction == 0)
    return zero, small & ~zero, (bits >> (info.bits - 1) == 1) & ~zero


class JaxHealth:
    """The health of a step's arrays, which may still be computed; see `stepscope.debug.recorder.Measured`.

    Args:
        counts: int32 [n, COUNTS].
        measures: floating-point [n, MEASURES].
        sizes: number of elements of each.
        dtypes: the types' names.
    """

    def __init__(self, counts: jax.Array, measures: jax.Array, sizes: Sequence[int], dtypes: Sequence[str]) -> None:
        self._counts: Final = counts
        self._measures: Final = measures
        self._sizes: Final = sizes
        self._dtypes: Final = dtypes

    def __len__(self) -> int:
        return len(self._sizes)

    @property
    def is_here(self) -> bool:
        """Whether the device has finished computing."""
        return bool(self._counts.is_ready() and self._measures.is_ready())

    def figures(self) -> NDArray[np.float64]:
        """Return the statistics of all arrays, [n, len(FIGURES)]; waits for the device."""
        counts: Any
        counts, measures = jax.device_get((self._counts, self._measures))
        table = measures.astype(np.float64)
        low, high, scale, total, squares, absolutes, deviations = table.T
        bounds = np.where(np.isinf(np.stack([low, high], axis=1)), np.nan, np.stack([low, high], axis=1))
        with np.errstate(all="ignore"):
            rest = np.stack([total * scale, squares * scale**2, absolutes * scale, deviations * scale**2], axis=1)
        sums = np.concatenate([counts.astype(np.float64), bounds, rest], axis=1)
        assert sums.shape[1] == len(SUMS)
        floating = np.array([dtype in LIMITS or dtype.startswith("complex") for dtype in self._dtypes], bool)
        found = figures_of_sums(sums, np.array(self._sizes, np.float64), floating)
        # Values that were not computed, as in a branch that was not taken, have no size either.
        found[counts[:, 0] < 0] = np.nan
        return found
