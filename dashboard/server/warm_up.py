"""Compiles all loops before anyone waits for them, by calling each once."""

import io
import json
import threading
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from stepscope.dashboard.curves import smoothing
from stepscope.profiler import traces
from stepscope.summary import bounded_messages, scan, small_files
from stepscope.summary.child_process import end_with_input
from stepscope.summary.debugger.event_rows import execution_rows, trace_rows
from stepscope.summary.kernels import Group
from stepscope.summary.messages import KeyTable
from stepscope.summary.packed_points import Packer
from stepscope.summary.proto.debug_event_pb2 import DebugEvent
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.proto.xplane_pb2 import XSpace
from stepscope.summary.records import frame

GROUPS: Final[Mapping[str, Group]] = {
    group.name: group
    for group in (
        scan.KERNELS,
        smoothing.KERNELS,
        small_files.KERNELS,
        bounded_messages.KERNELS,
        traces.KERNELS,
    )
}
"""What a server needs, in the order in which it needs it; projections' own processes compile their loops."""


def warm_event_files() -> None:
    """Scan a small event file, and the values of a small dump of TensorFlow's debugger."""
    event = Event(wall_time=1.0, step=1, summary=Summary(value=[Summary.Value(tag="loss", simple_value=0.5)]))
    scanner, rows = scan.Scanner(), np.empty(4, scan.ROW)
    _, _, count = scanner.scan(np.frombuffer(frame(event.SerializeToString()), np.uint8), 0, 0, rows)
    scanner.split_by_tag(rows[:count])
    scanner.scan_files(np.empty(0, np.uint8), np.zeros(1, np.int64), rows)
    buffer = np.frombuffer(frame(DebugEvent().SerializeToString()), np.uint8)
    records = scan.frame_records(buffer, 0, 0).records
    trace_rows(buffer, records, KeyTable())
    execution_rows(buffer, records, KeyTable(), most=1)


def warm_small_event_files() -> None:
    """Read an empty event file."""
    small_files.read_together([io.BytesIO], [0], Packer())


def warm_messages() -> None:
    """Count the parts of an empty message."""
    bounded_messages.count_parts(Event, b"", 0)


def warm_charts() -> None:
    """Smooth a short curve."""
    smoothing.smooth(np.array([1.0, 2.0, 3.0]), 0.6)


def warm_traces() -> None:
    """Read small traces and analyze one."""
    from stepscope.profiler.analysis.area import area, overlap
    from stepscope.profiler.analysis.facts import Facts
    from stepscope.profiler.analysis.nesting import enclosing
    from stepscope.profiler.analysis.report import ANALYSES, change
    from stepscope.profiler.analysis.windows import group_narrow, sum_within
    from stepscope.profiler.lod import LevelOfDetail, coverage, span_ns

    space = XSpace()
    plane = space.planes.add(name="/device:GPU:0")
    plane.event_metadata[1].name = "kernel"
    plane.stat_metadata[1].name = "_p"
    line = plane.lines.add(id=1, name="Stream #1")
    line.events.add(metadata_id=1, offset_ps=1_000, duration_ps=2_000).stats.add(metadata_id=1, uint64_value=3)
    traces.read_trace(space.SerializeToString(), name="small.xplane.pb")
    trace = traces.read_trace(_small_trace(), name="small.trace.json")
    begin, end = span_ns(trace)
    level = LevelOfDetail(trace)
    level.window(begin, end, 8)
    coverage(trace, 8)
    area(trace, begin, end)
    overlap(trace, begin, end)
    facts = Facts(trace)
    for analysis in ANALYSES:
        if analysis.of == "trace":
            analysis.table(facts)
    change(facts, facts, "changed_operators")
    enclosing(trace, 0)
    some = np.array([0, 1])
    group_narrow(some, some, some + 1, some, 0, 1)
    sum_within(some, some, some + 1, some > 0, (0, 2), 2)


def _small_trace() -> bytes:
    """Return a Chrome trace with some of everything."""
    launched = {"correlation": 7, "device": 0, "stream": 7}
    allocated = {"Bytes": 64, "Addr": 1, "Device Type": 0, "Device Id": -1}
    events = [
        {"ph": "X", "name": "ProfilerStep#1", "cat": "user_annotation", "ts": 0.5, "dur": 99, "pid": 1, "tid": 1},
        {"ph": "X", "name": "aten::mm", "cat": "cpu_op", "ts": 1, "dur": 50, "pid": 1, "tid": 1, "args": {"a": [1]}},
        {"ph": "X", "name": "launch", "cat": "cuda_runtime", "ts": 2, "dur": 3, "pid": 1, "tid": 1, "args": launched},
        {"ph": "X", "name": "gemm", "cat": "kernel", "ts": 9, "dur": 30, "pid": 0, "tid": 7, "args": launched},
        {"ph": "s", "name": "ac2g", "cat": "ac2g", "id": 7, "ts": 2, "pid": 1, "tid": 1},
        {"ph": "f", "name": "ac2g", "cat": "ac2g", "id": 7, "ts": 9, "pid": 0, "tid": 7, "bp": "e"},
        {"ph": "B", "name": "work", "ts": 60, "pid": 1, "tid": 1},
        {"ph": "E", "ts": 70, "pid": 1, "tid": 1},
        {"ph": "i", "name": "[memory]", "s": "t", "ts": 3, "pid": 1, "tid": 1, "args": allocated},
        {"ph": "C", "name": "memory", "ts": 5, "pid": 1, "args": {"bytes": 3}},
        # A lane of many rows with an arrow, and more names than the first table has room for.
        *({"ph": "X", "name": "crossing", "ts": at, "dur": 999, "pid": 2, "tid": 1} for at in range(400)),
        {"ph": "s", "name": "flow", "cat": "flow", "id": 8, "ts": 2, "pid": 2, "tid": 1},
        {"ph": "f", "name": "flow", "cat": "flow", "id": 8, "ts": 6, "pid": 2, "tid": 1, "bp": "e"},
        *({"ph": "X", "name": f"name {number}", "ts": number, "dur": 1, "pid": 3, "tid": 1} for number in range(5_000)),
    ]  # fmt: skip
    return json.dumps({"displayTimeUnit": "ns", "traceEvents": events}).encode()


def warm_projections() -> None:
    """Make small t-SNE and UMAP pictures in every way available."""
    from stepscope.dashboard.embeddings.tasks import warm_every_method

    warm_every_method()


WARMERS: Final[Mapping[str, Callable[[], None]]] = {
    scan.KERNELS.name: warm_event_files,
    smoothing.KERNELS.name: warm_charts,
    small_files.KERNELS.name: warm_small_event_files,
    bounded_messages.KERNELS.name: warm_messages,
    traces.KERNELS.name: warm_traces,
    "projections": warm_projections,
}


def compile_for_a_server(names: list[str]) -> None:
    """Compile groups in turn and print the name of each when it is done, which is all that the process does."""
    threading.Thread(target=end_with_input, daemon=True).start()
    for name in names:
        WARMERS[name]()
        print(name, flush=True)
