"""Shared parts of the device collectors: lanes, names of threads, and names in PyTorch's and TensorFlow's forms.

PyTorch's profiler (Kineto) names copies "Memcpy HtoD (Pageable -> Device)" and keeps their details as arguments.
TensorFlow's tracer (CuptiTracer, ``device_tracer`` of TensorFlow 1.15 to 2) names them "MemcpyH2D" and writes the
details into the label. Records use the former; StepStats use the latter.
"""

import re
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from stepscope.profiler.collectors.base import FIRST_MADE_UP_THREAD, HOST_DEVICE, Lane, Record
from stepscope.profiler.collectors.host import plain_text

OVERHEAD_LANE: Final = Lane(HOST_DEVICE, FIRST_MADE_UP_THREAD + 256, "profiler overhead")
"""Time taken by the profiling library itself, as it reports it."""

COPY_CATEGORIES: Final = frozenset({"gpu_memcpy", "gpu_memset", "Memcpy", "Memset"})
"""Categories in the current spelling, and in the spelling of 2021."""

CALL_CATEGORIES: Final = re.compile(r"\w+_(runtime|driver)")
"""Calls on the host that start something on a device: "cuda_runtime", "cuda_driver", "xpu_runtime", ..."""

_SYNCHRONIZATIONS: Final = 0x4000_0000
"""Added to the number of a stream, for the lane of waits for that stream."""
_NO_STREAM: Final = 0xFFFF_FFFF
_DIRECTION: Final = re.compile(r"([HDAP])to([HDAP])")
_DETAILS: Final[Mapping[str, str]] = {
    "registers per thread": "regs",
    "shared memory": "shm",
    "grid": "grid",
    "block": "block",
    "bytes": "bytes",
}
"""Kineto's names of arguments -> their names in labels."""
_SCOPES: Final = frozenset({"annotation", "user_annotation"})
_OPERATIONS: Final = frozenset({"cpu_op", "Operator"})


class Origin(NamedTuple):
    """What on the host started something on a device; "" if unknown."""

    scope: str
    """The innermost scope named by the program."""
    operation: str
    """The innermost operator of the framework."""


def sync_lane(gpu: int, stream: int) -> Lane:
    """Return the lane of waits for a stream of a GPU, or for the whole GPU (-1).

    A wait begins when the host requests it, while kernels run, so it cannot share their lane.
    """
    number = stream & 0xFFFF_FFFF
    if number == _NO_STREAM:
        return Lane(f"/device:GPU:{gpu}", number, "waiting for the device")
    return Lane(f"/device:GPU:{gpu}", number | _SYNCHRONIZATIONS, f"waiting for stream {number}")


def host_lane(native_id: int, names: Mapping[int, str]) -> Lane:
    """Return the lane of a thread of the host, which is also the lane of its annotated scopes.

    ``names`` is a result of `thread_names`.
    """
    number = native_id & 0xFFFF_FFFF
    return Lane(HOST_DEVICE, number, names.get(number, f"thread {number}"))


def thread_names(native_ids: Iterable[int] = (), *, known: Mapping[int, str] | None = None) -> dict[int, str]:
    """Return the names of threads, by native identifier.

    Args:
        native_ids: threads that Python may not have started; on Linux, the system provides their names.
        known: names found earlier, for threads that have ended since.
    """
    names = dict(known or {})
    for thread in threading.enumerate():
        if thread.native_id is not None:
            names[thread.native_id & 0xFFFF_FFFF] = plain_text(thread.name)
    for native_id in native_ids:
        if native_id not in names:
            try:
                names[native_id] = Path(f"/proc/self/task/{native_id}/comm").read_text().strip()
            except (OSError, UnicodeDecodeError):
                continue
    return names


def origins_of_launches(records: Iterable[Record]) -> dict[int, Origin]:
    """Return, by correlation, the scope and the operator in which the host made the call, in the call's own thread."""
    by_lane: dict[Lane, list[Record]] = defaultdict(list)
    for record in records:
        if record.category in _SCOPES or record.category in _OPERATIONS or _is_launch(record):
            by_lane[record.lane].append(record)
    origins: dict[int, Origin] = {}
    for lane_records in by_lane.values():
        if any(map(_is_launch, lane_records)):
            origins |= _origins_in_lane(lane_records)
    return origins


def _is_launch(record: Record) -> bool:
    return bool(record.correlation) and CALL_CATEGORIES.fullmatch(record.category) is not None


def _origins_in_lane(records: Sequence[Record]) -> dict[int, Origin]:
    origins: dict[int, Origin] = {}
    around: list[Record] = []
    for record in sorted(records, key=lambda record: (record.start_ns, -record.duration_ns)):
        while around and around[-1].start_ns + around[-1].duration_ns <= record.start_ns:
            around.pop()
        if _is_launch(record):
            inside_out = around[::-1]
            scope = next((each.name for each in inside_out if each.category in _SCOPES), "")
            operation = next((each.name for each in inside_out if each.category in _OPERATIONS), "")
            origins[record.correlation] = Origin(scope, operation)
        else:
            around.append(record)
    return origins


def copy_name(name: str, category: str) -> str:
    """Return the name of a copy or memset in TensorFlow's tracer: "MemcpyH2D", "Memset"."""
    if category.lower().endswith("memset"):
        return "Memset"
    direction = _DIRECTION.search(name)
    return f"Memcpy{direction[1]}2{direction[2]}" if direction else "Memcpy"


def device_label(name: str, arguments: Mapping[str, Any], annotation: str = "") -> str:
    """Return the label of a kernel or copy: "kernel regs:32 shm:0 grid:1,1,1 block:64,1,1@@annotation".

    Args:
        name: name of the kernel, or of the copy as returned by `copy_name`.
        arguments: by Kineto's names; arguments that TensorFlow has no place for are left out.
        annotation: "node:operation" that started it; "" if unknown.
    """
    details = []
    for key, short in _DETAILS.items():
        value = arguments.get(key)
        if isinstance(value, list | tuple) and value and all(isinstance(number, int) for number in value):
            details.append(f"{short}:{','.join(map(str, value))}")
        elif isinstance(value, int):
            details.append(f"{short}:{value}")
    # A label without any details would be taken for one of an older tracer.
    label = " ".join([name, *(details or ["regs:0"])])
    return f"{label}@@{annotation}" if annotation else label
