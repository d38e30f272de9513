"""Names, kinds and display order of the threads of a Chrome trace."""

import re
from collections import Counter as Tally
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, get_args

from stepscope.profiler.trace import Lane, LaneKind

DEVICE_CATEGORIES: Final = frozenset(
    {"kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation", "Kernel", "Memcpy", "Memset"}
)
"""Categories of what Kineto records on a GPU stream, in the current spelling and in that of 2021."""

_ACCELERATOR: Final = re.compile(r"\b(gpu|tpu|xpu|mtia|cuda)\b", re.IGNORECASE)
_MACHINE: Final = re.compile(r"^.* (?=\(process \d+\))")
_STREAM: Final = re.compile(r"\bstream\b", re.IGNORECASE)
_COPY: Final = re.compile(r"memcpy|memset", re.IGNORECASE)
_COMPUTE: Final = re.compile(r"compute|kernel", re.IGNORECASE)
LANE_KINDS: Final[tuple[LaneKind, ...]] = get_args(LaneKind)
_DISTANT: Final = float("inf")
_NO_PROCESS: Final = "no process"


@dataclass
class ThreadNames:
    """Metadata of the processes and threads of a trace, keyed by the text of their identifiers."""

    process_names: dict[str, str] = field(default_factory=dict)
    process_labels: dict[str, str] = field(default_factory=dict)
    process_sort: dict[str, float] = field(default_factory=dict)
    thread_names: dict[tuple[str, str], str] = field(default_factory=dict)
    thread_sort: dict[tuple[str, str], float] = field(default_factory=dict)
    thread_kinds: dict[tuple[str, str], LaneKind] = field(default_factory=dict)
    """Kinds that the file states, as those do that this package writes; the others follow from the names."""


@dataclass(frozen=True)
class ThreadKey:
    """A place for slices: a thread, or the asynchronous operations of one name."""

    pid: str
    tid: str
    operation: str | None = None
    """Name of asynchronous operations, which belong to a process rather than a thread."""


def identifier(text: str) -> int | str:
    """Return an identifier as a number if it is one, because the same thread may be written as 7 or as "7"."""
    digits = text[1:] if text[:1] == "-" else text
    return int(text) if digits.isdigit() and digits.isascii() and len(digits) <= 18 else text


def lane_kind(process: str, thread: str, categories: Collection[str]) -> LaneKind:
    """Return the kind of a thread, from its names as TensorFlow, XLA and Kineto give them and from what ran on it."""
    process = without_machine(process)
    place = f"{process} {thread}"
    if process in ("Spans", "Traces", "Allocators", "Tensors", _NO_PROCESS) or process.endswith(" Tensors"):
        return "other"
    if _COPY.search(place) and not _COMPUTE.search(thread):
        return "memcpy"
    on_device = _ACCELERATOR.search(process) or "stream:" in process or "stream#" in process
    if DEVICE_CATEGORIES.intersection(categories) or (_STREAM.search(place) and on_device):
        return "stream"
    return "device" if on_device else "host"


def without_machine(process: str) -> str:
    """Return the name of a process without that of its machine, which may be "gpu-node-12"."""
    return _MACHINE.sub("", process)


def order_and_name(
    keys: Sequence[ThreadKey],
    categories: Sequence[Collection[str]],
    names: ThreadNames,
    processes: Mapping[str, str],
) -> tuple[list[int], list[Lane]]:
    """Return the display order of threads, as indices into ``keys``, and their lanes in that order.

    Processes are sorted by sort index, then by identifier, and so are threads. Asynchronous operations follow the
    threads of their process. A name shared by two threads of one process gets the identifier appended. ``processes``
    are the display names of processes by identifier.
    """
    # A hostile file has hundreds of thousands of threads: each is examined only once for each of its properties.
    pids = {key.pid: identifier(key.pid) for key in keys}
    tids = [identifier(key.tid) for key in keys]
    own_names = [_thread_name(key, tid, names) for key, tid in zip(keys, tids, strict=True)]
    threads = _distinct(own_names, [key.tid for key in keys], [key.pid for key in keys])
    of_process = {
        pid: (names.process_sort.get(pid, 0 if isinstance(number, int) else _DISTANT), _natural(number))
        for pid, number in pids.items()
    }
    ranks = [
        (
            of_process[key.pid],
            key.operation is not None,
            names.thread_sort.get((key.pid, key.tid), 0),
            _natural(tid),
            key.operation or "",
        )
        for key, tid in zip(keys, tids, strict=True)
    ]
    order = sorted(range(len(keys)), key=ranks.__getitem__)
    lanes = []
    for index in order:
        pid, thread = keys[index].pid, threads[index]
        kind = names.thread_kinds.get((pid, keys[index].tid)) or lane_kind(processes[pid], thread, categories[index])
        lanes.append(Lane(processes[pid], thread, pids[pid], tids[index], kind, depths=0))
    return order, lanes


def _natural(number: int | str) -> tuple[float, str]:
    return (number, "") if isinstance(number, int) else (_DISTANT, number)


def process_names(pids: Collection[str], names: ThreadNames) -> dict[str, str]:
    """Return display names of processes: name and labels, or identifier, which names that are shared get appended."""
    called = _distinct([_process_name(pid, names) for pid in pids], list(pids), [None] * len(pids))
    return dict(zip(pids, called, strict=True))


def _process_name(pid: str, names: ThreadNames) -> str:
    name, label = names.process_names.get(pid, ""), names.process_labels.get(pid, "")
    if name and label:
        return f"{name} ({label})"
    return name or label or (f"process {pid}" if isinstance(identifier(pid), int) else pid or _NO_PROCESS)


def _thread_name(key: ThreadKey, tid: int | str, names: ThreadNames) -> str:
    if key.operation is not None:
        return key.operation
    name = names.thread_names.get((key.pid, key.tid), "")
    return name or (f"thread {key.tid}" if isinstance(tid, int) else key.tid or "no thread")


def _distinct(names: Sequence[str], identifiers: Sequence[str], groups: Sequence[str | None]) -> list[str]:
    """Return the names, with the identifier added where several in a group share a name."""
    shared = Tally(zip(groups, names, strict=True))
    return [
        f"{name} {identifier}" if shared[group, name] > 1 else name
        for name, identifier, group in zip(names, identifiers, groups, strict=True)
    ]
