"""Every table for traces that contain little, nothing, or odd things."""

import json
from typing import Any

import polars as pl
import pytest

from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.analysis.findings import findings
from stepscope.profiler.analysis.metrics import DEFINITIONS, metrics, overview
from stepscope.profiler.analysis.report import analyses, change, plain, table
from stepscope.profiler.trace import Trace
from stepscope.profiler.traces import read_trace, trace_of_step_stats
from stepscope.summary.proto.step_stats_pb2 import StepStats
from tests.profiler.analysis.kineto import Event, activity, event, launch, operator, step, trace
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
    for name in analyses("trace"):
        frame = table(facts, name)
        assert isinstance(frame, pl.DataFrame)
        assert json.loads(json.dumps(plain(frame), allow_nan=False)) == plain(frame)
    for analysis in analyses("ranks").values():
        assert analysis.table({0: facts, 1: facts}).columns
    for name in ("changed_steps", "changed_operators", "changed_kernels"):
        assert set(change(facts, facts, name)["state"].to_list()) <= {"same"}


def test_figures_of_what_is_left_and_of_the_worst_device_say_so() -> None:
    assert [DEFINITIONS[name].meaning for name in ("kernel", "other", "gpu_idle", "memory_peak")] == [
        "share of the mean step in kernels",
        "share of the mean step that no category explains",
        "share of the time between a device's first and last activity in which it was idle; of several devices, "
        "the highest",
        "peak memory of a device, or of the host if there is no device",
    ]


def test_a_table_that_cannot_be_made_from_what_is_given() -> None:
    facts = Facts(trace(*events()))

    def said(name: str) -> str:
        with pytest.raises(KeyError) as caught:
            table(facts, name)
        return str(caught.value.args[0])

    expected = ", ".join(analyses("trace"))
    assert said("kernel") == f"'kernel' is not a table of one trace: expected one of {expected}"
    assert said("ranks") == (
        "'ranks' is not a table of one trace: stepscope analyze TRACE TRACE, which reads the ranks of a job, "
        "computes it"
    )
    with pytest.raises(KeyError, match=r"'steps' is not a table of changes: stepscope\.profiler\.analysis\.report\.t"):
        change(facts, facts, "steps")


def test_columns_do_not_depend_on_the_trace(odd: Trace) -> None:
    full = Facts(trace(*events()))
    facts = Facts(odd)
    for name in analyses("trace"):
        assert table(facts, name).schema == table(full, name).schema, name


def test_every_column_of_every_analysis_is_said_to_be_something() -> None:
    facts = Facts(trace(*events()))
    given: dict[str, tuple[Any, ...]] = {"trace": (facts,), "ranks": ({0: facts},), "changes": (facts, facts, "step")}
    for name, analysis in analyses().items():
        assert set(analysis.table(*given[analysis.of]).columns) == set(analysis.by_name), name
        assert len(analysis.columns) == len(analysis.by_name)
        assert analysis.about
        assert analysis.title
        assert all(column.about and not column.about.endswith(".") for column in analysis.columns), name


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


def test_a_machine_called_gpu_is_no_gpu() -> None:
    def memory(process: str, pid: int, used: int) -> tuple[Event, Event]:
        return (
            {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": process}},
            {"ph": "C", "name": "memory (bytes)", "pid": pid, "ts": 0, "args": {"used": used}},
        )

    found = trace(operator("a", 0, 1), *memory("GPU-1 (process 7)", 7, 900), *memory("/device:GPU:0", 8, 5))
    assert metrics(found, ("memory_peak",))["memory_peak"].value == 5


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
    assert found["gpu_utilization"]["title"] == "Low GPU utilization"
    assert findings(trace(operator("a", 0, 10))).is_empty()


def advice_of(found: Trace) -> dict[str, str]:
    return {row["metric"]: row["advice"] for row in findings(found).to_dicts()}


def matmul(*more: Event, **top: Any) -> Trace:
    """A step in which a matrix product runs without tensor cores."""
    return trace(
        step(1, 0, 100),
        operator("aten::mm", 0, 20),
        launch(1, 10, 1),
        activity("sgemm", 12, 5, 1, more={"est. achieved occupancy %": 5, "blocks per SM": 0.1}),
        *more,
        **top,
    )


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ({"name": "Tesla P100", "computeMajor": 6, "computeMinor": 0}, None),
        ({"name": "Tesla V100", "computeMajor": 7, "computeMinor": 0}, "Train in mixed precision (float16)."),
        ({"name": "T4", "computeMajor": 7, "computeMinor": 5}, "Train in mixed precision (float16)."),
        (
            {"name": "A100", "computeMajor": 8, "computeMinor": 0},
            "Train in mixed precision (bfloat16 or float16), or allow TF32.",
        ),
        ({"name": "AMD Instinct MI250X", "computeMajor": 9, "computeMinor": 0}, None),
        ({"name": "odd", "computeMajor": "8"}, None),
    ],
)
def test_advice_on_tensor_cores_is_what_the_device_can_do(device: dict[str, Any], expected: str | None) -> None:
    assert advice_of(matmul(deviceProperties=[device])).get("tensor_cores") == expected


def test_the_least_able_of_several_devices_decides() -> None:
    devices = [{"computeMajor": 8, "computeMinor": 0}, {"computeMajor": 7, "computeMinor": 0}]
    assert advice_of(matmul(deviceProperties=devices))["tensor_cores"] == "Train in mixed precision (float16)."


def test_models_are_compiled_only_where_triton_runs() -> None:
    old, new = ([{"computeMajor": major, "computeMinor": 0}] for major in (6, 7))
    assert advice_of(matmul(deviceProperties=old))["short_kernels"] == (
        "Fuse operations, use larger batches, or capture a CUDA graph."
    )
    assert advice_of(matmul(deviceProperties=new))["short_kernels"] == (
        "Fuse operations, use larger batches, capture a CUDA graph, or compile the model."
    )


def test_a_trace_of_initialization_gets_no_advice_on_launches() -> None:
    def with_call(name: str) -> Trace:
        call = event("cuda_runtime", name, 10, 400_000, correlation=9)
        kernel = activity("sgemm", 450_000, 5, 1)
        return trace(step(1, 0, 500_000), operator("aten::mm", 0, 450_000), call, launch(430_000, 10, 1), kernel)

    # Calls that copy or wait are not initialization.
    usual = {row["metric"] for row in findings(with_call("cudaMemcpyAsync")).to_dicts()}
    assert {"gpu_utilization", "short_kernels"} <= usual
    found = findings(with_call("cudaStreamIsCapturing"))
    rows = {row["metric"]: row for row in found.to_dicts()}
    assert rows["runtime"]["title"] == "Most of the trace is initialization"
    assert rows["runtime"]["evidence"] == "80% of the time is in runtime calls that take over 100 ms each"
    assert not {"gpu_utilization", "host_wait", "short_kernels"} & set(rows)


def test_arrows_with_one_end_are_no_losses() -> None:
    arrow = {"ph": "f", "id": 3, "name": "x", "cat": "y", "pid": 100, "tid": 1, "ts": 5}
    found = trace(operator("a", 0, 10), arrow)
    assert dict(found.losses.counts) == {"flow end without a start": 1}
    assert findings(found).is_empty()
    assert metrics(found, ("losses",))["losses"].value == 0
    lost = trace(operator("a", 0, 10), operator("b", 5, -1), arrow)
    (row,) = findings(lost).to_dicts()
    assert (row["metric"], row["value"], row["evidence"]) == ("losses", 1.0, "1 negative duration")
