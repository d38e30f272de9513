"""Operators, launches, kernels, copies and allocations of PyTorch, through its own profiler (Kineto)."""

import atexit
import os
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from stepscope.profiler.collectors.base import Collected, RecordingClock
from stepscope.profiler.collectors.devices import thread_names
from stepscope.profiler.collectors.kineto import (
    KinetoTrace,
    clock_offset,
    first_events,
    marks_of,
    parse_kineto,
    records_of_kineto,
    threads_of,
)
from stepscope.profiler.collectors.own_thread import leave_to
from stepscope.summary.errors import UserError

_MARK: Final = "stepscope: clock"
"""Scopes that are recorded on PyTorch's clock and on ours, and shown nowhere."""
_MARKS: Final = 8
"""Number of marks at the start, and at the end."""
_OTHER_THREAD: Final = (
    "PyTorch's activity is missing: the recording was started in one thread and stopped in another, so PyTorch's "
    "profiler goes on until the next profiler.step() in the first thread. Start and stop in the same thread, or record "
    "with TorchCollector(all_threads=True)."
)
_NO_ALLOCATIONS: Final = (
    "PyTorch's allocations were not recorded: PyTorch reports them only when it records a single thread, as "
    "TorchCollector(all_threads=False) does."
)
_LOST: Final = (
    "PyTorch's activity is missing: another torch profiler was started during the recording, and PyTorch can "
    "have only one at a time. Record with one of them."
)
_SHORTENED: Final = (
    "PyTorch's activity is missing in part: another torch profiler ran during the recording, and PyTorch can "
    "have only one at a time. Record with one of them."
)


class TorchCollector:
    """Records what PyTorch runs on the host and on its devices.

    It records operators, CUDA calls, kernels, copies, memsets, waits, allocations (also as counters) and, on request,
    Python stacks, with every argument that Kineto stores. A process can have only one torch profiler at a time.

    Args:
        record_shapes: shapes, strides and types of operator inputs.
        profile_memory: every allocation and release, and the number of bytes held.
        with_stack: every Python function that runs, at a high cost.
        with_modules: the module of a TorchScript program that an operator belongs to.
        with_flops: floating-point operations of matrix products and convolutions.
        activities: what to record: "cpu", "cuda", "xpu", ..., or members of ``torch.profiler.ProfilerActivity``. By
            default, the host, and CUDA or ROCm if there is a device.
        all_threads: True records the operators of all threads, but PyTorch then reports no allocations; False records
            those of the thread that starts the recording, and of the backward pass. By default, False in the main
            thread.
        most_events: maximum number of events to keep; the rest are counted.
    """

    def __init__(
        self,
        *,
        record_shapes: bool = True,
        profile_memory: bool = True,
        with_stack: bool = False,
        with_modules: bool = False,
        with_flops: bool = False,
        activities: Sequence[Any] | None = None,
        all_threads: bool | None = None,
        most_events: int = 5_000_000,
    ) -> None:
        self._options: Final = {
            "record_shapes": record_shapes,
            "profile_memory": profile_memory,
            "with_stack": with_stack,
            "with_modules": with_modules,
            "with_flops": with_flops,
        }
        self._activities: Final = activities
        self._all_threads: Final = all_threads
        self._most_events: Final = most_events
        self._profile: Any = None
        self._readings: list[tuple[int, int]] = []

    def start(self, clock: RecordingClock) -> None:
        """Start PyTorch's profiler.

        Raises:
            UserError: PyTorch is missing, has no profiler, or is already profiling; or it does not support an activity.
        """
        self._torch = torch = _torch()
        self._clock = clock
        self._readings = []
        self._names = thread_names()
        self._thread = threading.get_ident()
        all_threads = self._all_threads
        if all_threads is None:
            all_threads = threading.current_thread() is not threading.main_thread()
        config, self._sees_all_threads = _experimental_config(torch, all_threads, verbose=self._options["with_stack"])
        profile = torch.profiler.profile(
            activities=_activities(torch, self._activities), experimental_config=config, **self._options
        )
        try:
            profile.start()
            self._profile = profile
            # A torch profiler that is still running when the process ends causes a segmentation fault.
            atexit.register(self._abandon, os.getpid())
            self._mark()
        except BaseException as error:
            self._profile = profile
            self._abandon(os.getpid())
            if isinstance(error, RuntimeError):
                raise UserError(f"PyTorch's profiler does not start: {error}") from error
            raise

    def stop(self) -> Collected:
        """Stop PyTorch's profiler and return what it recorded."""
        if not self._sees_all_threads and threading.get_ident() != self._thread:
            # Such a profiler belongs to its thread, and cannot be stopped from another; exporting it ends the process.
            leave_to(self._thread, partial(self._abandon, os.getpid()))
            return Collected(notes=(_OTHER_THREAD,))
        profile, self._profile = self._profile, None
        atexit.unregister(self._abandon)
        runs = _profiles(self._torch)
        if runs:
            self._mark()
        try:
            profile.stop()
        except RuntimeError:
            # This is how PyTorch 2.9 reports that another profiler has ended this one; later versions have no results.
            if runs:
                raise
        # Exporting a profile that another one has taken over ends the process.
        results = profile.profiler.kineto_results
        if results is None or results.trace_start_ns() == 0:
            return Collected(notes=(_LOST,))
        trace, dropped = first_events(parse_kineto(_exported(profile)), self._most_events)
        notes = [f"PyTorch events beyond the first {self._most_events:,} were dropped: {dropped:,}."] * bool(dropped)
        notes += [_NO_ALLOCATIONS] * (self._sees_all_threads and self._options["profile_memory"])
        return self._collected(trace, notes)

    def _collected(self, trace: KinetoTrace, notes: list[str]) -> Collected:
        marks = marks_of(trace, _MARK)
        offset = 0
        if len(marks) == len(self._readings):
            wall = self._clock.wall_offset_ns
            offset = clock_offset(marks, [(before + wall, after + wall) for before, after in self._readings])
        elif len(trace.events) < self._most_events:
            notes.append(_SHORTENED)
        pid = os.getpid()
        found = records_of_kineto(
            trace,
            host_pid=pid,
            offset_ns=offset,
            names=thread_names(threads_of(trace, pid), known=self._names),
            leave_out=frozenset({_MARK}),
        )
        # The session states the machine's name, which may differ from PyTorch's.
        metadata = {key: value for key, value in trace.metadata.items() if key != "host_name"}
        return Collected(found.records, found.counters, tuple(notes), metadata, found.arrows)

    def _abandon(self, pid: int) -> None:
        profile, self._profile = self._profile, None
        atexit.unregister(self._abandon)
        if profile is not None and os.getpid() == pid:
            with suppress(Exception):
                profile.stop()

    def _mark(self) -> None:
        """Record scopes between readings of our clock, to compare it with Kineto's: several, as the first is slow."""
        for _ in range(_MARKS):
            before = self._clock.now()
            with self._torch.profiler.record_function(_MARK):
                pass
            self._readings.append((before, self._clock.now()))


