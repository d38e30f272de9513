"""A `Trace` as StepStats, with devices and labels in the forms of TensorFlow's latest tracer (CuptiTracer)."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Final

import numpy as np

from stepscope.profiler.collectors.devices import COPY_CATEGORIES, copy_name, device_label
from stepscope.profiler.step_stats import IN_LABELS, timed_node
from stepscope.profiler.trace import Lane, Trace
from stepscope.profiler.traces.tensors import TENSORS
from stepscope.summary.counts import counted
from stepscope.summary.proto.step_stats_pb2 import DeviceStepStats, StepStats

_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_DATA_FLOW: Final = "DataFlow"
MOST_NANOSECONDS: Final = (1 << 63) - 1


def step_stats_of_trace(trace: Trace) -> StepStats:
    """Return the slices and data flow of a trace as StepStats.

    Each process is a device, and its lanes are threads. Streams are devices "/device:GPU:<n>/stream:<id>"; copies on
    them also appear in ".../memcpy", and all kernels in ".../stream:all", as TensorFlow stores them. Counters, tensors,
    other arrows and most arguments have no place in this format; `not_carried` reports what is lost.
    """
    step_stats = StepStats()
    devices: dict[str, DeviceStepStats] = {}

    def device(name: str) -> DeviceStepStats:
        if name not in devices:
            devices[name] = step_stats.dev_stats.add(device=name)
        return devices[name]

    inputs = _inputs(trace)
    places = [_place(lane) for lane in trace.lanes]
    threads: dict[tuple[str, int], int] = {}
    numbers: dict[str, Iterator[int]] = defaultdict(count)
    for index, lane in enumerate(trace.lanes):
        if places[index][1] or _holds_tensors(lane):
            continue
        thread = threads[places[index][0], index] = next(numbers[places[index][0]])
        if lane.name != "operations":
            device(places[index][0]).thread_names[thread] = lane.name
    epoch = trace.epoch_ns or 0
    columns = (trace.lane, trace.start_ns, trace.duration_ns, trace.name_id, trace.category_id)
    for index, (lane_index, start, duration, name_id, category_id) in enumerate(
        zip(*(column.tolist() for column in columns), strict=True)
    ):
        if _holds_tensors(trace.lanes[lane_index]):
            continue
        place, on_stream = places[lane_index]
        name, category = trace.names[name_id], trace.categories[category_id]
        arguments = trace.arguments[index]
        node = timed_node(min(start + epoch, MOST_NANOSECONDS), duration)
        if not on_stream:
            node.node_name = name
            node.thread_id = threads[place, lane_index]
            operation = str(arguments.get("op", "") or category or "unknown").translate(IN_LABELS).replace(" ", "_")
            node.timeline_label = f"{name.translate(IN_LABELS)} = {operation}({', '.join(inputs.get(index, ()))})"
            device(place).node_stats.append(node)
            continue
        copy = category in COPY_CATEGORIES
        node.node_name = copy_name(name, category) if copy else name
        annotation = f"{arguments['node']}:{arguments['op']}" if {"node", "op"} <= arguments.keys() else ""
        node.timeline_label = device_label(node.node_name, arguments, annotation)
        device(place).node_stats.append(node)
        gpu = place.rpartition("/")[0]
        device(f"{gpu}/memcpy" if copy else f"{gpu}/stream:all").node_stats.append(node)
    return step_stats


def not_carried(trace: Trace) -> str:
    """Return a sentence on what `step_stats_of_trace` leaves out of a trace; "" if nothing."""
    flows = sum(trace.categories[category] != _DATA_FLOW for category in trace.flows.category_id.tolist())
    tensors = int(np.isin(trace.lane, [index for index, lane in enumerate(trace.lanes) if _holds_tensors(lane)]).sum())
    counts = {"counter": len(trace.counters), "arrow": flows, "tensor": tensors}
    lost = [counted(count, what) for what, count in counts.items() if count]
    return f"Not converted, because StepStats cannot hold them: {', '.join(lost)}, and most arguments." if lost else ""


def _holds_tensors(lane: Lane) -> bool:
    """Return whether a lane shows the lifetimes of tensors rather than anything that ran."""
    return lane.kind == "other" and lane.process == TENSORS


def _inputs(trace: Trace) -> Mapping[int, list[str]]:
    found: dict[int, list[str]] = defaultdict(list)
    flows = trace.flows
    for source, target, category in zip(
        flows.source.tolist(), flows.target.tolist(), flows.category_id.tolist(), strict=True
    ):
        if trace.categories[category] == _DATA_FLOW:
            found[target].append(trace.names[int(trace.name_id[source])].translate(IN_LABELS))
    return found


def _place(lane: Lane) -> tuple[str, bool]:
    """Return the device of a lane, and whether it is a stream."""
    if lane.kind not in ("stream", "memcpy"):
        return (lane.process if lane.process.startswith("/") else f"/host:{lane.process}"), False
    number = re.search(r"gpu\D{0,2}([0-9]{1,9})", lane.process, re.IGNORECASE) or _NUMBER.fullmatch(str(lane.pid))
    stream = _NUMBER.search(lane.name) or _NUMBER.search(str(lane.tid))
    gpu = number[number.lastindex or 0] if number else "0"
    return f"/device:GPU:{gpu}/stream:{stream[0] if stream else lane.name.replace(' ', '_')}", True
