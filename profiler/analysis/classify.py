"""The kind of each slice of a trace: one classification that all analyses share.

Rules, first match wins:

1. Kineto's categories (`ActivityType.h` of today, "Operator", "Runtime", "Kernel" of 2021) determine the kind; names
   then single out data loading, communication and synchronization. Annotations of the host that are repeated on a
   device ("gpu_user_annotation") are none of these, whatever their name: the slices they enclose count.
2. If the category is an op type (StepStats, TensorFlow's Timeline) or is missing (xprof), the lane decides: a slice on
   a stream or copy lane ran on the device; a slice on a host lane is an operator, or a Python function if JAX's tracer
   named it "$...".
3. The rest (overhead, counters' marks, allocator lanes, instants) is "other".
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.trace import Lane, LaneKind, Trace
from stepscope.summary.distinct import distinct_rows, numbered

Kind = Literal[
    "other",
    "operator",
    "runtime",
    "kernel",
    "memcpy",
    "memset",
    "communication",
    "synchronization",
    "data_loading",
    "annotation",
    "python",
]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
"""All kinds; a slice's kind is stored as an index into this tuple."""

_BY_CATEGORY: Final[dict[str, Kind]] = {
    "operator": "operator",
    "cpu_op": "operator",
    "python": "operator",
    "user_annotation": "annotation",
    "gpu_user_annotation": "annotation",
    "step": "annotation",
    "annotation": "annotation",
    "kernel": "kernel",
    "concurrent_kernel": "kernel",
    "memcpy": "memcpy",
    "gpu_memcpy": "memcpy",
    "memset": "memset",
    "gpu_memset": "memset",
    "runtime": "runtime",
    "cuda_runtime": "runtime",
    "cuda_driver": "runtime",
    "cuda_sync": "synchronization",
    "cuda_event": "synchronization",
    "python_function": "python",
    "fee": "python",
    "collective_comm": "communication",
    "data_loading": "data_loading",
    "dataloader": "data_loading",
}
_NOTHING: Final = frozenset({"trace", "overhead", "instant", "cpu_instant_event", "memory", "hardware_counters"})
_RUNTIME_CATEGORY: Final = re.compile(r"(mtia|xpu|privateuse1|hip|roc)_?(runtime|driver)")
_DATA_LOADING: Final = re.compile(
    r"enumerate\(DataLoader\)#.*\.__next__|enumerate\(DataPipe\)#.*|.*(IteratorGetNext|Iterator::|tf_data_|"
    r"OneShotIterator|PrefetchDataset).*"
)
_COLLECTIVE: Final = r"(all_?reduce|all_?gather|reduce_?scatter|broadcast|all_?to_?all|send|recv|reduce|barrier|gather)"
_HOST_COMMUNICATION: Final = re.compile(
    rf"(nccl|gloo|mpi|ucc):|c10d::|record_param_comms|Horovod|Hvd|Nccl|Collective(Reduce|Gather|Bcast)|"
    rf"_?(Host)?(Send|Recv)(Tensor)?$|dist\.{_COLLECTIVE}",
)
_DEVICE_COMMUNICATION: Final = re.compile(r"nccl|rccl|oneccl|void\s+(nccl|rccl)|.*ncclDev(Kernel|Func)")
_SYNCHRONIZATION: Final = re.compile(r"(cuda|cu|hip)\w*(Synchronize|StreamWaitEvent|EventQuery|StreamQuery)", re.I)
_MEMSET: Final = re.compile(r"memset", re.I)
_MEMCPY: Final = re.compile(r"memcpy", re.I)
_DMA: Final = re.compile(r"dma", re.I)
"""MTIA's copies, which Kineto files under "kernel" or "mtia_ccp_events": the name decides, as in
HolisticTraceAnalysis."""
_PYTHON_FRAME: Final = "$"
"""Prefix of functions recorded by JAX's Python tracer, such as "$builtins isinstance"."""
_RECORDING: Final = "trace"
"""Category of Kineto's "PyTorch Profiler (0)", which lasts as long as the recording."""
_STEP_NAME: Final = re.compile(r"ProfilerStep#[0-9]+")
_DERIVED_LANE: Final = re.compile(
    r"Steps?$|XLA Modules|XLA TraceMe|.*Name Scope|Launch Stats|Source code|Framework .*", re.I
)
_DEVICE_NUMBER: Final = re.compile(r"(?:gpu|cuda|xpu|device)[: ]*([0-9]{1,6})", re.I)
_AGGREGATE_LANE: Final = re.compile(r"all streams|memcpy|sync|stream|stream all")


