"""StepStats as a Chrome trace, event for event as TensorFlow's ``Timeline`` writes it.

Source of every rule: ``tensorflow/python/client/timeline.py`` of TensorFlow 2.21. What may look arbitrary here (slices
that must start strictly later than the last one on their lane ended, arrows that end in "t" instead of "f", tensors
that share an identifier when a node runs twice) is what tools and users expect, so it is kept.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import inf
from typing import Any, Literal, assert_never

from stepscope.summary.proto.step_stats_pb2 import DeviceStepStats, NodeExecStats, StepStats, TensorDescription

OpTime = Literal["schedule", "gpu", "all"]
"""The time at which an operation is shown.

"schedule": while the host launched it; "gpu": from the start of its first kernel to its own end or the end of its last
kernel, whichever is later; "all": from the launch to that same end.
"""

Event = dict[str, Any]
"""One event of the Chrome trace event format; ``ts`` and ``dur`` are integer microseconds."""

ALLOCATORS_PID = 0
UNKNOWN = "unknown"
RECV_TENSOR = "RecvTensor"


@dataclass(frozen=True)
class AllocatorMaximum:
    """The moment at which an allocator held the most bytes in tensors; the first one if there are several."""

    timestamp: int
    """Microseconds since the epoch; 0 if the allocator never held a byte."""
    num_bytes: int
    tensors: frozenset[str]


@dataclass(frozen=True)
class _Node:
    """One execution with the time it is shown at, in microseconds, and the lane it is drawn on."""

    stats: NodeExecStats
    start: int
    duration: int
    lane: int

    @property
    def end(self) -> int:
        return self.start + self.duration


@dataclass(frozen=True)
class _Device:
    pid: int
    tensors_pid: int
    is_gpu_trace: bool
    nodes: Sequence[_Node]


@dataclass
class _Tensor:
    """An output of a node, and the time until which it is needed, in microseconds."""

    name: str
    slot: int
    object_id: int
    device: _Device
    producer: _Node
    description: TensorDescription
    last_unref: int


@dataclass
class _Flows:
    """Arrows from the end of a tensor's producer to the start of its consumer; one identifier each."""

    count: int = field(default=0)

    def events(self, tensor: _Tensor, device: _Device, node: _Node) -> Iterator[Event]:
        """Yield the two events of one arrow; none within one lane, where an arrow would only be clutter."""
        source = (tensor.device.pid, tensor.producer.lane)
        target = (device.pid, node.lane)
        if source == target:
            return
        yield _event("s", "DataFlow", tensor.name, source, tensor.producer.end) | {"id": self.count}
        yield _event("t", "DataFlow", tensor.name, target, node.start) | {"id": self.count}
        self.count += 1


class _Lanes:
    """First-fit lanes: a slice takes the first lane whose last slice ended strictly before its start.

    A binary tree of minima over the ends finds that lane in logarithmic time, so that a file in which everything
    happens at once does not take forever.
    """

    def __init__(self) -> None:
        self._capacity = 1
        self._count = 0
        self._minima: list[float] = [inf, inf]
        self._append(0)

    def place(self, start: int, end: int) -> int:
        """Return the lane of a slice; lanes count from 0."""
        if self._minima[1] >= start:
            return self._append(end)
        position = 1
        while position < self._capacity:
            position *= 2
            if self._minima[position] >= start:
                position += 1
        self._set(position, end)
        return position - self._capacity

    def _append(self, end: int) -> int:
        if self._count == self._capacity:
            ends = self._minima[self._capacity :]
            self._capacity *= 2
            self._minima = [inf] * (2 * self._capacity)
            self._minima[self._capacity : self._capacity + len(ends)] = ends
            for position in range(self._capacity - 1, 0, -1):
                self._minima[position] = min(self._minima[2 * position], self._minima[2 * position + 1])
        lane = self._count
        self._count += 1
        self._set(self._capacity + lane, end)
        return lane

    def _set(self, position: int, end: int) -> None:
        self._minima[position] = end
        while position > 1:
            position //= 2
            self._minima[position] = min(self._minima[2 * position], self._minima[2 * position + 1])


