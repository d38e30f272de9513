"""Every Python function call, in all threads.

A call is three plain values in a flat list of its thread, sorted by start: the code object (or the name of a C
function), the start and the end. Each resumption of a generator or coroutine counts as a call. Records are made when
the recording stops.
"""

import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FrameType, FunctionType, MethodType, WrapperDescriptorType
from typing import Any, Final

from stepscope.profiler.collectors.base import (
    HOST_DEVICE,
    UNFINISHED,
    ArgumentValue,
    Collected,
    Lane,
    Record,
    RecordingClock,
)
from stepscope.profiler.collectors.host import plain_text
from stepscope.profiler.collectors.python_hooks import SKIP, Hook, make_hook
from stepscope.profiler.process import Profile
from stepscope.profiler.session import Session
from stepscope.summary.counts import counted

OPEN: Final = -1
"""The end of a call that has not ended."""
DROPPED: Final = -1
"""The position of a call that is not kept."""
FIELDS_PER_CALL: Final = 3
CALLS_AT_ONCE: Final = 100
"""Number of calls for which a thread reserves room at once, so that threads rarely have to coordinate."""
C_FUNCTION: Final[Mapping[str, ArgumentValue]] = {"c_function": True}

_OWN_FOLDER: Final = str(Path(__file__).parents[1]) + os.sep
_QUIET: Final = (Session.start, Session.stop, Session.discard, Profile._enter_step)
"""Functions in which everything else that only serves the recording runs, and nothing of the program."""
_QUIET_CODES: Final = frozenset(id(function.__code__) for function in _QUIET)
_BOOTSTRAP: Final[CodeType] = threading.Thread._bootstrap.__code__  # type: ignore[attr-defined]
_OF_EVERY_THREAD: Final = frozenset({"_bootstrap", "_bootstrap_inner", "_delete"})
"""Methods of `threading.Thread` that surround or follow everything, and carry no information."""


class PythonCallCollector:
    """Records every call of a Python function as "python_function" on the lane of its thread.

    Calls that are already running when the recording starts are not recorded; those still running when it stops end
    there and are marked `UNFINISHED`. The functions of this package, its threads, and the code that starts and stops a
    recording are left out.

    Args:
        max_calls: maximum number of calls to keep, across all threads; later calls are counted in a note.
        min_duration_ns: shorter calls are not kept.
        include: names of modules, such as "torch.nn": only functions of these modules and of what is in them; all if
            empty.
        exclude: names of modules whose functions are left out, even if ``include`` names them.
        c_calls: whether to also record C functions called by a recorded function. Python 3.11 reports only built-in
            functions and methods, later versions also others, such as NumPy's ufuncs.

    Raises:
        ValueError: ``max_calls`` or ``min_duration_ns`` is negative.
    """

    def __init__(
        self,
        *,
        max_calls: int = 1_000_000,
        min_duration_ns: int = 0,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        c_calls: bool = False,
    ) -> None:
        if max_calls < 0 or min_duration_ns < 0:
            raise ValueError(f"expected limits of 0 or more, got {max_calls=} and {min_duration_ns=}")
        self._max_calls: Final = max_calls
        self._min_duration_ns: Final = min_duration_ns
        self._wanted: Final = _Wanted(include, exclude)
        self._c_calls: Final = c_calls
        self._wall_offset = 0
        self._calls: _Calls | None = None
        self._hook: Hook | None = None

    def start(self, clock: RecordingClock) -> None:
        """Install the hooks in all threads that can be reached.

        Raises:
            UserError: other tools leave no room for this one.
        """
        self._wall_offset = clock.wall_offset_ns
        calls = _Calls(clock.now, self._wanted, self._max_calls, self._min_duration_ns)
        hook = make_hook(calls, self._c_calls)
        calls.give_up = hook.detach
        calls.start_quiet()
        hook.attach()
        self._calls, self._hook = calls, hook

    def stop(self) -> Collected:
        """Remove the hooks, and return the calls by thread."""
        calls, hook = self._calls, self._hook
        if calls is None or hook is None:
            return Collected()
        hook.detach()
        stopped = calls.now()
        self._calls = self._hook = None
        records = [record for thread in calls.threads for record in self._records(thread, calls, stopped)]
        return Collected(records, notes=(*hook.notes, *self._dropped(calls)))

    def _records(self, thread: "_Thread", calls: "_Calls", stopped: int) -> Iterator[Record]:
        kept, lane, offset = thread.calls.copy(), thread.lane(), self._wall_offset
        for i in range(0, len(kept), FIELDS_PER_CALL):
            what, start, end = kept[i : i + FIELDS_PER_CALL]
            name, args = (what, C_FUNCTION) if isinstance(what, str) else calls.described[id(what)]
            if end == OPEN:
                args, end = {**args, **UNFINISHED}, stopped
            yield Record(name, "python_function", lane, start + offset, end - start, args=args)

    def _dropped(self, calls: "_Calls") -> Iterator[str]:
        dropped = sum(thread.dropped for thread in calls.threads)
        if dropped:
            yield (
                f"{counted(dropped, 'Python function call was', 'Python function calls were')} not recorded, "
                f"because at most {self._max_calls:,} are kept: record fewer steps, or set include, "
                "exclude, min_duration_ns or max_calls of PythonCallCollector"
            )


