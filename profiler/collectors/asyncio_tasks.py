"""The tasks of asyncio: when each one ran, and when it existed.

asyncio's event loops run everything through ``asyncio.Handle._run``, and asyncio itself determines there which task a
handle belongs to by the ``__self__`` of its callback (``asyncio.base_events._format_handle``). That method and
``BaseEventLoop.create_task`` are wrapped while a recording runs. Tasks, coroutines and their callbacks are not
modified, so they behave as usual.
"""

import asyncio
import asyncio.base_events
import asyncio.events
import asyncio.tasks
import functools
import heapq
import itertools
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import CodeType
from typing import Any, Final, TypeAlias

from stepscope.profiler.collectors.base import (
    FIRST_MADE_UP_THREAD,
    HOST_DEVICE,
    NO_ARGUMENTS,
    UNFINISHED,
    ArgumentValue,
    Collected,
    Lane,
    Record,
    RecordingClock,
)
from stepscope.profiler.collectors.host import plain_text
from stepscope.profiler.collectors.patching import Patches
from stepscope.summary.counts import counted
from stepscope.summary.errors import UserError

OPEN: Final = -1
"""The end of anything that has not ended."""
FIELDS_PER_RUN: Final = 3
FIRST_THREAD_LANE: Final = FIRST_MADE_UP_THREAD + 16
THREAD_LANES: Final = 112
FIRST_LIFE_LANE: Final = FIRST_THREAD_LANE + THREAD_LANES
LIFE_LANES: Final = 128

Task: TypeAlias = "asyncio.Task[Any]"


