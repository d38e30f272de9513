"""StepStats messages, as TensorFlow's tracers and this package's recorder store them in RunMetadata."""

import re
from array import array
from bisect import bisect_right
from collections import Counter as Tally
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

import numpy as np

from stepscope.profiler.step_stats import parse_step_stats
from stepscope.profiler.timeline import TensorLifetime, TensorMemory, tensor_memory
from stepscope.profiler.trace import Counter, Flows, Lane, LaneKind, Losses, Step, Trace
from stepscope.profiler.traces.build import (
    EARLIEST_NS,
    EARLIEST_WALL_NS,
    LATEST_NS,
    LONGEST_NS,
    RawSlices,
    arrange,
    assemble,
    find_steps,
    intern_used,
)
from stepscope.profiler.traces.compression import BEGINNING
from stepscope.profiler.traces.error import TraceError
from stepscope.profiler.traces.limits import Limits, size_text
from stepscope.profiler.traces.losses import MEMORY, REPEATED, TIME_RANGE, LossTally, merged, moment
from stepscope.profiler.traces.reader import TraceReader
from stepscope.profiler.traces.step_stats_nodes import BYTES, Nodes, describe
from stepscope.profiler.traces.tensors import TENSOR_CATEGORY, tensor_arguments, tensor_slices, with_tensors
from stepscope.profiler.traces.wire import LENGTH
from stepscope.summary.bounded_messages import TooManyPartsError
from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.errors import UserError
from stepscope.summary.proto.step_stats_pb2 import DeviceStepStats, NodeExecStats, StepStats

_STREAM: Final = re.compile(r"^(?P<process>.*?)/(?:context#\d+/)?(?P<lane>stream[:#].*|memcpy|sync|null stream.*)$")
_NUMBER_OF_DEVICE: Final = re.compile(r"^(?P<prefix>.*?)/(?:device:)?gpu:(?P<number>[0-9]{1,9})", re.IGNORECASE)
_COPY: Final = re.compile(r"memcpy|memset", re.IGNORECASE)
_DETAIL: Final = re.compile(r"(regs|shm|grid|block|to device):([0-9]{1,9}(?:,[0-9]{1,9})*)(?![0-9])")
_DETAIL_KEYS: Final[Mapping[str, str]] = {
    "regs": "registers per thread",
    "shm": "shared memory",
    "grid": "grid",
    "block": "block",
    "to device": "to device",
}
"""Details in labels, and the names of Kineto's arguments for them."""

_REPEATING: Final[Mapping[str, int]] = {"memcpy": 1, "all streams": 2}
"""Lanes that may repeat those before them, in this order."""

_NODES_AT_ONCE: Final = 4_096

LAUNCH: Final = "launch"
"""Category of the arrows from an operation to the kernels and copies that it launched."""


def _lane_of(device: str) -> tuple[str, str, LaneKind]:
    """Return the process, lane name and kind of a device, in the spelling of any generation of tracers."""
    match = _STREAM.match(device)
    if match is None:
        on_device = re.search(r"gpu|tpu", device, re.IGNORECASE) is not None
        return device, "operations", "device" if on_device else "host"
    lane = match["lane"].replace("#", ":").replace("stream:", "stream ").strip()
    kind: LaneKind = "memcpy" if _COPY.search(lane) else "stream"
    return match["process"], "all streams" if lane == "stream all" else lane, kind


def _numbered_device(device: str) -> tuple[str, int] | None:
    """Return what identifies a GPU within a message, whatever the generation calls it; None for other devices."""
    match = _NUMBER_OF_DEVICE.match(device)
    return (match["prefix"], int(match["number"])) if match else None


class StepStatsArguments:
    """Arguments of slices, from the messages they came from: first those of nodes, then those of tensors."""

    def __init__(self, nodes: Nodes, order: Sequence[int], tensors: Sequence[TensorLifetime] = ()) -> None:
        self._nodes = nodes
        self._order = order
        self._tensors = tensors

    def __getitem__(self, slice_index: int) -> Mapping[str, Any]:
        if slice_index >= len(self._order):
            return tensor_arguments(self._tensors[slice_index - len(self._order)])
        index = self._order[slice_index]
        node, on_stream = self._nodes.message(index), self._nodes.on_stream(index)
        operation = describe(node, on_stream=on_stream)
        arguments: dict[str, Any] = {"node": operation.node, "op": operation.op}
        arguments |= {f"input{index}": name for index, name in enumerate(operation.inputs)}
        for key, value in (("kernel", operation.kernel), ("label", node.timeline_label)):
            if value:
                arguments[key] = value
        if on_stream:
            arguments |= _details(node.timeline_label)
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