class _Wanted:
    """Chooses functions by the names of their modules."""

    def __init__(self, include: Iterable[str], exclude: Iterable[str]) -> None:
        self._include = (include,) if isinstance(include, str) else tuple(include)
        self._exclude = (exclude,) if isinstance(exclude, str) else tuple(exclude)

    def __call__(self, code: CodeType, module: str) -> bool:
        if code.co_filename.startswith(_OWN_FOLDER):
            return False
        if module == "threading" and code.co_name in _OF_EVERY_THREAD:
            return False
        if _is_in(module, self._exclude):
            return False
        return not self._include or _is_in(module, self._include)


class _Thread:
    """The calls of one thread."""

    __slots__ = ("calls", "dropped", "ident", "native_id", "open", "quiet", "room", "thread")

    def __init__(self, thread: threading.Thread | None) -> None:
        self.calls: list[Any] = []
        """Sorted by start, `FIELDS_PER_CALL` items each."""
        self.open = [DROPPED]
        """The positions of running calls in `calls`, the innermost last; `DROPPED` for calls that are not there.

        The first item stands for what began before the recording did, and is never removed.
        """
        self.room = 0
        """The length that `calls` may have."""
        self.dropped = 0
        self.quiet = 0
        """Number of running functions whose calls are not kept; no room is reserved meanwhile."""
        self.thread = thread
        self.ident = threading.get_ident()
        self.native_id = threading.get_native_id()

    def hush(self) -> None:
        self.quiet += 1
        self.room = 0

    def lane(self) -> Lane:
        # A thread that `threading` did not start may have been given a name since.
        thread = self.thread or _active_thread(self.ident)
        name = thread.name if thread is not None else f"thread {self.native_id}"
        return Lane(HOST_DEVICE, self.native_id & 0xFFFF_FFFF, plain_text(name))


