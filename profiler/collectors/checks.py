"""Checks of what collectors of others return: whatever passes can be written with the rest of a recording."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

import msgspec

from stepscope.profiler.collectors.base import Collected, Lane
from stepscope.record_fields import check_fields

_OWN_ENTRIES: Final = frozenset({"traceEvents", "baseTimeNanoseconds", "displayTimeUnit", "otherData"})
"""Top-level entries that every trace has."""
_OWN_CATEGORY: Final = "step"
_FARTHEST_NS: Final = 10 * 365 * 86_400 * 10**9
"""Maximum time between a moment and the end of the recording, and the maximum duration."""
_MOST_THREADS: Final = 1 << 32
_RECORDS_AT_ONCE: Final = 10_000
# Of the types that fields have, only mappings that are no dictionaries are unknown to it.
_JSON: Final = msgspec.json.Encoder(enc_hook=dict)


def check_collected(collected: object, now_ns: int) -> Collected:
    """Return what a collector returned if it can be part of a recording.

    Args:
        collected: what it returned.
        now_ns: the wall time, nanoseconds since the epoch.

    Raises:
        TypeError: it is no `Collected`, or a part of it has another type than it should.
        ValueError: a part of it cannot be written, or has another meaning in recordings.
    """
    if not isinstance(collected, Collected):
        raise TypeError(f"it returned {type(collected).__name__}, expected Collected")
    check_fields(collected, Collected)
    for name, value in collected.metadata.items():
        if name in _OWN_ENTRIES:
            raise ValueError(f"metadata has {name!r}, which every trace has: choose another name")
        try:
            msgspec.json.encode({name: value})
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise TypeError(f"metadata[{name!r}] cannot be JSON: {error}") from error
    for record in collected.records:
        if record.category == _OWN_CATEGORY:
            raise ValueError(f"{record.name!r} has the category {_OWN_CATEGORY!r}, which is that of the training steps")
        if abs(record.duration_ns) > _FARTHEST_NS:
            raise ValueError(f"{record.name!r} has a duration of {record.duration_ns:,} ns")
    for series in collected.counters:
        if len(series.times_ns) != len(series.values):
            raise ValueError(f"{series.name!r} has {len(series.times_ns):,} times and {len(series.values):,} values")
    for what, time_ns in _moments(collected):
        if abs(time_ns - now_ns) > _FARTHEST_NS:
            raise ValueError(
                f"the time of {what!r} is {time_ns:,}, expected wall time in nanoseconds: "
                "clock.now() + clock.wall_offset_ns"
            )
    for lane in set(_lanes(collected)):
        if not 0 <= lane.thread_id < _MOST_THREADS:
            raise ValueError(f"thread_id of the lane {lane.thread_name!r} is {lane.thread_id}, expected 32 bits")
    # Texts may have halves of characters.
    _JSON.encode((collected.counters, collected.arrows))
    records = iter(collected.records)
    while some := list(islice(records, _RECORDS_AT_ONCE)):
        _JSON.encode(some)
    return collected


def _moments(collected: Collected) -> Iterator[tuple[str, int]]:
    """Yield all times, each with the name of what happened then."""
    for record in collected.records:
        yield record.name, record.start_ns
    for series in collected.counters:
        yield from ((series.name, time_ns) for time_ns in series.times_ns)
    for arrow in collected.arrows:
        yield from ((arrow.category, time_ns) for time_ns in (arrow.source_ns, arrow.target_ns))


def _lanes(collected: Collected) -> Iterator[Lane]:
    yield from (record.lane for record in collected.records)
    yield from (lane for arrow in collected.arrows for lane in (arrow.source, arrow.target))
