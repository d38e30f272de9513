"""StepStats messages, as TensorFlow's tracers and this package's recorder store them in RunMetadata."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from profiler.trace import Flows, Lane, LaneKind, Losses, Step, Trace
from profiler.traces.build import (
    EARLIEST_NS,
    LATEST_NS,
    LONGEST_NS,
    RawSlices,
    arrange,
    assemble,
    find_steps,
    intern_used,
)
from summary.proto.step_stats_pb2 import DeviceStepStats, NodeExecStats, StepStats

_LABEL: Final = re.compile(r"(?:\[[^]]*\] )?(.*?) = ([^ ()]*)\((.*)\)", re.DOTALL)
"""``[allocator 1.2MB 3.4MB] node = Op(input, input)``, as executors label what they run."""
_STREAM: Final = re.compile(r"^(?P<process>.*?)/(?:context#\d+/)?(?P<lane>stream[:#].*|memcpy|sync|null stream.*)$")
_COPY: Final = re.compile(r"memcpy|memset", re.IGNORECASE)
_BYTES: Final = re.compile(r"bytes:([0-9]{1,18})(?![0-9])|(?<![0-9])([0-9]{1,18}) bytes")


@dataclass(frozen=True)
class Operation:
    """What a node of StepStats says about itself, from the label conventions of its tracer."""

    node: str
    op: str
    inputs: tuple[str, ...] = ()
    kernel: str = ""


def describe(node: NodeExecStats, *, on_stream: bool) -> Operation:
    """Node name, op type, inputs and kernel of what ran.

    Three generations of GPU tracers write streams differently: ``node:Op`` with the kernel as label;
    ``node:Op::kernel``; and the kernel as name with ``kernel details@@node:Op#...`` as label.
    """
    label = node.timeline_label
    if not on_stream:
        # Checked first, since the pattern looks for the end once per " = ", however long the label.
        match = _LABEL.fullmatch(label) if label.endswith(")") else None
        if match is None:
            return Operation(node.node_name, node.node_name if node.node_name == "RecvTensor" else "unknown")
        return Operation(node.node_name, match[2], tuple(part for part in match[3].split(", ") if part))
    kernel, _, annotation = label.partition("@@")
    if annotation:
        where, _, op = annotation.partition("#")[0].partition(":")
        copied = node.node_name if _COPY.search(node.node_name) else op
        return Operation(where, copied or "unknown", kernel=kernel)
    where, separator, kernel_name = node.node_name.partition("::")
    name, _, op = where.partition(":")
    if separator:
        return Operation(name, op or kernel_name or "unknown", kernel=kernel_name)
    copied = name if _COPY.search(name) else "unknown"
    return Operation(name, op or copied, kernel=label)


def _lane_of(device: str) -> tuple[str, str, LaneKind]:
    """Process, lane name and kind of a device, in the spelling of every generation of tracers."""
    match = _STREAM.match(device)
    if match is None:
        on_device = re.search(r"gpu|tpu", device, re.IGNORECASE) is not None
        return device, "operations", "device" if on_device else "host"
    lane = match["lane"].replace("#", ":").replace("stream:", "stream ").strip()
    kind: LaneKind = "memcpy" if _COPY.search(lane) else "stream"
    return match["process"], "all streams" if lane == "stream all" else lane, kind


class StepStatsArguments:
    """Arguments of slices, from the messages they came from."""

    def __init__(self, nodes: Sequence[tuple[NodeExecStats, bool]]) -> None:
        self._nodes = nodes

    def __getitem__(self, slice_index: int) -> Mapping[str, Any]:
        node, on_stream = self._nodes[slice_index]
        operation = describe(node, on_stream=on_stream)
        arguments: dict[str, Any] = {"node": operation.node, "op": operation.op}
        arguments |= {f"input{index}": name for index, name in enumerate(operation.inputs)}
        for key, value in (("kernel", operation.kernel), ("label", node.timeline_label)):
            if value:
                arguments[key] = value
        if on_stream and (size := _BYTES.search(node.timeline_label)):
            arguments["bytes"] = int(size[1] or size[2])
        allocated = sum(output.tensor_description.allocation_description.requested_bytes for output in node.output)
        if allocated:
            arguments["output bytes"] = allocated
        for used in node.memory:
            arguments[f"memory {used.allocator_name}"] = {
                "total bytes": used.total_bytes,
                "peak bytes": used.peak_bytes,
                "live bytes": used.live_bytes,
            }
        if node.HasField("memory_stats"):
            arguments["temporary bytes"] = node.memory_stats.temp_memory_size
            arguments["persistent bytes"] = node.memory_stats.persistent_memory_size
        if node.scheduled_micros or node.scheduled_nanos:
            scheduled = node.scheduled_nanos or node.scheduled_micros * 1000
            arguments["waited ns"] = _times(node)[0] - scheduled
        if node.thread_id:
            arguments["thread"] = node.thread_id
        return arguments


def _times(node: NodeExecStats) -> tuple[int, int]:
    """Start and duration in nanoseconds, from the fields in nanoseconds where the tracer filled them."""
    start = node.all_start_nanos or node.all_start_micros * 1000
    duration = node.all_end_rel_nanos or node.all_end_rel_micros * 1000
    return start, duration


class _Collected:
    """Slices and lanes as they come."""

    def __init__(self) -> None:
        self.lanes: list[Lane] = []
        self.overlapping: list[int] = []
        self.nodes: list[tuple[NodeExecStats, bool]] = []
        self.operations: list[Operation] = []
        self.lane: list[int] = []
        self.times: list[tuple[int, int]] = []
        self.out_of_range = 0

    def add_device(self, device: DeviceStepStats, number: int) -> None:
        process, lane_name, kind = _lane_of(device.device)
        on_stream = kind in ("stream", "memcpy")
        threads: dict[int, int] = {}
        for node in device.node_stats:
            start, duration = _times(node)
            if not (EARLIEST_NS <= start <= LATEST_NS and abs(duration) <= LONGEST_NS):
                self.out_of_range += 1
                continue
            thread = node.thread_id if device.thread_names else 0
            if thread not in threads:
                threads[thread] = len(self.lanes)
                named = device.thread_names.get(thread, f"thread {thread}")
                self.lanes.append(Lane(process, named if device.thread_names else lane_name, number, thread, kind, 0))
                if not device.thread_names:
                    self.overlapping.append(threads[thread])
            self.nodes.append((node, on_stream))
            self.operations.append(describe(node, on_stream=on_stream))
            self.lane.append(threads[thread])
            self.times.append((start, duration))


def trace_of_step_stats(step_stats: StepStats, *, step: int | None = None, notes: tuple[str, ...] = ()) -> Trace:
    """The trace of one step: a lane per thread where threads have names, else one per device or stream.

    Ops of a device without thread names ran on several threads: where they overlap they take rows of their
    own, which is no loss. A slice's name is its node's, its category the op type. ``/stream:all`` repeats
    what is on the single streams and is called "all streams". Arrows go from the node that made an input to
    the one that used it. ``step`` numbers the step that spans the whole trace; ``notes`` become the losses'
    own.
    """
    collected = _Collected()
    for number, device in enumerate(step_stats.dev_stats):
        collected.add_device(device, number)
    operations = collected.operations
    texts = [operation.node for operation in operations], [operation.op for operation in operations]
    ids = np.arange(len(operations), dtype=np.int32)
    name_id, names = intern_used(ids, texts[0])
    category_id, categories = intern_used(np.arange(len(operations) + 1, dtype=np.int32), [*texts[1], "DataFlow"])
    times = np.array(collected.times, np.int64).reshape(-1, 2)
    raw = RawSlices(
        times[:, 0].copy(),
        times[:, 1].copy(),
        np.array(collected.lane, np.int32),
        name_id,
        category_id[:-1],
    )
    arranged = arrange(raw, collected.lanes, may_overlap=collected.overlapping)
    steps = find_steps(arranged.columns, names, arranged.lanes)
    if step is not None and operations:
        start = int(arranged.columns.start_ns.min())
        end = int((arranged.columns.start_ns + arranged.columns.duration_ns).max())
        steps = (Step(step, f"step {step}", start, end - start),)
    return assemble(
        arranged,
        names=names,
        categories=categories,
        arguments=StepStatsArguments([collected.nodes[index] for index in arranged.order.tolist()]),
        flows=_data_flow(collected, arranged.order.tolist(), int(category_id[-1])),
        counters=(),
        steps=steps,
        losses=Losses({"time out of range": collected.out_of_range}, notes),
        metadata={} if step is None else {"step": step},
    )


def _data_flow(collected: _Collected, order: Sequence[int], category: int) -> Flows:
    """Arrows along the inputs of host-side nodes, as TensorFlow's Timeline draws them."""
    slice_of = {collected.operations[raw].node: index for index, raw in enumerate(order) if not collected.nodes[raw][1]}
    pairs = []
    for index, raw in enumerate(order):
        for name in collected.operations[raw].inputs:
            producer = name.removeprefix("^").partition(":")[0]
            found = slice_of.get(producer, slice_of.get(producer.rpartition("/_")[0], index))
            if found != index:
                pairs.append((found, index))
    arrows = np.array(pairs, np.int64).reshape(-1, 2)
    return Flows(arrows[:, 0].copy(), arrows[:, 1].copy(), np.full(len(arrows), category, np.int32))
