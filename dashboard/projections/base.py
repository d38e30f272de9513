"""What every projection shares: the shape of the points, what a run tells, and what a run can do."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float32]
"""Vectors, one a row: ``[n, d]``, C-contiguous, all values finite."""


@dataclass(frozen=True)
class Progress:
    """How far a run is, and its picture so far."""

    iteration: int
    """Iterations done."""
    total: int
    """Iterations to be done, 0 where that is not known."""
    phase: str
    """For a person: "neighbors", "early exaggeration", "iterations", "done"."""
    coordinates: NDArray[np.float32] | None
    """The picture, ``[n, 2 or 3]``, a copy; None before the first."""
    loss: float | None
    """What the method makes small: the KL divergence, the cross entropy; None where none is known."""
    done: bool
    """Whether all iterations are done."""


class Run(Protocol):
    """One projection under way. It is not shared between threads."""

    def advance(self, seconds: float) -> Progress:
        """Work for about ``seconds`` (one iteration at least) and tell how far it is."""
        ...

    def perturb(self) -> None:
        """Move every point a little at random, to get it out of a poor place."""
        ...

    def extend(self, iterations: int) -> None:
        """Add so many iterations after the end."""
        ...

    def state(self, most_bytes: int | None = None) -> dict[str, NDArray[Any]]:
        """Return what starting again at this place needs, as arrays.

        Where all of it has more than ``most_bytes``, what can be worked out again is left out.
        """
        ...