def chrome_trace(
    step_stats: StepStats,
    *,
    show_dataflow: bool = True,
    show_memory: bool = False,
    op_time: OpTime = "schedule",
) -> dict[str, list[Event]]:
    """Convert StepStats into the trace that TensorFlow's ``Timeline`` would make of them.

    Args:
        step_stats: what ran in one step; not modified.
        show_dataflow: add an arrow for every tensor that goes from one lane to another.
        show_memory: add the lifetime of every tensor and a counter of bytes for every allocator.
        op_time: at which time operations are shown; see `OpTime`.

    Returns:
        ``{"traceEvents": [...]}``, ready for `json.dumps`; all times are integer microseconds.
    """
    devices = _devices(step_stats, op_time)
    produced = _produced(devices)
    tensors = _latest(produced)
    events = _process_names(step_stats)
    if show_memory:
        events += _lifetimes(produced)
    events += _computations(devices, tensors, show_dataflow)
    if show_memory:
        events += _deletions(tensors)
        events += _memory_counters(tensors)
    return {"traceEvents": events}


def allocator_maximums(step_stats: StepStats, *, op_time: OpTime = "schedule") -> dict[str, AllocatorMaximum]:
    """Return when each allocator held the most, by the lifetimes that `chrome_trace` shows with ``show_memory``."""
    devices = _devices(step_stats, op_time)
    tensors = _latest(_produced(devices))
    deque(_computations(devices, tensors, show_dataflow=False), maxlen=0)
    return {allocator: _maximum(changes) for allocator, changes in _memory_changes(tensors).items()}


@dataclass(frozen=True)
class TensorLifetime:
    """An output of one execution of a node, alive from the execution's start to its last use, in microseconds.

    If a node ran several times, as in a loop, uses count only for the last execution (``latest``): tensors of the
    others last only as long as their execution.
    """

    name: str
    """The node, with ``:<index>`` appended for all outputs but the first."""
    node: str
    slot: int
    start: int
    end: int
    description: TensorDescription
    latest: bool


@dataclass(frozen=True)
class TensorMemory:
    """The memory data in StepStats, as shown by `chrome_trace` with ``show_memory``."""

    lifetimes: tuple[TensorLifetime, ...]
    held: Mapping[str, tuple[tuple[int, int], ...]]
    """Changes over time for each allocator: microseconds, and the bytes held from then on."""


def tensor_memory(step_stats: StepStats, *, op_time: OpTime = "schedule") -> TensorMemory:
    """Return the lifetimes of all tensors, in the order of their nodes, and what each allocator held."""
    if not any(node.output for device in step_stats.dev_stats for node in device.node_stats):
        return TensorMemory((), {})
    devices = _devices(step_stats, op_time)
    produced = _produced(devices)
    tensors = _latest(produced)
    deque(_computations(devices, tensors, show_dataflow=False), maxlen=0)
    lifetimes = tuple(
        TensorLifetime(
            name=tensor.name,
            node=tensor.producer.stats.node_name,
            slot=tensor.slot,
            start=tensor.producer.start,
            end=tensor.last_unref,
            description=tensor.description,
            latest=tensors[tensor.name] is tensor,
        )
        for tensor in produced
    )
    held = {
        allocator: tuple(
            zip(
                [time for time, _, _ in changes],
                accumulate(num_bytes for _, num_bytes, _ in changes),
                strict=True,
            )
        )
        for allocator, changes in _memory_changes(tensors).items()
    }
    return TensorMemory(lifetimes, held)


def parse_op_label(label: str) -> tuple[str, tuple[str, ...]]:
    """Return the operation and its inputs in a label of the form ``name = op(input, input)``.

    Returns:
        The operation, "unknown" if the label has another form, and the names of the inputs.
    """
    # Splits as the greedy pattern "(.*) = (.*)\((.*)\)" does, in linear time.
    line = label.partition("\n")[0]
    close = line.rfind(")")
    opening = line.rfind("(", 0, max(close, 0))
    equals = line.rfind(" = ", 0, max(opening, 0))
    if equals < 0:
        return UNKNOWN, ()
    inputs = line[opening + 1 : close]
    return line[equals + 3 : opening], tuple(inputs.split(", ")) if inputs else ()