def _details(label: str) -> dict[str, Any]:
    """Return the numbers in the label of a kernel or copy, under the names that Kineto gives them."""
    details = label.partition("@@")[0]
    found: dict[str, Any] = {}
    if size := BYTES.search(details):
        found["bytes"] = int(size[1] or size[2])
    for key, text in _DETAIL.findall(details):
        numbers = [int(number) for number in text.split(",")]
        found[_DETAIL_KEYS[key]] = numbers if len(numbers) > 1 else numbers[0]
    return found


def _times(node: NodeExecStats) -> tuple[int, int]:
    """Return start and duration in nanoseconds, from the fields in nanoseconds if the tracer filled them."""
    start = node.all_start_nanos or node.all_start_micros * 1000
    duration = node.all_end_rel_nanos or node.all_end_rel_micros * 1000
    return start, duration


class _Collected:
    """Slices and lanes, collected as they are read."""

    def __init__(self, most_nodes: int = 0) -> None:
        self.most_nodes = most_nodes
        self.lanes: list[Lane] = []
        self.overlapping: set[int] = set()
        self.nodes = Nodes()
        self.lane: array[int] = array("q")
        self.devices: list[str] = []
        """The device of each lane."""
        self.lost = LossTally()

    def add_device(self, device: DeviceStepStats, number: int) -> None:
        process, lane_name, kind = _lane_of(device.device)
        on_stream = kind in ("stream", "memcpy")
        threads: dict[int, int] = {}
        room = self.most_nodes - len(self.nodes)
        self.lost.add(MEMORY, max(len(device.node_stats) - room, 0), f"nodes of {device.device}")
        self.nodes.begin(device, on_stream=on_stream)
        for place, node in enumerate(islice(device.node_stats, room)):
            if place % _NODES_AT_ONCE == 0:
                check_cancelled()
            start, duration = _times(node)
            if not (EARLIEST_NS <= start <= LATEST_NS and abs(duration) <= LONGEST_NS):
                self.lost.add(TIME_RANGE, 1, f"“{node.node_name}” of {device.device} at {start} ns for {duration} ns")
                continue
            thread = node.thread_id if device.thread_names else 0
            if thread not in threads:
                threads[thread] = len(self.lanes)
                named = device.thread_names.get(thread, f"thread {thread}")
                self.lanes.append(Lane(process, named if device.thread_names else lane_name, number, thread, kind, 0))
                self.devices.append(device.device)
                if not device.thread_names:
                    self.overlapping.add(threads[thread])
            operation = describe(node, on_stream=on_stream)
            if lane_name == "sync" and on_stream:
                operation = replace(operation, activity="sync")
            self.nodes.add(place, operation, start, duration)
            self.lane.append(threads[thread])

    def without_repeated(self) -> "_Collected":
        """Return the same without slices that are stored a second time.

        ``/stream:all`` and ``/memcpy`` repeat the slices of single streams: a slice with a twin there, of equal time
        and on the same GPU, is left out. A slice without a twin stays, as in files without single streams.
        """
        kept = _Collected()
        kept.lost = self.lost
        renumbered: dict[int, int] = {}
        found = Tally[tuple[object, ...]]()
        seen = Tally[tuple[object, ...]]()
        left_out: set[int] = set()
        numbered = [_numbered_device(device) for device in self.devices]
        rank = [_REPEATING.get(lane.name, 0) if lane.kind in ("stream", "memcpy") else 0 for lane in self.lanes]
        for index in sorted(range(len(self.lane)), key=lambda index: rank[self.lane[index]]):
            lane = self.lane[index]
            if not self.nodes.on_stream(index) or numbered[lane] is None:
                continue
            start_ns, duration_ns = self.nodes.start_ns[index], self.nodes.duration_ns[index]
            operation = self.nodes.operation(index)
            key = (numbered[lane], start_ns, duration_ns, operation.activity.startswith("gpu_mem"))
            seen[lane, key] += 1
            if rank[lane] and seen[lane, key] <= found[key]:
                left_out.add(index)
                example = f"“{operation.name}” of {self.devices[lane]} at {moment(start_ns)}"
                self.lost.add(REPEATED, 1, example)
            else:
                found[key] += 1
        chosen = [index for index in range(len(self.lane)) if index not in left_out]
        for lane in map(self.lane.__getitem__, chosen):
            if lane not in renumbered:
                renumbered[lane] = len(kept.lanes)
                kept.lanes.append(self.lanes[lane])
                kept.devices.append(self.devices[lane])
                if lane in self.overlapping:
                    kept.overlapping.add(renumbered[lane])
            kept.lane.append(renumbered[lane])
        kept.nodes = self.nodes.chosen(chosen)
        return kept


