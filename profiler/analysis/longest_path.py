"""The longest path through a graph of points in time; the cost grows with the number of its edges."""

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.kernels import kernel

Column = NDArray[np.int64]


def longest_path(source: Column, target: Column, weight: Column, times: Column) -> Column:
    """Return the edges of the longest path in order, int64 ``[k]``; the time after a path's end counts against it.

    So a path that reaches the very end is not rejected for one that is a little longer and ends early. Edges lead from
    node to node, and each node has a time. Edges that lead back in time are ignored, and so is one edge of each cycle
    of edges that take no time.
    """
    if not len(source):
        return np.empty(0, np.int64)
    by_source = np.argsort(source, kind="stable")
    first = np.searchsorted(source[by_source], np.arange(len(times) + 1))
    check_cancelled()
    order = _in_order(first, by_source, target, times, np.argsort(times, kind="stable"))
    check_cancelled()
    length, edge = _lengths(first, by_source, target, weight, order)
    balance = (length + times)[order]
    return _followed_back(source, edge, int(order[len(order) - 1 - int(np.argmax(balance[::-1]))]))


@kernel()
def _in_order(first: Column, by_source: Column, target: Column, times: Column, by_time: Column) -> Column:
    """Return the nodes by time; within one time, in topological order except for cycles."""
    reached_by = np.zeros(times.size, np.int64)
    done = np.zeros(times.size, np.bool_)
    order = np.empty(times.size, np.int64)
    ready = np.empty(times.size, np.int64)
    filled = 0
    begin = 0
    while begin < by_time.size:
        end = begin
        while end < by_time.size and times[by_time[end]] == times[by_time[begin]]:
            node = by_time[end]
            for place in range(first[node], first[node + 1]):
                goal = target[by_source[place]]
                if times[goal] == times[node]:
                    reached_by[goal] += 1
            end += 1
        waiting = 0
        for place in range(end - 1, begin - 1, -1):
            if reached_by[by_time[place]] == 0:
                ready[waiting] = by_time[place]
                waiting += 1
        next_one = begin
        while filled < end:
            if waiting > 0:
                waiting -= 1
                node = ready[waiting]
            else:  # a cycle: it is cut before the first of its nodes
                while done[by_time[next_one]]:
                    next_one += 1
                node = by_time[next_one]
            if done[node]:
                continue
            done[node] = True
            order[filled] = node
            filled += 1
            for place in range(first[node], first[node + 1]):
                goal = target[by_source[place]]
                if times[goal] == times[node] and not done[goal]:
                    reached_by[goal] -= 1
                    if reached_by[goal] == 0:
                        ready[waiting] = goal
                        waiting += 1
        begin = end
    return order


@kernel()
def _lengths(first: Column, by_source: Column, target: Column, weight: Column, order: Column) -> tuple[Column, Column]:
    """Return the length of the longest path to each node, and its last edge; -1 for none."""
    length = np.zeros(order.size, np.int64)
    edge = np.full(order.size, -1, np.int64)
    done = np.zeros(order.size, np.bool_)
    for node_place in range(order.size):
        node = order[node_place]
        done[node] = True
        for place in range(first[node], first[node + 1]):
            index = by_source[place]
            goal = target[index]
            reached = length[node] + weight[index]
            if not done[goal] and (edge[goal] < 0 or reached > length[goal]):
                length[goal] = reached
                edge[goal] = index
    return length, edge


@kernel()
def _followed_back(source: Column, edge: Column, node: int) -> Column:
    """Return the edges by which a node is reached, first edge first."""
    count = 0
    at = node
    while edge[at] >= 0:
        count += 1
        at = source[edge[at]]
    path = np.empty(count, np.int64)
    while edge[node] >= 0:
        count -= 1
        path[count] = edge[node]
        node = source[edge[node]]
    return path
