"""An index built in one pass over all observations, so that later queries read only what they need."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.debugger.model import Observations
from stepscope.summary.distinct import distinct_values

CHUNK: Final = 1 << 14
"""Number of observations read at a time."""

Read = Callable[[int, int], Observations]
"""Returns the observations from one number up to another, exclusively."""


@dataclass(frozen=True)
class Index:
    """Steps, chunks and tensors of a recording, without figures."""

    observations: int
    steps: NDArray[np.int64]
    """The distinct observed steps, ascending: the columns of the map."""
    chunk_first: NDArray[np.int64]
    chunk_last: NDArray[np.int64]
    """With ``chunk_first``, the smallest and the largest step of each chunk of `CHUNK` observations."""
    counts: NDArray[np.int64]
    """Number of observations of each tensor."""
    bad: NDArray[np.int64]
    """Number of these that had an element that is not finite."""
    first_bad: NDArray[np.int64]
    """The first such observation of each tensor; -1 for none."""

    def chunks_of(self, first_step: int, last_step: int) -> NDArray[np.int64]:
        """Return the numbers of the chunks that contain any of these steps."""
        return np.flatnonzero((self.chunk_last >= first_step) & (self.chunk_first <= last_step))


def index_of(read: Read, observations: int, tensors: int, known: Index | None = None) -> Index:
    """Return the index of a recording; observations in an earlier index are not read again.

    Args:
        read: returns observations.
        observations: number of observations.
        tensors: number of tensors.
        known: the index of the same recording when it was shorter.
    """
    if known is None or known.observations > observations or len(known.counts) > tensors:
        nothing = np.zeros(0, np.int64)
        known = Index(0, nothing, nothing, nothing, nothing, nothing, nothing)
    whole = known.observations // CHUNK
    first, last = list(known.chunk_first[:whole]), list(known.chunk_last[:whole])
    counts, bad = _longer(known.counts, tensors, 0), _longer(known.bad, tensors, 0)
    first_bad = _longer(known.first_bad, tensors, -1)
    steps = [known.steps]
    for begin in range(whole * CHUNK, observations, CHUNK):
        check_cancelled()
        found = read(begin, min(begin + CHUNK, observations))
        first.append(found.steps.min())
        last.append(found.steps.max())
        # If part of a chunk was already counted, only the rest is added.
        new = slice(max(known.observations - begin, 0), None)
        steps.append(distinct_values(found.steps[new]))
        counts += np.bincount(found.tensors[new], minlength=tensors)
        places = np.flatnonzero(found.bad[new]) + (new.start or 0)
        bad += np.bincount(found.tensors[places], minlength=tensors)
        # Backward, as the value written last stays.
        places = places[::-1]
        fresh = places[first_bad[found.tensors[places]] < 0]
        first_bad[found.tensors[fresh]] = begin + fresh
    return Index(
        observations,
        distinct_values(np.concatenate(steps)),
        np.array(first, np.int64),
        np.array(last, np.int64),
        counts,
        bad,
        first_bad,
    )


def _longer(array: NDArray[np.int64], length: int, filled: int) -> NDArray[np.int64]:
    longer = np.full(length, filled, np.int64)
    longer[: len(array)] = array
    return longer
