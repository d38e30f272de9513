"""StepStats, made from what collectors recorded or read from files."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Final

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from stepscope.profiler.collectors.base import ArgumentValue, Lane, Record
from stepscope.profiler.collectors.devices import COPY_CATEGORIES, Origin, copy_name, device_label, origins_of_launches
from stepscope.summary.bounded_messages import TooManyPartsError, parse
from stepscope.summary.errors import UserError, reason_of
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.proto.step_stats_pb2 import DeviceStepStats, NodeExecStats, StepStats

IN_LABELS: Final = str.maketrans({"(": "[", ")": "]", "\n": " ", "\r": " "})
"""Replacements for labels: ``name = op(input, input)`` is recognized by its parentheses, and ends with its line."""
_IN_ANNOTATIONS: Final = str.maketrans({":": ".", "#": "_", "@": "_"})
"""Replacements for annotations: a name ``node:op`` is split at the colon, and ends at "#"."""
_STREAM: Final = "/stream:"
_OF_ALL_STREAMS: Final = ("/stream:all", "/memcpy", "/sync")
_NOT_IN_STEP_STATS: Final = frozenset(
    {
        "python_function",
        "subprocess",
        "asyncio_task",
        # Allocations, which StepStats would have in the nodes that made them.
        "cpu_instant_event",
        # The host's scopes on a stream, which readers would take for kernels.
        "gpu_user_annotation",
        "cuda_event",
    }
)
"""Categories that would be mistaken for something else, or bury it; the Chrome trace has them."""


def load_step_stats(path: str | Path) -> StepStats:
    """Read the StepStats in the file at ``path``, as `parse_step_stats` does.

    Raises:
        UserError: the file cannot be read, or `parse_step_stats` finds no StepStats in it.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise UserError(
            f"{path} cannot be read: {reason_of(error)}. Expected a file with a StepStats or RunMetadata."
        ) from error
    return parse_step_stats(content, name=str(path))


def parse_step_stats(content: bytes, *, name: str) -> StepStats:
    """Return the StepStats in the bytes of a file: alone or in a RunMetadata, as binary or text protobuf.

    The form is whichever of the four parses into devices that have names, since a file's name says nothing about it.
    Fields added by newer writers are ignored.

    Raises:
        UserError: the bytes have none of the four forms, or nothing was traced in them; the message calls them
            ``name``.
    """
    empty = False
    refusals: list[TooManyPartsError] = []
    for step_stats in chain(_binary_readings(content, refusals), _text_readings(content)):
        if _names_devices(step_stats):
            return step_stats
        empty |= not step_stats.ByteSize()
    if refusals:
        raise UserError(f"{name} cannot be read: {refusals[0]}. Record fewer steps.") from refusals[0]
    if empty:
        raise UserError(
            f"{name} names no device, so there is nothing to show. Expected a StepStats, or the RunMetadata of a step "
            "that was traced (in TensorFlow: with RunOptions.FULL_TRACE), as binary or text protobuf."
        )
    raise UserError(
        f"{name} holds neither a StepStats nor a RunMetadata message, as binary or text protobuf. In TensorFlow, "
        "run_metadata.SerializeToString() makes one; other traces are shown on the dashboard's Timeline tab."
    )


def step_stats_from_records(records: Iterable[Record], origins: Mapping[int, Origin] | None = None) -> StepStats:
    """Convert records into StepStats: one device for each device of the records, one node for each record.

    Nodes carry both microseconds, in which a scope never outlasts the one around it, and the measured nanoseconds. All
    threads of the host are one device, as TensorFlow's executor reports them, with the thread of each node in
    ``thread_id`` and its name in ``thread_names``. Nodes are stored lane by lane, in the order in which the lanes first
    appear, outermost scope first: `timeline.chrome_trace` gives a slice the first free lane, so this order puts threads
    below each other, and the scopes of each thread below the scopes around them.

    Devices are named as by TensorFlow's CuptiTracer: "/device:GPU:0/stream:7", with kernels again under "/stream:all",
    copies again under "/memcpy", and waits under "/sync". A kernel's node is named "annotation:kernel" and labeled
    "kernel regs:32 shm:0 grid:1,1,1 block:64,1,1@@annotation:operation", where the annotation is the scope in which it
    was launched, or else the operation. Python functions, asyncio tasks, subprocesses and allocations are left out.

    Args:
        records: what was recorded, or part of it.
        origins: what launched what, by correlation, as returned by `origins_of_launches`; if ``records`` is only a
            part, pass those of the whole recording, since a kernel may run in another step than its launch.
    """
    records = [record for record in records if record.category not in _NOT_IN_STEP_STATS]
    if origins is None:
        origins = origins_of_launches(records)
    nodes: dict[str, list[NodeExecStats]] = defaultdict(list)
    thread_names: dict[str, dict[int, str]] = defaultdict(dict)
    for lane, recorded in _by_lane(records).items():
        for record in sorted(recorded, key=lambda record: (record.start_ns, -record.duration_ns)):
            for device, node in _placed(record, origins):
                nodes[device].append(node)
                if device == lane.device and _STREAM not in device:
                    thread_names[device][lane.thread_id] = lane.thread_name
    for device, of_device in nodes.items():
        if device.endswith(_OF_ALL_STREAMS):
            of_device.sort(key=lambda node: node.all_start_nanos)
    return StepStats(
        dev_stats=[
            DeviceStepStats(device=device, node_stats=of_device, thread_names=thread_names[device])
            for device, of_device in nodes.items()
        ]
    )


