"""Traces written by other tools, compared with an independent count of their contents."""

import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.step_stats import parse_step_stats
from stepscope.profiler.trace import Trace
from stepscope.profiler.traces import read_trace

pytestmark = pytest.mark.peers

CHROME = {
    "hta/a100_rank0_108936_events.json.gz": {"flow end without a start": 872},
    "hta/amd_mi250.json.gz": {},
    "hta/diff_control.json.gz": {"flow end without a start": 15242},
    "hta/diff_test.json.gz": {"flow end without a start": 11797},
    "hta/sampled_rank-0.json.gz": {},
    "hta/sampled_rank-1.json.gz": {},
    "hta/simple_add.json.gz": {
        "flow start without an end": 16,
    },
    "kineto/resnet50_num_workers_0.pt.trace.json.gz": {},
    "torch_profiler/cpu.1795227341401647509.pt.trace.json.gz": {"overlaps its neighbor": 75},
    "tensorflow1/rm_4.timeline_dataflow.json": {},
    "tensorflow1/rm_4.timeline_dataflow_memory.json": {},
    "tensorflow2.xprof_trace.json": {},
    "pack/kineto/rank-0.json.gz": {},
    "pack/kineto/rank-1.json.gz": {},
    "pack/gpu/training.json.gz": {},
    "pack/gpu/jax.xprof_trace.json": {"overlaps its neighbor": 3},
    "pack/torch_profiler/cpu.pt.trace.json.gz": {"overlaps its neighbor": 51},
    "pack/tensorflow1/rm_2.timeline_dataflow.json": {},
    "pack/tensorflow1/rm_2.timeline_dataflow_memory.json": {},
    "pack/tensorflow1/rm_4.timeline_dataflow.json": {},
    "pack/tensorflow1/rm_4.timeline_dataflow_memory.json": {},
    "pack/tensorflow2.xprof_trace.json": {},
}
STEPS = {
    "hta/a100_rank0_108936_events.json.gz": [550, 551, 552, 553, 554],
    "hta/amd_mi250.json.gz": [1, 2],
    "hta/diff_control.json.gz": [1009, 1010, 1011, 1012, 1013, 1014],
    "hta/sampled_rank-0.json.gz": [551, 552],
    "kineto/resnet50_num_workers_0.pt.trace.json.gz": [5, 6, 7, 8, 9, 10],
    "torch_profiler/cpu.1795227341401647509.pt.trace.json.gz": [2, 3, 4],
    "pack/kineto/rank-0.json.gz": [5, 6, 7],
    "pack/kineto/rank-1.json.gz": [5, 6, 7],
    "pack/gpu/training.json.gz": [4, 5, 6, 7],
    "pack/torch_profiler/cpu.pt.trace.json.gz": [2, 3, 4],
}
OF_TRAINING = ["tensorflow1/rm_4.pb", "tensorflow1/rm_9.pb", "pack/tensorflow1/rm_2.pb", "pack/tensorflow1/rm_4.pb"]
OF_GENERATIONS = [
    f"{place}timeline/gen{generation}_{number}.step_stats.pb"
    for place in ("", "pack/")
    for generation in (1, 2, 3)
    for number in (0, 1)
]


def nanoseconds(microseconds: float | int) -> int:
    return round(microseconds * 1000)


def events_of(path: Path) -> list[dict[str, Any]]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return list(json.loads(data)["traceEvents"])


def slices(trace: Trace) -> Iterator[tuple[str, int, int]]:
    for name, start, duration in zip(
        trace.name_id.tolist(), trace.start_ns.tolist(), trace.duration_ns.tolist(), strict=True
    ):
        yield trace.names[name], start, duration


def objects(events: list[dict[str, Any]]) -> Iterator[tuple[tuple[str, int, int], dict[str, Any]]]:
    """The time from the creation of each object to its deletion, with the arguments of its only snapshot."""
    made: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for event in sorted((e for e in events if e.get("ph") in ("N", "O", "D")), key=lambda event: event["ts"]):
        key = event["pid"], event["id"], event["name"]
        if event["ph"] == "N":
            # For an operation that took no time, the snapshot is dated before the creation.
            made.setdefault(key, []).insert(0, event)
        elif event["ph"] == "O":
            made.setdefault(key, []).append(event)
        else:
            begin, snapshot = made.pop(key)
            yield (
                (event["name"], nanoseconds(begin["ts"]), nanoseconds(event["ts"] - begin["ts"])),
                snapshot["args"],
            )
    assert not made


