"""Device analyses compared with HolisticTraceAnalysis' figures for the same traces."""

import gzip
import json
from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepscope.profiler.analysis.critical_path import BOUNDS, path_of
from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.analysis.idle import idle_time
from stepscope.profiler.analysis.kernels import kernels
from stepscope.profiler.analysis.memcpys import bandwidth_over_time, bandwidth_summary, direction_of
from stepscope.profiler.analysis.queue import queue_length, queue_summary
from stepscope.profiler.analysis.temporal import communication_overlap, temporal_breakdown, work_breakdown
from stepscope.profiler.traces import read_trace

pytestmark = pytest.mark.peers

TRACES = [
    "hta/a100_rank0_108936_events",
    "hta/diff_control",
    "hta/diff_test",
    "hta/sampled_rank-0",
    "hta/sampled_rank-1",
    "hta/simple_add",
    "pack/kineto/rank-0",
    "pack/kineto/rank-1",
]
RECORDED = "pack/gpu/training"
"""In nanoseconds, of a GPU whose kernels overlap; much of it was launched by calls of the driver."""
STATISTICS = ("count", "mean", "std", "min", "25%", "50%", "75%", "max")
OURS = ("count", "mean", "std", "min", "p25", "p50", "p75", "max")
EXPLAINED = {
    "hta/a100_rank0_108936_events": {"550": 216_284, "551": 215_565},
    "hta/sampled_rank-0": {"551": 267_581},
}
"""By step, the sum of HTA 0.5's get_critical_path_breakdown of critical_path_analysis(annotation="ProfilerStep")."""
Opened = tuple[Facts, dict[str, Any]]


@pytest.fixture(params=TRACES)
def opened(request: pytest.FixtureRequest, peer: Callable[[str], Path]) -> Opened:
    return opened_trace(peer(f"{request.param}.json.gz"))


@cache
def opened_trace(path: Path) -> Opened:
    figures = json.loads(path.with_name(path.name.removesuffix(".json.gz") + ".hta.json").read_bytes())
    return Facts(read_trace(path.read_bytes(), name=path.name)), figures


def microseconds(nanoseconds: int) -> float:
    return nanoseconds / 1000


def test_temporal_breakdown(opened: Opened) -> None:
    facts, figures = opened
    (theirs,) = figures["get_temporal_breakdown"][0]
    (ours,) = temporal_breakdown(facts, waits_are_work=True).to_dicts()
    pairs = (("idle", "idle_time"), ("compute", "compute_time"), ("non_compute", "non_compute_time"))
    for own, name in pairs:
        assert microseconds(ours[f"{own}_ns"]) == theirs[f"{name}(us)"]
        assert round(ours[f"{own}_percent"], 2) == pytest.approx(theirs[f"{name}_pctg"], abs=0.0101)
    assert microseconds(ours["span_ns"]) == theirs["kernel_time(us)"]


def test_temporal_breakdown_of_kernels_that_overlap(peer: Callable[[str], Path]) -> None:
    facts, figures = opened_trace(peer(f"{RECORDED}.json.gz"))
    (theirs,) = figures["get_temporal_breakdown"][0]
    (ours,) = temporal_breakdown(facts, waits_are_work=True).to_dicts()
    # HTA counts waits that are on no stream as idle time.
    assert microseconds(ours["compute_ns"]) == pytest.approx(theirs["compute_time(us)"], abs=0.001)
    assert microseconds(ours["span_ns"]) == pytest.approx(theirs["kernel_time(us)"], abs=0.001)


def test_kinds_of_work(opened: Opened) -> None:
    facts, figures = opened
    names = {"COMPUTATION": "computation", "COMMUNICATION": "communication", "MEMORY": "memory"}
    theirs = {
        " + ".join(names[part] for part in row["kernel_type"].split(" overlapping ")): row["sum"]
        for row in figures["get_gpu_kernel_breakdown"][0]
    }
    # HTA counts the waits of streams for events as computation.
    waited = 6 if facts.slices("synchronization", on_device=True).size else 0
    ours = {row["work"]: microseconds(row["duration_ns"]) for row in work_breakdown(facts).to_dicts()}
    assert ours | {"computation": ours["computation"] + waited} == theirs