def trace_of_step_stats(
    step_stats: StepStats, *, step: int | None = None, notes: tuple[str, ...] = (), most_nodes: int = Limits.nodes
) -> Trace:
    """Return the trace of one step: a lane per thread where threads have names, else one per device or stream.

    Ops of a device without thread names ran on several threads: where they overlap, they take separate rows, which is
    not a loss. On the host, a slice has the name of its node, and the op type as its category; on streams, it has the
    name of the kernel or copy, and "kernel", "gpu_memcpy" or "gpu_memset" as its category, whatever the tracer wrote.
    Slices of single streams that ``/stream:all`` and ``/memcpy`` repeat are shown once. Arrows go from the node that
    produced an input to the one that used it ("DataFlow"), and from an op to what it ran on the device (`LAUNCH`). The
    tensors of each allocator form a lane after all others, and the bytes it held form a counter, both by the lifetimes
    that TensorFlow's Timeline assumes. ``step`` is the number of the step that spans the whole trace; ``notes`` become
    the losses' own. Nodes beyond ``most_nodes`` are left out and counted.
    """
    everything = _Collected(most_nodes)
    for number, device in enumerate(step_stats.dev_stats):
        check_cancelled()
        everything.add_device(device, number)
    check_cancelled()
    collected = everything.without_repeated()
    check_cancelled()
    memory = tensor_memory(step_stats)
    tensors = tensor_slices(memory.lifetimes)
    nodes, slices = len(collected.nodes), len(collected.nodes) + len(tensors.tensors)
    name_id, names = intern_used(
        np.arange(slices, dtype=np.int32),
        [*(operation.name for operation in collected.nodes.operations()), *(tensor.name for tensor in tensors.tensors)],
    )
    category_id, categories = intern_used(
        np.arange(slices + 2, dtype=np.int32),
        [
            *(operation.category for operation in collected.nodes.operations()),
            *([TENSOR_CATEGORY] * len(tensors.tensors)),
            "DataFlow",
            LAUNCH,
        ],
    )
    raw = RawSlices(
        np.array(collected.nodes.start_ns, np.int64),
        np.array(collected.nodes.duration_ns, np.int64),
        np.array(collected.lane, np.int32),
        name_id[:nodes],
        category_id[:nodes],
    )
    check_cancelled()
    arranged = arrange(raw, collected.lanes, may_overlap=sorted(collected.overlapping))
    steps = find_steps(arranged.columns, names, arranged.lanes)
    if step is not None and nodes:
        start = int(arranged.columns.start_ns.min())
        end = int((arranged.columns.start_ns + arranged.columns.duration_ns).max())
        steps = (Step(step, f"step {step}", start, end - start),)
    check_cancelled()
    order = arranged.order.tolist()
    pairs = [_data_flow(collected, order), _launches(collected, order)]
    arrows = np.array([arrow for some in pairs for arrow in some], np.int64).reshape(-1, 2)
    return assemble(
        with_tensors(arranged, tensors, name_id[nodes:], category_id[nodes:slices]),
        names=names,
        categories=categories,
        arguments=StepStatsArguments(collected.nodes, array("q", order), tensors.tensors),
        flows=Flows(
            arrows[:, 0].copy(), arrows[:, 1].copy(), np.repeat(category_id[-2:], [len(some) for some in pairs])
        ),
        counters=_allocator_counters(memory),
        steps=steps,
        losses=merged(Losses(notes=notes), collected.lost.losses()),
        metadata={} if step is None else {"step": step},
        epoch_ns=0 if nodes and arranged.columns.start_ns.min() > EARLIEST_WALL_NS else None,
    )


def _data_flow(collected: _Collected, order: Sequence[int]) -> list[tuple[int, int]]:
    """Return arrows along the inputs of host-side nodes, as TensorFlow's Timeline draws them."""
    nodes = collected.nodes
    slice_of = {nodes.operation(raw).node: index for index, raw in enumerate(order) if not nodes.on_stream(raw)}
    pairs = []
    for index, raw in enumerate(order):
        for name in nodes.operation(raw).inputs:
            producer = name.removeprefix("^").partition(":")[0]
            found = slice_of.get(producer, slice_of.get(producer.rpartition("/_")[0], index))
            if found != index:
                pairs.append((found, index))
    return pairs


