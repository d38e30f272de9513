"""The last item before a time, or the first after it, within the same group: many queries in one sort."""

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.int64]


def latest(group: Column, time: Column, asked_group: Column, asked_time: Column) -> Column:
    """Return, for each query, the item of its group with the latest time that is not after the query's.

    Items are ``group`` and ``time``, int64 ``[n]``, queries int64 ``[k]``. Of items with equal times, the last counts;
    -1 if there is none.
    """
    items = len(time)
    is_question = np.repeat([False, True], [items, len(asked_time)])
    every_group = np.concatenate([group, asked_group])
    order = np.lexsort((is_question, np.concatenate([time, asked_time]), every_group))
    newest = np.maximum.accumulate(np.where(is_question[order], -1, np.arange(len(order))))
    requested = is_question[order]
    place = newest[requested]
    found = np.where(place >= 0, order[np.maximum(place, 0)], -1)
    question = order[requested] - items
    same = (found >= 0) & (every_group[np.maximum(found, 0)] == asked_group[question])
    result = np.full(len(asked_time), -1, np.int64)
    result[question[same]] = found[same]
    return result


def earliest(group: Column, time: Column, asked_group: Column, asked_time: Column) -> Column:
    """Return, for each query, the item of its group with the earliest time that is not before the query's.

    Like `latest` in reverse order: of items with equal times, the first counts.
    """
    found = latest(group[::-1], -time[::-1], asked_group, -asked_time)
    return np.where(found >= 0, len(time) - 1 - found, -1)
