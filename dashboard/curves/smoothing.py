"""TensorBoard's smoothing."""

from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.kernels import Group, kernel

KERNELS: Final = Group("charts", [__name__])


def smooth(values: NDArray[np.float64], weight: float) -> NDArray[np.float64]:
    """Return the exponential moving average with bias correction, as TensorBoard draws it.

    For every finite y: ``last = last * weight + (1 - weight) * y``, ``n += 1``, and the result is
    ``last / (1 - weight**n)``. Values that are not finite stay as they are and do not affect the average. If all values
    are equal, they are returned unchanged; the average would equal them only up to rounding.
    Source: tensorboard/webapp/widgets/line_chart_v2/data_transformer.ts.

    Args:
        values: float64[n], one series in the order of its points.
        weight: from 0, no smoothing, to 1.

    Returns:
        float64[n]; ``values`` itself if there is nothing to smooth.
    """
    if weight <= 0 or len(values) < 2 or bool((values == values[0]).all()):
        return values
    average = _debiased_average if KERNELS.ready else cast(Any, _debiased_average).py_func
    averaged: NDArray[np.float64] = average(np.ascontiguousarray(values), weight)
    return averaged


@kernel()
def _debiased_average(values: NDArray[np.float64], weight: float) -> NDArray[np.float64]:
    out = np.empty_like(values)
    last = 0.0
    decay = 1.0
    for i in range(len(values)):
        y = values[i]
        if not np.isfinite(y):
            out[i] = y
            continue
        last = last * weight + (1.0 - weight) * y
        # Far below the precision of 1 - decay; multiplying even smaller numbers would take a hundred times as long.
        decay = decay * weight if decay > 1e-20 else 0.0
        out[i] = last if weight == 1.0 else last / (1.0 - decay)
    return out
