"""The common interface of projections: the shape of the points, progress reports, and the methods of a run."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float32]
"""Vectors, one per row: ``[n, d]``, C-contiguous, all values finite."""


@dataclass(frozen=True)
class Progress:
    """Progress of a run, and its current picture."""

    iteration: int
    """Number of finished iterations."""
    total: int
    """Total number of iterations; 0 if unknown."""
    phase: str
    """For display: "neighbors", "early exaggeration", "iterations", "done"."""
    coordinates: NDArray[np.float32] | None
    """A copy of the picture, ``[n, 2 or 3]``; None before the first."""
    loss: float | None
    """The minimized quantity: the KL divergence or the cross entropy; None if unknown."""
    done: bool
    """Whether all iterations are done."""


class Run(Protocol):
    """One projection in progress. Not shared between threads."""

    def advance(self, seconds: float) -> Progress:
        """Work for about ``seconds`` (at least one iteration) and return the progress."""
        ...

    def perturb(self) -> None:
        """Move every point slightly at random, to escape a poor local minimum."""
        ...

    def extend(self, iterations: int) -> None:
        """Add iterations at the end."""
        ...

    def state(self, most_bytes: int | None = None) -> dict[str, NDArray[Any]]:
        """Return the state needed to resume from here, as arrays.

        If all of it exceeds ``most_bytes``, anything that can be recomputed is left out.
        """
        ...
