"""How the interpreter reports calls: through `sys.monitoring`, or through `sys.setprofile` if that is all there is.

Python 3.12 and later report calls in every thread, and do not repeat those that no listener wants. Python 3.11 reaches
the calling thread and threads that start later, and reports everything.
"""

import sys
import threading
from collections.abc import Callable, Mapping
from types import CodeType, FrameType
from typing import Any, Final, Protocol

from stepscope.summary.counts import counted
from stepscope.summary.errors import UserError

_MONITORING: Final[Any] = getattr(sys, "monitoring", None)

SKIP: Final[object] = None if _MONITORING is None else _MONITORING.DISABLE
"""Tells the interpreter not to report a place in a function again, if it can do so."""


class Listener(Protocol):
    """Receives calls in the thread in which they happen; all methods but `end_c` may return `SKIP`."""

    def begin(self, code: CodeType, _: int = 0) -> object:
        """Note that a function is called, or a generator or coroutine resumed."""
        ...

    def end(self, code: CodeType, _: int = 0, __: object = None) -> object:
        """Note that a function returns, is suspended, or is left by an exception."""
        ...

    def begin_c(self, code: CodeType, _: int, function: object, __: object = None) -> object:
        """Note that a Python function, whose code is ``code``, calls something, possibly a C function."""
        ...

    def end_c(self, code: CodeType, _: int, function: object, __: object = None) -> None:
        """Note that a C function returns or raises."""
        ...


class Hook(Protocol):
    """Calls a `Listener` between `attach` and `detach`."""

    notes: list[str]
    """What it does not report."""

    def attach(self) -> None:
        """Begin to call the listener.

        Raises:
            UserError: other tools leave no room for this one.
        """
        ...

    def detach(self) -> None:
        """Stop; do nothing the second time."""
        ...


def make_hook(calls: Listener, c_calls: bool) -> Hook:
    """Return the best hook that this Python has; it reports C functions on request."""
    return _Profile(calls, c_calls) if _MONITORING is None else _Monitoring(calls, c_calls)


class _Monitoring:
    """`sys.monitoring`, of Python 3.12 and later."""

    def __init__(self, calls: Listener, c_calls: bool) -> None:
        self.notes: list[str] = []
        self._calls = calls
        self._c_calls = c_calls
        self._tool: int | None = None

    def attach(self) -> None:
        self._tool = tool = self._take_tool()
        events = 0
        for event, callback in self._callbacks().items():
            _MONITORING.register_callback(tool, event, callback)
            # The events that end a call in C come with the one that begins it, and cannot be requested alone.
            if event not in (_MONITORING.events.C_RETURN, _MONITORING.events.C_RAISE):
                events |= event
        # Restore the events that an earlier recording with other options left out.
        _MONITORING.restart_events()
        _MONITORING.set_events(tool, events)

    def detach(self) -> None:
        tool, self._tool = self._tool, None
        if tool is not None:
            _MONITORING.set_events(tool, 0)
            for event in self._callbacks():
                _MONITORING.register_callback(tool, event, None)
            _MONITORING.free_tool_id(tool)

    def _take_tool(self) -> int:
        for tool in (_MONITORING.PROFILER_ID, 3, 4, _MONITORING.OPTIMIZER_ID, _MONITORING.COVERAGE_ID, 0):
            try:
                _MONITORING.use_tool_id(tool, "stepscope")
            except ValueError:
                continue
            return int(tool)
        tools = ", ".join(str(_MONITORING.get_tool(tool)) for tool in range(6))
        raise UserError(
            f"Python function calls cannot be recorded: all tool IDs of sys.monitoring are in use, by {tools}. "
            "Expected a free one: stop one of these tools, or record without the collector of Python calls."
        )

    def _callbacks(self) -> Mapping[int, Callable[..., object]]:
        calls, events = self._calls, _MONITORING.events

        # The interpreter does not allow disabling these two per function.
        def throws(code: CodeType, offset: int, error: BaseException) -> None:
            calls.begin(code)

        def unwinds(code: CodeType, offset: int, error: BaseException) -> None:
            calls.end(code)

        of_python: dict[int, Callable[..., object]] = {
            events.PY_START: calls.begin,
            events.PY_RESUME: calls.begin,
            events.PY_THROW: throws,
            events.PY_RETURN: calls.end,
            events.PY_YIELD: calls.end,
            events.PY_UNWIND: unwinds,
        }
        of_c: dict[int, Callable[..., object]] = {
            events.CALL: calls.begin_c,
            events.C_RETURN: calls.end_c,
            events.C_RAISE: calls.end_c,
        }
        return of_python | (of_c if self._c_calls else {})


ProfileFunction = Callable[[FrameType, Any, Any], object]


class _Profile:
    """`sys.setprofile`, if there is nothing better."""

    def __init__(self, calls: Listener, c_calls: bool) -> None:
        self.notes: list[str] = []
        self._calls = calls
        self._c_calls = c_calls
        self._attached = False

    def attach(self) -> None:
        self._before: ProfileFunction | None = sys.getprofile()
        self._before_in_threads: ProfileFunction | None = threading.getprofile()
        if self._before is not None and not callable(self._before):
            raise UserError(
                f"Python function calls cannot be recorded: a {type(self._before).__qualname__} profiles this "
                "thread, and Python 3.11 allows only one profiler: stop it, or use Python 3.12 or later."
            )
        others = threading.active_count() - 1
        if others:
            self.notes.append(
                f"Python function calls are not recorded in {counted(others, 'thread')} that started before the "
                "recording: Python 3.11 reaches only threads that start later."
            )
        self._attached = True
        self._in_threads = self._function(self._before_in_threads)
        threading.setprofile(self._in_threads)
        self._here = self._function(self._before)
        sys.setprofile(self._here)

    def detach(self) -> None:
        """Stop; other threads unhook themselves at their next call."""
        self._attached = False
        if threading.getprofile() is self._in_threads:
            threading.setprofile(self._before_in_threads)
        if sys.getprofile() is self._here:
            sys.setprofile(self._before)
        elif sys.getprofile() is self._in_threads:
            sys.setprofile(self._before_in_threads)

    def _function(self, before: ProfileFunction | None) -> ProfileFunction:
        """Return a function for `sys.setprofile`, which also calls the one that was set before."""
        begin, end, begin_c, end_c = (
            self._calls.begin,
            self._calls.end,
            self._calls.begin_c,
            self._calls.end_c,
        )
        c_calls = self._c_calls

        def profile(frame: FrameType, event: Any, value: Any) -> None:
            if not self._attached:
                if sys.getprofile() is profile:
                    sys.setprofile(before)
            elif event == "call":
                begin(frame.f_code)
            elif event == "return":
                end(frame.f_code)
            elif c_calls:
                (begin_c if event == "c_call" else end_c)(frame.f_code, 0, value)
            if before is not None:
                before(frame, event, value)

        return profile
