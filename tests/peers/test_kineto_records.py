"""Real PyTorch traces from GPUs, read as the torch collector reads its own and compared with direct reads."""

import gzip
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from stepscope.profiler.analysis.kernels import kernels
from stepscope.profiler.analysis.memcpys import bandwidth_summary, memcpys, size_histogram
from stepscope.profiler.analysis.temporal import communication_overlap, temporal_breakdown, work_breakdown
from stepscope.profiler.chrome_trace import chrome_trace_from_records
from stepscope.profiler.collectors.kineto import KinetoRecords, KinetoTrace, parse_kineto, records_of_kineto
from stepscope.profiler.step_stats import step_stats_from_records
from stepscope.profiler.timeline import chrome_trace
from stepscope.profiler.traces import read_trace, trace_of_step_stats

pytestmark = pytest.mark.peers

FILES = [
    "hta/a100_rank0_108936_events.json.gz",
    "hta/amd_mi250.json.gz",
    "hta/sampled_rank-1.json.gz",
    "hta/simple_add.json.gz",
    "pack/kineto/rank-1.json.gz",
    "pack/gpu/training.json.gz",
]
TABLES: tuple[Callable[..., pl.DataFrame], ...] = (
    kernels,
    memcpys,
    size_histogram,
    bandwidth_summary,
    temporal_breakdown,
    work_breakdown,
    communication_overlap,
)
"""What depends on devices alone, over the whole trace: steps are the recording's own."""


def converted(data: bytes) -> tuple[KinetoTrace, int, KinetoRecords]:
    trace = parse_kineto(data)
    pid = next(event.pid for event in trace.events if event.cat == "cpu_op")
    assert isinstance(pid, int)
    return trace, pid, records_of_kineto(trace, host_pid=pid)


@pytest.mark.parametrize("name", FILES)
def test_analyses_of_the_records_are_those_of_the_file(name: str, peer: Callable[[str], Path]) -> None:
    data = gzip.decompress(peer(name).read_bytes())
    trace, pid, found = converted(data)
    pieces = chrome_trace_from_records(
        found.records,
        found.counters,
        base_ns=trace.base_ns,
        host_name="host",
        host_pid=pid,
        metadata=trace.metadata,
    )
    recorded, direct = read_trace(b"".join(pieces), name="recorded"), read_trace(data, name="direct")
    for table in TABLES:
        ours, theirs = (table(each, scope="all") for each in (recorded, direct))
        assert ours.sort(by=ours.columns).to_dicts() == theirs.sort(by=theirs.columns).to_dicts(), table.__name__


@pytest.mark.parametrize("name", FILES)
def test_step_stats_hold_every_kernel_and_copy(name: str, peer: Callable[[str], Path]) -> None:
    _, _, found = converted(gzip.decompress(peer(name).read_bytes()))
    step_stats = step_stats_from_records(found.records)
    again = trace_of_step_stats(step_stats)
    categories = [again.categories[number] for number in again.category_id.tolist()]
    columns = (again.name_id.tolist(), again.lane.tolist(), again.start_ns.tolist(), again.duration_ns.tolist())
    read = Counter(
        (category, again.names[number] if category == "kernel" else "", again.lanes[lane].name, start, duration)
        for category, number, lane, start, duration in zip(categories, *columns, strict=True)
        if category in ("kernel", "gpu_memcpy", "gpu_memset")
    )
    assert read == Counter(
        (each.category, each.name if each.category == "kernel" else "", each.lane.thread_name, *each[3:5])
        for each in found.records
        if each.category in ("kernel", "gpu_memcpy", "gpu_memset")
    )
    shown = {event["name"] for event in chrome_trace(step_stats)["traceEvents"] if event["ph"] == "X"}
    assert "unknown" not in shown
