"""Recording part of a running program: `start`, `step`, `annotate`, `stop`.

    from stepscope import profiler

    with profiler.Profile("runs/first"):
        for batch in batches:
            with profiler.annotate("forward"):
                ...
            profiler.step()

Training code may keep its `annotate` and `step` calls: without a recording they cost next to nothing.
"""

import inspect
import os
import threading
from collections.abc import Callable, Sequence
from functools import partial, wraps
from types import TracebackType
from typing import Any, Final, Literal, ParamSpec, Self, TypeVar, cast, overload

from stepscope.profiler.collectors.base import NO_ARGUMENTS, Collector
from stepscope.profiler.collectors.host import END, OPEN, HostCollector, Scopes, checked_step_number, plain_arguments
from stepscope.profiler.collectors.own_thread import end_left, left
from stepscope.profiler.collectors.registry import checked_collectors, make_collector
from stepscope.profiler.generators import resumed_async_in, resumed_in
from stepscope.profiler.options import ProfilerOptions
from stepscope.profiler.schedules import ProfilerAction, Schedule, checked_action, record_all
from stepscope.profiler.session import Recording, Session, begins_with_call
from stepscope.summary.errors import UserError

P = ParamSpec("P")
R = TypeVar("R")

_RUNS_ALREADY: Final = (
    "a recording is already running, and a process can have only one at a time: call profiler.stop() before "
    "the next profiler.start() or profiler.Profile(...)"
)


class AlreadyStartedError(UserError):
    """A recording was started while another one was running; a process can have only one at a time."""


class NotStartedError(UserError):
    """A recording was stopped while none was running."""


class _Process:
    """The recording that is running in this process, if any.

    It is global because `annotate` is called from any thread, and from code that has no reference to a session.
    """

    __slots__ = ("host", "lock", "profile", "session")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.session: Session | None = None
        self.host: HostCollector | None = None
        """Where scopes go."""
        self.profile: Profile | None = None
        """Decides at every step whether a session runs."""


_process: Final = _Process()


def _forget_in_child() -> None:
    """Forget the recording in a forked child, which must not end its parent's."""
    if _process.session is not None:
        _process.session.host.end_collections()
    _process.lock = threading.Lock()
    _process.session = _process.profile = _process.host = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)


def start(
    logdir: str | os.PathLike[str],
    options: ProfilerOptions | None = None,
    *,
    first_step: int | None = None,
    collectors: Sequence[Collector | str] | None = None,
) -> None:
    """Start recording this process: steps, scopes of all threads, garbage collections, and what the collectors record.

    Args:
        logdir: the run's log directory, or its address, such as ``s3://bucket/run``; use the same one as for the run's
            summaries, to see both together.
        options: as in ``tf.profiler.experimental.start``; they choose the collectors if none are given.
        first_step: number of the training step that begins now; by default 0, or the number that the first call of
            `step` has, which is then the beginning of the first step.
        collectors: what else to record: objects, or names from `stepscope.profiler.collectors.registry.all_collectors`.

    Raises:
        AlreadyStartedError: a recording is already running.
        UserError: the log directory cannot be created, or a requested collector cannot record here.
        ValueError: ``collectors`` is a string.
    """
    with _process.lock:
        if _process.session is not None or _process.profile is not None:
            raise AlreadyStartedError(_RUNS_ALREADY)
        _begin(logdir, options, first_step, collectors)


def _begin(
    logdir: str | os.PathLike[str],
    options: ProfilerOptions | None,
    first_step: int | None,
    collectors: Sequence[Collector | str] | None,
    *,
    steps_begin_with_calls: bool | None = None,
) -> None:
    end_left()
    options = options or ProfilerOptions()
    session = Session(
        logdir,
        first_step=first_step,
        steps_begin_with_calls=steps_begin_with_calls,
        collectors=[make_collector(each) for each in checked_collectors(collectors) or ()],
        optional_collectors=options.collectors() if collectors is None else (),
        delay_ns=(options.delay_ms or 0) * 1_000_000,
    )
    session.start()
    _process.session = session
    _process.host = session.host if options.host_tracer_level >= 1 else None


