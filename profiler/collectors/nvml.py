"""The activity of NVIDIA's GPUs, as reported by the driver's management library (NVML)."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from stepscope.profiler.collectors.base import Collected, RecordingClock
from stepscope.profiler.collectors.sampling import MAX_POINTS, Counters, Key, Sampler, checked_interval_ns
from stepscope.summary.errors import UserError


def _memory(nvml: Any, gpu: Any) -> Any:
    """Return a GPU's memory as nvidia-smi reports it: without the driver's reserve, if reported separately."""
    try:
        return nvml.nvmlDeviceGetMemoryInfo(gpu, version=nvml.nvmlMemory_v2)
    except nvml.NVMLError as error:
        # Drivers before 510 lack this function.
        if error.value != nvml.NVML_ERROR_FUNCTION_NOT_FOUND:
            raise
        return nvml.nvmlDeviceGetMemoryInfo(gpu)


@dataclass(frozen=True)
class Reading:
    """One query to the driver, and the counters in the answer."""

    name: str
    counters: tuple[tuple[str, str], ...]
    """Name and series of each value."""
    ask: Callable[[Any, Any], Any]
    """Called with pynvml and the handle of a device."""
    values: Callable[[Any], tuple[float, ...]]
    """Converts the answer to values in the units of the counters."""


READINGS: Final = (
    Reading(
        "utilization",
        (("GPU utilization (%)", "GPU"), ("memory utilization (%)", "memory")),
        lambda nvml, gpu: nvml.nvmlDeviceGetUtilizationRates(gpu),
        lambda answer: (answer.gpu, answer.memory),
    ),
    Reading(
        "memory",
        (("GPU memory (bytes)", "used"),),
        lambda nvml, gpu: _memory(nvml, gpu),
        lambda answer: (answer.used,),
    ),
    Reading(
        "power",
        (("power (W)", "power"),),
        lambda nvml, gpu: nvml.nvmlDeviceGetPowerUsage(gpu),
        lambda milliwatts: (milliwatts / 1000,),
    ),
    Reading(
        "SM clock",
        (("SM clock (MHz)", "SM"),),
        lambda nvml, gpu: nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM),
        lambda megahertz: (megahertz,),
    ),
    Reading(
        "memory clock",
        (("memory clock (MHz)", "memory"),),
        lambda nvml, gpu: nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_MEM),
        lambda megahertz: (megahertz,),
    ),
    Reading(
        "temperature",
        (("temperature (°C)", "GPU"),),
        lambda nvml, gpu: nvml.nvmlDeviceGetTemperature(gpu, nvml.NVML_TEMPERATURE_GPU),
        lambda celsius: (celsius,),
    ),
)
"""Readings that the driver answers at once. Units: NVML API reference, "Device Queries"."""

SLOW_READINGS: Final = (
    Reading(
        "PCIe received",
        (("PCIe (bytes/s)", "received"),),
        lambda nvml, gpu: nvml.nvmlDeviceGetPcieThroughput(gpu, nvml.NVML_PCIE_UTIL_RX_BYTES),
        lambda kilobytes: (kilobytes * 1000,),
    ),
    Reading(
        "PCIe sent",
        (("PCIe (bytes/s)", "sent"),),
        lambda nvml, gpu: nvml.nvmlDeviceGetPcieThroughput(gpu, nvml.NVML_PCIE_UTIL_TX_BYTES),
        lambda kilobytes: (kilobytes * 1000,),
    ),
)
"""Readings for which the driver measures for 20 ms before it answers."""


class NvmlCollector:
    """Records utilization, memory, power, clocks, temperature and PCIe traffic of the GPUs that CUDA sees.

    Values that a GPU does not report are left out, with a note.

    Args:
        interval: seconds between two samples. The driver updates its own values at most several times per second. PCIe
            traffic is sampled less often: each reading takes 20 ms, and GPUs are read one after another.
        max_points: maximum number of points of all counters together; the rest are counted in the notes.

    Raises:
        ValueError: the interval is not positive, or the limit is negative.
    """

    def __init__(self, *, interval: float = 0.05, max_points: int = MAX_POINTS) -> None:
        checked_interval_ns(interval)
        self._interval: Final = interval
        self._max_points: Final = max_points

    def start(self, clock: RecordingClock) -> None:
        """Ask the driver for the GPUs, and begin to sample.

        Raises:
            UserError: pynvml is not installed, there is no driver, or CUDA sees no GPU.
        """
        self._wall_offset_ns = clock.wall_offset_ns
        self._counters = Counters(self._interval, self._max_points)
        self._unsupported: dict[str, str] = {}
        self._samplers: list[Sampler] = []
        self._nvml = _initialized_nvml()
        try:
            gpus = dict(enumerate(_visible_handles(self._nvml, os.environ)))
            if not gpus:
                visible = os.environ.get("CUDA_VISIBLE_DEVICES", "not set")
                raise UserError(
                    "NVML cannot record: CUDA sees no GPU. Expected at least one; check the variable "
                    f"CUDA_VISIBLE_DEVICES, which is {visible!r}."
                )
            self._order = _order_note(self._nvml, os.environ)
            quick, slow = self._functions(gpus, READINGS), self._functions(gpus, SLOW_READINGS)
            for sampler in (
                Sampler("stepscope nvml", self._interval, quick, clock.now),
                Sampler("stepscope nvml pcie", self._interval, slow, clock.now, at_ends=False),
            ):
                sampler.start()
                self._samplers.append(sampler)
        except BaseException as error:
            self._end()
            if isinstance(error, self._nvml.NVMLError):
                raise UserError(f"NVML cannot record: {error}. Expected GPUs that nvidia-smi can show.") from error
            raise

    def stop(self) -> Collected:
        """Take the last samples, and return the counters."""
        notes = self._end()
        series = self._counters.series(self._wall_offset_ns)
        left_out = tuple(f"{what} is not recorded: {why}" for what, why in self._unsupported.items())
        return Collected(counters=series, notes=(*self._order, *left_out, *notes, *self._counters.notes()))

    def _end(self) -> list[str]:
        try:
            return [note for sampler in self._samplers for note in sampler.stop()]
        finally:
            self._nvml.nvmlShutdown()

    def _functions(self, gpus: Mapping[int, Any], readings: Sequence[Reading]) -> dict[str, Callable[[int], None]]:
        return {
            f"{reading.name} of GPU {number}": self._function(f"{reading.name} of GPU {number}", number, gpu, reading)
            for number, gpu in gpus.items()
            for reading in readings
        }

    def _function(self, what: str, number: int, gpu: Any, reading: Reading) -> Callable[[int], None]:
        keys = [Key(f"/device:GPU:{number}", *counter) for counter in reading.counters]

        def sample(now: int) -> None:
            if what in self._unsupported:
                return
            try:
                values = reading.values(reading.ask(self._nvml, gpu))
            except self._nvml.NVMLError as error:
                if error.value != self._nvml.NVML_ERROR_NOT_SUPPORTED:
                    raise
                self._unsupported[what] = str(error)
                return
            for key, value in zip(keys, values, strict=True):
                self._counters.add(key, now, value)

        return sample


def visible_gpus(visible: str | None, uuids: Sequence[str]) -> list[int | str]:
    """Return the GPUs that CUDA sees, in CUDA's order.

    The rules are those of the CUDA programming guide (appendix "CUDA Environment Variables"): entries after an invalid
    one are not visible, and if an entry occurs twice, no GPU is.

    Args:
        visible: the variable CUDA_VISIBLE_DEVICES; None if it is not set.
        uuids: UUIDs of all GPUs, as NVML numbers them.

    Returns:
        NVML's numbers or, where the variable names one, the UUID of a part of a GPU (MIG).
    """
    if visible is None:
        return list(range(len(uuids)))
    found: list[int | str] = []
    for entry in visible.split(","):
        gpu = _visible_gpu(entry.strip(), uuids)
        if gpu is None:
            break
        if gpu in found:
            return []
        found.append(gpu)
    return found


def _visible_gpu(entry: str, uuids: Sequence[str]) -> int | str | None:
    if entry.startswith("MIG-"):
        return entry
    if entry.startswith("GPU-"):
        matching = [number for number, uuid in enumerate(uuids) if uuid.startswith(entry)]
        return matching[0] if len(matching) == 1 else None
    return int(entry) if entry.isdecimal() and int(entry) < len(uuids) else None


def _visible_handles(nvml: Any, environment: Mapping[str, str]) -> list[Any]:
    handles = [nvml.nvmlDeviceGetHandleByIndex(number) for number in range(nvml.nvmlDeviceGetCount())]
    uuids = [_text(nvml.nvmlDeviceGetUUID(handle)) for handle in handles]
    return [
        handles[gpu] if isinstance(gpu, int) else nvml.nvmlDeviceGetHandleByUUID(gpu)
        for gpu in visible_gpus(environment.get("CUDA_VISIBLE_DEVICES"), uuids)
    ]


def _order_note(nvml: Any, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return a note if CUDA may put the fastest GPU first, its default, since NVML does not report which that is."""
    handles = [nvml.nvmlDeviceGetHandleByIndex(number) for number in range(nvml.nvmlDeviceGetCount())]
    models = {_text(nvml.nvmlDeviceGetName(handle)) for handle in handles}
    if len(models) == 1 or environment.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID":
        return ()
    return (
        "counters may be shown for the wrong GPU: this machine has GPUs of several models, which CUDA numbers by speed;"
        " set CUDA_DEVICE_ORDER=PCI_BUS_ID",
    )


def _text(value: str | bytes) -> str:
    # Versions before 11.5 return bytes.
    return value.decode() if isinstance(value, bytes) else value


def _initialized_nvml() -> Any:
    try:
        nvml = import_module("pynvml")
    except ImportError as error:
        raise UserError(
            "NVML cannot record: pynvml is not installed. Install it with: pip install 'stepscope[cuda]'"
        ) from error
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        raise UserError(
            f"NVML cannot record: {error}. Expected a machine with an NVIDIA GPU and its driver, on which nvidia-smi "
            "works."
        ) from error
    return nvml