class _Calls:
    """What the hooks call: notes the beginning and the end of calls, by thread.

    Nothing in here waits for a lock: the thread in which it runs may hold any.
    """

    def __init__(self, now: Callable[[], int], wanted: _Wanted, max_calls: int, min_duration: int) -> None:
        self.now = now
        self.threads: list[_Thread] = []
        self.described: dict[int, tuple[str, Mapping[str, ArgumentValue]]] = {}
        """Name and arguments of records, by identity of the code object."""
        self.give_up: Callable[[], None] = lambda: None
        """Ends the recording in a process that was forked from the recorded one."""
        self._wanted = wanted
        self._verdicts: dict[int, bool] = {}
        """Whether calls are recorded, by identity of the code object."""
        self._codes: list[CodeType] = []
        """Keeps the code objects alive, so that their identities remain valid."""
        self._max_calls = max_calls
        self._min_duration = min_duration
        self._blocks = itertools.count()
        self._blocks_left = True
        self._local = threading.local()
        self._process_id = os.getpid()
        self._c_types: dict[type, bool] = {}
        self._c_names: dict[str, str] = {}

    def begin(self, code: CodeType, _: int = 0) -> object:
        """Note a call of a function, or a resumption; return `SKIP` if calls of this function are not recorded."""
        verdict = self._verdicts.get(id(code))
        if verdict is None:
            verdict = self._judge(code)
        if not verdict:
            return self._begin_quiet(code)
        try:
            thread: _Thread = self._local.thread
        except AttributeError:
            thread = self._register_thread()
        calls = thread.calls
        place = len(calls)
        if place >= thread.room and not self._take_room(thread):
            thread.open.append(DROPPED)
        else:
            thread.open.append(place)
            calls += (code, self.now(), OPEN)
        return None

    def end(self, code: CodeType, _: int = 0, __: object = None) -> object:
        """Note a return, a suspension, or an exception that leaves a function; return `SKIP` as `begin` does."""
        ended = self.now()
        try:
            thread: _Thread = self._local.thread
        except AttributeError:
            return self._end_other(code, ended)
        running = thread.open
        place = running[-1]
        calls = thread.calls
        # If the place is -1, `DROPPED`, this reads the end of the list, which is not a code object.
        if calls and calls[place] is code:
            if ended - calls[place + 1] >= self._min_duration:
                running.pop()
                calls[place + 2] = ended
            else:
                self._pop(thread, ended)
            return None
        return self._end_other(code, ended)

    def _end_other(self, code: CodeType, ended: int) -> object:
        """Do the same for a function that is not the innermost one that was seen to begin."""
        if id(code) in _QUIET_CODES:
            self.of_this_thread().quiet -= 1
            return None
        verdict = self._verdicts.get(id(code))
        if verdict is None:
            # The function began before the recording did, and may be called again.
            verdict = self._judge(code)
        elif verdict:
            thread = self.of_this_thread()
            if thread.open[-1] == DROPPED:
                self._pop(thread, ended)
            elif any(place != DROPPED and thread.calls[place] is code for place in thread.open):
                self._unwind(thread, code, ended)
        return None if verdict else SKIP

    def start_quiet(self) -> None:
        """Ignore what this package goes on to call in this thread."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if id(frame.f_code) in _QUIET_CODES:
                self.of_this_thread().hush()
            frame = frame.f_back

    def _begin_quiet(self, code: CodeType) -> object:
        if id(code) not in _QUIET_CODES:
            return SKIP
        self.of_this_thread().hush()
        return None

    def _unwind(self, thread: _Thread, code: CodeType, ended: int) -> None:
        """End a call and everything called from it; needed when others switch stacks, as greenlets do."""
        ends = False
        while not ends:
            place = thread.open[-1]
            ends = place != DROPPED and thread.calls[place] is code
            self._pop(thread, ended)

    def begin_c(self, code: CodeType, _: int, function: object, __: object = None) -> object:
        """Note a call of a C function by Python code; return `SKIP` if this code's calls are not recorded."""
        verdict = self._verdicts.get(id(code))
        if verdict is None:
            verdict = self._judge(code)
        if not verdict:
            return SKIP
        if self._is_c(function):
            thread = self.of_this_thread()
            place = len(thread.calls)
            if place >= thread.room and not self._take_room(thread):
                thread.open.append(DROPPED)
            else:
                name = _c_name(function)
                thread.open.append(place)
                thread.calls += (self._c_names.setdefault(name, name), self.now(), OPEN)
        return None

    def end_c(self, code: CodeType, _: int, function: object, __: object = None) -> None:
        """Note a return from a C function, or an exception."""
        ended = self.now()
        if self._verdicts.get(id(code)) and self._is_c(function):
            thread = self.of_this_thread()
            place = thread.open[-1]
            if place == DROPPED or type(thread.calls[place]) is str:
                self._pop(thread, ended)

    def of_this_thread(self) -> _Thread:
        try:
            found: _Thread = self._local.thread
        except AttributeError:
            found = self._register_thread()
        return found

    def _pop(self, thread: _Thread, ended: int) -> None:
        place = thread.open[-1]
        if place != DROPPED or len(thread.open) > 1:
            thread.open.pop()
        if place == DROPPED:
            return
        calls = thread.calls
        # All calls made from it were even shorter, so this call is the last in the list.
        if ended - calls[place + 1] < self._min_duration and place + FIELDS_PER_CALL == len(calls):
            del calls[place:]
        else:
            calls[place + 2] = ended

    def _take_room(self, thread: _Thread) -> bool:
        """Return whether the thread, whose list is full, may add a call."""
        if thread.quiet:
            return False
        if self._blocks_left:
            if os.getpid() != self._process_id:
                self.give_up()
                return False
            left = self._max_calls - next(self._blocks) * CALLS_AT_ONCE
            if left > 0:
                thread.room = len(thread.calls) + min(left, CALLS_AT_ONCE) * FIELDS_PER_CALL
                return True
            self._blocks_left = False
        thread.dropped += 1
        return False

    def _register_thread(self) -> _Thread:
        # `threading.current_thread` would take a lock, and make a dummy for a thread that is about to register itself.
        active = _active_thread(threading.get_ident())
        thread = _Thread(active)
        if active is None and _is_running(_BOOTSTRAP):
            thread.hush()
            return thread
        if active is not None and _is_own(active):
            thread.hush()
        self.threads.append(thread)
        self._local.thread = thread
        return thread

    def _judge(self, code: CodeType) -> bool:
        """Return whether calls of a function that was not seen before are recorded."""
        module = _module_of(code)
        verdict = self._wanted(code, module)
        if verdict:
            name = module if code.co_name == "<module>" else f"{module}.{code.co_qualname.replace('.<locals>', '')}"
            args: dict[str, ArgumentValue] = {"file": plain_text(code.co_filename), "line": code.co_firstlineno}
            self.described[id(code)] = (plain_text(name), args)
        self._codes.append(code)
        self._verdicts[id(code)] = verdict
        return verdict

    def _is_c(self, function: object) -> bool:
        """Return whether a callable runs without a Python frame; Python functions, methods and classes have one."""
        kind = type(function)
        found = self._c_types.get(kind)
        if found is None:
            shown = kind in (FunctionType, MethodType) or issubclass(kind, type)
            found = not shown and isinstance(getattr(kind, "__call__", None), WrapperDescriptorType)  # noqa: B004
            self._c_types[kind] = found
        return found


