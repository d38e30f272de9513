"""What collectors of other distributions return is checked before it can spoil a recording."""

import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import pytest

from stepscope.profiler.chrome_trace import chrome_trace_from_records
from stepscope.profiler.collectors.base import HOST_DEVICE, Arrow, Collected, CounterSeries, Lane, Record
from stepscope.profiler.collectors.checks import check_collected
from stepscope.profiler.traces import read_trace

NOW = 1_700_000_000 * 10**9
LANE = Lane(HOST_DEVICE, 7, "pump")
ELSEWHERE = Lane("/device:GPU:0/stream:1", 1, "stream 1")


def record(**changed: Any) -> Collected:
    return Collected([Record("turn", "annotation", LANE, NOW, 5)._replace(**changed)])


def counter(times: Sequence[int], values: Sequence[float] = (1.0,)) -> Collected:
    return Collected(counters=[CounterSeries(HOST_DEVICE, "water (liters)", "in", times, values)])


def test_what_can_be_written_is_returned_as_it_is() -> None:
    collected = Collected(
        [Record("turn", "annotation", LANE, NOW, -5, 1 << 70, MappingProxyType({"a": [1, float("nan"), None]}))],
        [CounterSeries(HOST_DEVICE, "water (liters)", "in", [NOW], [float("inf")])],
        ("a note",),
        {"pumps": {"north": [1, 2]}},
        [Arrow("flow", LANE, NOW, ELSEWHERE, NOW + 1)],
    )
    assert check_collected(collected, NOW) is collected


@pytest.mark.parametrize(
    ("collected", "reason"),
    [
        (None, "it returned NoneType, expected Collected"),
        (record(name=3), "records[0].name is 3, expected str"),
        (record(category="step"), "'turn' has the category 'step', which is that of the training steps"),
        (record(duration_ns=1 << 60), f"'turn' has a duration of {1 << 60:,} ns"),
        (
            record(start_ns=12_345),
            "the time of 'turn' is 12,345, expected wall time in nanoseconds: clock.now() + clock.wall_offset_ns",
        ),
        (record(lane=Lane(HOST_DEVICE, -1, "pump")), "thread_id of the lane 'pump' is -1, expected 32 bits"),
        (record(name="\ud800"), "surrogates not allowed"),
        (record(args={"a": "\ud800"}), "surrogates not allowed"),
        (record(args={"a": object()}), "records[0].args['a'] is <object"),
        (counter([NOW], ()), "'water (liters)' has 1 times and 0 values"),
        (counter([5]), "the time of 'water (liters)' is 5, expected wall time"),
        (
            Collected(arrows=[Arrow("flow", LANE, NOW, Lane(HOST_DEVICE, 1 << 32, "pipe"), NOW)]),
            "thread_id of the lane 'pipe' is 4294967296",
        ),
        (Collected(arrows=[Arrow("flow", LANE, NOW, LANE, 1 << 70)]), "the time of 'flow' is"),
        (Collected(metadata={"traceEvents": []}), "metadata has 'traceEvents', which every trace has"),
        (Collected(metadata={"pumps": object()}), "metadata['pumps'] cannot be JSON"),
        (Collected(metadata={"pumps": "\ud800"}), "metadata['pumps'] cannot be JSON"),
    ],
)
def test_what_would_spoil_a_recording_is_refused(collected: object, reason: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(reason)):
        check_collected(collected, NOW)


def test_an_arrow_may_lead_where_nothing_was_recorded() -> None:
    arrow = Arrow("flow", LANE, NOW, ELSEWHERE, NOW + 1)
    pieces = chrome_trace_from_records((), (), [arrow], base_ns=NOW, host_name="host", host_pid=1)
    trace = read_trace(b"".join(pieces), name="written")
    assert dict(trace.losses.counts) == {"flow event on no slice": 1}
