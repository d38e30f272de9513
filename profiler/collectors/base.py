"""What collectors yield, and what a collector is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

ArgumentValue: TypeAlias = str | int | float | bool | Sequence["ArgumentValue"] | None

HOST_DEVICE: Final = "/job:localhost/replica:0/task:0/device:CPU:0"
"""The host as TensorFlow names it when it runs one process."""

FIRST_MADE_UP_THREAD: Final = 0x7FFF_0000
"""Lanes that are not a thread have identifiers from here on, above those that Linux gives out (2**22 at most)."""

END_OF_DATA: Final = " (end)"
"""Ending of the name of a wait for data that brought none, as there was no more."""

NO_ARGUMENTS: Final[Mapping[str, ArgumentValue]] = MappingProxyType({})

UNFINISHED: Final[Mapping[str, ArgumentValue]] = MappingProxyType({"unfinished": True})
"""Arguments of a record that was still running when the recording stopped; it ends there."""


class Lane(NamedTuple):
    """Where something ran: one thread of the host, or one stream of a device."""

    device: str
    """As TensorFlow names devices: `HOST_DEVICE`, "/device:GPU:0/stream:7", ..."""
    thread_id: int
    """Identifies the lane within its device; fits in 32 bits without a sign."""
    thread_name: str


def stream_lane(gpu: int, stream: int) -> Lane:
    """Return the lane of a stream of a GPU."""
    return Lane(f"/device:GPU:{gpu}/stream:{stream}", stream & 0xFFFF_FFFF, f"stream {stream}")


class Record(NamedTuple):
    """Something that ran once."""

    name: str
    category: str
    """What the record stands for.

    From this package: "step" (a training step), "annotation" (a scope that the program named), "gc" (a garbage
    collection), "python_function", "data_loading", "asyncio_task", "subprocess". Of frameworks and devices, as
    PyTorch's profiler calls them: "cpu_op", "cuda_runtime", "cuda_driver", "kernel", "gpu_memcpy", "gpu_memset",
    "cuda_sync", "overhead", and what else there may be.
    """
    lane: Lane
    start_ns: int
    """Wall time, nanoseconds since the epoch."""
    duration_ns: int
    correlation: int = 0
    """Equal for a call on the host and what it started on a device; 0 if nothing was."""
    args: Mapping[str, ArgumentValue] = NO_ARGUMENTS


class CounterSeries(NamedTuple):
    """A quantity over time: one series of a counter, which may have several that are drawn on each other."""

    device: str
    """`HOST_DEVICE`, or the device without its streams: "/device:GPU:0"."""
    name: str
    """With its unit in brackets, such as "memory (bytes)"."""
    series: str
    times_ns: Sequence[int]
    """Wall times, nanoseconds since the epoch, never decreasing."""
    values: Sequence[float]


class Arrow(NamedTuple):
    """From a moment on one lane to a moment on another; it belongs to the innermost records that run then."""

    category: str
    source: Lane
    source_ns: int
    target: Lane
    target_ns: int


@dataclass(frozen=True)
class Collected:
    """What a collector recorded, in any order."""

    records: Sequence[Record] = ()
    counters: Sequence[CounterSeries] = ()
    notes: tuple[str, ...] = ()
    """What was not recorded, and why: sentences for the user, such as "3 activities were dropped"."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Top-level entries for the Chrome trace, such as Kineto's ``deviceProperties``; values that JSON can hold."""
    arrows: Sequence[Arrow] = ()
    """Those that correlations do not tell, such as from the forward to the backward pass."""


class Clock(Protocol):
    """The two clocks of a recording; the module `time` is the one that is used outside of tests."""

    def perf_counter_ns(self) -> int:
        """Return a time that never goes back, from an arbitrary origin."""
        ...

    def time_ns(self) -> int:
        """Wall time since the epoch."""
        ...


class RecordingClock:
    """The clock that all collectors of a recording share.

    The monotonic counter becomes wall time by one offset, taken when the recording starts, so that an adjustment of the
    wall clock never tears a recording apart.
    """

    def __init__(self, clock: Clock) -> None:
        self.now: Final = clock.perf_counter_ns
        """The monotonic counter, nanoseconds."""
        self.wall_offset_ns: Final = clock.time_ns() - clock.perf_counter_ns()
        """Wall time minus the monotonic counter."""


class Collector(Protocol):
    """Records one kind of activity from `start` to `stop`; an object serves one recording after another."""

    def start(self, clock: RecordingClock) -> None:
        """Begin to record.

        Raises:
            UserError: it cannot record here: what is missing, and what to do.
        """
        ...

    def stop(self) -> Collected:
        """End the recording and return everything in it.

        It may run in another thread than `start`. What can end only in the thread that began it is left to that thread,
        by `stepscope.profiler.collectors.own_thread.leave_to`; nothing else is left behind in the process.
        """
        ...
