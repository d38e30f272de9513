"""What collectors yield, and what a collector is."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol

Category = Literal["step", "annotation", "gc", "cpu_op", "runtime", "kernel", "memcpy", "memset"]
"""What a record stands for: a training step, a scope that the program named, a garbage collection, an
operation of a framework, a call into a device's library, or one of three things that run on a device."""

ArgumentValue = str | int | float | bool | None

HOST_DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"
"""The host as TensorFlow names it when it runs one process."""

NO_ARGUMENTS: Mapping[str, ArgumentValue] = MappingProxyType({})


class Lane(NamedTuple):
    """Where something ran: one thread of the host, or one stream of a device."""

    device: str
    """As TensorFlow names devices: `HOST_DEVICE`, "/device:GPU:0/stream:7", ..."""
    thread_id: int
    """Identifies the lane within its device; fits in 32 bits without a sign."""
    thread_name: str


class Record(NamedTuple):
    """Something that ran once."""

    name: str
    category: Category
    lane: Lane
    start_ns: int
    """Wall time, nanoseconds since the epoch."""
    duration_ns: int
    correlation: int = 0
    """Equal for a call on the host and what it started on a device; 0 if nothing was."""
    args: Mapping[str, ArgumentValue] = NO_ARGUMENTS


class Clock(Protocol):
    """The two clocks of a recording; the module `time` is the one that is used outside of tests."""

    def perf_counter_ns(self) -> int:
        """A time that never goes back, from an arbitrary origin."""
        ...

    def time_ns(self) -> int:
        """Wall time since the epoch."""
        ...


class Collector(Protocol):
    """Records one kind of activity from `start` to `stop`."""

    def start(self) -> None: ...

    def stop(self) -> Sequence[Record]:
        """Ends the recording and returns everything in it, in any order."""
        ...
