"""The processes that the program starts, the resources they use, and the scopes of those that are forked.

There are three sources: the process table, polled repeatedly, finds every child, however it was started, and its
children; hooks in the standard library know the exact times and exit codes of the children that it starts; and forked
children write their scopes to files (`forked_scopes`).
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from stepscope.profiler.collectors.base import (
    HOST_DEVICE,
    UNFINISHED,
    ArgumentValue,
    Collected,
    Lane,
    Record,
    RecordingClock,
)
from stepscope.profiler.collectors.child_hooks import listen
from stepscope.profiler.collectors.forked_scopes import ForkedScope, ForkedScopes
from stepscope.profiler.collectors.host import plain_text
from stepscope.profiler.collectors.patching import Patches
from stepscope.profiler.collectors.sampling import MAX_POINTS, Counters, Key, Sampler, checked_interval_ns
from stepscope.summary.counts import counted

_NAME_LENGTH: Final = 60
_COMMAND_LENGTH: Final = 1000
_CPU_CLOCK: Final = 2
"""On Linux, the clock of a process's processor time is ``~pid << 3 | 2``, as made by `clock_getcpuclockid`."""


@dataclass(eq=False)
class _Child:
    """One process below this one; times are monotonic."""

    pid: int
    start_ns: int
    found_ns: int
    """When it was first seen."""
    name: str
    command: str = ""
    """Includes the arguments."""
    parent: int | None = None
    is_named: bool = False
    """Whether its name was given by the program."""
    is_older: bool = False
    """Whether it ran before the recording began."""
    looks: int = 0
    end_ns: int | None = None
    exit_code: int | None = None
    process: psutil.Process | None = None

    @property
    def lane(self) -> Lane:
        return Lane(HOST_DEVICE, self.pid & 0xFFFF_FFFF, f"process {self.pid}: {_short(self.name)}")


