"""Every table over traces that hold little, nothing, or odd things."""

import json

import polars as pl
import pytest

from profiler.analysis.facts import Facts
from profiler.analysis.findings import findings
from profiler.analysis.metrics import DEFINITIONS, metrics, overview
from profiler.analysis.report import RANK_TABLES, TABLES, change, plain, table
from profiler.trace import Trace
from profiler.traces import read_trace, trace_of_step_stats
from summary.proto.step_stats_pb2 import StepStats
from tests.profiler.analysis.kineto import activity, event, launch, operator, step, trace
from tests.profiler.analysis.test_device import events

ODD = {
    "nothing": lambda: read_trace(b"[]", name="x"),
    "one slice": lambda: trace(operator("a", 1, 0)),
    "only a kernel": lambda: trace(activity("k", 5, 0, -1)),
    "a kernel before its launch": lambda: trace(step(1, 0, 10), launch(8, 1, 1), activity("k", 2, 3, 1)),
    "a step of no time": lambda: trace(step(1, 5, 0), operator("a", 5, 0), launch(5, 0, 1), activity("k", 5, 0, 1)),
    "arguments of wrong types": lambda: trace(
        operator("aten::mm", 0, 5, Input_Dims="x", External_id=[1], Call_stack=3),
        {**activity("k", 1, 2, 0), "args": {"stream": "seven", "correlation": 1e99, "device": None, "bytes": True}},
        activity("Memcpy HtoD", 3, 1, 5, category="gpu_memcpy", bytes=-3, more={"memory bandwidth (GB/s)": "fast"}),
        {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 1, "args": {"Bytes": 1e40}},
        deviceProperties="none",
        distributedInfo=7,
    ),
    "overlapping slices": lambda: trace(operator("a", 0, 10), operator("b", 5, 10), launch(7, 5, 1)),
    "an empty step of StepStats": lambda: trace_of_step_stats(StepStats()),
    "viztracer": lambda: trace(event("FEE", "main (a.py:1)", 0, 10), event("FEE", "f (a.py:2)", 1, 2)),
    "the small step": lambda: trace(*events()),
}


@pytest.fixture(params=ODD)
def odd(request: pytest.FixtureRequest) -> Trace:
    found: Trace = ODD[request.param]()
    return found


def test_every_table_can_be_made_and_written_as_json(odd: Trace) -> None:
    facts = Facts(odd)
    for name in TABLES:
        frame = table(facts, name)
        assert isinstance(frame, pl.DataFrame)
        assert json.loads(json.dumps(plain(frame), allow_nan=False)) == plain(frame)
    for _, make in RANK_TABLES.values():
        assert make({0: facts, 1: facts}).columns
    for name in ("changed_steps", "changed_operators", "changed_kernels"):
        assert set(change(facts, facts, name)["state"].to_list()) <= {"same"}


def test_columns_do_not_depend_on_the_trace(odd: Trace) -> None:
    full = Facts(trace(*events()))
    facts = Facts(odd)
    for name in TABLES:
        assert table(facts, name).schema == table(full, name).schema, name


def test_metrics_of_the_small_step() -> None:
    known = {name: metric.value for name, metric in metrics(trace(*events())).items()}
    assert set(known) == set(DEFINITIONS)
    assert {name: known[name] for name in ("steps", "step_time", "kernel", "dataloader", "kernels", "losses")} == {
        "steps": 1,
        "step_time": 100_000,
        "kernel": 37.0,
        "dataloader": 20.0,
        "kernels": 4,
        "losses": 0,
    }
    assert known["gpu_idle"] == pytest.approx(100 * 3 / 55)
    assert known["pageable_bytes"] == 1000
    assert known["memory_peak"] != known["memory_peak"]
    assert list(metrics(trace(*events()), ("gpu_idle",))) == ["gpu_idle"]


def test_the_overview_leaves_out_what_the_trace_does_not_tell() -> None:
    names = overview(trace(operator("a", 0, 10)))["name"].to_list()
    assert "cpu_exec" in names
    assert not {"gpu_idle", "occupancy", "memory_peak", "input"} & set(names)


def test_findings_of_the_small_step() -> None:
    found = {row["metric"]: row for row in findings(trace(*events())).to_dicts()}
    assert (found["dataloader"]["severity"], found["dataloader"]["value"], found["dataloader"]["limit"]) == (
        "problem",
        20.0,
        20.0,
    )
    assert "20.0% of the mean step" in found["dataloader"]["evidence"]
    assert found["gpu_utilisation"]["title"] == "The GPU is little used"
    assert findings(trace(operator("a", 0, 10))).is_empty()
