"""StepStats in the three forms that TensorFlow's tracers of GPUs have had, with TensorFlow's `Timeline` of each.

    python step_stats.py FOLDER

The steps are made up, as no GPU and no TensorFlow of 2016 is at hand; what the `Timeline` makes of them under each of
its options is TensorFlow's. Needs tensorflow.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tensorflow.core.framework import step_stats_pb2
from tensorflow.python.client import timeline

START = 1_600_000_000_000_000
HOST, DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0", "/job:localhost/replica:0/task:0/device:GPU:0"
OPERATIONS = ("MatMul", "Add", "Relu", "Mul")
COUNT = 8
EVERY = "/device:GPU:0/stream:all"
KERNELS = {
    1: (EVERY, "/device:GPU:0/stream:7"),
    2: (EVERY, "/gpu:0 (Tesla P40)/context#0/stream#1"),
    3: (EVERY, "/device:GPU:0/stream:14"),
}
COPIES = {
    1: (EVERY, "/device:GPU:0/memcpy"),
    2: (EVERY, "/gpu:0 (Tesla P40)/context#0/stream#3:MemcpyHtoD"),
    3: ("/device:GPU:0/stream:15<MemcpyH2D>", "/device:GPU:0/memcpy"),
}
"""The devices under which each kernel and each copy is stored, by generation."""
OPTIONS: dict[str, dict[str, Any]] = {
    "show_dataflow=False,show_memory=False": {"show_dataflow": False, "show_memory": False},
    "show_dataflow=False,show_memory=True": {"show_dataflow": False, "show_memory": True},
    "show_dataflow=True,show_memory=False": {"show_dataflow": True, "show_memory": False},
    "show_dataflow=True,show_memory=True": {"show_dataflow": True, "show_memory": True},
    "op_time=gpu": {"op_time": "gpu"},
    "op_time=all": {"op_time": "all"},
}


def add(device: Any, name: str, label: str, start: int, took: int) -> Any:
    """Add a node that began some microseconds after the step, and return it."""
    return device.node_stats.add(
        node_name=name,
        timeline_label=label,
        all_start_micros=START + start,
        op_start_rel_micros=min(1, took),
        op_end_rel_micros=max(0, took - 1),
        all_end_rel_micros=took,
        scheduled_micros=START + start - 3,
    )


def add_output(node: Any, slot: int, size: int, allocator: str) -> None:
    """Give a node an output with an allocation of its own."""
    output = node.output.add(slot=slot).tensor_description
    output.dtype = 1
    output.shape.dim.add(size=size // 4)
    allocation = output.allocation_description
    allocation.requested_bytes, allocation.allocated_bytes = size, -(-size // 256) * 256
    allocation.allocator_name, allocation.has_single_reference = allocator, True
    allocation.ptr = 4096 * (slot + 1) + node.all_start_micros


def kernel_labels(generation: int, node: str, kernel: str) -> Iterator[tuple[str, str]]:
    """Yield name and label of a kernel where all are repeated, then on its own stream."""
    operation = node.rpartition("_")[0].rpartition("/")[2]
    if generation == 1:
        yield from [(f"{node}:{operation}", kernel)] * 2
    elif generation == 2:
        yield from [(f"{node}:{operation}::{kernel}", "")] * 2
    else:
        details = f"{kernel} regs:32 shm:0 grid:9,1,1 block:128,1,1@@{node}:{operation}"
        yield kernel, details
        yield f"{node}:{operation}", details


def copy_label(generation: int, node: str, size: int) -> tuple[str, str]:
    """Return name and label of a copy to the device."""
    if generation == 1:
        return f"{node}:MEMCPYHtoD", f"MEMCPYHtoD {size} bytes (1 to 2)"
    if generation == 2:
        return f"edge_7_{node}::MEMCPYHtoD", f"{size} bytes"
    return "MemcpyH2D", f"MemcpyH2D bytes:{size} aync@@{node}:Add#id=1#"


def step(generation: int, odd: bool) -> Any:
    """Return a step; an odd one has operations that overlap, inputs that nothing made, and loops."""
    stats = step_stats_pb2.StepStats()
    names = dict.fromkeys((HOST, DEVICE, *KERNELS[generation], *COPIES[generation]))
    devices = {name: stats.dev_stats.add(device=name) for name in names}
    host, device = devices[HOST], devices[DEVICE]
    add(host, "_SOURCE", "_SOURCE = NoOp()", 0, 2)
    before: list[str] = []
    for number in range(COUNT):
        operation = OPERATIONS[number % len(OPERATIONS)]
        node = f"layer{number // 3}/{operation}_{number}"
        start, took = 40 * number + 5, 12 + (60 if odd and number % 3 == 0 else 7 * number % 5)
        inputs = ", ".join([*before[-2:], *(["missing/in"] if odd and number == 2 else [])])
        label = f"{node} = {operation}({inputs})"
        if odd and number == 5:
            label = f"[gpu_bfc 1.0MB 2.0MB] {label}"
        made = add(device if number % 4 else host, node, label, start, took)
        for slot in range(1 + number % 2):
            add_output(made, slot, 1024 << number % 3, "gpu_bfc" if number % 4 else "cpu")
        if odd and number == 3:
            # The second run of a loop's body.
            add(device, node, label, start + took + 1, 4)
        before.append(f"{node}:1" if number % 2 else node)
        if number % 4 == 0:
            name, label = copy_label(generation, node, 1024 << number % 3)
            for lane in COPIES[generation]:
                add(devices[lane], name, label, start + 9, 4 + number)
        else:
            kernel = f"volta_sgemm_{operation.lower()}_128x64_nn"
            for lane, (name, label) in zip(KERNELS[generation], kernel_labels(generation, node, kernel), strict=True):
                add(devices[lane], name, label, start + 9, 0 if odd and number == 1 and generation == 3 else 6 + number)
    return stats


def timelines_of(data: bytes) -> dict[str, Any]:
    """Return what TensorFlow makes of a step under each option, and the most that each allocator held."""
    found: dict[str, Any] = {}
    for key, options in OPTIONS.items():
        made = timeline.Timeline(step_stats_pb2.StepStats.FromString(data)).generate_chrome_trace_format(**options)
        found[key] = json.loads(made)
    analysis = timeline.Timeline(step_stats_pb2.StepStats.FromString(data)).analyze_step_stats()
    found["allocator_maximums"] = {
        allocator: {"timestamp": most.timestamp, "num_bytes": most.num_bytes, "tensors": sorted(most.tensors)}
        for allocator, most in analysis.allocator_maximums.items()
    }
    return found


def main(folder: Path) -> None:
    """Write ``timeline`` below a folder."""
    folder = folder / "timeline"
    folder.mkdir(parents=True, exist_ok=True)
    for generation in KERNELS:
        for number, odd in enumerate((False, True)):
            data = step(generation, odd).SerializeToString(deterministic=True)
            (folder / f"gen{generation}_{number}.step_stats.pb").write_bytes(data)
            answer = json.dumps(timelines_of(data), separators=(",", ":"))
            (folder / f"gen{generation}_{number}.timeline.json").write_text(answer)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