@overload
def stop(save: Literal[True] = True) -> Recording: ...


@overload
def stop(save: bool) -> Recording | None: ...


def stop(save: bool = True) -> Recording | None:
    """Stop recording and write the recording into the log directory.

    The StepStats of each step go into an event file (tag ``step_<number>``), and the whole recording into one Chrome
    trace, ``plugins/profile/<date>/<host>.trace.json.gz``.

    Args:
        save: False discards the recording.

    Raises:
        NotStartedError: no recording is running.
        OSError: the files cannot be written; the recording has ended nevertheless.
    """
    with _process.lock:
        if _process.session is None:
            raise NotStartedError("no recording is running: call profiler.start(logdir) first")
        profile, _process.profile = _process.profile, None
        written = _end(save)
    if profile is not None and written is not None:
        profile.recordings.append(written)
        profile._tell(len(profile.recordings) - 1)
    return written


def _end(save: bool) -> Recording | None:
    session = _process.session
    assert session is not None
    _process.session = _process.host = None
    if save:
        return session.stop()
    session.discard()
    return None


def step(next_step: int | None = None) -> None:
    """End the running training step and begin the next; do nothing without a recording.

    Call it at the end of each step, or, with the step's number, at its beginning. If the first call since the recording
    started has a number, and ``first_step`` was not given or is the same, the first step begins with that call.

    Args:
        next_step: number of the step that begins; by default, one more than the last.

    Raises:
        TypeError, ValueError: ``next_step`` is not a 64-bit integer.
    """
    if left:
        end_left()
    if _process.profile is not None:
        _process.profile.step(next_step)
    elif _process.session is not None:
        _process.session.step(next_step)


class annotate:  # noqa: N801 - used like a function, as a context manager or a decorator
    """Show a block or function as a named slice in recordings.

    Use it as ``with annotate("forward"):``, or as ``@annotate("forward")`` above a function. Of a generator function,
    each resumption is a slice, so that what is done with the items does not count. Scopes can be nested and
    used in any thread. Keyword arguments are shown with the scope: numbers and strings as they are, anything else as
    its `str`. Do not enter the same object twice at the same time.
    """

    __slots__ = ("_args", "_end", "_name", "_now", "_scopes")

    def __init__(self, name: str, /, **args: object) -> None:
        self._name = name
        self._args = args
        self._scopes: Scopes | None = None

    def __enter__(self) -> Self:
        host = _process.host
        if host is not None:
            # Anything looked up here is not looked up, or called, while the clock runs.
            try:
                scopes: Scopes = host.local.scopes
            except AttributeError:
                scopes = host.scopes()
            args = plain_arguments(self._args) if self._args else NO_ARGUMENTS
            self._scopes = scopes
            self._end = len(scopes) + END
            self._now = now = host.now
            scopes += (self._name, args, now(), OPEN)
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        scopes = self._scopes
        if scopes is not None:
            scopes[self._end] = self._now()
            self._scopes = None

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        name, args = self._name, self._args
        if inspect.iscoroutinefunction(function):
            # The call itself only creates the coroutine, which does its work when it is awaited.
            @wraps(function)
            async def awaited(*positional: P.args, **named: P.kwargs) -> Any:
                with annotate(name, **args):
                    return await function(*positional, **named)

            return cast(Callable[P, R], awaited)

        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            # Nor does the call of these do more than create a generator.
            resumed: Any = resumed_in if inspect.isgeneratorfunction(function) else resumed_async_in

            @wraps(function)
            def generating(*positional: P.args, **named: P.kwargs) -> Any:
                return resumed(partial(annotate, name, **args), function(*positional, **named))

            return cast(Callable[P, R], generating)

        @wraps(function)
        def annotated(*positional: P.args, **named: P.kwargs) -> R:
            with annotate(name, **args):
                return function(*positional, **named)

        return annotated


