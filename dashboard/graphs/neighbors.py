"""Neighbors of nodes, each in constant time."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.listed import listed


class Neighbors:
    """The nodes at the other end of each node's edges, in edge order."""

    def __init__(self, near: NDArray[np.int64], far: NDArray[np.int64], nodes: int) -> None:
        order = np.argsort(near, kind="stable")
        self._far: Final[list[int]] = listed(far[order])
        self._start: Final[list[int]] = listed(np.concatenate(([0], np.cumsum(np.bincount(near, minlength=nodes)))))

    def __getitem__(self, node: int) -> list[int]:
        return self._far[self._start[node] : self._start[node + 1]]