def check_against_events(trace: Trace, events: list[dict[str, Any]]) -> None:
    expected = Counter(
        (event["name"], nanoseconds(event["ts"]), nanoseconds(event.get("dur", 0)))
        for event in events
        if event.get("ph") in ("X", "i")
    )
    expected += Counter(key for key, _ in objects(events))
    assert Counter(slices(trace)) == expected
    same_row = (np.diff(trace.lane) == 0) & (np.diff(trace.depth) == 0)
    ends = (trace.start_ns + trace.duration_ns)[:-1]
    assert (ends[same_row] <= trace.start_ns[1:][same_row]).all()
    counted = sum(len(event["args"]) for event in events if event.get("ph") == "C")
    memory = [event["args"] for event in events if event.get("name") == "[memory]"]
    counted += sum(1 + (arguments.get("Total Reserved", 0) > 0) for arguments in memory)
    assert sum(len(counter.values) for counter in trace.counters) == counted


class ChromeTrace(NamedTuple):
    """A parsed trace, and the events of its file."""

    name: str
    trace: Trace
    events: list[dict[str, Any]]


@pytest.fixture(scope="module", params=CHROME)
def chrome(request: pytest.FixtureRequest, peer: Callable[[str], Path]) -> ChromeTrace:
    path = peer(request.param)
    return ChromeTrace(request.param, read_trace(path.read_bytes(), name=request.param), events_of(path))


def test_every_slice_of_a_chrome_trace_is_read(chrome: ChromeTrace) -> None:
    name, trace, events = chrome
    check_against_events(trace, events)
    assert trace.losses.counts == CHROME[name]
    assert trace.losses.notes == ()
    if name in STEPS:
        assert [step.number for step in trace.steps] == STEPS[name]


