"""Which device activities waited for another stream: as recorded, or inferred from calls before their launch."""

import re
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.analysis.facts import Device, Facts
from stepscope.profiler.analysis.latest import earliest, latest
from stepscope.summary.distinct import distinct_rows

Column = NDArray[np.int64]
_WAIT_FOR_EVENT: Final = re.compile(r"^(cuda|cu|hip)\w*StreamWaitEvent", re.I)


def released_by(facts: Facts, every: Device, previous: Column, ready: Column, inferred: bool) -> Column:
    """Return the activity of another stream that each activity had to wait for, as an index among them, or -1.

    Int64 ``[n]``.

    Args:
        facts: the trace.
        every: device activities, in order of device, stream and start.
        previous: index of each one's predecessor on its stream, or -1.
        ready: when each could have begun, considering its launch and its own stream.
        inferred: also use traces that record only that a stream was told to wait: then an activity has waited if that
            was the last thing that its thread did before launching it, and for the one that ended last on the device,
            if most of the delay passed before that one's end.
    """
    released = _recorded(facts, every)
    if inferred:
        released = np.where(released >= 0, released, _inferred(facts, every, ready))
    known = released >= 0
    known[known] = every.end[released[known]] > ready[known]
    return np.where(known & (released != previous), released, -1)


def named(facts: Facts, pattern: re.Pattern[str]) -> NDArray[np.bool_]:
    """Return which names of the trace match a pattern."""
    return np.array([pattern.search(name) is not None for name in facts.trace.names] or [False], np.bool_)


def stream_numbers(every: Device, device: Column, stream: Column) -> tuple[Column, Column]:
    """Return numbers of the streams of activities, and of streams given by device and their number on that device."""
    pairs = distinct_rows(np.concatenate([every.device, device]), np.concatenate([every.stream, stream]))
    return pairs.group[: len(every.slice)], pairs.group[len(every.slice) :]


def _recorded(facts: Facts, every: Device) -> Column:
    """Return recorded waits: from the last activity of the awaited stream to the next one after the wait."""
    waits = facts.every_device_activity
    waits = waits.where(waits.of("synchronization"))
    streams = [arguments.get("wait_on_stream") for arguments in facts.decoded(waits.slice)]
    other = np.array([each if isinstance(each, int) and 0 <= each < 1 << 62 else -1 for each in streams], np.int64)
    numbers, waiting = stream_numbers(every, waits.device, waits.stream)
    behind = earliest(numbers, every.start, waiting, waits.start)
    chosen = (other >= 0) & (behind >= 0)
    behind = behind[chosen]
    result = np.full(len(every.slice), -1, np.int64)
    numbers, awaited = stream_numbers(every, waits.device[chosen], other[chosen])
    result[behind] = latest(numbers, every.end, awaited, every.start[behind])
    return result


def _inferred(facts: Facts, every: Device, ready: Column) -> Column:
    """Return the last activity of the device that ended before each one whose stream had just been told to wait."""
    trace = facts.trace
    result = np.full(len(every.slice), -1, np.int64)
    calls = facts.slices("synchronization", on_device=False)
    calls = calls[named(facts, _WAIT_FOR_EVENT)[trace.name_id[calls]]]
    launched = np.flatnonzero(every.launch >= 0)
    launch = every.launch[launched]
    lane, start = trace.lane.astype(np.int64), trace.start_ns
    reported = latest(lane[calls], start[calls], lane[launch], start[launch])
    before = latest(lane[launch], start[launch], lane[launch], start[launch] - 1)
    since = np.where(before >= 0, start[launch[before]], np.iinfo(np.int64).min)
    waits = np.flatnonzero(reported >= 0)
    waits = launched[waits[start[calls[reported[waits]]] > since[waits]]]
    ended = latest(every.device, every.end, every.device[waits], every.start[waits])
    known = ended >= 0
    waits, ended = waits[known], ended[known]
    late = 2 * (every.start[waits] - every.end[ended]) <= every.start[waits] - ready[waits]
    result[waits[late]] = ended[late]
    return result