class SubprocessCollector:
    """Records child processes: how long each ran, its memory and processor time, and the scopes of forked ones.

    Args:
        interval: seconds between two polls of the processes. A process that runs for less is seen only if the standard
            library starts it and waits for it.
        max_processes: maximum number of processes to record; the rest are counted in the notes.
        max_points: maximum number of points of all counters together; the rest are counted in the notes.
        max_scopes: maximum number of scopes of each forked child; the rest are counted in the notes.

    Raises:
        ValueError: the interval is not positive, or a limit is negative.
    """

    def __init__(
        self,
        *,
        interval: float = 0.02,
        max_processes: int = 10_000,
        max_points: int = MAX_POINTS,
        max_scopes: int = 200_000,
    ) -> None:
        checked_interval_ns(interval)
        for name, limit in {"max_processes": max_processes, "max_scopes": max_scopes}.items():
            if limit < 0:
                raise ValueError(f"{name} must be 0 or more, got {limit!r}")
        self._interval: Final = interval
        self._max_processes: Final = max_processes
        self._max_points: Final = max_points
        self._scopes: Final = ForkedScopes(max_scopes)
        self._patches: Final = Patches()
        # One thread may hold it twice: a garbage collection, at any point, may wait for a child.
        self._lock: Final = threading.RLock()

    def start(self, clock: RecordingClock) -> None:
        """Look for children that are already running, and start the thread that polls."""
        self._clock = clock
        self._pid = os.getpid()
        self._started_ns = clock.now()
        self._looked = False
        self._children: list[_Child] = []
        self._latest: dict[int, _Child] = {}
        """By process ID, which the system may reuse."""
        self._live: dict[int, _Child] = {}
        self._dropped: set[int] = set()
        self._zombies: set[int] = set()
        self._counters = Counters(self._interval, self._max_points)
        self._sampler = Sampler("stepscope subprocesses", self._interval, {"processes": self._look}, clock.now)
        self._notes: list[str] = []
        self._spools = True
        try:
            self._scopes.start(clock.now)
        except OSError as error:
            self._spools = False
            self._notes.append(f"scopes of forked processes were not recorded: {error}")
        try:
            self._sampler.start()
        except BaseException:
            self._end_scopes()
            raise
        self._listening = True
        listen(self._patches, self, clock.now)

    def stop(self) -> Collected:
        """Poll once more, and return the processes and what the forked ones recorded."""
        self._patches.undo()
        notes = self._sampler.stop()
        self._listening = False
        stopped_ns = self._clock.now()
        scopes = self._end_scopes()
        if self._dropped:
            dropped = counted(len(self._dropped), "process was", "processes were")
            self._notes.append(f"{dropped} dropped beyond the limit of {self._max_processes:,}")
        children = sorted(self._children, key=lambda child: (child.start_ns, child.pid))
        lanes = {child.pid: child.lane for child in children}
        return Collected(
            [
                *(self._record(child, stopped_ns) for child in children),
                *(self._scope_record(scope, lanes.get(scope.pid)) for scope in scopes),
            ],
            self._counters.series(self._clock.wall_offset_ns),
            (*notes, *self._notes, *self._counters.notes()),
        )

    def child_started(self, pid: int, before_ns: int, name: str, command: str | None) -> None:
        """Note that the standard library started a process."""
        if not self._listens():
            return
        with self._lock:
            # A poll may have found it since, and may even have found that it is gone.
            child = self._latest.get(pid)
            if child is not None and child.found_ns < before_ns:
                # That was another process with the same number.
                self._end(child, before_ns)
                child = None
            if child is None:
                child = self._add(_Child(pid, before_ns, self._clock.now(), ""))
            if child is not None:
                child.start_ns, child.parent = before_ns, self._pid
                child.name, child.command, child.is_named = name, command or child.command, True

    def child_ended(self, pid: int, exit_code: int) -> None:
        """Note that the standard library has waited for a process."""
        if not self._listens():
            return
        with self._lock:
            child = self._latest.get(pid)
            if child is not None:
                child.exit_code = exit_code
                self._end(child, self._clock.now())

    def _listens(self) -> bool:
        # A forked child has a copy of this collector that nobody will ever stop, with a lock that may be held.
        return self._listening and os.getpid() == self._pid

    def _look(self, _: int) -> None:
        # Each process gets its own time: one that was seen alive must not be recorded as ended when the poll began.
        with self._lock:
            for pid in _descendants(self._pid):
                if pid not in self._live and pid not in self._dropped:
                    with suppress(psutil.NoSuchProcess):
                        self._find(pid)
            self._looked = True
            for child in list(self._live.values()):
                self._look_at(child)

    def _find(self, pid: int) -> None:
        """Add a new process, unless it ended before the recording began."""
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            # It ended before the recording, or was seen alive, and nobody has waited for it yet.
            if not self._looked or pid in self._latest:
                self._zombies.add(pid)
            if pid in self._zombies:
                return
        # Clock ticks are coarse, but a process never begins before the one that starts it.
        parent = self._latest.get(process.ppid())
        now = self._clock.now()
        start_ns = min(max(self._start_of(process), parent.start_ns if parent else 0, self._started_ns), now)
        self._add(_Child(pid, start_ns, now, "unknown", is_older=not self._looked, process=process))

    def _look_at(self, child: _Child) -> None:
        try:
            child.process = child.process or psutil.Process(child.pid)
            with child.process.oneshot():
                if child.process.status() == psutil.STATUS_ZOMBIE:
                    self._end_unwaited(child)
                    return
                # It may have been seen between a fork and an exec.
                if child.looks < 2 or not child.command:
                    _read_names(child, child.process)
                rss, cpu_seconds = child.process.memory_info().rss, _cpu_seconds(child.process)
        except psutil.ZombieProcess:
            # It ended during this poll.
            self._end_unwaited(child)
        except psutil.NoSuchProcess:
            self._end(child, self._clock.now())
        except psutil.AccessDenied:
            # It runs as another user: all that can be seen is that it runs.
            child.looks += 1
        else:
            child.looks += 1
            now = self._clock.now()
            device = f"/process:{child.pid}"
            self._counters.add(Key(device, "memory (bytes)", "RSS"), now, rss)
            self._counters.add_total(Key(device, "CPU (%)", "process"), now, cpu_seconds * 100)

    def _add(self, child: _Child) -> _Child | None:
        if len(self._children) >= self._max_processes:
            self._dropped.add(child.pid)
            return None
        self._children.append(child)
        self._latest[child.pid] = self._live[child.pid] = child
        return child

    def _end_unwaited(self, child: _Child) -> None:
        child.exit_code = _exit_code(child.pid)
        self._end(child, self._clock.now())

    def _end(self, child: _Child, now: int) -> None:
        if child.end_ns is None:
            child.end_ns, child.process = now, None
            del self._live[child.pid]

    def _start_of(self, process: psutil.Process) -> int:
        """Return when a process was created, in monotonic nanoseconds, to the system's clock tick (10 ms)."""
        created = process.create_time()
        if sys.platform != "linux":
            return round(created * 1e9) - self._clock.wall_offset_ns
        # Time since boot, as the system reports it: psutil has added the boot time, which is known only to the second.
        since_boot_ns: int = round((created - psutil.boot_time()) * 1e9)
        return since_boot_ns + self._clock.now() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)

    def _end_scopes(self) -> list[ForkedScope]:
        if not self._spools:
            return []
        scopes, notes = self._scopes.stop()
        self._notes += notes
        return scopes

    def _record(self, child: _Child, stopped_ns: int) -> Record:
        args: dict[str, ArgumentValue] = {
            "pid": child.pid,
            "parent": child.parent,
            "command": _short(child.command, _COMMAND_LENGTH),
        }
        if child.is_older:
            args["began_earlier"] = True
        if child.exit_code is not None:
            args["exit_code"] = child.exit_code
        if child.end_ns is None:
            args |= UNFINISHED
        end_ns = stopped_ns if child.end_ns is None else child.end_ns
        start_ns = child.start_ns + self._clock.wall_offset_ns
        return Record(_short(child.name), "subprocess", child.lane, start_ns, end_ns - child.start_ns, args=args)

    def _scope_record(self, scope: ForkedScope, process_lane: Lane | None) -> Record:
        lane = Lane(HOST_DEVICE, scope.thread_id, f"worker {scope.pid} {scope.thread_name}")
        # The first thread of a process has the same number: its scopes appear below the process itself.
        if process_lane is not None and process_lane.thread_id == scope.thread_id:
            lane = process_lane
        start_ns = scope.start_ns + self._clock.wall_offset_ns
        return Record(scope.name, "annotation", lane, start_ns, scope.end_ns - scope.start_ns, args=scope.args)


