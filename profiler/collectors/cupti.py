"""Activity on NVIDIA's GPUs, directly from CUPTI through NVIDIA's ``cupti-python``, for any program.

`stepscope.profiler.collectors.cupti_activities` converts its data to records; this module only calls the library.
"""

import ctypes
import sys
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

from stepscope.profiler.collectors import cupti_activities as activities
from stepscope.profiler.collectors.base import Collected, RecordingClock
from stepscope.profiler.collectors.cupti_activities import Activity, Moment, Names
from stepscope.profiler.collectors.devices import thread_names
from stepscope.summary.counts import counted
from stepscope.summary.errors import UserError

_WANTED: Final[Mapping[int, str]] = {
    activities.CONCURRENT_KERNEL: "kernels",
    activities.MEMCPY: "copies",
    activities.MEMCPY2: "copies between devices",
    activities.MEMSET: "memsets",
    activities.SYNCHRONIZATION: "waits",
    activities.RUNTIME: "CUDA runtime calls",
    activities.DRIVER: "CUDA driver calls",
}
"""By ``ActivityKind``."""
_SYSTEM_THREAD_IDS: Final = 1
"""Member of ``ActivityThreadIdType``: thread identifiers of the operating system."""
_FORCED: Final = 1
"""Also flush buffers that are not full."""
_INSTALL: Final = (
    "Install NVIDIA's package for the driver's CUDA version: pip install 'cupti-python>=13,<14' or "
    "pip install 'cupti-python>=12.6,<13', or record without the collector “cupti”."
)
_PROPERTIES: Final[Mapping[str, int]] = {
    "maxThreadsPerBlock": 1,
    "sharedMemPerBlock": 8,
    "warpSize": 10,
    "regsPerBlock": 12,
    "numSms": 16,
    "maxThreadsPerMultiprocessor": 39,
    "computeMajor": 75,
    "computeMinor": 76,
    "sharedMemPerMultiprocessor": 81,
    "regsPerMultiprocessor": 82,
    "sharedMemPerBlockOptin": 97,
}
"""Kineto's name of a device property -> its ``CUdevice_attribute``."""


