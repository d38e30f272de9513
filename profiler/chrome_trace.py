"""Records as a trace in the Chrome trace event format, which Perfetto and chrome://tracing open.

Times in the file are microseconds with three decimals since ``baseTimeNanoseconds``, as PyTorch's profiler
writes them: microseconds since the epoch would leave a float64 only quarters of a microsecond.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from profiler.collectors.base import HOST_DEVICE, Category, Lane, Record

Event = dict[str, Any]

FIRST_DEVICE_PID = 0x7FFF_0000
"""Devices get identifiers above those of real processes, which the host keeps."""

_CATEGORIES: Mapping[Category, str] = {
    "step": "user_annotation",
    "annotation": "user_annotation",
    "gc": "gc",
    "cpu_op": "cpu_op",
    "runtime": "cuda_runtime",
    "kernel": "kernel",
    "memcpy": "gpu_memcpy",
    "memset": "gpu_memset",
}
"""The names that PyTorch's profiler gives them, which analysis tools look for."""


def chrome_trace_from_records(
    records: Sequence[Record], *, base_ns: int, host_name: str, host_pid: int
) -> dict[str, Any]:
    """Converts records into a trace document, ready to be written as JSON.

    Args:
        records: in the order in which their lanes are to be shown; the first device is shown first.
        base_ns: wall time in nanoseconds that counts as 0 in the trace.
        host_name: the machine that was recorded.
        host_pid: the process that was recorded.
    """
    lanes = list(dict.fromkeys(record.lane for record in records))
    devices = list(dict.fromkeys(lane.device for lane in lanes))
    pids = {
        device: host_pid if device == HOST_DEVICE else FIRST_DEVICE_PID + index for index, device in enumerate(devices)
    }
    events: list[Event] = []
    for index, device in enumerate(devices):
        name = f"{host_name} (process {host_pid})" if device == HOST_DEVICE else device
        events += _metadata("process", name, index, {"pid": pids[device]})
    for index, lane in enumerate(lanes):
        events += _metadata("thread", lane.thread_name, index, _place(lane, pids))
    events += [_slice(record, base_ns, pids) for record in records]
    return {
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": base_ns,
        "otherData": {"producer": "stepscope", "host": host_name},
        "traceEvents": events,
    }


def _place(lane: Lane, pids: Mapping[str, int]) -> Event:
    return {"pid": pids[lane.device], "tid": lane.thread_id}


def _metadata(kind: str, name: str, sort_index: int, place: Event) -> Iterator[Event]:
    yield {"ph": "M", "name": f"{kind}_name", **place, "args": {"name": name}}
    yield {"ph": "M", "name": f"{kind}_sort_index", **place, "args": {"sort_index": sort_index}}


def _slice(record: Record, base_ns: int, pids: Mapping[str, int]) -> Event:
    correlation = {"correlation": record.correlation} if record.correlation else {}
    return {
        "ph": "X",
        "cat": _CATEGORIES[record.category],
        "name": record.name,
        **_place(record.lane, pids),
        "ts": (record.start_ns - base_ns) / 1000,
        "dur": record.duration_ns / 1000,
        "args": {**record.args, **correlation},
    }
