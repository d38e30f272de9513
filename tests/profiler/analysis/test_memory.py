"""Memory over time, and what was alive at the peak."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.profiler.analysis.memory import (
    NEVER,
    alive_at_peak,
    allocations,
    memory_by_operator,
    memory_peaks,
    memory_timeline,
)
from stepscope.profiler.trace import Trace
from stepscope.profiler.traces import trace_of_step_stats
from stepscope.summary.proto.step_stats_pb2 import StepStats
from tests.profiler.analysis.kineto import Event, operator, trace


def change(at: float, size: int, address: int | None, **more: Any) -> Event:
    arguments = {"Bytes": size, "Device Type": 1, "Device Id": 0, **more}
    if address is not None:
        arguments["Addr"] = address
    return {"ph": "i", "s": "t", "name": "[memory]", "pid": 100, "tid": 1, "ts": at, "args": arguments}


def allocating(*, addresses: bool) -> Trace:
    a, b = (1, 2) if addresses else (None, None)
    return trace(
        operator("make", 0, 10),
        change(1, 100, a),
        change(2, 50, b),
        operator("drop", 20, 10),
        change(21, -100, a),
        operator("last", 40, 10),
        change(41, 20, a),
    )


def test_allocations_are_paired_by_address() -> None:
    found = allocating(addresses=True)
    assert memory_timeline(found).rows() == [
        ("GPU 0", 1_000, 100, None),
        ("GPU 0", 2_000, 150, None),
        ("GPU 0", 21_000, 50, None),
        ("GPU 0", 41_000, 70, None),
    ]
    assert memory_peaks(found).rows() == [("GPU 0", 2_000, 150, 100, 70)]
    assert alive_at_peak(found).drop("slice").rows() == [
        ("GPU 0", "make", 100, 1_000, 21_000),
        ("GPU 0", "make", 50, 2_000, None),
    ]
    assert memory_by_operator(found).rows() == [
        ("GPU 0", "make", 2, 150, 100, 50),
        ("GPU 0", "last", 1, 20, 20, 20),
    ]


def test_without_addresses_a_free_is_of_the_latest_of_its_size() -> None:
    assert alive_at_peak(allocating(addresses=False)).drop("slice").rows() == [
        ("GPU 0", "make", 100, 1_000, 21_000),
        ("GPU 0", "make", 50, 2_000, None),
    ]


def test_the_tracers_own_totals_count() -> None:
    found = trace(change(1, 100, 1, **{"Total Allocated": 5100, "Total Reserved": 8192}))
    assert memory_timeline(found).rows() == [("GPU 0", 1_000, 5100, 8192)]


def test_a_free_of_something_older_lowers_the_level_and_is_no_allocation() -> None:
    found = trace(change(1, -100, 7), change(2, 30, 8))
    assert memory_timeline(found)["bytes"].to_list() == [-100, -70]
    assert memory_by_operator(found)["bytes"].to_list() == [30]


def test_output_tensors_live_until_their_last_use() -> None:
    stats = StepStats()
    device = stats.dev_stats.add(device="/cpu:0")
    for name, label, start in (("a", "a = Const()", 0), ("b", "b = Neg(a)", 10), ("c", "c = Neg(a)", 30)):
        node = device.node_stats.add(
            node_name=name, timeline_label=label, all_start_micros=1000 + start, all_end_rel_micros=5
        )
        if name != "c":
            node.output.add().tensor_description.allocation_description.requested_bytes = 64
    found = trace_of_step_stats(stats)
    assert memory_timeline(found).rows() == [
        ("/cpu:0", 1_000_000, 64, None),
        ("/cpu:0", 1_010_000, 128, None),
        ("/cpu:0", 1_015_000, 64, None),
        ("/cpu:0", 1_035_000, 0, None),
    ]


def test_counters_of_memory_are_taken_where_there_is_nothing_else() -> None:
    found = trace(
        operator("a", 0, 1),
        {"ph": "C", "name": "Memory", "pid": 1, "ts": 0, "args": {"cpu": 5}},
        {"ph": "C", "name": "Memory", "pid": 1, "ts": 2, "args": {"cpu": 9, "available": 500}},
    )
    assert memory_peaks(found).select("time_ns", "peak_bytes").rows() == [(2_000, 9)]


def test_counters_of_other_units_are_no_memory() -> None:
    def counter(name: str, series: str) -> Event:
        return {"ph": "C", "name": name, "pid": 1, "ts": 0, "args": {series: 9}}

    found = trace(
        operator("a", 0, 1),
        *(counter(f"memory {unit}", "") for unit in ("", "(bytes)", "(GPU 0)", "(bytes/s)", "(MHz)", "(%)", "(MB)")),
        counter("storage (bytes/s)", "read"),
    )
    assert memory_peaks(found)["device"].to_list() == [
        "process 1 memory",
        "process 1 memory (GPU 0)",
        "process 1 memory (bytes)",
    ]


def test_counters_are_numbers_from_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Making a list with the device's name for each value once kept everybody waiting."""
    made_of: list[Mapping[str, Any]] = []
    frame = pl.DataFrame

    def noted(data: Mapping[str, Any], **more: Any) -> pl.DataFrame:
        made_of.append(data)
        return frame(data, **more)

    monkeypatch.setattr(pl, "DataFrame", noted)
    found = memory_timeline(trace({"ph": "C", "name": "Memory", "pid": 1, "ts": 0, "args": {"cpu": 5}}))
    assert found.rows() == [("process 1 Memory cpu", 0, 5, None)]
    assert {name: type(column) for name, column in made_of[-1].items()} == {"time_ns": np.ndarray, "bytes": np.ndarray}


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.booleans()), max_size=20), st.booleans())
def test_a_free_is_of_the_latest_allocation_at_its_place(changes: list[tuple[int, int, bool]], addresses: bool) -> None:
    """For any order of events, the result matches that of one stack per place."""
    events = [
        change(number, size if made else -size, place if addresses else None, **{"Device Id": 0})
        for number, (place, size, made) in enumerate(changes)
    ]
    waiting: dict[int, list[int]] = {}
    end: dict[int, int] = {}
    for number, (place, size, made) in enumerate(changes):
        stack = waiting.setdefault(place if addresses else size, [])
        if made:
            stack.append(number)
            end[number] = NEVER
        elif stack:
            end[stack.pop()] = 1_000 * number
    found = allocations(trace(operator("a", 0, 30), *events))
    assert found.start.tolist() == [1_000 * number for number in end]
    assert found.end.tolist() == list(end.values())
