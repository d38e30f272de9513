"""A hook that records a step of any loop at an interval, like TensorFlow's ``ProfilerHook``.

    from stepscope.profiler.hooks import ProfilerHook
    from stepscope.summary.hooks import Hooks

    hooks = Hooks(ProfilerHook(save_steps=100, output_dir="runs/first"))
    for step, batch in hooks.loop(batches):
        with profiler.annotate("forward"):
            ...

Source of the rules: ``tensorflow/python/training/basic_session_run_hooks.py``.
"""

import json
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from types import MappingProxyType
from typing import Any, Final

from stepscope.profiler.collectors.base import Collector
from stepscope.profiler.collectors.registry import checked_collectors, make_collector
from stepscope.profiler.options import ProfilerOptions
from stepscope.profiler.process import Profile
from stepscope.profiler.schedules import schedule
from stepscope.profiler.session import Recording
from stepscope.profiler.timeline import chrome_trace
from stepscope.profiler.trace_files import writable_folder, write_new
from stepscope.summary.errors import UserError
from stepscope.summary.hooks import Hook, every

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_logger: Final = logging.getLogger(__name__)


class StepRecorder:
    """Records single steps of a loop that other code runs; errors are logged, and the loop continues.

    Args:
        collectors: as in `profiler.start`; they are used for one step after another.
        options: as in `profiler.start`.

    Raises:
        UserError: there is no collector with one of the names.
    """

    def __init__(
        self, collectors: Sequence[Collector | str] | None = None, options: ProfilerOptions | None = None
    ) -> None:
        given = checked_collectors(collectors)
        self._collectors: Final = None if given is None else [make_collector(each) for each in given]
        self._options: Final = options
        self._running: tuple[_OneStep, ExitStack] | None = None

    def begin(self, step: int, logdir: str | os.PathLike[str]) -> bool:
        """Begin to record a step into a log directory; return False, with a warning, if that is not possible now."""
        profile, running = _OneStep(logdir, step, self._options, self._collectors), ExitStack()
        try:
            running.enter_context(profile)
        except (UserError, OSError) as error:
            _logger.warning("step %d is not recorded: %s", step, error)
            return False
        self._running = profile, running
        return True

    def end(self, *, finished: bool = True) -> Recording | None:
        """Write the step being recorded, if any; ``finished`` is False if the loop left it halfway."""
        if self._running is None:
            return None
        (profile, running), self._running = self._running, None
        try:
            with running:
                if finished:
                    profile.finish()
        except (UserError, OSError) as error:
            _logger.warning("the recording of step %d is lost: %s", profile.number, error)
        if profile.recording is not None:
            for note in profile.recording.notes:
                _logger.info("step %d: %s", profile.number, note)
        return profile.recording


class _OneStep(Profile):
    """One step, which ends when `finish` is called; the loop's own calls of `profiler.step` do not end it."""

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        number: int,
        options: ProfilerOptions | None,
        collectors: Sequence[Collector | str] | None,
    ) -> None:
        one = schedule(wait=0, warmup=0, active=1, repeat=1)
        super().__init__(logdir, options, first_step=number, schedule=one, collectors=collectors)
        self.number: Final = number

    def step(self, next_step: int | None = None) -> None:
        """Do nothing."""

    def finish(self) -> None:
        super().step()


class ProfilerHook(Hook):
    """Records one step every ``save_steps`` steps or ``save_secs`` seconds, each as a separate timeline.

    For each recorded step, it writes ``timeline-<step>.json`` into ``output_dir``: the Chrome trace that TensorFlow's
    ``Timeline`` makes of the step's StepStats. It also writes the usual files of a recording into ``logdir``, including
    the RunMetadata under the tag ``step_<step>``. The first step is never recorded, because it is not like the others.
    A step that cannot be recorded, for example while another recording is running, is skipped with a warning.

    Use it with `stepscope.summary.hooks.Hooks`. In other loops, call `before_step` and `after_step` with the number of
    each step, and `end` after the loop.

    Args:
        save_steps: interval in steps, counted from the first one.
        save_secs: interval in seconds; set either this or ``save_steps``.
        output_dir: where the timelines go; the current directory if empty.
        show_dataflow: show arrows from producers to consumers of tensors, if the StepStats have tensors.
        show_memory: show the lifetimes of tensors and the bytes held by each allocator, if the StepStats have them.
        logdir: the run's log directory; ``output_dir`` if absent.
        collectors: as in `profiler.start`.
        clock: returns the time in seconds; replaced only in tests.

    Raises:
        TypeError, ValueError: the interval is invalid, or both intervals or neither are given.
        UserError: a directory cannot be created, or there is no collector with one of the names.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | os.PathLike[str] = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
        logdir: str | os.PathLike[str] | None = None,
        collectors: Sequence[Collector | str] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._interval: Final = every(save_steps, save_secs, clock=clock)
        self._output_dir: Final = writable_folder(output_dir or ".", "no timelines can be written")
        self._logdir: Final = self._output_dir.address if logdir is None else _made(logdir)
        self._show_dataflow: Final = show_dataflow
        self._show_memory: Final = show_memory
        self._recorder: Final = StepRecorder(collectors)
        self._first = True
        self._recorded: int | None = None
        """The step being recorded."""

    def before_step(self, step: int) -> None:
        """Begin to record the step if it is due."""
        self._write(finished=False)
        if self._first:
            self._first = False
            self._interval.happened(step)
        elif self._interval.is_due(step):
            # Even if the step cannot be recorded, so that there is one warning per interval.
            self._interval.happened(step)
            self._recorded = step if self._recorder.begin(step, self._logdir) else None

    def after_step(self, step: int, values: Mapping[str, Any] = _NOTHING) -> None:
        """Write the step if it was recorded."""
        self._write(finished=True)

    def end(self, step: int = 0, values: Mapping[str, Any] = _NOTHING) -> None:
        """Write a recorded step that the loop left halfway; its end is marked as unfinished."""
        self._write(finished=False)

    def _write(self, *, finished: bool) -> None:
        if self._recorded is None:
            return
        step, self._recorded = self._recorded, None
        recording = self._recorder.end(finished=finished)
        if recording is None:
            return
        self._interval.happened(step)  # seconds count from the end of the step
        trace = chrome_trace(
            recording.run_metadata[step].step_stats, show_dataflow=self._show_dataflow, show_memory=self._show_memory
        )
        # Like TensorFlow's; not orjson, since sums of 64-bit times and sizes may need more than 64 bits.
        content = json.dumps(trace, indent=4).encode()
        try:
            path = write_new(self._output_dir, f"timeline-{step}", ".json", [content])
        except OSError as error:
            _logger.warning("the timeline of step %d cannot be written: %s", step, error)
        else:
            _logger.info("the timeline of step %d is in %s", step, path)


def _made(logdir: str | os.PathLike[str]) -> str:
    return writable_folder(logdir, "no timelines can be written").address
