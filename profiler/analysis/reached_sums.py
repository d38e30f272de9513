"""Sums over what each node of a graph reaches; the cost grows with the number of nodes that all of them reach."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.kernels import kernel

Column = NDArray[np.int64]
_NODES_AT_ONCE: Final = 256


def reached_sums(source: Column, target: Column, weight: Column) -> Column:
    """Return the weight of each node plus the weights of all other nodes that it reaches, each once, int64 ``[n]``.

    Edges lead from ``source`` to ``target``, int64 ``[m]``, and may form cycles.
    """
    count = len(weight)
    by_source = np.argsort(source, kind="stable")
    first = np.searchsorted(source[by_source], np.arange(count + 1))
    targets = target[by_source]
    sums, reached_from, waiting = np.zeros(count, np.int64), np.full(count, -1), np.empty(count, np.int64)
    for begin in range(0, count, _NODES_AT_ONCE):
        check_cancelled()
        _sum_up(first, targets, weight, begin, min(begin + _NODES_AT_ONCE, count), sums, reached_from, waiting)
    return sums


@kernel()
def _sum_up(
    first: Column,
    targets: Column,
    weight: Column,
    begin: int,
    end: int,
    sums: Column,
    reached_from: Column,
    waiting: Column,
) -> None:
    """Compute the sums of the nodes ``begin:end``; the last two columns are the memory of the search."""
    for start in range(begin, end):
        reached_from[start] = start
        waiting[0] = start
        left = 1
        while left > 0:
            left -= 1
            node = waiting[left]
            sums[start] += weight[node]
            for place in range(first[node], first[node + 1]):
                goal = targets[place]
                if reached_from[goal] != start:
                    reached_from[goal] = start
                    waiting[left] = goal
                    left += 1