def test_arguments_are_those_of_the_event(chrome: ChromeTrace) -> None:
    _, trace, events = chrome
    by_slice: dict[tuple[str, int, int], list[Any]] = {}
    for event in events:
        if event.get("ph") in ("X", "i"):
            key = (event["name"], nanoseconds(event["ts"]), nanoseconds(event.get("dur", 0)))
            by_slice.setdefault(key, []).append(event.get("args", {}))
    for key, arguments in objects(events):
        by_slice.setdefault(key, []).append(arguments)
    keys = list(slices(trace))
    for index in range(0, len(trace), max(1, len(trace) // 500)):
        assert trace.arguments[index] in by_slice[keys[index]]


@pytest.mark.parametrize(
    "name",
    [
        "hta/a100_rank0_108936_events.json.gz",
        "hta/amd_mi250.json.gz",
        "hta/simple_add.json.gz",
        "pack/kineto/rank-0.json.gz",
        "pack/gpu/training.json.gz",
    ],
)
def test_launch_arrows_join_equal_correlations(peer: Callable[[str], Path], name: str) -> None:
    trace = read_trace(peer(name).read_bytes(), name=name)
    launches = trace.flows.category_id == trace.categories.index("ac2g")
    pairs = list(zip(trace.flows.source[launches].tolist(), trace.flows.target[launches].tolist(), strict=True))
    assert pairs
    for source, target in pairs:
        assert trace.arguments[source]["correlation"] == trace.arguments[target]["correlation"]
        assert trace.lanes[trace.lane[target]].kind in ("stream", "device")


def test_a_gpus_modules_and_operations_are_those_of_xprof_step_by_step(peer: Callable[[str], Path]) -> None:
    """Kernels of three steps of one program follow one another; xprof names its lines after the stream."""
    trace = read_trace(peer("pack/gpu/jax.xplane.pb").read_bytes(), name="jax")
    events = [event for event in events_of(peer("pack/gpu/jax.xprof_trace.json")) if event]
    lines = {
        (event["pid"], event["tid"]): event["args"]["name"].removesuffix(" - from #14")
        for event in events
        if event.get("name") == "thread_name"
    }
    compared = ("Stream #14(Compute)", "XLA Modules", "XLA Ops")
    theirs = [
        (lines[event["pid"], event["tid"]], event["name"], nanoseconds(event["ts"]), nanoseconds(event["dur"]))
        for event in events
        if event["ph"] == "X" and lines[event["pid"], event["tid"]] in compared
    ]
    lanes = [trace.lanes[lane].name for lane in trace.lane.tolist()]
    ours = [(lane, *key) for lane, key in zip(lanes, slices(trace), strict=True) if lane in compared]
    assert Counter(ours) == Counter(theirs)
    assert Counter(lane for lane, *_ in ours) == {"Stream #14(Compute)": 39, "XLA Modules": 3, "XLA Ops": 3}


def test_a_gpus_kernels_come_from_the_calls_that_xprof_joins_them_to(peer: Callable[[str], Path]) -> None:
    trace = read_trace(peer("pack/gpu/jax.xplane.pb").read_bytes(), name="jax")
    # xprof puts both ends of an arrow into one flow, whose lowest two bits are the direction.
    flows = {
        (event["name"], nanoseconds(event["ts"]), nanoseconds(event["dur"])): int(event["args"]["flow"]) >> 2
        for event in events_of(peer("pack/gpu/jax.xprof_trace.json"))
        if "flow" in event.get("args", {})
    }
    keys = list(slices(trace))
    launches = trace.flows.category_id == trace.categories.index("launch")
    pairs = list(zip(trace.flows.source[launches].tolist(), trace.flows.target[launches].tolist(), strict=True))
    assert len(pairs) == 39
    for source, target in pairs:
        assert keys[source][0].startswith("cuGraphLaunch")
        assert flows[keys[source]] == flows[keys[target]]
    (first, *_), moments = Facts(trace).every_device_activity.launch.tolist(), [step.start_ns for step in trace.steps]
    assert moments[0] < trace.start_ns[first] < moments[1]


@pytest.mark.parametrize("name", OF_GENERATIONS)
def test_timelines_of_tensorflow_are_read_under_every_option(peer: Callable[[str], Path], name: str) -> None:
    oracle = json.loads(peer(name.replace("step_stats.pb", "timeline.json")).read_bytes())
    for option, timeline in oracle.items():
        if option == "allocator_maximums":
            continue
        trace = read_trace(json.dumps(timeline).encode(), name=option)
        check_against_events(trace, timeline["traceEvents"])
        assert set(trace.losses.counts) <= ({"arrow back in time"} if option.startswith("op_time") else set())


@pytest.mark.parametrize("name", [*OF_TRAINING, *OF_GENERATIONS])
def test_every_node_of_step_stats_is_a_slice(peer: Callable[[str], Path], name: str) -> None:
    data = peer(name).read_bytes()
    trace = read_trace(data, name=name)
    # The synthetic files also list every GPU activity under stream:all.
    repeating = ("/stream:all", "/memcpy") if "gen1" not in name else ("/stream:all",)
    nodes = [
        node
        for device in parse_step_stats(data, name=name).dev_stats
        if not device.device.endswith(repeating)
        for node in device.node_stats
    ]
    ran = np.array([lane.kind != "other" for lane in trace.lanes])[trace.lane]
    assert sorted(zip(trace.start_ns[ran].tolist(), trace.duration_ns[ran].tolist(), strict=True)) == sorted(
        (
            node.all_start_nanos or node.all_start_micros * 1000,
            node.all_end_rel_nanos or node.all_end_rel_micros * 1000,
        )
        for node in nodes
    )
    on_gpu = [index for index, lane in enumerate(trace.lanes) if lane.kind in ("stream", "memcpy")]
    if name in OF_TRAINING:
        assert (trace.losses.counts, on_gpu) == ({}, [])
        return
    in_pack = name.startswith("pack/")
    # In these files, an operation begins before the one that it reads from has ended.
    back = {"arrow back in time": 1} if in_pack and "_1." in name else {}
    assert trace.losses.counts == {"stored twice, shown once": 8 if in_pack else 60, **back}
    activities = {
        (trace.categories[category], trace.names[name].partition("_")[0])
        for lane, category, name in zip(trace.lane, trace.category_id, trace.name_id, strict=True)
        if lane in on_gpu
    }
    assert activities == {("kernel", "volta"), ("gpu_memcpy", "Memcpy HtoD")}


@pytest.mark.parametrize(
    ("name", "timeline"),
    [
        ("tensorflow1/rm_4.pb", "tensorflow1/rm_4.timeline_dataflow_memory.json"),
        ("pack/tensorflow1/rm_2.pb", "pack/tensorflow1/rm_2.timeline_dataflow_memory.json"),
        ("pack/tensorflow1/rm_4.pb", "pack/tensorflow1/rm_4.timeline_dataflow_memory.json"),
        *((name, name.replace("step_stats.pb", "timeline.json")) for name in OF_GENERATIONS),
    ],
)
def test_tensors_live_as_long_as_tensorflows_timeline_says(
    peer: Callable[[str], Path], name: str, timeline: str
) -> None:
    trace = read_trace(peer(name).read_bytes(), name=name)
    oracle = json.loads(peer(timeline).read_bytes())
    events = oracle.get("show_dataflow=True,show_memory=True", oracle)["traceEvents"]
    tensors = Counter(
        key
        for key, category in zip(slices(trace), trace.category_id.tolist(), strict=True)
        if trace.categories[category] == "tensor"
    )
    assert tensors == Counter(key for key, _ in objects(events))
    assert tensors


@pytest.mark.parametrize("name", OF_GENERATIONS)
def test_allocators_hold_what_tensorflows_timeline_says(peer: Callable[[str], Path], name: str) -> None:
    oracle = json.loads(peer(name.replace("step_stats.pb", "timeline.json")).read_bytes())
    trace = read_trace(peer(name).read_bytes(), name=name)
    most = {
        counter.name: (float(counter.values.max()), int(counter.times_ns[counter.values.argmax()]) // 1000)
        for counter in trace.counters
    }
    maxima = {
        allocator: (maximum["num_bytes"], maximum["timestamp"])
        for allocator, maximum in oracle["allocator_maximums"].items()
    }
    assert most == maxima
