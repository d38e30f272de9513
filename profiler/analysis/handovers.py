"""Which threads of a process wait for one another: one continues because another has ended.

Traces do not record this. It is assumed for a thread that works only while another one is idle, such as autograd's,
which works while the thread that called ``backward`` waits; and for threads that are targets of arrows from forward to
backward operators.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.analysis.classify import KINDS
from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.analysis.latest import latest
from stepscope.profiler.analysis.stretches import Stretches, stretches_of
from stepscope.summary.distinct import distinct_rows

Column = NDArray[np.int64]
MOST_AT_ONCE: Final = 0.1
"""Share of its busy time in which a thread may run beside the one that waits for it, which may have work of its own."""
_WORK: Final = [KINDS.index(kind) for kind in ("operator", "communication", "data_loading")]


class Handovers(NamedTuple):
    """Points where threads continue because others have ended, as parallel columns."""

    source: Column
    """The slice with whose end the other thread became idle."""
    target: Column
    """The first slice on the thread that continues."""


def handovers(facts: Facts, host: Column) -> Handovers:
    """Return where threads take over from one another, judged by when each was busy with the ``host`` slices."""
    stretches = stretches_of(facts, host)
    works = np.zeros(len(facts.trace.lanes), np.bool_)
    works[facts.trace.lane[host[np.isin(facts.kinds[host], _WORK)]]] = True
    stretches = stretches.where(works[stretches.lane])
    partner = _partners(facts, stretches)
    served = np.where(partner[stretches.lane] >= 0, partner[stretches.lane], -1)
    # A thread continues after those that work for it, and they continue after it.
    helpers = np.flatnonzero(served >= 0)
    after_helper = _resumed(stretches, served, stretches.lane)
    after_waiting = _resumed(stretches, stretches.lane, served)
    before = np.concatenate([after_helper, after_waiting[helpers]])
    later = np.concatenate([np.arange(len(stretches.lane)), helpers])
    found = before >= 0
    return Handovers(stretches.last[before[found]], stretches.first[later[found]])


def _resumed(stretches: Stretches, group: Column, waits_for: Column) -> Column:
    """Return, for each stretch, the last one of the group it waits for to end while its thread was idle; -1 for none.

    Also -1 if the thread of the other stretch was busy again by then: it continued without this one.
    """
    lane = stretches.lane
    found = latest(group, stretches.end, waits_for, stretches.start)
    same = np.concatenate([[False], lane[1:] == lane[:-1]])[: len(lane)]
    idle_since = np.where(same, np.roll(stretches.end, 1), np.iinfo(np.int64).min)
    place = np.maximum(found, 0)
    follower = np.minimum(place + 1, len(lane) - 1)
    busy_again = (follower > place) & (lane[follower] == lane[place]) & (stretches.start[follower] < stretches.start)
    known = (found >= 0) & (stretches.end[place] >= idle_since) & (lane[place] != lane) & ~busy_again
    return np.where(known, found, -1)


def _partners(facts: Facts, stretches: Stretches) -> Column:
    """Return, for each lane, the lane whose thread waits for its own, or -1."""
    lanes = facts.trace.lanes
    result = np.full(len(lanes), -1, np.int64)
    if not len(stretches.lane):
        return result
    worker, waiting = _alternating(facts, stretches)
    result[worker] = waiting
    worker, waiting = _linked(facts, stretches)
    result[worker] = waiting
    return result


def _alternating(facts: Facts, stretches: Stretches) -> tuple[Column, Column]:
    """Return lanes that work while another is idle, and that lane: the one in whose pauses little else is active."""
    lane = stretches.lane
    processes: dict[object, int] = {}
    process = np.array([processes.setdefault(each.pid, len(processes)) for each in facts.trace.lanes])[lane]
    length = stretches.end - stretches.start
    before = np.flatnonzero(np.concatenate([lane[1:] == lane[:-1], [False]]))
    pause, until = stretches.end[before], stretches.start[before + 1]
    ended = latest(process, stretches.end, process[before], until)
    fits = (stretches.end[ended] > pause) & (lane[ended] != lane[before])
    before, ended, pause, until = before[fits], ended[fits], pause[fits], until[fits]
    own = _worked(lane, stretches.end, length, lane[ended], pause, until)
    total = _worked(process, stretches.end, length, process[ended], pause, until)
    # The other thread's share of the work during the pause, weighted by the amount of that thread's work.
    weight = own.astype(np.float64) ** 2 / np.maximum(total, 1)
    pairs = distinct_rows(lane[ended], lane[before])
    workers, waits = lane[ended][pairs.first], lane[before][pairs.first]
    sums = np.bincount(pairs.group, weight, len(workers))
    order = np.lexsort((-sums, workers))
    best = order[np.unique(workers[order], return_index=True)[1]]
    worker, waiting = workers[best].astype(np.int64), waits[best].astype(np.int64)
    chosen = np.full(len(facts.trace.lanes), -1, np.int64)
    chosen[worker] = waiting
    mine = np.flatnonzero(chosen[lane] >= 0)
    both = stretches.busy(chosen[lane[mine]], stretches.start[mine], stretches.end[mine])
    at_once = np.bincount(lane[mine], both, len(chosen))
    busy = np.bincount(lane[mine], length[mine], len(chosen))
    alternate = at_once[worker] <= MOST_AT_ONCE * busy[worker]
    return worker[alternate], waiting[alternate]


def _worked(group: Column, end: Column, length: Column, requested: Column, after: Column, until: Column) -> Column:
    """Return the sum of the lengths of a group's stretches that end between two times."""
    order = np.lexsort((end, group))
    sums = np.concatenate([[0], np.cumsum(length[order])])

    def before(time: Column) -> Column:
        place = latest(group[order], end[order], requested, time)
        first = np.searchsorted(group[order], requested)
        return sums[np.where(place >= 0, place + 1, first)]

    return before(until) - before(after)


def _linked(facts: Facts, stretches: Stretches) -> tuple[Column, Column]:
    """Return lanes that are targets of arrows from forward to backward operators, and where most of these come from."""
    source, target = forward_backward(facts)
    forward, backward = facts.trace.lane[source], facts.trace.lane[target]
    known = np.isin(forward, stretches.lane) & np.isin(backward, stretches.lane)
    worker, waiting = backward[known].astype(np.int64), forward[known].astype(np.int64)
    pairs = distinct_rows(worker, waiting)
    workers, waits = worker[pairs.first], waiting[pairs.first]
    order = np.lexsort((-pairs.counts, workers))
    best = order[np.unique(workers[order], return_index=True)[1]]
    return workers[best], waits[best]


def forward_backward(facts: Facts) -> tuple[Column, Column]:
    """Return Kineto's arrows from forward operators to backward operators on another thread."""
    flows, trace = facts.trace.flows, facts.trace
    known = np.array([name.lower() == "fwdbwd" for name in trace.categories] or [False], np.bool_)
    chosen = known[flows.category_id] & (trace.lane[flows.source] != trace.lane[flows.target])
    return flows.source[chosen], flows.target[chosen]