def _descendants(pid: int) -> Iterator[int]:
    """Yield the processes below a process; some may be missing while others come and go."""
    tasks = f"/proc/{pid}/task"
    if not os.path.exists(f"{tasks}/{pid}/children"):
        with suppress(psutil.NoSuchProcess):
            yield from (child.pid for child in psutil.Process(pid).children(recursive=True))
        return
    try:
        names = os.listdir(tasks)
    except OSError:
        return
    for name in names:
        for child in map(int, _content(f"{tasks}/{name}/children").split()):
            yield child
            yield from _descendants(child)


def _content(path: str) -> bytes:
    """Return a system file's content, empty if it is gone; read so often that a file object would cost too much."""
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        content = b""
        while part := os.read(file, 1 << 16):
            content += part
        return content
    except OSError:
        return b""
    finally:
        os.close(file)


def _read_names(child: _Child, process: psutil.Process) -> None:
    if child.parent is None:
        child.parent = process.ppid()
    # Empty for system threads, and when a process ends.
    command = process.cmdline()
    if not child.is_named:
        if command:
            child.name = " ".join([Path(command[0]).name, *command[1:]])
        elif not child.looks:
            child.name = process.name()
    if command and not (child.is_named and child.command):
        child.command = " ".join(command)


def _short(text: str, length: int = _NAME_LENGTH) -> str:
    """Return text on one line, of at most ``length`` characters."""
    plain = " ".join(plain_text(text).split())
    return plain if len(plain) <= length else plain[: length - 1] + "…"


def _cpu_seconds(process: psutil.Process) -> float:
    """Return the processor time of a process, in seconds."""
    if sys.platform == "linux":
        with suppress(OSError):
            return time.clock_gettime_ns(~process.pid << 3 | _CPU_CLOCK) / 1e9
    times = process.cpu_times()
    return float(times.user + times.system)


def _exit_code(pid: int) -> int | None:
    """Return the exit code of a child that has ended but was not waited for, and leave it so; a signal is negative."""
    if not hasattr(os, "waitid"):
        return None
    with suppress(OSError):
        status = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if status is not None:
            return status.si_status if status.si_code == os.CLD_EXITED else -status.si_status
    return None