@pytest.mark.parametrize("opened", [*TRACES, RECORDED], indirect=True)
def test_kernels_and_copies_by_name(opened: Opened) -> None:
    facts, figures = opened
    ours: dict[str, list[float]] = {
        row["name"]: [row["total_ns"], row["max_ns"], row["min_ns"], row["mean_ns"], row["std_ns"]]
        for row in kernels(facts, scope="complete").to_dicts()
    }
    device = facts.device()
    copies = device.where(device.of("memcpy", "memset"))
    by_name: dict[str, list[int]] = defaultdict(list)
    for name, duration in zip(facts.names_of(copies.slice), copies.duration.tolist(), strict=True):
        by_name[name].append(duration)
    for name, times in by_name.items():
        spread = float(np.std(times, ddof=1)) if len(times) > 1 else 0.0
        ours[name] = [sum(times), max(times), min(times), sum(times) / len(times), spread]
    rows = [row for row in figures["get_gpu_kernel_breakdown"][1] if row["name"] not in ("others", "Stream Wait Event")]
    assert rows
    counted = {row["name"]: sum(other["name"] == row["name"] for other in rows) for row in rows}
    for row in rows:
        theirs = [row[f"{key} (us)"] for key in ("sum", "max", "min", "mean")]
        own = [microseconds(int(value)) if index < 3 else value / 1000 for index, value in enumerate(ours[row["name"]])]
        assert counted[row["name"]] == 1
        # Where HTA merges rare kernels into "others", its max, min and mean are those of the sums.
        assert own[0] == theirs[0]
        if theirs[1] != theirs[0]:
            assert own == pytest.approx([*theirs, row["stddev"]], abs=1e-6)


@pytest.mark.parametrize("opened", [*TRACES, RECORDED], indirect=True)
def test_idle_time_by_cause(opened: Opened) -> None:
    facts, figures = opened
    rows = {(row["stream"], row["cause"]): row for row in idle_time(facts).to_dicts()}
    # HTA subtracts overlaps from the idle time; its figures have two decimals.
    overlap = overlaps(facts)
    theirs = {
        (row["stream"], row["idle_category"]): row["idle_time"] + overlap[row["stream"], row["idle_category"]]
        for row in figures["get_idle_time_breakdown"][0]
    }
    assert {key: microseconds(row["idle_ns"]) for key, row in rows.items()} == pytest.approx(theirs, abs=0.0101)
    whole: dict[int, float] = defaultdict(float)
    for (stream, _), idle in theirs.items():
        whole[stream] += idle
    assert {key: row["percent"] for key, row in rows.items()} == {
        (stream, cause): pytest.approx(100 * idle / whole[stream], abs=0.51) if whole[stream] else None
        for (stream, cause), idle in theirs.items()
    }


def overlaps(facts: Facts) -> dict[tuple[int, str], float]:
    """Return by how many microseconds activities of each stream begin before the previous one ends, as kernel_wait."""
    every = facts.device("complete")
    found: dict[tuple[int, str], float] = defaultdict(float)
    busy = every.where(every.of("kernel", "memcpy", "memset", "communication"))
    ends: dict[int, int] = {}
    for stream, start, end in zip(busy.stream.tolist(), busy.start.tolist(), busy.end.tolist(), strict=True):
        found[stream, "kernel_wait"] += microseconds(max(0, ends.get(stream, start) - start))
        ends[stream] = end
    return found


@pytest.mark.parametrize("opened", [*TRACES, RECORDED], indirect=True)
def test_overlap_of_communication(opened: Opened) -> None:
    facts, figures = opened
    theirs = figures["get_comm_comp_overlap"][0][0]["comp_comm_overlap_pctg"]
    (ours,) = communication_overlap(facts)["overlap_percent"].to_list()
    assert ours == (None if theirs is None else pytest.approx(theirs, abs=0.0051))


@pytest.mark.parametrize("opened", [*TRACES, RECORDED], indirect=True)
def test_bandwidth(opened: Opened, request: pytest.FixtureRequest) -> None:
    facts, figures = opened
    ours = {row["direction"]: [row[key] for key in OURS] for row in bandwidth_summary(facts).to_dicts()}
    theirs = {
        direction_of(row["('name', '')"]): [row[f"('memory_bw_gbps', '{key}')"] for key in STATISTICS]
        for row in figures["get_memory_bw_summary"][0]
    }
    if "diff_test" in request.node.name:
        # In this trace, copies follow one another at once. HTA orders equal times by a sort that is not stable, and
        # residues of its sums, such as 1e-16, count as bandwidths: it has more points than the copies have ends.
        assert theirs.pop("DtoD")[3] == 0
        series = bandwidth_over_time(facts)
        assert len(series.filter(series["direction"] == "DtoD")) == 2 * int(
            sum(direction_of(name) == "DtoD" for name in facts.names_of(facts.device().slice))
        )
        assert ours.pop("DtoD")[3] > 0
    assert set(ours) == set(theirs)
    for direction, values in ours.items():
        assert values == pytest.approx(theirs[direction], rel=1e-6, abs=1e-9)


