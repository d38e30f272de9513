"""Build slices from the events of a Chrome trace."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.traces.chrome_events import Events
from stepscope.profiler.traces.chrome_pairs import (
    ASYNCHRONOUS,
    CONTEXTS,
    OBJECTS,
    OperationPhases,
    pair_asynchronous,
    pair_nested,
)
from stepscope.profiler.traces.json_values import UNREADABLE_TIME
from stepscope.profiler.traces.lanes import ThreadKey
from stepscope.profiler.traces.losses import LossTally, moment
from stepscope.summary.distinct import numbered

INSTANTS: Final = "iIRcPV"
_PLACED: Final = f"XBE{INSTANTS}bneSTpFNOD()Cvstf"
"""Phases whose events have a time."""


@dataclass(frozen=True)
class FoundSlices:
    """Slices of a file: their columns, the event each begins with, and a second event that adds arguments."""

    start_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]
    thread: NDArray[np.int64]
    """Index into ``threads``."""
    event: NDArray[np.int64]
    other_event: NDArray[np.int64]
    """The end event, or the snapshot of an object; -1 for none."""
    threads: list[ThreadKey]


def letters(phases: str) -> NDArray[np.uint8]:
    """Return phases in the form of `Columns.phase`."""
    return np.frombuffer(phases.encode(), np.uint8)


def event_text(events: Events, event: int) -> str:
    """Describe an event, as the example of a loss."""
    columns = events.columns
    name = events.names[columns.name[event]] if columns.name[event] >= 0 else ""
    place = f"process {events.places[columns.pid[event]]}, thread {events.places[columns.tid[event]]}"
    time = int(columns.time_ns[event])
    when = "" if time == UNREADABLE_TIME else f" at {moment(time)}"
    return f"“{name}” of {place}{when} (event {event} of the file)"


def find_slices(events: Events, tally: LossTally) -> FoundSlices:
    """Return the slices of a file; events that do not form one are counted."""
    columns = events.columns
    readable = columns.time_ns != UNREADABLE_TIME
    thread = columns.pid.astype(np.int64) * len(events.places) + columns.tid
    complete = np.flatnonzero((columns.phase == ord("X")) & readable)
    instants = np.flatnonzero(np.isin(columns.phase, letters(INSTANTS)) & readable)
    pairs = pair_nested(columns, thread)
    sorts = [(phases, pair_asynchronous(columns, phases)) for phases in (ASYNCHRONOUS, OBJECTS, CONTEXTS)]
    for in_vain in (pairs.in_vain, *(operations.in_vain for _, operations in sorts)):
        for reason, found in in_vain.items():
            tally.add(reason, len(found), event_text(events, found[0]) if found else "")
    untimed = np.flatnonzero(np.isin(columns.phase, letters(_PLACED)) & ~readable)
    lasting = columns.duration_ns[complete]
    endless = complete[lasting == UNREADABLE_TIME]
    for reason, lost in (
        ("event without a readable time", untimed),
        ("complete event without a readable duration", endless),
    ):
        if len(lost):
            tally.add(reason, len(lost), event_text(events, int(lost[0])))
    lasting = np.where(lasting == UNREADABLE_TIME, 0, lasting)
    begins = [begin for _, operations in sorts for begin in operations.begin]
    ends = [end for _, operations in sorts for end in operations.end]
    described_by = [event for _, operations in sorts for event in operations.described_by]

    event = np.concatenate([complete, instants, pairs.begin, begins]).astype(np.int64)
    none = np.full(len(complete) + len(instants), -1, np.int64)
    end_event = np.concatenate([none, pairs.end, ends]).astype(np.int64)
    start = columns.time_ns[event]
    duration = np.zeros(len(event), np.int64)
    duration[: len(complete)] = lasting
    ended = end_event >= 0
    duration[ended] = columns.time_ns[end_event[ended]] - start[ended]
    # Thread states are written as instants with a duration.
    lasting_moments = (columns.phase[event] == ord("T")) & (columns.duration_ns[event] != UNREADABLE_TIME)
    duration[lasting_moments] = columns.duration_ns[event[lasting_moments]]
    last_ns = int(np.max(start + np.maximum(duration, 0), initial=0))
    unclosed = ~ended
    unclosed[: len(none)] = False
    duration[unclosed] = last_ns - start[unclosed]

    synchronous = len(complete) + len(instants) + len(pairs.begin)
    keys, _, numbers = numbered(thread[event[:synchronous]])
    threads = [
        ThreadKey(events.places[key // len(events.places)], events.places[key % len(events.places)])
        for key in keys.tolist()
    ]
    numbers_of = {key: number for number, key in enumerate(threads)}
    asynchronous = []
    for phases, operations in sorts:
        for root in operations.root:
            key = _operation_key(events, phases, root)
            asynchronous.append(numbers_of.setdefault(key, len(numbers_of)))
    return FoundSlices(
        start,
        duration,
        np.concatenate([numbers, asynchronous]).astype(np.int64),
        event,
        np.concatenate([none, pairs.end, described_by]).astype(np.int64),
        list(numbers_of),
    )


def _operation_key(events: Events, phases: OperationPhases, root: int) -> ThreadKey:
    columns = events.columns
    pid = events.places[columns.pid[root]]
    category = events.categories[columns.category[root]] if columns.category[root] >= 0 else ""
    if phases.lane:
        lane = f"{category} {phases.lane}".strip()
        return ThreadKey(pid, lane, lane)
    name = events.names[columns.name[root]] if columns.name[root] >= 0 else ""
    return ThreadKey(pid, category or pid, name or category or "asynchronous operations")
