"""Options of a recording, modeled on ``tf.profiler.experimental.ProfilerOptions``."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from stepscope.profiler.collectors.base import Collector
from stepscope.profiler.collectors.registry import make_collector


@dataclass(frozen=True)
class ProfilerOptions:
    """What to record; names and defaults match ``tf.profiler.experimental.ProfilerOptions``.

    Args:
        host_tracer_level: 0 for only steps and garbage collections, 1 for scopes too, 2 or 3 also for memory and CPU as
            counters.
        python_tracer_level: 1 for every call of a Python function.
        device_tracer_level: 1 for kernels and copies, through PyTorch's profiler if the program uses PyTorch, otherwise
            through CUPTI if installed, and for the device's counters; nothing if there is no device.
        delay_ms: milliseconds at the beginning that are discarded, so that several processes can begin at the same
            time.
        more_collectors: names of collectors to use in addition to those chosen by the levels, such as one added by a
            plug-in.

    Raises:
        ValueError: a level is invalid, or the delay is negative.
    """

    host_tracer_level: int = 2
    python_tracer_level: int = 0
    device_tracer_level: int = 1
    delay_ms: int | None = None
    more_collectors: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name, most in (("host_tracer_level", 3), ("python_tracer_level", 1), ("device_tracer_level", 1)):
            level = getattr(self, name)
            if not isinstance(level, int) or not 0 <= level <= most:
                raise ValueError(f"{name} must be a whole number from 0 to {most}, got {level!r}")
        if isinstance(self.more_collectors, str):
            raise ValueError(
                f"more_collectors must be a list of names of collectors, got the string {self.more_collectors!r}"
            )
        if self.delay_ms is not None and (not isinstance(self.delay_ms, int) or self.delay_ms < 0):
            raise ValueError(f"delay_ms must be whole milliseconds from now, 0 or more, got {self.delay_ms!r}")

    def collectors(self) -> Sequence[Collector]:
        """Return the collectors for these options, in addition to the host's scopes and steps.

        Raises:
            UserError: there is no collector with one of the names.
        """
        names: list[str] = []
        if self.host_tracer_level >= 2:
            names.append("resources")
        if self.python_tracer_level:
            names.append("python")
        if self.device_tracer_level:
            names += _device_collectors()
        return [make_collector(name) for name in dict.fromkeys([*names, *self.more_collectors])]


def _device_collectors() -> list[str]:
    """Return the collectors that can record the devices of this machine, if it has any."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        device = ["torch"]
    elif find_spec("cupti") is not None:
        device = ["cupti"]
    else:
        return []
    return [*device, *(["nvml"] if find_spec("pynvml") is not None else [])]