def test_queue_length(opened: Opened) -> None:
    facts, figures = opened
    series = queue_length(facts)
    ours = {row["stream"]: row for row in queue_summary(facts).to_dicts()}
    theirs = figures["get_queue_length_summary"][0]
    assert sorted(ours) == sorted(row["('stream', '')"] for row in theirs)
    for row in theirs:
        stream = row["('stream', '')"]
        own = ours[stream]
        for key in ("count", "min", "25%", "50%", "75%", "max"):
            assert own[key.replace("25%", "p25").replace("50%", "p50").replace("75%", "p75")] == pytest.approx(
                row[f"('queue_length', '{key}')"]
            )
        # HTA leaves changes at equal times in no particular order; ours begin with the launches.
        lengths = series.filter(series["stream"] == stream)
        times, values = lengths["time_ns"].to_numpy(), lengths["length"].to_numpy()
        change = np.diff(values, prepend=0)
        lowest = np.cumsum(change[np.lexsort((change, times))]).mean()
        assert lowest - 1e-9 <= row["('queue_length', 'mean')"] <= own["mean"] + 1e-9


@pytest.mark.parametrize("opened", [*TRACES, RECORDED], indirect=True)
def test_the_last_step_is_left_out(opened: Opened) -> None:
    facts, _ = opened
    if len(facts.trace.steps) < 2:
        assert len(facts.device().slice) == len(facts.every_device_activity.slice)
    else:
        last = facts.trace.steps[-1].start_ns
        launches = facts.device().launch
        assert (facts.trace.start_ns[launches] < last).all()


@pytest.mark.parametrize("opened", [*TRACES, RECORDED], indirect=True)
def test_every_kernel_of_the_file_is_classified(
    peer: Callable[[str], Path], opened: Opened, request: pytest.FixtureRequest
) -> None:
    facts, _ = opened
    name = request.node.callspec.params["opened"]
    events = json.loads(gzip.decompress(peer(f"{name}.json.gz").read_bytes()))["traceEvents"]
    categories = [event.get("cat") for event in events if event["ph"] == "X"]
    assert facts.slices("kernel", "communication", on_device=True).size == categories.count("kernel")
    assert facts.slices("memcpy").size == categories.count("gpu_memcpy")
    assert facts.slices("memset").size == categories.count("gpu_memset")
    calls = categories.count("cuda_runtime") + categories.count("cuda_driver")
    assert facts.slices("runtime", "synchronization", on_device=False).size == calls
    operators = facts.slices("operator", "communication", "data_loading", "annotation", on_device=False).size
    assert operators == categories.count("cpu_op") + categories.count("user_annotation")


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("hta/a100_rank0_108936_events", 550),
        ("hta/a100_rank0_108936_events", 551),
        ("hta/sampled_rank-0", 551),
        # One step paced by the GPU, and one paced by the host.
        (RECORDED, 5),
        (RECORDED, 6),
    ],
)
def test_critical_path(peer: Callable[[str], Path], name: str, step: int) -> None:
    facts, figures = opened_trace(peer(f"{name}.json.gz"))
    path = path_of(facts, step=step, inferred=False)
    # HTA knows no backlog: its path begins at the first kernel after it. And calls that copy or query take no time.
    backlog = np.flatnonzero(path.bound == BOUNDS.index("backlog"))
    chosen = path.explained & (np.arange(len(path.bound)) > (backlog[0] + 1 if len(backlog) else -1))
    timeless = ("cudaMemcpyAsync", "cudaEventQuery")
    chosen &= np.array([call not in timeless for call in facts.names_of(path.slice)])
    total = (figures.get("critical_path") or EXPLAINED[name])[str(step)]
    assert microseconds(int(path.duration[chosen].sum())) == pytest.approx(total, abs=0.001)


@pytest.mark.parametrize(
    "name",
    [
        *(f"{name}.json.gz" for name in (*TRACES, RECORDED, "hta/amd_mi250")),
        "kineto/resnet50_num_workers_0.pt.trace.json.gz",
    ],
)
def test_kernels_are_those_that_the_file_calls_so(peer: Callable[[str], Path], name: str) -> None:
    """Annotations on streams, some of which occur in AMD's trace, are not kernels."""
    path = peer(name)
    content = json.loads(gzip.decompress(path.read_bytes()))
    durations = [
        Decimal(str(each["dur"]))
        for each in content["traceEvents"]
        if each.get("ph") == "X" and each.get("cat") in ("kernel", "Kernel")
    ]
    found = kernels(read_trace(path.read_bytes(), name=path.name))
    assert found["count"].sum() == len(durations)
    assert found["total_ns"].sum() == pytest.approx(int(sum(durations) * 1000), abs=len(durations))