class Profile:
    """Records what runs inside ``with Profile(logdir):``, either everything or the steps that a schedule chooses.

    Args:
        logdir: as in `start`.
        options: as in `start`.
        first_step: number of the step that begins with the block; otherwise as in `start`.
        schedule: what to do in each step, counted from 0 at the first one of the block; made by `profiler.schedule` or
            ``torch.profiler.schedule``.
        collectors: as in `start`.
        on_recording: called with each recording once it is written.

    Raises:
        AlreadyStartedError: as in `start`, when the block begins, or in the step in which a scheduled recording begins.
        ValueError: ``collectors`` is a string.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        options: ProfilerOptions | None = None,
        *,
        first_step: int | None = None,
        schedule: Schedule = record_all,
        collectors: Sequence[Collector | str] | None = None,
        on_recording: Callable[[Recording], None] | None = None,
    ) -> None:
        self._logdir: Final = logdir
        self._options: Final = options
        self._schedule: Final = schedule
        self._collectors: Final = checked_collectors(collectors)
        self._on_recording: Final = on_recording
        self._first_step: Final = None if first_step is None else checked_step_number(first_step)
        self._steps_begin_with_calls: bool | None = None
        """Whether `step` is called at the beginning of steps; unknown until its first call."""
        self._count = 0
        """Steps since the block began."""
        self._number = self._first_step or 0
        self._action = ProfilerAction.NONE
        self.recordings: list[Recording] = []
        """All recordings, each added once it is written."""

    @property
    def recording(self) -> Recording | None:
        """The last recording that was written."""
        return self.recordings[-1] if self.recordings else None

    def __enter__(self) -> Self:
        with _process.lock:
            if _process.session is not None or _process.profile is not None:
                raise AlreadyStartedError(_RUNS_ALREADY)
            self._count, self._number, self._action = 0, self._first_step or 0, ProfilerAction.NONE
            self._steps_begin_with_calls = None
            self._enter_step()
            _process.profile = self
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        before = len(self.recordings)
        with _process.lock:
            if _process.profile is not self:
                return  # ended by `stop`; whatever runs now is somebody else's
            _process.profile = None
            self._end(self._action)
        self._tell(before)

    def step(self, next_step: int | None = None) -> None:
        """End the running training step and begin the next, numbered one more unless ``next_step`` is given."""
        before = len(self.recordings)
        try:
            with _process.lock:
                if _process.profile is not self:
                    return
                self._number = self._number + 1 if next_step is None else checked_step_number(next_step)
                if self._steps_begin_with_calls is None:
                    self._steps_begin_with_calls = begins_with_call(next_step, self._first_step)
                    if self._steps_begin_with_calls:
                        if _process.session is not None:
                            _process.session.step(next_step)
                        return
                self._count += 1
                self._enter_step(next_step)
        finally:
            self._tell(before)

    def _enter_step(self, next_step: int | None = None) -> None:
        """Do what the schedule specifies."""
        before, self._action = self._action, checked_action(self._schedule(self._count))
        ends = (
            before is ProfilerAction.RECORD_AND_SAVE
            or self._action is ProfilerAction.NONE
            # Recorded steps must not be discarded with the warm-up.
            or (before is ProfilerAction.RECORD and self._action is ProfilerAction.WARMUP)
        )
        if _process.session is not None and ends:
            _process.session.end_step()
            self._end(before)
        if _process.session is not None:
            warm = before is ProfilerAction.WARMUP and self._action is not ProfilerAction.WARMUP
            (_process.session.forget if warm else _process.session.step)(next_step)
        elif self._action is not ProfilerAction.NONE:
            _begin(
                self._logdir,
                self._options,
                self._number if self._count else self._first_step,
                self._collectors,
                steps_begin_with_calls=self._steps_begin_with_calls,
            )

    def _end(self, action: ProfilerAction) -> None:
        if _process.session is None:
            return
        written = _end(save=action is not ProfilerAction.WARMUP)
        if written is not None:
            self.recordings.append(written)

    def _tell(self, first: int) -> None:
        """Pass the recordings from the index ``first`` on to the callback, outside the lock."""
        if self._on_recording is not None:
            for recording in self.recordings[first:]:
                self._on_recording(recording)
