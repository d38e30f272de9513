"""Nodes of StepStats messages: what the labels of their tracers mean, and many nodes as columns."""

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from stepscope.summary.proto.step_stats_pb2 import DeviceStepStats, NodeExecStats

_LABEL: Final = re.compile(r"(?:\[[^]]*\] )?(.*?) = ([^ ()]*)\((.*)\)", re.DOTALL)
"""``[allocator 1.2MB 3.4MB] node = Op(input, input)``, the label that executors give to what they run."""
_COPY_NAME: Final = re.compile(
    r"mem(?P<what>cpy|set)[ _]?(?P<from>[hdap])?(?:to|2)?(?P<to>[hdap])?\w{0,9}", re.IGNORECASE
)
"""``MEMCPYHtoD``, ``MemcpyH2D``, ``MemcpyDeviceToHost`` and the like, as whole names."""
_DETAILS: Final = re.compile(r" (?=regs:[0-9]|shm:[0-9]|bytes:[0-9]|grid:[0-9])")
"""Where the details of a kernel or copy begin in a label, after its name, which may contain spaces."""
BYTES: Final = re.compile(r"bytes:([0-9]{1,18})(?![0-9])|(?<![0-9])([0-9]{1,18}) bytes")

Activity = Literal["op", "kernel", "gpu_memcpy", "gpu_memset", "sync"]
"""The kind of a node; for device activities, the category that Kineto uses."""


@dataclass(frozen=True)
class Operation:
    """What a StepStats node reports about itself, according to the label conventions of its tracer."""

    node: str
    """The node of the graph, also for what it launched."""
    op: str
    inputs: tuple[str, ...] = ()
    kernel: str = ""
    activity: Activity = "op"

    @property
    def name(self) -> str:
        """Name of what ran: the kernel or copy on a stream, else the node."""
        return self.kernel or self.node

    @property
    def category(self) -> str:
        """The op type on the host, the kind of activity on a device."""
        return self.op if self.activity == "op" else self.activity


def describe(node: NodeExecStats, *, on_stream: bool) -> Operation:
    """Return the node name, op type, inputs and kernel of what ran.

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
    details, separator, annotation = label.partition("@@")
    ran = _DETAILS.split(details, maxsplit=1)[0]
    if separator or ran != details:
        # From CuptiTracer. Without an annotation, the node is named after the kernel or the kernel's node.
        where, colon, op = (annotation.partition("#")[0] if separator else node.node_name).partition(":")
        if not separator and (node.node_name == ran or not colon):
            where, op = "", ""
        return _device_operation(where, op, ran or node.node_name)
    where, separator, kernel = node.node_name.partition("::")
    name, _, op = where.partition(":")
    if separator and (not label or BYTES.fullmatch(label)):
        return _device_operation(name, op, kernel)
    name, _, op = node.node_name.partition(":")
    if _COPY_NAME.fullmatch(op) or _COPY_NAME.fullmatch(name):
        return _device_operation(*((name, "", op) if _COPY_NAME.fullmatch(op) else ("", "", name)))
    return _device_operation(name, op, label)


def _device_operation(node: str, op: str, ran: str) -> Operation:
    """Return what ran on a stream; copies get Kineto's names, so that those of all generations are alike."""
    copy = _COPY_NAME.fullmatch(ran)
    if copy is None:
        return Operation(node or ran, op or "unknown", kernel=ran, activity="kernel")
    if copy["what"].lower() == "set":
        return Operation(node or ran, op or "Memset", kernel="Memset", activity="gpu_memset")
    direction = f" {copy['from'].upper()}to{copy['to'].upper()}" if copy["from"] and copy["to"] else ""
    return Operation(node or ran, op or ran, kernel=f"Memcpy{direction}", activity="gpu_memcpy")


class Nodes:
    """Nodes of a message as columns, with what they report about themselves.

    Python's garbage collector would visit an object per node again and again, and block all other work each time: for
    seconds with millions of nodes.
    """

    def __init__(self) -> None:
        self._devices: list[DeviceStepStats] = []
        self._on_stream: list[bool] = []
        self._device: array[int] = array("q")
        self._place: array[int] = array("q")
        self._node: list[str] = []
        self._op: list[str] = []
        self._inputs: list[tuple[str, ...]] = []
        self._kernel: list[str] = []
        self._activity: list[Activity] = []
        self.start_ns: array[int] = array("q")
        self.duration_ns: array[int] = array("q")

    def __len__(self) -> int:
        return len(self._place)

    def begin(self, device: DeviceStepStats, *, on_stream: bool) -> None:
        """Begin adding the nodes of a device."""
        self._devices.append(device)
        self._on_stream.append(on_stream)

    def add(self, place: int, operation: Operation, start_ns: int, duration_ns: int) -> None:
        """Add the node at a place in the device that was begun last."""
        self._add(len(self._devices) - 1, place, operation, start_ns, duration_ns)

    def chosen(self, indices: list[int]) -> "Nodes":
        """Return the nodes at some indices."""
        found = Nodes()
        found._devices, found._on_stream = self._devices, self._on_stream
        for index in indices:
            times = self.start_ns[index], self.duration_ns[index]
            found._add(self._device[index], self._place[index], self.operation(index), *times)
        return found

    def _add(self, device: int, place: int, operation: Operation, start_ns: int, duration_ns: int) -> None:
        self._device.append(device)
        self._place.append(place)
        self._node.append(operation.node)
        self._op.append(operation.op)
        self._inputs.append(operation.inputs)
        self._kernel.append(operation.kernel)
        self._activity.append(operation.activity)
        self.start_ns.append(start_ns)
        self.duration_ns.append(duration_ns)

    def operation(self, index: int) -> Operation:
        """Return what a node reports about itself."""
        kernel, activity = self._kernel[index], self._activity[index]
        return Operation(self._node[index], self._op[index], self._inputs[index], kernel, activity)

    def operations(self) -> Iterator[Operation]:
        """Yield what each node reports about itself."""
        return map(self.operation, range(len(self)))

    def message(self, index: int) -> NodeExecStats:
        """Return a node as it was recorded."""
        return self._devices[self._device[index]].node_stats[self._place[index]]

    def on_stream(self, index: int) -> bool:
        """Return whether a node is on a stream."""
        return self._on_stream[self._device[index]]