def _torch() -> Any:
    try:
        torch = import_module("torch")
        import_module("torch.profiler")
    except ImportError as error:
        raise UserError(
            f"PyTorch cannot be recorded: {error}. Expected PyTorch in this environment: "
            "pip install 'stepscope[torch]', or record without the collector “torch”."
        ) from error
    if not torch.profiler.kineto_available():
        raise UserError(
            "PyTorch cannot be recorded: this build of it has no profiler (Kineto). Expected a build with "
            "USE_KINETO=1, as those on PyPI are."
        )
    # Two profilers at once end the process with a segmentation fault.
    if _profiles(torch) or torch.autograd._profiler_enabled():
        raise UserError(
            "PyTorch cannot be recorded: a torch profiler is already running, and PyTorch can have only one at a time. "
            "Stop it first, or record without the collector “torch”."
        )
    return torch


def _profiles(torch: Any) -> bool:
    """Return whether a torch profiler is running in any thread."""
    return bool(getattr(torch.autograd.profiler, "_is_profiler_enabled", False))


def _activities(torch: Any, chosen: Sequence[Any] | None) -> list[Any]:
    if chosen is None:
        chosen = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    names = [str(getattr(each, "name", each)).lower() for each in chosen]
    supported = {activity.name.lower(): activity for activity in torch.profiler.supported_activities()}
    unknown = [name for name in names if name not in supported]
    if unknown or not names:
        raise UserError(
            f"PyTorch cannot record the activities {', '.join(unknown) or '(none)'} here. Expected one or more of: "
            f"{', '.join(sorted(supported))}."
        )
    return [supported[name] for name in names]


def _experimental_config(torch: Any, all_threads: bool, *, verbose: bool) -> tuple[Any, bool]:
    """Return a configuration that records the most this version of PyTorch can, and whether it sees all threads."""
    make = torch._C._profiler._ExperimentalConfig
    for options in ({"profile_all_threads": all_threads, "enable_cuda_sync_events": True}, {}):
        with suppress(TypeError):
            return make(verbose=verbose, **options), options.get("profile_all_threads", False)
    return None, False


def _exported(profile: Any) -> bytes:
    with tempfile.TemporaryDirectory(prefix="stepscope-") as folder:
        path = Path(folder, "torch.json")
        profile.export_chrome_trace(str(path))
        return path.read_bytes()