def parse_kernel_label(label: str, node_name: str) -> tuple[str, str]:
    """Return the node and the operation that a kernel belongs to.

    They are the first two fields of ``node:op``, which is the text between "@@" and "#" in the label, or else the node
    name.
    """
    start, end = label.find("@@"), label.find("#")
    if start >= 0 and start + 2 < end:
        node_name = label[start + 2 : end]
    name, op = [*node_name.split(":"), UNKNOWN][:2]
    return name, op


def is_gpu_trace(device: str) -> bool:
    """Return whether a device holds kernels and copies recorded by a GPU tracer, instead of operations."""
    return "/stream:" in device or "/memcpy" in device


def _event(phase: str, category: str, name: str, place: tuple[int, int], timestamp: int) -> Event:
    pid, tid = place
    return {"ph": phase, "cat": category, "name": name, "pid": pid, "tid": tid, "ts": timestamp}


def _process_names(step_stats: StepStats) -> list[Event]:
    names = ["Allocators"]
    for device_stats in step_stats.dev_stats:
        names += [f"{device_stats.device} Compute", f"{device_stats.device} Tensors"]
    return [{"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}} for pid, name in enumerate(names)]


def _devices(step_stats: StepStats, op_time: OpTime) -> list[_Device]:
    kernels = _kernel_spans(step_stats) if op_time != "schedule" else {}
    # A device that is listed twice has two process names in the trace, but all its events go to the second.
    indices = {device_stats.device: index for index, device_stats in enumerate(step_stats.dev_stats)}
    return [
        _Device(
            pid=1 + 2 * indices[device_stats.device],
            tensors_pid=2 + 2 * indices[device_stats.device],
            is_gpu_trace=is_gpu_trace(device_stats.device),
            nodes=_nodes(device_stats, op_time, kernels),
        )
        for device_stats in step_stats.dev_stats
    ]


def _nodes(device_stats: DeviceStepStats, op_time: OpTime, kernels: Mapping[str, tuple[int, int]]) -> list[_Node]:
    has_kernels = "/job" in device_stats.device and "/stream:all" not in device_stats.device
    lanes = _Lanes()
    nodes = []
    for stats in device_stats.node_stats:
        start, end = stats.all_start_micros, stats.all_start_micros + stats.all_end_rel_micros
        kernel = kernels.get(stats.node_name) if has_kernels else None
        if kernel is not None:
            start, end = _extended(start, end, kernel, op_time)
        nodes.append(_Node(stats, start, end - start, lanes.place(start, end)))
    return nodes


def _extended(start: int, end: int, kernel: tuple[int, int], op_time: OpTime) -> tuple[int, int]:
    """Return the start and end of an operation whose kernels ran in the span ``kernel``."""
    match op_time:
        case "schedule":
            return start, end
        case "gpu":
            return kernel[0], max(kernel[1], end)
        case "all":
            return start, max(kernel[1], end)
    assert_never(op_time)


def _kernel_spans(step_stats: StepStats) -> dict[str, tuple[int, int]]:
    """Return the start of the first and the end of the last kernel of every operation, in microseconds."""
    spans: dict[str, tuple[int, int]] = {}
    for device_stats in step_stats.dev_stats:
        if "/stream:all" not in device_stats.device:
            continue
        for kernel in device_stats.node_stats:
            name, _ = parse_kernel_label(kernel.timeline_label, kernel.node_name)
            start, end = kernel.all_start_micros, kernel.all_start_micros + kernel.all_end_rel_micros
            first, last = spans.get(name, (start, end))
            spans[name] = (min(first, start), max(last, end))
    return spans


def _produced(devices: Sequence[_Device]) -> list[_Tensor]:
    """Return every tensor that a node output; a node that runs again, as in a loop, outputs its tensors again."""
    produced: list[_Tensor] = []
    names: set[str] = set()
    for device in devices:
        for node in device.nodes:
            for index, output in enumerate(node.stats.output):
                name = f"{node.stats.node_name}:{index}" if index else node.stats.node_name
                tensor = _Tensor(name, index, len(names), device, node, output.tensor_description, node.end)
                produced.append(tensor)
                names.add(name)
    return produced


def _latest(produced: Sequence[_Tensor]) -> dict[str, _Tensor]:
    """Return the tensors that consumers see: of those with the same name, the last, in the place of the first."""
    return {tensor.name: tensor for tensor in produced}


def _lifetimes(produced: Sequence[_Tensor]) -> Iterator[Event]:
    for tensor in produced:
        node, place = tensor.producer, (tensor.device.tensors_pid, tensor.producer.lane)
        snapshot = {"tensor_description": str(tensor.description).replace('"', "")}
        yield _event("N", "Tensor", tensor.name, place, node.start) | {"id": tensor.object_id}
        yield _event("O", "Tensor", tensor.name, place, node.end - 1) | {
            "id": tensor.object_id,
            "args": {"snapshot": snapshot},
        }


def _computations(devices: Sequence[_Device], tensors: Mapping[str, _Tensor], show_dataflow: bool) -> Iterator[Event]:
    """Yield the slices of all operations, with their arrows; note in ``tensors`` when each was last needed."""
    flows = _Flows()
    for device in devices:
        for node in device.nodes:
            name, op, inputs = _operation(node.stats, device)
            arguments = {"name": name, "op": op} | {f"input{i}": inputs[i] for i in range(len(inputs))}
            yield _event("X", "Op", op, (device.pid, node.lane), node.start) | {
                "dur": node.duration,
                "args": arguments,
            }
            for tensor in _consumed(inputs, tensors):
                tensor.last_unref = max(tensor.last_unref, node.end - 1)
                if show_dataflow:
                    yield from flows.events(tensor, device, node)


def _operation(stats: NodeExecStats, device: _Device) -> tuple[str, str, tuple[str, ...]]:
    """Return what ran: the node, its operation and its inputs."""
    if device.is_gpu_trace:
        return (*parse_kernel_label(stats.timeline_label, stats.node_name), ())
    if stats.node_name == RECV_TENSOR:
        return RECV_TENSOR, RECV_TENSOR, ()
    return (stats.node_name, *parse_op_label(stats.timeline_label))


def _consumed(inputs: Sequence[str], tensors: Mapping[str, _Tensor]) -> Iterator[_Tensor]:
    for name in inputs:
        if name not in tensors:
            # Partitioning puts a Send and a Recv named "<tensor>/_<number>" between devices.
            suffix = name.rfind("/_")
            name = name[:suffix] if suffix > 0 else name
        if name in tensors:
            yield tensors[name]


def _deletions(tensors: Mapping[str, _Tensor]) -> Iterator[Event]:
    for tensor in tensors.values():
        place = (tensor.device.tensors_pid, 0)
        yield _event("D", "Tensor", tensor.name, place, tensor.last_unref) | {"id": tensor.object_id}


def _memory_changes(tensors: Mapping[str, _Tensor]) -> dict[str, list[tuple[int, int, str]]]:
    """Return for each allocator the time, bytes allocated (negative: freed) and tensor of changes; frees come first."""
    changes: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for tensor in tensors.values():
        allocation = tensor.description.allocation_description
        num_bytes, of_allocator = allocation.requested_bytes, changes[allocation.allocator_name]
        of_allocator.append((tensor.producer.start, num_bytes, tensor.name))
        of_allocator.append((tensor.last_unref, -num_bytes, tensor.name))
    return {allocator: sorted(unsorted) for allocator, unsorted in changes.items()}


def _memory_counters(tensors: Mapping[str, _Tensor]) -> Iterator[Event]:
    for allocator, changes in _memory_changes(tensors).items():
        held = 0
        for time, num_bytes, _ in changes:
            held += num_bytes
            yield _event("C", "Memory", allocator, (ALLOCATORS_PID, 0), time) | {"args": {allocator: held}}


def _maximum(changes: Sequence[tuple[int, int, str]]) -> AllocatorMaximum:
    held, most, last = 0, 0, -1
    for index, (_, num_bytes, _) in enumerate(changes):
        held += num_bytes
        if held > most:
            most, last = held, index
    tensors: set[str] = set()
    for _, num_bytes, name in changes[: last + 1]:
        if num_bytes < 0:
            tensors.discard(name)
        else:
            tensors.add(name)
    return AllocatorMaximum(changes[last][0] if last >= 0 else 0, most, frozenset(tensors))