def _launches(collected: _Collected, order: Sequence[int]) -> list[tuple[int, int]]:
    """Return arrows from ops to what ran on a stream in their name, each from the last execution that began before."""
    nodes = collected.nodes
    launched = [index for index, raw in enumerate(order) if nodes.on_stream(raw)]
    wanted = {nodes.operation(order[index]).node for index in launched}
    # Arrays of numbers, as the garbage collector would examine an object per execution again and again.
    executions: dict[str, tuple[array[int], array[int]]] = {name: (array("q"), array("q")) for name in wanted}
    for index in sorted(range(len(order)), key=lambda index: nodes.start_ns[order[index]]):
        raw = order[index]
        if not nodes.on_stream(raw) and (found := executions.get(nodes.operation(raw).node)) is not None:
            found[0].append(nodes.start_ns[raw])
            found[1].append(index)
    pairs = []
    for index in launched:
        starts, indices = executions[nodes.operation(order[index]).node]
        if indices:
            before = bisect_right(starts, nodes.start_ns[order[index]])
            pairs.append((indices[max(before - 1, 0)], index))
    return pairs


def _allocator_counters(memory: TensorMemory) -> tuple[Counter, ...]:
    """Return the bytes that each allocator held, by the lifetimes of tensors that TensorFlow's Timeline assumes."""
    counters = []
    for allocator, changes in memory.held.items():
        shown = [change for change in changes if EARLIEST_NS <= change[0] * 1000 <= LATEST_NS]
        times, sizes = np.array([time * 1000 for time, _ in shown], np.int64), [float(size) for _, size in shown]
        if shown:
            counters.append(Counter("Allocators", allocator, "bytes", times, np.array(sizes, np.float64)))
    return tuple(counters)


_BEGINS_TEXT: Final = re.compile(rb"[\s\x0b\x0c]*(?:#|[A-Za-z_][A-Za-z0-9_]*\s*[:{<]|\[)")
_FIRST_DEVICE: Final = re.compile(rb"(?:\n" + LENGTH + rb"){1,2}\n[\x02-\x7f]/[a-z]+:", re.DOTALL)
"""A TensorFlow device in a StepStats, alone or in a RunMetadata; nodes of graphs never have such names."""
_FIRST_DEVICE_IN_TEXT: Final = re.compile(rb"(?:\s|#[^\n]*\n)*(?:step_stats|dev_stats)\s*:?\s*[{<]")


def step_stats_in(data: bytes, name: str, limits: Limits) -> StepStats | None:
    """Return the StepStats in a file, alone or in a RunMetadata; None if there is none, or it is too large.

    Raises:
        TraceError: the message has too many parts.
    """
    if len(data) > limits.message_bytes:
        return None
    try:
        return parse_step_stats(data, name=name)
    except UserError as error:
        if isinstance(error.__cause__, TooManyPartsError):
            raise TraceError(str(error)) from error
        return None


def _begins_as_step_stats(beginning: bytes) -> bool:
    return bool(_FIRST_DEVICE.match(beginning) or _FIRST_DEVICE_IN_TEXT.match(beginning))


def _may_be_message(data: bytes) -> bool:
    if _BEGINS_TEXT.match(data[:BEGINNING]):
        return True
    # The key of a field with any number, as newer writers may add fields that are not known here.
    return bool(data) and data[0] >> 3 > 0 and data[0] & 7 in (0, 1, 2, 5)


def _read(data: bytes, name: str, notes: tuple[str, ...], limits: Limits) -> Trace | None:
    binary = data[:1] == b"\n" or not _BEGINS_TEXT.match(data[:BEGINNING])
    most = limits.message_bytes if binary else limits.text_bytes
    if len(data) > most:
        raise TraceError(
            f"{name} is {size_text(len(data))} and was not read: the limit for messages{'' if binary else ' as text'} "
            f"is {size_text(most)}. Record fewer steps."
        )
    step_stats = step_stats_in(data, name, limits)
    return None if step_stats is None else trace_of_step_stats(step_stats, notes=notes, most_nodes=limits.nodes)


READER: Final = TraceReader(
    name="step_stats",
    about="a RunMetadata or StepStats message (binary or text)",
    sniff=_begins_as_step_stats,
    read=_read,
    endings=(".pb", ".pb.gz", ".pb.zst", ".pbtxt"),
    accepts=_may_be_message,
)
