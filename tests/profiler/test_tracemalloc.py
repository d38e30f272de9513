import json
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepscope import profiler
from stepscope.profiler.collectors.base import RecordingClock
from stepscope.profiler.collectors.tracemalloc import TracemallocCollector
from stepscope.profiler.traces import load_trace


@pytest.fixture(autouse=True)
def not_tracing() -> Iterator[None]:
    assert not tracemalloc.is_tracing()
    yield
    tracemalloc.stop()


def allocate() -> bytearray:
    return bytearray(10_000_000)  # the line that holds the most memory


LINE = allocate.__code__.co_firstlineno + 1


def test_what_is_held_at_the_end_and_where() -> None:
    collector = TracemallocCollector(interval=3600, top=1)
    collector.start(RecordingClock(time))
    assert tracemalloc.is_tracing()
    bytearray(20_000_000)
    held = allocate()
    collected = collector.stop()
    assert not tracemalloc.is_tracing()
    assert collected.metadata == {
        "tracemalloc": [{"file": __file__, "line": LINE, "bytes": sys.getsizeof(held), "count": 2}]
    }
    traced, peak = collected.counters
    assert (traced.name, traced.series) == ("Python memory (bytes)", "traced")
    assert (peak.name, peak.series) == ("Python memory peak (bytes)", "peak")
    assert 10_000_000 <= traced.values[1] - traced.values[0] < 10_100_000
    assert 20_000_000 <= peak.values[1] < 20_100_000
    assert collected.notes == ()


def test_callers_are_told_apart_if_asked_for() -> None:
    collector = TracemallocCollector(interval=3600, top=1, frames=2)
    collector.start(RecordingClock(time))
    held = allocate()
    (place,) = collector.stop().metadata["tracemalloc"]
    assert place["line"] == LINE
    assert len(held) <= place["bytes"]
    (caller,) = place["callers"]
    assert caller["file"] == __file__
    json.dumps(place)


def test_tracing_that_was_on_stays_on() -> None:
    tracemalloc.start()
    collector = TracemallocCollector(interval=3600)
    collector.start(RecordingClock(time))
    collector.stop()
    assert tracemalloc.is_tracing()


def test_tracing_that_the_program_stops_is_a_note() -> None:
    collector = TracemallocCollector(interval=3600)
    collector.start(RecordingClock(time))
    tracemalloc.stop()
    collected = collector.stop()
    assert collected.metadata == {}
    assert collected.notes == ("which lines hold memory is not known: tracemalloc was stopped while it was recorded",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interval": 0}, "interval must be seconds"),
        ({"top": -1}, "top must be a number of lines"),
        ({"frames": 0}, "frames must be a number of calls"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TracemallocCollector(**options)


def test_the_counters_and_the_lines_are_in_the_trace(tmp_path: Path) -> None:
    with profiler.Profile(tmp_path, collectors=["tracemalloc"]) as profile:
        held = allocate()
    assert profile.recording is not None
    trace = load_trace(str(profile.recording.trace_path))
    assert [counter.name for counter in trace.counters] == ["Python memory (bytes)", "Python memory peak (bytes)"]
    assert trace.metadata["tracemalloc"][0]["line"] == LINE
    assert len(held) <= trace.metadata["tracemalloc"][0]["bytes"]