class AsyncioTaskCollector:
    """Records the tasks of asyncio's event loops, in all threads, as "asyncio_task".

    Each run of a task is a slice on the lane "asyncio <name of the thread>". The life of each task, from its creation
    until it is done, is a slice on the lanes "asyncio tasks", of which there are as many as tasks alive at once.

    Args:
        max_slices: maximum number of runs and lives of tasks to keep; later ones are counted in a note.

    Raises:
        ValueError: ``max_slices`` is negative.
    """

    def __init__(self, *, max_slices: int = 1_000_000) -> None:
        if max_slices < 0:
            raise ValueError(f"expected a limit of 0 or more, got {max_slices=}")
        self._max_slices: Final = max_slices
        self._recording: _Recording | None = None
        self._patches: Final = Patches()
        self._wall_offset = 0

    def start(self, clock: RecordingClock) -> None:
        """Wrap the methods that run and create tasks.

        Raises:
            UserError: the event loop running in this thread is not one of asyncio's own.
        """
        loop = asyncio._get_running_loop()
        if loop is not None and not isinstance(loop, asyncio.BaseEventLoop):
            kind = f"{type(loop).__module__}.{type(loop).__qualname__}"
            raise UserError(
                f"the tasks of a {kind} cannot be recorded. Expected one of asyncio's own event loops: run the program "
                "in asyncio.run without another loop, or record without the collector of asyncio's tasks."
            )
        self._wall_offset = clock.wall_offset_ns
        self._recording = recording = _Recording(clock.now, self._max_slices)
        if loop is not None:
            recording.meet_loop(loop)
        self._patches.replace(asyncio.events.Handle, "_run", recording.wrap_run)
        self._patches.replace(asyncio.base_events.BaseEventLoop, "create_task", recording.wrap_create_task)

    def stop(self) -> Collected:
        """Remove the wrappers, and return the runs by thread and the lives by start."""
        recording, self._recording = self._recording, None
        if recording is None:
            return Collected()
        recording.stopped = stopped = recording.now()
        self._patches.undo()
        recording.meet_waiting_tasks()
        lives = recording.all_lives()
        lives_in_lanes, crowded = _in_lanes(lives, stopped)
        records = [
            *itertools.chain.from_iterable(
                self._runs(each, lane, stopped)
                for lane, each in enumerate(recording.threads[:THREAD_LANES], FIRST_THREAD_LANE)
            ),
            *(self._life(life, lane, stopped) for life, lane in lives_in_lanes),
        ]
        lost_threads = sum(len(each.runs) // FIELDS_PER_RUN for each in recording.threads[THREAD_LANES:])
        return Collected(records, notes=tuple(self._notes(recording, lives, crowded, lost_threads)))

    def _runs(self, thread: "_Thread", lane_id: int, stopped: int) -> Iterator[Record]:
        lane, runs = Lane(HOST_DEVICE, lane_id, thread.lane_name), thread.runs
        for i in range(0, len(runs), FIELDS_PER_RUN):
            life, start, end = runs[i : i + FIELDS_PER_RUN]
            args = life.about
            if end == OPEN:
                args, end = {**args, **UNFINISHED}, stopped
            yield self._record(life, lane, start, end, args)

    def _life(self, life: "_Life", number: int, stopped: int) -> Record:
        name = "asyncio tasks" if not number else f"asyncio tasks {number + 1}"
        end = stopped if life.end == OPEN else life.end
        run_ns = life.run_ns + life.running * stopped
        args: dict[str, ArgumentValue] = {
            **life.about,
            "run_us": run_ns / 1000,
            "awaited_us": (end - life.begin - run_ns) / 1000,
            "resumptions": life.runs,
            **life.outcome,
        }
        if life.before:
            args["began_before_recording"] = True
        if life.end == OPEN:
            args |= UNFINISHED
        return self._record(life, Lane(HOST_DEVICE, FIRST_LIFE_LANE + number, name), life.begin, end, args)

    def _record(self, life: "_Life", lane: Lane, start: int, end: int, args: Mapping[str, ArgumentValue]) -> Record:
        return Record(life.title(), "asyncio_task", lane, start + self._wall_offset, end - start, args=args)

    def _notes(
        self, recording: "_Recording", lives: Sequence["_Life"], crowded: int, lost_threads: int
    ) -> Iterator[str]:
        before = sum(life.before for life in lives)
        if before:
            yield (
                f"{counted(before, 'asyncio task')} started before the recording; only activity during the recording "
                "is shown"
            )
        if recording.dropped_runs or recording.dropped_lives:
            dropped = f"{counted(recording.dropped_runs, 'run')} and {counted(recording.dropped_lives, 'lifetime')}"
            yield (
                f"{dropped} of asyncio tasks were not recorded, because at most {self._max_slices:,} are kept: record "
                "fewer steps, or set max_slices of AsyncioTaskCollector"
            )
        if crowded:
            yield (
                f"the lifetimes of {counted(crowded, 'asyncio task')} are not shown, because more than {LIFE_LANES} "
                "tasks existed at once; the times at which they ran are shown"
            )
        if lost_threads:
            yield (
                f"not shown: {counted(lost_threads, 'run')} of asyncio tasks in threads beyond the first {THREAD_LANES}"
            )
        if not lives and "uvloop" in sys.modules:
            yield "no asyncio tasks were recorded: those of uvloop cannot be, only those of asyncio's own event loops"


class _Life(weakref.ref[Task]):
    """What is known about a task, without keeping the task alive."""

    __slots__ = ("about", "before", "begin", "end", "key", "name", "outcome", "run_ns", "running", "runs")

    about: Mapping[str, ArgumentValue]
    """Its coroutine, and where the coroutine is defined."""
    before: bool
    """Whether it existed before the recording."""
    begin: int
    end: int
    key: int
    """The identity of the task."""
    name: str
    outcome: Mapping[str, ArgumentValue]
    run_ns: int
    """How long it ran, minus the start of the current run."""
    running: int
    """1 while it runs."""
    runs: int
    """How often it ran."""

    def title(self) -> str:
        return f"{plain_text(self.name)}: {self.about['coroutine']}"


class _Thread:
    """The runs of the tasks in one thread."""

    __slots__ = ("lane_name", "loop", "runs")

    def __init__(self) -> None:
        self.lane_name = plain_text(f"asyncio {threading.current_thread().name}")
        self.runs: list[Any] = []
        """Sorted by start, `FIELDS_PER_RUN` items each: life, start and end."""
        self.loop = 0
        """The identity of the event loop that was seen last."""


class _Recording:
    """What the wrapped methods write to."""

    def __init__(self, now: Callable[[], int], max_slices: int) -> None:
        self.now: Final = now
        self.started: Final = now()
        self.stopped: int | None = None
        """When it stopped; methods that others wrapped in the meantime may be called nevertheless."""
        self.threads: list[_Thread] = []
        self.dropped_runs = 0
        self.dropped_lives = 0
        self._lives: dict[int, _Life] = {}
        """Tasks that are not done, by the task's identity; a life does not keep its task alive."""
        self._done: list[_Life] = []
        self._loops: dict[int, weakref.ref[asyncio.AbstractEventLoop]] = {}
        self._local = threading.local()
        self._max_slices = max_slices
        self._numbers = itertools.count()
        self._abouts: dict[int, tuple[CodeType, Mapping[str, ArgumentValue]]] = {}
        # If asyncio is made to use its tasks in Python, asyncio.Task is no longer the name of the other kind.
        python_task: Any = getattr(asyncio.tasks, "_PyTask", asyncio.Task)
        self._kinds: Final = (asyncio.Task, python_task)

    def wrap_run(self, original: Callable[[asyncio.Handle], None]) -> Callable[[asyncio.Handle], None]:
        """Return the replacement of ``asyncio.Handle._run``."""

        @functools.wraps(original)
        def _run(handle: Any) -> None:
            callback = handle._callback
            task = getattr(callback, "__self__", None)
            try:
                if self.stopped is not None or not isinstance(task, self._kinds) or not _is_step(callback, task):
                    return original(handle)
                life = self._lives.get(id(task)) or self._meet(task)
                if life is None:
                    return original(handle)
                thread = self._thread(handle._loop)
                place = self._begin_run(thread, life, self.now())
                try:
                    return original(handle)
                finally:
                    self._end_run(thread, place, life, task)
            finally:
                # As asyncio does: an exception that passes through holds this frame, and with it all of these objects.
                del callback, task, handle

        return _run

    def wrap_create_task(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the replacement of ``BaseEventLoop.create_task``, which calls the loop's task factory."""

        @functools.wraps(original)
        def create_task(loop: asyncio.AbstractEventLoop, coro: Any, **options: Any) -> Any:
            begin = self.now()
            task = original(loop, coro, **options)
            try:
                if self.stopped is None and isinstance(task, self._kinds) and id(task) not in self._lives:
                    self._see_made(loop, coro, task, begin)
                return task
            finally:
                # As asyncio does: an exception of an eager task holds this frame, and thus would hold the task.
                del task

        return create_task

    def _see_made(self, loop: asyncio.AbstractEventLoop, coro: Any, task: Task, begin: int) -> None:
        _forget_this_frame(task)
        thread, life = self._thread(loop), self._add(task, coro, begin)
        # Eager tasks run before they are returned.
        if life is not None and (task.done() or _has_begun(coro)):
            self._end_run(thread, self._begin_run(thread, life, begin), life, task)

    def meet_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take note of an event loop."""
        self._loops[id(loop)] = weakref.ref(loop)

    def meet_waiting_tasks(self) -> None:
        """Take note of the tasks that existed when the recording began and have not run since."""
        if self.dropped_lives:
            return
        for reference in list(self._loops.values()):
            loop = reference()
            for task in asyncio.all_tasks(loop) if loop is not None else ():
                if id(task) not in self._lives:
                    self._meet(task)

    def all_lives(self) -> Sequence[_Life]:
        """Return the lives of all tasks, by begin."""
        going = list(self._lives.values())
        for life in going:
            task = life()
            if task is not None:
                life.name = task.get_name()
        return sorted([*self._done, *going], key=lambda life: life.begin)

    def _thread(self, loop: asyncio.AbstractEventLoop) -> _Thread:
        try:
            thread: _Thread = self._local.thread
        except AttributeError:
            thread = self._local.thread = _Thread()
            self.threads.append(thread)
        if thread.loop != id(loop):
            thread.loop = id(loop)
            self.meet_loop(loop)
        return thread

    def _begin_run(self, thread: _Thread, life: _Life, start: int) -> int:
        """Return the position of the run in the list of its thread; `OPEN` if there is no room for it."""
        life.runs += 1
        life.run_ns -= start
        life.running += 1
        if next(self._numbers) >= self._max_slices:
            self.dropped_runs += 1
            return OPEN
        place = len(thread.runs)
        thread.runs += (life, start, OPEN)
        return place

    def _end_run(self, thread: _Thread, place: int, life: _Life, task: Task) -> None:
        end = self.now()
        if self.stopped is not None:
            return
        if place != OPEN:
            thread.runs[place + 2] = end
        life.run_ns += end
        life.running -= 1
        if task.done():
            life.name, life.end = task.get_name(), end
            if task.cancelled():
                life.outcome = {"cancelled": True}
            # After a call to `exception()`, the task would no longer complain that nobody retrieved it.
            elif (error := getattr(task, "_exception", None)) is not None:
                life.outcome = {"exception": plain_text(type(error).__qualname__)}
            self._close(life)

    def _meet(self, task: Task) -> _Life | None:
        """Return the life of a task that was created before the recording, or not by its loop."""
        coro = task.get_coro()
        before = self.stopped is not None or _has_begun(coro)
        life = self._add(task, coro, self.started if before else self.now())
        if life is not None:
            life.before = before
        return life

    def _add(self, task: Task, coro: Any, begin: int) -> _Life | None:
        if next(self._numbers) >= self._max_slices:
            self.dropped_lives += 1
            return None
        life = _Life(task, self._on_destroyed)
        life.key, life.begin, life.end = id(task), begin, OPEN
        life.name, life.about, life.outcome = task.get_name(), self._about(coro), NO_ARGUMENTS
        life.runs = life.run_ns = life.running = 0
        life.before = False
        self._lives[life.key] = life
        return life

    def _on_destroyed(self, reference: weakref.ref[Task]) -> None:
        assert isinstance(reference, _Life)
        if self._lives.get(reference.key) is reference and self.stopped is None:
            reference.end, reference.outcome = self.now(), {"destroyed": True}
            self._close(reference)

    def _close(self, life: _Life) -> None:
        del self._lives[life.key]
        self._done.append(life)

    def _about(self, coro: Any) -> Mapping[str, ArgumentValue]:
        code = getattr(coro, "cr_code", None)
        known = self._abouts.get(id(code))
        if known is not None:
            return known[1]
        code = code or getattr(coro, "gi_code", None) or getattr(coro, "ag_code", None)
        name = getattr(coro, "__qualname__", None) or type(coro).__qualname__
        about: dict[str, ArgumentValue] = {"coroutine": plain_text(name).replace(".<locals>", "")}
        if isinstance(code, CodeType):
            about |= {"file": plain_text(code.co_filename), "line": code.co_firstlineno}
            self._abouts[id(code)] = code, about
        return about


def _is_step(callback: object, task: Task) -> bool:
    """Return whether a method of a task resumes the task.

    asyncio's own methods that do so have no name by which they could be reached; any other, such as `cancel`, has one.
    """
    # One of the two methods in C has no name at all, and looking for it would cost more than all the rest.
    if type(callback).__name__ == "TaskStepMethWrapper":
        return True
    name = getattr(callback, "__name__", None)
    return name is None or not hasattr(type(task), name)


def _has_begun(coro: Any) -> bool:
    """Return whether a coroutine waits for something."""
    try:
        return bool(coro.cr_suspended)
    except AttributeError:
        return bool(getattr(coro, "gi_suspended", False))


def _forget_this_frame(task: Task) -> None:
    """Remove this module from the calls that a task remembers in asyncio's debug mode."""
    traceback: Any = getattr(task, "_source_traceback", None)
    for place in reversed(range(len(traceback))) if traceback else ():
        if traceback[place].filename == _forget_this_frame.__code__.co_filename:
            del traceback[place]


def _in_lanes(lives: Iterable[_Life], stopped: int) -> tuple[Sequence[tuple[_Life, int]], int]:
    """Give each life the first free lane, and count those that found none.

    Viewers do not show overlapping slices of one lane as they are.
    """
    placed: list[tuple[_Life, int]] = []
    free = list(range(LIFE_LANES))
    busy: list[tuple[int, int]] = []
    crowded = 0
    for life in lives:
        while busy and busy[0][0] <= life.begin:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if not free:
            crowded += 1
            continue
        lane = heapq.heappop(free)
        heapq.heappush(busy, (stopped if life.end == OPEN else life.end, lane))
        placed.append((life, lane))
    return placed, crowded
