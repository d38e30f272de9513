"""Analyses of StepStats and of a CPU profile, compared with independent sums over the contents of the files."""

import gzip
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.analysis.memory import allocations, memory_peaks
from stepscope.profiler.analysis.operators import operators
from stepscope.profiler.analysis.tfprof import tfprof
from stepscope.profiler.step_stats import parse_step_stats
from stepscope.profiler.traces import read_trace

pytestmark = pytest.mark.peers

STEP_STATS = [
    f"{place}timeline/gen{generation}_{number}.step_stats.pb"
    for place in ("", "pack/")
    for generation in (1, 2, 3)
    for number in (0, 1)
]
CPU_PROFILES = ["torch_profiler/cpu.1795227341401647509.pt.trace.json.gz", "pack/torch_profiler/cpu.pt.trace.json.gz"]


@pytest.mark.parametrize("name", STEP_STATS)
def test_device_activities_count_once_in_every_generation(peer: Callable[[str], Path], name: str) -> None:
    data = peer(name).read_bytes()
    on_device = {
        (node.all_start_nanos or node.all_start_micros * 1000, node.all_end_rel_nanos or node.all_end_rel_micros * 1000)
        for device in parse_step_stats(data, name=name).dev_stats
        if "stream" in device.device or "memcpy" in device.device
        for node in device.node_stats
    }
    facts = Facts(read_trace(data, name=name))
    found = facts.every_device_activity
    assert Counter(zip(found.start.tolist(), found.duration.tolist(), strict=True)) == Counter(on_device)
    assert found.of("kernel").any()
    assert found.of("memcpy").any()
    nodes = tfprof(facts, view="graph")
    assert nodes["accelerator_ns"].sum() == found.duration.sum()
    assert nodes["cpu_ns"].sum() == facts.trace.duration_ns[facts.operator_slices].sum()


@pytest.mark.parametrize(
    "name", ["tensorflow1/rm_4.pb", "tensorflow1/rm_9.pb", "pack/tensorflow1/rm_2.pb", "pack/tensorflow1/rm_4.pb"]
)
def test_tensors_of_a_step_are_freed_again(peer: Callable[[str], Path], name: str) -> None:
    data = peer(name).read_bytes()
    requested = sum(
        output.tensor_description.allocation_description.requested_bytes
        for device in parse_step_stats(data, name=name).dev_stats
        for node in device.node_stats
        for output in node.output
    )
    facts = Facts(read_trace(data, name=name))
    assert allocations(facts).bytes.sum() == requested
    assert memory_peaks(facts)["last_bytes"].to_list() == [0]
    assert 0 < memory_peaks(facts)["peak_bytes"][0] <= requested


@pytest.mark.parametrize("name", CPU_PROFILES)
def test_operators_and_memory_of_a_cpu_profile(peer: Callable[[str], Path], name: str) -> None:
    path = peer(name)
    facts = Facts(read_trace(path.read_bytes(), name=path.name))
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    calls = [event for event in events if event.get("cat") == "cpu_op"]
    ours = {row["name"]: row for row in operators(facts).to_dicts()}
    assert set(ours) == {event["name"] for event in calls}
    counts = Counter(event["name"] for event in calls)
    whole = [name for name, row in ours.items() if row["calls"] == counts[name]]
    # A few calls repeat the enclosing call, and the two count as one.
    assert len(whole) > 0.8 * len(ours)
    assert all(row["calls"] <= counts[name] for name, row in ours.items())
    for name in whole:
        total = sum(round(event["dur"] * 1000) for event in calls if event["name"] == name)
        assert ours[name]["host_total_ns"] == total
    memory = [event["args"] for event in events if event.get("name") == "[memory]"]
    (peak,) = memory_peaks(facts).to_dicts()
    assert peak["peak_bytes"] == max(arguments["Total Allocated"] for arguments in memory)
    assert allocations(facts).bytes.sum() == sum(max(0, arguments["Bytes"]) for arguments in memory)


def test_calls_and_times_of_operators_are_those_that_pytorch_adds_up(peer: Callable[[str], Path]) -> None:
    path = peer("pack/torch_profiler/cpu.pt.trace.json.gz")
    theirs = json.loads(peer("pack/torch_profiler/cpu.key_averages.json").read_bytes())
    facts = Facts(read_trace(path.read_bytes(), name=path.name))
    ours = {row["name"]: row for row in operators(facts).to_dicts()}
    assert len(ours) > 20
    for name, row in ours.items():
        # A call that repeats the enclosing call counts as one with it.
        assert row["calls"] <= theirs[name]["calls"]
        if row["calls"] == theirs[name]["calls"]:
            assert row["host_total_ns"] / 1000 == pytest.approx(theirs[name]["total_us"], abs=0.001 * row["calls"])
            assert row["host_self_ns"] / 1000 == pytest.approx(theirs[name]["self_us"], abs=0.01 * row["calls"])