class CuptiCollector:
    """Records kernels, copies, memsets, waits, and CUDA runtime and driver calls, with what each call started.

    It needs an NVIDIA GPU, its driver, and ``cupti-python`` 12.6 or later. `TorchCollector` records more about programs
    that use PyTorch; it uses CUPTI itself, so a process can have only one of the two.

    Args:
        runtime_calls: record calls of the CUDA runtime.
        driver_calls: record calls of the CUDA driver, which most runtime calls make in turn; libraries that use the
            driver directly (Numba, Triton, JAX) launch through them.
        buffer_bytes: size of the buffers that CUPTI fills.
        most_activities: maximum number of activities to keep; the rest are counted.
        library: the module ``cupti.cupti``; imported if absent.
    """

    def __init__(
        self,
        *,
        runtime_calls: bool = True,
        driver_calls: bool = True,
        buffer_bytes: int = 8 << 20,
        most_activities: int = 2_000_000,
        library: Any = None,
    ) -> None:
        left_out = {activities.RUNTIME: not runtime_calls, activities.DRIVER: not driver_calls}
        self._kinds: Final = [kind for kind in _WANTED if not left_out.get(kind)]
        self._buffer_bytes: Final = buffer_bytes
        self._most: Final = most_activities
        self._library: Final = library
        self._lock: Final = threading.Lock()

    def start(self, clock: RecordingClock) -> None:
        """Request activities from CUPTI from now on.

        Raises:
            UserError: ``cupti-python`` or the driver is missing, CUPTI refuses, or PyTorch's profiler is already using
                it.
        """
        self._cupti = _imported() if self._library is None else self._library
        _refuse_beside_torch()
        self._clock = clock
        self._kept: list[Activity] = []
        self._enabled: list[int] = []
        self._dropped = 0
        self._notes: list[str] = []
        self._unreadable: dict[str, int] = {}
        self._names = thread_names()
        self._thread_id_type: int | None = None
        try:
            self._enable()
            self._begin = self._moment()
        except Exception as error:
            self._disable()
            raise UserError(
                f"CUPTI cannot record: {error}. Expected an NVIDIA GPU with its driver, permission to profile it, and "
                f"no other tool that uses CUPTI. {_INSTALL}"
            ) from error

    def stop(self) -> Collected:
        """Wait until the devices have finished what was launched, and return CUPTI's activities."""
        stopped = self._moment()
        driver = _driver()
        try:
            if driver is not None:
                # Kernels that have not ended would be reported without times.
                driver.cuCtxSynchronize()
            self._cupti.activity_flush_all(_FORCED)
            end = self._moment()
        finally:
            self._disable()
        with self._lock:
            kept, self._kept = self._kept, []
        properties = _properties(driver, {each.device for each in kept if each.device >= 0})
        threads = {each.place & 0xFFFF_FFFF for each in kept if each.kind in activities.CALLS}
        names = Names(
            function=self._function_name,
            demangled=_Demangler(),
            threads=thread_names(threads, known=self._names),
            processors={each["id"]: each["numSms"] for each in properties},
        )
        wall = activities.wall_times(self._begin, end, self._clock.wall_offset_ns)
        records, without_times = activities.records_of_activities(kept, names, wall, until=stopped.theirs)
        return Collected(
            records,
            notes=tuple(self._all_notes(without_times)),
            metadata={"deviceProperties": properties} if properties else {},
        )

    def _enable(self) -> None:
        cupti = self._cupti
        with suppress(AttributeError):
            self._thread_id_type = cupti.get_thread_id_type()
            cupti.set_thread_id_type(_SYSTEM_THREAD_IDS)
        cupti.activity_register_callbacks(lambda: (self._buffer_bytes, 0), self._complete)
        for kind in self._kinds:
            try:
                cupti.activity_enable(kind)
            except NotImplementedError:
                # cupti-python 12.6 does not have all kinds.
                self._notes.append(
                    f"{_WANTED[kind]} were not recorded: cupti-python can do so only in a later version."
                )
            else:
                self._enabled.append(kind)

    def _disable(self) -> None:
        while self._enabled:
            with suppress(Exception):
                self._cupti.activity_disable(self._enabled.pop())
        if self._thread_id_type is not None:
            with suppress(Exception):
                self._cupti.set_thread_id_type(self._thread_id_type)

    def _complete(self, completed: Iterable[Any]) -> None:
        """Keep the activities of a buffer; called by CUPTI from its own threads."""
        found = []
        for activity in completed:
            try:
                found.append(activities.kept(activity))
            except AttributeError as error:
                self._unreadable[str(error)] = self._unreadable.get(str(error), 0) + 1
        wanted = [activity for activity in found if activity is not None]
        with self._lock:
            room = self._most - len(self._kept)
            self._kept += wanted[:room]
            self._dropped += len(wanted[room:])

    def _function_name(self, domain: int, code: int) -> str:
        try:
            return str(self._cupti.get_callback_name(domain, code))
        except Exception:  # the library has its own exception for each cause
            return ""

    def _moment(self) -> Moment:
        """Return the closest of a few comparisons of CUPTI's clock with ours."""
        best, shortest = Moment(0, 0), sys.maxsize
        for _ in range(5):
            before = self._clock.now()
            theirs = self._cupti.get_timestamp()
            after = self._clock.now()
            if after - before < shortest:
                best, shortest = Moment(theirs, (before + after) // 2), after - before
        return best

    def _all_notes(self, without_times: int) -> Iterable[str]:
        yield from self._notes
        lost = ctypes.c_size_t()
        with suppress(Exception):
            self._cupti.activity_get_num_dropped_records(0, 0, ctypes.addressof(lost))
        if lost.value:
            yield f"CUPTI dropped {_activities(lost.value)} because its buffers were full."
        if self._dropped:
            yield f"GPU activities beyond the first {self._most:,} were dropped: {self._dropped:,}."
        if without_times:
            yield f"Left out {_activities(without_times)} without times."
        for reason, count in self._unreadable.items():
            yield f"{_activities(count)} could not be read: {reason}."


def _activities(number: int) -> str:
    return counted(number, "GPU activity", "GPU activities")


def _imported() -> Any:
    try:
        library = import_module("cupti.cupti")
    except ImportError as error:
        raise UserError(f"CUPTI cannot record: {error}. Expected NVIDIA's cupti-python. {_INSTALL}") from error
    if not hasattr(library, "activity_register_callbacks"):
        raise UserError(f"CUPTI cannot record: the package “cupti” here is not NVIDIA's. {_INSTALL}")
    return library


def _refuse_beside_torch() -> None:
    torch_profiler = sys.modules.get("torch.autograd.profiler")
    if torch_profiler is not None and getattr(torch_profiler, "_is_profiler_enabled", False):
        raise UserError(
            "CUPTI cannot record: PyTorch's profiler is running and already uses CUPTI. Record with the collector "
            "“torch” or with “cupti”, not with both."
        )


def _driver() -> Any:
    """Return CUDA's driver library; None if there is none."""
    try:
        return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return None


def _properties(driver: Any, devices: Iterable[int]) -> list[dict[str, Any]]:
    """Return what Kineto writes as ``deviceProperties``, for the devices that were used."""
    found = []
    for device in sorted(devices) if driver is not None else ():
        handle, value, size = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
        name = ctypes.create_string_buffer(256)
        if (
            driver.cuDeviceGet(ctypes.byref(handle), device)
            or driver.cuDeviceGetName(name, len(name), handle)
            or driver.cuDeviceTotalMem_v2(ctypes.byref(size), handle)
        ):
            continue
        properties: dict[str, Any] = {"id": device, "name": name.value.decode(), "totalGlobalMem": size.value}
        for key, attribute in _PROPERTIES.items():
            driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, handle)
            properties[key] = value.value
        found.append(properties)
    return found


class _Demangler:
    """Returns names of kernels as written in C++ if the C++ library can demangle them; otherwise as they are."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        try:
            # As an attribute, Python would take the name for a private one of this class.
            self._demangle: Any = ctypes.CDLL("libstdc++.so.6")["__cxa_demangle"]
            self._free = ctypes.CDLL(None).free
        except (OSError, AttributeError):
            self._demangle = None
        else:
            self._demangle.restype = ctypes.c_void_p
            self._free.argtypes = [ctypes.c_void_p]

    def __call__(self, name: str) -> str:
        if name not in self._known:
            self._known[name] = self._demangled(name)
        return self._known[name]

    def _demangled(self, name: str) -> str:
        if self._demangle is None or not name.startswith("_Z"):
            return name
        status = ctypes.c_int()
        text = self._demangle(name.encode(), None, None, ctypes.byref(status))
        if not text:
            return name
        try:
            return ctypes.string_at(text).decode(errors="replace")
        finally:
            self._free(text)
