"""Fewer points for the screen than exist on disk, with the extremes kept."""

from typing import Final

import numpy as np
from numpy.typing import NDArray
from tsdownsample import MinMaxLTTBDownsampler

POINTS_PER_LINE: Final = 1000
"""Maximum points drawn for one line: more than a chart is pixels wide."""
MOST_GAPS: Final = 200

_downsampler = MinMaxLTTBDownsampler()


def indices_to_draw(x: NDArray[np.float64], y: NDArray[np.float64], most: int = POINTS_PER_LINE) -> NDArray[np.int64]:
    """Return indices of the points that a line needs on the screen, ascending.

    All of them up to ``most``; otherwise ``most`` of the finite ones by MinMaxLTTB (Van Der Donckt et al., 2023), with
    the overall minimum and maximum kept, which it may drop. Up to 200 non-finite points are added, where the line must
    break.

    Args:
        x: float64[n]; sorted or not, in drawing order.
        y: float64[n]; NaN and infinities allowed.
        most: how many points are drawn without dropping any; above 4.
    """
    n = len(y)
    if n <= most:
        return np.arange(n)
    finite = np.isfinite(y)
    if finite.all():
        return _pick(x, y, most)
    kept = np.flatnonzero(finite)
    chosen = kept[_pick(x[kept], y[kept], most)] if len(kept) > most else kept
    gaps = np.flatnonzero(~finite)
    if len(gaps) > MOST_GAPS:
        gaps = gaps[np.linspace(0, len(gaps) - 1, MOST_GAPS).round().astype(np.int64)]
    return np.sort(np.concatenate([chosen, gaps]))


def _pick(x: NDArray[np.float64], y: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    # Steps that repeat or go back are downsampled by position, which is the order in which the line is drawn.
    rising = bool((np.diff(x) > 0).all())

    # Two places are kept for the extremes, which the choice may leave out.
    chosen = _downsampler.downsample(x, y, n_out=most - 2) if rising else _downsampler.downsample(y, n_out=most - 2)
    both = np.sort(np.append(chosen.astype(np.int64), [int(y.argmin()), int(y.argmax())]))
    unique: NDArray[np.int64] = both[np.append(True, both[1:] != both[:-1])]
    return unique