def split_steps(records: Sequence[Record]) -> list[tuple[Record, list[Record]]]:
    """Return each step with everything that started in it, including itself; earlier records belong to the first step.

    Raises:
        ValueError: there is no step among the records.
    """
    steps = sorted((r for r in records if r.category == "step"), key=lambda step: step.start_ns)
    if not steps:
        raise ValueError("records cannot be split into steps: none of them is a step")
    starts = [step.start_ns for step in steps]
    parts: list[tuple[Record, list[Record]]] = [(step, [step]) for step in steps]
    for record in records:
        if record.category != "step":
            parts[max(bisect_right(starts, record.start_ns) - 1, 0)][1].append(record)
    return parts


def _by_lane(records: Iterable[Record]) -> dict[Lane, list[Record]]:
    lanes: dict[Lane, list[Record]] = defaultdict(list)
    for record in records:
        lanes[record.lane].append(record)
    return lanes


def _placed(record: Record, origins: Mapping[int, Origin]) -> Iterator[tuple[str, NodeExecStats]]:
    """Yield the devices that a record is stored under, with its node."""
    device = record.lane.device
    gpu = device.partition(_STREAM)[0]
    if record.category == "cuda_sync":
        yield f"{gpu}/sync", _waiting_node(record)
    elif _STREAM not in device:
        yield device, _node(record)
    else:
        node = _device_node(record, origins.get(record.correlation, Origin("", "")))
        yield device, node
        yield f"{gpu}/memcpy" if record.category in COPY_CATEGORIES else f"{gpu}/stream:all", node


def _node(record: Record) -> NodeExecStats:
    node = timed_node(record.start_ns, record.duration_ns)
    node.node_name = record.name
    node.timeline_label = _label(record.name, record.args)
    node.thread_id = record.lane.thread_id
    return node


def _device_node(record: Record, origin: Origin) -> NodeExecStats:
    """Return the node of what ran on a stream.

    TensorFlow's Timeline reads its name as "node:op", with the kernel as the op; other readers of this generation of
    tracers use the label.
    """
    node = timed_node(record.start_ns, record.duration_ns)
    copy = record.category in COPY_CATEGORIES
    name = copy_name(record.name, record.category) if copy else record.name
    in_name = _in_annotation(name)
    node.node_name = f"{_in_annotation(origin.scope or origin.operation) or in_name}:{in_name}"
    annotation = ""
    if origin.scope or origin.operation:
        operation = origin.operation or name
        annotation = f"{_in_annotation(origin.scope or operation)}:{_in_annotation(operation)}"
    node.timeline_label = device_label(name, record.args, annotation)
    return node


def _in_annotation(name: str) -> str:
    return name.replace("::", ".").translate(_IN_ANNOTATIONS)


def _waiting_node(record: Record) -> NodeExecStats:
    node = timed_node(record.start_ns, record.duration_ns)
    node.node_name = record.name
    # Readers of host labels find an operation in it; readers of device labels find the end of the name.
    node.timeline_label = f"{record.name} regs:0 = {record.name.replace(' ', '_')}()"
    return node


def timed_node(start_ns: int, duration_ns: int) -> NodeExecStats:
    """Return an unnamed node that was scheduled and ran at a given time, in microseconds and in nanoseconds."""
    start_micros = start_ns // 1000
    # The difference of two rounded times, not a rounded difference, so that nested records stay nested.
    duration_micros = (start_ns + duration_ns) // 1000 - start_micros
    return NodeExecStats(
        scheduled_micros=start_micros,
        scheduled_nanos=start_ns,
        all_start_micros=start_micros,
        all_start_nanos=start_ns,
        op_end_rel_micros=duration_micros,
        op_end_rel_nanos=duration_ns,
        all_end_rel_micros=duration_micros,
        all_end_rel_nanos=duration_ns,
    )


def _label(name: str, args: Mapping[str, ArgumentValue]) -> str:
    """Return a label that readers split into name, operation (the name without spaces) and inputs (the arguments)."""
    plain = name.translate(IN_LABELS)
    inputs = ", ".join(f"{key}={_one_input(value)}" for key, value in args.items()).translate(IN_LABELS)
    return f"{plain} = {plain.replace(' ', '_')}({inputs.replace(' = ', '=')})"


def _one_input(value: ArgumentValue) -> str:
    # Inputs are separated by ", ", so lists of dimensions must not contain it.
    return str(value).replace(", ", ",") if isinstance(value, list | tuple) else str(value)


def _binary_readings(content: bytes, refusals: list[TooManyPartsError]) -> Iterator[StepStats]:
    readings: tuple[Callable[[], StepStats], ...] = (
        lambda: parse(RunMetadata, content).step_stats,
        lambda: parse(StepStats, content),
    )
    for reading in readings:
        try:
            yield reading()
        except TooManyPartsError as error:
            refusals.append(error)
        except DecodeError:
            pass


def _text_readings(content: bytes) -> Iterator[StepStats]:
    # The text parser raises more than its ParseError: ValueError for text that is not UTF-8, or numbers out of range.
    refusals = (text_format.ParseError, ValueError, RecursionError)
    with suppress(*refusals):
        yield text_format.Parse(content, RunMetadata(), allow_unknown_field=True).step_stats
    with suppress(*refusals):
        yield text_format.Parse(content, StepStats(), allow_unknown_field=True)


def _names_devices(step_stats: StepStats) -> bool:
    """Return whether a parse is plausible: bytes of another message rarely turn into readable device names."""
    devices = [device_stats.device for device_stats in step_stats.dev_stats]
    return bool(devices) and all(device and device.isprintable() for device in devices)
