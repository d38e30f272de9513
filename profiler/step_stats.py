"""StepStats: from what collectors recorded, and from files that hold them."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from profiler.collectors.base import ArgumentValue, Lane, Record
from summary.errors import UserError
from summary.proto.run_metadata_pb2 import RunMetadata
from summary.proto.step_stats_pb2 import DeviceStepStats, NodeExecStats, StepStats

_IN_LABELS = str.maketrans({"(": "[", ")": "]", "\n": " ", "\r": " "})
"""A label ``name = op(input, input)`` is told apart by its parentheses, and ends with its line."""


def load_step_stats(path: str | Path) -> StepStats:
    """Reads the file at ``path`` as `parse_step_stats` does.

    Raises:
        UserError: the file cannot be read, or `parse_step_stats` finds no StepStats in it.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise UserError(
            f"{path} cannot be read: {error.strerror or error}. Expected a file with a StepStats or RunMetadata."
        ) from error
    return parse_step_stats(content, name=str(path))


def parse_step_stats(content: bytes, *, name: str) -> StepStats:
    """The StepStats in the bytes of a file: alone or in a RunMetadata, as binary or text protobuf.

    Which of the four it is is told by what parses into devices that have names, since a name says nothing. Fields
    that newer writers added are passed over.

    Raises:
        UserError: it is none of the four, or nothing was traced in it; the message calls it ``name``.
    """
    empty = False
    for step_stats in chain(_binary_readings(content), _text_readings(content)):
        if _names_devices(step_stats):
            return step_stats
        empty |= not step_stats.ByteSize()
    if empty:
        raise UserError(
            f"{name} names no device, so there is nothing to show. Expected a StepStats, or the RunMetadata of a step "
            "that was traced (in TensorFlow: with RunOptions.FULL_TRACE), as binary or text protobuf."
        )
    raise UserError(
        f"{name} holds neither a StepStats nor a RunMetadata message, as binary or text protobuf. In TensorFlow, "
        "run_metadata.SerializeToString() makes one; other traces are shown on the dashboard's Timeline tab."
    )


def step_stats_from_records(records: Iterable[Record]) -> StepStats:
    """Converts records into StepStats: one device per device of theirs, one node per record.

    Nodes carry both microseconds, in which a scope never outlasts the one around it, and the nanoseconds
    that were measured. All threads of the host are one device, as TensorFlow's executor reports them, with
    the thread of each node in ``thread_id`` and its name in ``thread_names``. Nodes are stored lane by
    lane, in the order in which the lanes first appear, and the outermost scope first:
    `timeline.chrome_trace` gives a slice the first lane that is free, so this order puts threads below each
    other, and the scopes of each below the scopes around them.
    """
    step_stats = StepStats()
    devices: dict[str, DeviceStepStats] = {}
    for lane, recorded in _by_lane(records).items():
        if lane.device not in devices:
            devices[lane.device] = step_stats.dev_stats.add(device=lane.device)
        device = devices[lane.device]
        device.thread_names[lane.thread_id] = lane.thread_name
        outermost_first = sorted(recorded, key=lambda record: (record.start_ns, -record.duration_ns))
        device.node_stats.extend(_node(record) for record in outermost_first)
    return step_stats


def split_steps(records: Sequence[Record]) -> list[tuple[Record, list[Record]]]:
    """Every step with what started in it, itself included; what started before the first belongs to that.

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


def _node(record: Record) -> NodeExecStats:
    start_micros = record.start_ns // 1000
    # The difference of two rounded times, not a rounded difference, so that what was nested stays nested.
    duration_micros = (record.start_ns + record.duration_ns) // 1000 - start_micros
    return NodeExecStats(
        node_name=record.name,
        timeline_label=_label(record.name, record.args),
        thread_id=record.lane.thread_id,
        scheduled_micros=start_micros,
        scheduled_nanos=record.start_ns,
        all_start_micros=start_micros,
        all_start_nanos=record.start_ns,
        op_end_rel_micros=duration_micros,
        op_end_rel_nanos=record.duration_ns,
        all_end_rel_micros=duration_micros,
        all_end_rel_nanos=record.duration_ns,
    )


def _label(name: str, args: Mapping[str, ArgumentValue]) -> str:
    """A label that readers split into the name, the name as operation (no spaces in it), and arguments as inputs."""
    plain = name.translate(_IN_LABELS)
    inputs = ", ".join(f"{key}={value}" for key, value in args.items()).translate(_IN_LABELS)
    return f"{plain} = {plain.replace(' ', '_')}({inputs.replace(' = ', '=')})"


def _binary_readings(content: bytes) -> Iterator[StepStats]:
    with suppress(DecodeError):
        yield RunMetadata.FromString(content).step_stats
    with suppress(DecodeError):
        yield StepStats.FromString(content)


def _text_readings(content: bytes) -> Iterator[StepStats]:
    # The text parser raises more than its ParseError: ValueError for text that is not UTF-8, or numbers out of range.
    refusals = (text_format.ParseError, ValueError, RecursionError)
    with suppress(*refusals):
        yield text_format.Parse(content, RunMetadata(), allow_unknown_field=True).step_stats
    with suppress(*refusals):
        yield text_format.Parse(content, StepStats(), allow_unknown_field=True)


def _names_devices(step_stats: StepStats) -> bool:
    """Whether a parse is plausible: bytes of another message rarely turn into readable device names."""
    devices = [device_stats.device for device_stats in step_stats.dev_stats]
    return bool(devices) and all(device and device.isprintable() for device in devices)