def classify(trace: Trace) -> NDArray[np.int8]:
    """Return the kind of every slice, int8 ``[n]``: indices into `KINDS`.

    Costs one regular-expression check per distinct (category, name, kind of lane), not per slice.
    """
    shape = _lane_shapes(trace.lanes)
    shapes = sorted(set(shape))
    number = np.array([shapes.index(each) for each in shape] or [0], np.int64)[trace.lane] if len(trace) else 0
    key = (np.int64(1) * trace.category_id * max(1, len(shapes)) + number) * max(1, len(trace.names)) + trace.name_id
    distinct, _, inverse = numbered(key)
    kinds = np.empty(len(distinct), np.int8)
    for index, packed in enumerate(distinct.tolist()):
        rest, name = divmod(packed, max(1, len(trace.names)))
        category, place = divmod(rest, max(1, len(shapes)))
        kinds[index] = KINDS.index(kind_of(trace.categories[category], trace.names[name], *shapes[place]))
    return kinds[inverse] if len(trace) else np.empty(0, np.int8)


@lru_cache(maxsize=16_384)
def kind_of(category: str, name: str, lane: LaneKind, derived: bool) -> Kind:
    """Return the kind of one slice; ``derived`` is whether its lane only groups slices of others, such as "Steps"."""
    lower = category.lower()
    if lower in _NOTHING:
        return "other"
    kind: Kind | None = _BY_CATEGORY.get(lower)
    if kind is None and _RUNTIME_CATEGORY.match(lower):
        kind = "runtime"
    if kind is None:
        if derived:
            return "annotation"
        kind = _by_lane(category, name, lane)
    return _by_name(kind, name, lane)


def _by_lane(category: str, name: str, lane: LaneKind) -> Kind:
    if lane in ("stream", "memcpy"):
        text = f"{category} {name}"
        if _MEMSET.search(text):
            return "memset"
        return "memcpy" if lane == "memcpy" or _MEMCPY.search(text) or _DMA.match(category) else "kernel"
    if lane == "host" and not category and name.startswith(_PYTHON_FRAME):
        return "python"
    return "other" if lane == "other" else "operator"


def _by_name(kind: Kind, name: str, lane: LaneKind) -> Kind:
    if kind == "kernel":
        if _DMA.match(name):
            return "memcpy"
        return "communication" if _DEVICE_COMMUNICATION.match(name) else kind
    if kind == "runtime":
        return "synchronization" if _SYNCHRONIZATION.match(name) else kind
    if kind in ("operator", "annotation"):
        if _STEP_NAME.fullmatch(name):
            return "annotation"
        if lane == "host" and _DATA_LOADING.fullmatch(name):
            return "data_loading"
        on_device = kind == "annotation" and lane != "host"
        if not on_device and _HOST_COMMUNICATION.match(name):
            return "communication"
    return kind


def is_profilers_own(
    trace: Trace, name_id: NDArray[np.signedinteger], category_id: NDArray[np.signedinteger]
) -> NDArray[np.bool_]:
    """Return which pairs of name and category are the profiler's own, bool ``[n]``: step marks, and a recording's span.

    Pairs are indices into the trace's names and categories.
    """
    steps = {step.name for step in trace.steps}
    marks = np.array([name in steps for name in trace.names] or [False])
    recordings = np.array([category.lower() == _RECORDING for category in trace.categories] or [False])
    own: NDArray[np.bool_] = marks[name_id] | recordings[category_id]
    return own


def _lane_shapes(lanes: Sequence[Lane]) -> list[tuple[LaneKind, bool]]:
    return [(lane.kind, _DERIVED_LANE.match(lane.name) is not None) for lane in lanes]


def device_number(lane: Lane) -> int:
    """Return the ordinal of a lane's device, from its process's name or identifier; -1 for none."""
    if lane.kind not in ("stream", "memcpy", "device"):
        return -1
    if isinstance(lane.pid, int) and 0 <= lane.pid < 4096 and "gpu:" not in lane.process.lower():
        return lane.pid
    found = _DEVICE_NUMBER.findall(lane.process)
    return int(found[-1]) if found else 0


def repeated(trace: Trace, kinds: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Return which slices only repeat another one, bool ``[n]``.

    TensorFlow's GPU tracers write each kernel both to ``/stream:all`` and to its own stream, and copies both to
    ``/memcpy`` and to a stream. The one on the numbered stream counts.
    """
    result = np.zeros(len(trace), np.bool_)
    rank = np.array([_aggregate_rank(lane) for lane in trace.lanes] or [0], np.int64)
    if not rank.any():
        return result
    on_device = np.array([lane.kind in ("stream", "memcpy") for lane in trace.lanes], np.bool_)[trace.lane]
    where = np.flatnonzero(on_device)
    device = np.array([device_number(lane) for lane in trace.lanes], np.int64)[trace.lane[where]]
    slice_rank = rank[trace.lane[where]]
    group = distinct_rows(device, trace.start_ns[where], trace.duration_ns[where]).group
    least = np.full(int(group.max(initial=-1)) + 1, 9, np.int64)
    np.minimum.at(least, group, slice_rank)
    result[where] = slice_rank > least[group]
    return result


def _aggregate_rank(lane: Lane) -> int:
    if lane.kind not in ("stream", "memcpy") or not _AGGREGATE_LANE.fullmatch(lane.name):
        return 0
    return 2 if "all" in lane.name else 1
