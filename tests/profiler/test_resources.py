import gc
import os
import threading
import time
from pathlib import Path

import pytest

from stepscope import profiler
from stepscope.profiler.collectors.base import CounterSeries, RecordingClock
from stepscope.profiler.collectors.resources import OPEN_FILES, PROCESS_CPU, RSS, THREADS, ResourceCollector
from stepscope.profiler.traces import load_trace


def by_name(counters: list[CounterSeries]) -> dict[tuple[str, str], CounterSeries]:
    return {(series.name, series.series): series for series in counters}


def test_the_shortest_recording_has_two_samples_of_everything() -> None:
    collector = ResourceCollector(interval=3600)
    began = time.time_ns()
    collector.start(RecordingClock(time))
    collected = collector.stop()
    found = by_name(list(collected.counters))
    assert set(found) == {
        ("memory (bytes)", "RSS"),
        ("shared memory (bytes)", "shared"),
        ("CPU (%)", "process"),
        ("machine CPU (%)", "machine"),
        ("threads", "threads"),
        ("open files", "open files"),
        ("storage (bytes/s)", "read"),
        ("storage (bytes/s)", "written"),
    }
    assert {len(series.times_ns) for series in found.values()} == {2}
    for series in found.values():
        assert began - 1_000_000 <= series.times_ns[0] <= series.times_ns[1] <= time.time_ns() + 1_000_000
    assert collected.notes == ()


def test_the_counters_follow_what_the_process_takes(tmp_path: Path) -> None:
    collector = ResourceCollector(interval=3600)
    # Otherwise leftovers of earlier tests would be freed in between.
    gc.collect()
    ended = threading.Event()
    threads = [threading.Thread(target=ended.wait) for _ in range(20)]
    collector.start(RecordingClock(time))
    held = bytearray(os.urandom(1 << 20) * 64)
    for thread in threads:
        thread.start()
    files = [(tmp_path / str(number)).open("w") for number in range(5)]
    # Only one thread works until here: one processor.
    worked = time.process_time_ns() + 200_000_000
    while time.process_time_ns() < worked:
        pass
    found = by_name(list(collector.stop().counters))
    for file in files:
        file.close()
    ended.set()
    for thread in threads:
        thread.join()
    memory = found[RSS.name, RSS.series].values
    assert len(held) // 2 <= memory[1] - memory[0]
    # Threads of earlier tests and of the test runner may begin or end in between.
    assert 15 <= found[THREADS.name, THREADS.series].values[1] - found[THREADS.name, THREADS.series].values[0] <= 25
    assert (
        found[OPEN_FILES.name, OPEN_FILES.series].values[1] - found[OPEN_FILES.name, OPEN_FILES.series].values[0] == 5
    )
    cpu = found[PROCESS_CPU.name, PROCESS_CPU.series]
    seconds = cpu.values[0] / 100 * (cpu.times_ns[1] - cpu.times_ns[0]) / 1e9
    assert 0.2 <= seconds <= 60


def test_a_recording_leaves_no_thread_and_can_be_followed_by_another() -> None:
    threads = set(threading.enumerate())
    collector = ResourceCollector(interval=0.001)
    lengths = []
    for _ in range(2):
        collector.start(RecordingClock(time))
        lengths.append(len(collector.stop().counters))
    assert lengths == [8, 8]
    assert set(threading.enumerate()) <= threads


def test_points_beyond_the_limit_are_counted() -> None:
    collector = ResourceCollector(interval=3600, max_points=1)
    collector.start(RecordingClock(time))
    collected = collector.stop()
    assert [(series.name, len(series.times_ns)) for series in collected.counters] == [("memory (bytes)", 1)]
    assert collected.notes == ("11 points of counters were dropped beyond the limit of 1",)


def test_wrong_options_are_refused() -> None:
    with pytest.raises(ValueError, match="interval must be seconds"):
        ResourceCollector(interval=0)


def test_the_counters_are_in_the_trace(tmp_path: Path) -> None:
    with profiler.Profile(tmp_path, collectors=["resources"]) as profile:
        pass
    assert profile.recording is not None
    trace = load_trace(str(profile.recording.trace_path))
    assert {(counter.name, counter.series) for counter in trace.counters} >= {
        ("memory (bytes)", "RSS"),
        ("CPU (%)", "process"),
        ("storage (bytes/s)", "written"),
    }
