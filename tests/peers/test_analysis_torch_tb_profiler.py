"""Step, operator and kernel figures compared with those that torch-tb-profiler expects of its own sample trace."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.analysis.kernels import kernels, tensor_core_share
from stepscope.profiler.analysis.operators import operators
from stepscope.profiler.analysis.steps import mean_step, step_breakdown
from stepscope.profiler.analysis.temporal import gpu_utilization
from stepscope.profiler.traces import read_trace

pytestmark = pytest.mark.peers

NAMES = {
    "Kernel": "kernel",
    "Memcpy": "memcpy",
    "Memset": "memset",
    "Communication": "communication",
    "Runtime": "runtime",
    "DataLoader": "dataloader",
    "CPU Exec": "cpu_exec",
    "Other": "other",
}


@pytest.fixture(scope="module", params=["kineto/resnet50_num_workers_0.pt.trace", "pack/kineto/rank-0"])
def name(request: pytest.FixtureRequest) -> str:
    """The name of a trace, without its extension."""
    return str(request.param)


@pytest.fixture(scope="module")
def facts(peer: Callable[[str], Path], name: str) -> Facts:
    path = peer(f"{name}.json.gz")
    return Facts(read_trace(path.read_bytes(), name=path.name))


@pytest.fixture(scope="module")
def expected(peer: Callable[[str], Path], name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(peer(f"{name.removesuffix('.pt.trace')}.expected.json").read_bytes())
    return found


def test_steps(facts: Facts, expected: dict[str, Any]) -> None:
    table = expected["overview"]["steps"]
    columns = [column.get("name") for column in table["columns"]]
    theirs = {
        int(row[0]): {NAMES[name]: value * 1000 for name, value in zip(columns, row, strict=True) if name in NAMES}
        for row in table["rows"]
    }
    ours = {row["step"]: row for row in step_breakdown(facts).to_dicts()}
    assert {step: {name: ours[step][f"{name}_ns"] for name in row} for step, row in theirs.items()} == theirs
    assert len(ours) == len(theirs)
    communicates = any("nccl" in row[0] for row in expected["kernels"]["data"]["rows"])
    assert any(row["communication_ns"] for row in ours.values()) is communicates


def test_mean_step(facts: Facts, expected: dict[str, Any]) -> None:
    ours = {row["category"]: row for row in mean_step(facts).to_dicts()}
    (theirs,) = expected["overview"]["performance"]
    for part in theirs["children"]:
        row = ours[NAMES[part["name"]]]
        assert (round(row["mean_ns"] / 1000), round(row["percent"], 2)) == (part["value"], part["extra"])


def test_device_metrics(facts: Facts, expected: dict[str, Any]) -> None:
    theirs = {each["title"]: each["value"] for each in expected["overview"]["gpu_metrics"]["data"]}
    (ours,) = gpu_utilization(facts).to_dicts()
    assert f"{round(ours['utilization_percent'], 2)} %" == theirs["GPU Utilization"]
    assert f"{round(ours['sm_efficiency_percent'], 2)} %" == theirs["Est. SM Efficiency"]
    assert f"{round(ours['occupancy_percent'], 2)} %" == theirs["Est. Achieved Occupancy"]
    assert f"{round(100 * tensor_core_share(facts), 2)} %" == theirs["Kernel Time using Tensor Cores"]


def test_operators(facts: Facts, expected: dict[str, Any]) -> None:
    ours = [
        {
            "name": row["name"],
            "calls": row["calls"],
            "device_self_duration": row["device_self_ns"] / 1000,
            "device_total_duration": row["device_total_ns"] / 1000,
            "host_self_duration": row["host_self_ns"] / 1000,
            "host_total_duration": row["host_total_ns"] / 1000,
            "tc_eligible": "Yes" if row["tensor_core_eligible"] else "No",
            "tc_self_ratio": round(row["tensor_core_self_percent"], 2),
            "tc_total_ratio": round(row["tensor_core_total_percent"], 2),
        }
        for row in operators(facts).to_dicts()
    ]
    theirs = [{key: row[key] for key in ours[0]} for row in expected["operators"]["data"]]
    assert {row["name"]: row for row in ours} == {row["name"]: row for row in theirs}
    assert [row["device_self_duration"] for row in ours] == [row["device_self_duration"] for row in theirs]
    stacks = {row["name"] for row in operators(facts, by=("name", "stack")).to_dicts() if row["stack"]}
    assert stacks == {row["name"] for row in expected["operators"]["data"] if row["has_call_stack"]}


def test_kernels(facts: Facts, expected: dict[str, Any]) -> None:
    table = kernels(facts).to_dicts()
    rows = expected["kernels"]["data"]["rows"]
    assert [row["total_ns"] / 1000 for row in table] == [row[3] for row in rows]
    ours = {row["name"]: row for row in table}
    assert len(ours) == len(rows)
    for name, used, calls, total, mean, largest, smallest, blocks, occupancy in rows:
        row = ours[name]
        assert ("Yes" if row["tensor_cores"] else "No", row["count"]) == (used, calls)
        assert [row[key] / 1000 for key in ("total_ns", "max_ns", "min_ns")] == [total, largest, smallest]
        assert round(row["mean_ns"] / 1000) == mean
        # torch-tb-profiler rounds to two digits, with halves going either way.
        assert row["blocks_per_sm"] == pytest.approx(blocks, abs=0.00501)
        assert row["occupancy_percent"] == pytest.approx(occupancy, abs=0.00501)