def _is_in(module: str, names: Iterable[str]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in names)


def _module_of(code: CodeType) -> str:
    """Return the name of the module of a function that is running in this thread."""
    frame = _frame_of(code)
    module = None if frame is None else frame.f_globals.get("__name__")
    return module if isinstance(module, str) else Path(code.co_filename).stem


def _frame_of(code: CodeType) -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame


def _is_running(code: CodeType) -> bool:
    return _frame_of(code) is not None


def _active_thread(ident: int) -> threading.Thread | None:
    active: Mapping[int, threading.Thread] = threading._active  # type: ignore[attr-defined]
    return active.get(ident)


def _is_own(thread: threading.Thread) -> bool:
    """Return whether this package started the thread."""
    target = getattr(thread, "_target", None)
    modules = (getattr(target, "__module__", None), type(thread).__module__)
    return any(isinstance(module, str) and _is_in(module, ["stepscope.profiler"]) for module in modules)


def _c_name(function: object) -> str:
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    if not isinstance(name, str):
        kind = type(function)
        return plain_text(f"{kind.__module__}.{kind.__qualname__}")
    name, module = name.replace(".<locals>", ""), getattr(function, "__module__", None)
    return plain_text(f"{module}.{name}" if isinstance(module, str) and module != "builtins" else name)
