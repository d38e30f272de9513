"""`ProfileContext`: traces some steps of a long loop and reports where their time went, as ``tfprof`` does.

    from stepscope.profiler.profile_context import ProfileContext

    with ProfileContext("profiles") as context:
        context.add_auto_profiling("scope", {"min_micros": 100}, [50, 100])
        for batch in context.loop(batches):
            train(batch)
    print(context.get_profiles("scope")[100])

Modeled on ``tf.contrib.tfprof.ProfileContext``, with its arguments, step numbers and choice of steps (source:
``tensorflow/python/profiler/profile_context.py``). There, each ``session.run`` is a step; here, the loop marks the end
of a step with `ProfileContext.step` or `ProfileContext.loop`.
"""

import logging
import os
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, get_args

from stepscope.profiler.collectors.base import Collector
from stepscope.profiler.collectors.host import checked_step_number
from stepscope.profiler.hooks import StepRecorder
from stepscope.profiler.options import ProfilerOptions
from stepscope.profiler.step_profiler import Command, Profiler, checked_options
from stepscope.profiler.trace_files import write_new
from stepscope.summary.storage import folder_at

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")
WARMUP_STEPS: Final = 10
MOST_TRACED_STEPS: Final = 100
DUMP_STEP: Final = 100

_SEED: Final = 111
"""TensorFlow's seed, so that the same steps are traced."""
_OPTIONS: Final = ProfilerOptions(host_tracer_level=1)
"""StepStats have no counters, so none are recorded."""
_NO_STACKS: Final = (
    "StepStats have no call stacks: for tfprof's view by code, record with profiler.Profile and a collector that keeps "
    "stacks, and use profiler.analysis.code.code_view"
)

_logger: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class _AutoProfile:
    command: Command
    options: Mapping[str, Any]
    steps: frozenset[int]


class ProfileContext:
    """Traces steps of the loop that runs in it, and writes them as ``profile_<step>``.

    Steps are counted from 0, from the beginning of the block. A step is traced if ``trace_steps``, `add_auto_profiling`
    or `trace_next_step` requests it. Without ``trace_steps``, step 11 is traced, the first after the warm-up, and from
    there to step 99 about 18 % of the steps, at random but the same ones each time. At most 100 steps are traced. A
    step that cannot be recorded, for example while another recording is running, is skipped with a warning, and so is
    one that the end of the block leaves halfway.

    Everything traced is held in memory. A dump is a RunMetadata with all steps traced so far, merged:
    `stepscope.profiler.traces.load_trace` and ``stepscope analyze`` read it.

    Args:
        profile_dir: where dumps go; created when the first one is written.
        trace_steps: the steps to trace, at most 100; by default, chosen as above.
        dump_steps: the steps after which to write a dump; by default, step 100.
        enabled: False disables everything.
        debug: also write each traced step as text, ``run_meta_<step>``, and log what is done.
        collectors: as in `profiler.start`.

    Raises:
        TypeError, ValueError: no directory is given, there are too many steps, or a step is not a number.
        UserError: there is no collector with one of the names.
    """

    def __init__(
        self,
        profile_dir: str | os.PathLike[str],
        trace_steps: Iterable[int] | None = None,
        dump_steps: Iterable[int] | None = None,
        enabled: bool = True,
        debug: bool = False,
        *,
        collectors: Sequence[Collector | str] | None = None,
    ) -> None:
        self._enabled: Final = enabled
        self._debug: Final = debug
        self._profile_dir: Final = folder_at(profile_dir)
        self._chooses: Final = trace_steps is None
        self._trace_steps: Final = _checked_steps(trace_steps or ())
        self._dump_steps: Final = {DUMP_STEP} if dump_steps is None else _checked_steps(dump_steps)
        self._recorder: Final = StepRecorder(collectors, _OPTIONS)
        self._random: Final = random.Random(_SEED)
        self._profiler: Final = Profiler()
        self._auto_profiles: Final[list[_AutoProfile]] = []
        self._profiles: Final[dict[Command, dict[int, pl.DataFrame]]] = {}
        self._step = 0
        self._inside = self._dump_asked = self._first_chosen = False
        self._traced = 0
        self._scratch: TemporaryDirectory[str] | None = None
        """Folder into which the running step is recorded, if it is traced."""
        if not enabled:
            return
        if not os.fspath(profile_dir):
            raise ValueError("profile_dir must be a directory for the profiles, got ''")
        if len(self._trace_steps) > MOST_TRACED_STEPS:
            raise ValueError(
                f"trace_steps must be {MOST_TRACED_STEPS} steps at most, got {len(self._trace_steps)}: all that is "
                "traced is held in memory"
            )

    @property
    def profiler(self) -> Profiler | None:
        """The steps traced so far, for views on demand; None if not enabled."""
        return self._profiler if self._enabled else None

    def __enter__(self) -> Self:
        if self._enabled:
            if self._inside:
                raise RuntimeError("this ProfileContext is already active: exit it first, or create another")
            self._inside = True
            self._begin_step()
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._enabled:
            return
        self._inside = False
        self._end_recording(keep=False)

    def step(self) -> None:
        """End the running step, with the dump and the views that are due after it, and begin the next.

        Raises:
            RuntimeError: the context has not been entered.
        """
        if not self._enabled:
            return
        if not self._inside:
            raise RuntimeError("step() must be called inside the context: with ProfileContext(...) as context: ...")
        self._end_recording(keep=True)
        if self._step in self._dump_steps or self._dump_asked:
            self._dump()
        for auto in self._auto_profiles:
            if self._step in auto.steps:
                self._profile(auto)
        self._dump_asked = False
        self._step += 1
        self._begin_step()

    def loop(self, batches: Iterable[T]) -> Iterator[T]:
        """Yield the batches, ending a step after each; waiting for a batch is part of its step."""
        for batch in batches:
            yield batch
            self.step()

    def trace_next_step(self) -> None:
        """Trace the rest of the running step: in TensorFlow, the next ``session.run``."""
        if self._enabled and self._scratch is None:
            if self._inside:
                self._begin_recording()
            else:
                self._trace_steps.add(self._step)

    def dump_next_step(self) -> None:
        """Write a dump at the end of the running step."""
        self._dump_asked = True

    def add_auto_profiling(self, cmd: Command, options: Mapping[str, Any] | None, profile_steps: Iterable[int]) -> None:
        """Trace some steps, and take a view of everything traced so far after each of them.

        Args:
            cmd: "scope", "graph", "op" or "advise".
            options: as in `Profiler`.
            profile_steps: the steps after which to take a view.

        Raises:
            TypeError, ValueError: an argument is invalid.
        """
        if not self._enabled:
            return
        if cmd not in get_args(Command):
            raise ValueError(f"cmd must be one of {', '.join(get_args(Command))}; got {cmd!r}. {_NO_STACKS}")
        steps = frozenset(_checked_steps(profile_steps))
        self._auto_profiles.append(_AutoProfile(cmd, checked_options(options or {}), steps))
        self._profiles.setdefault(cmd, {})
        self._trace_steps.update(steps)
        if self._inside and self._step in steps:
            self.trace_next_step()

    def get_profiles(self, cmd: Command) -> "Mapping[int, pl.DataFrame]":
        """Return the views taken by a command, by step.

        Raises:
            ValueError: no view was taken, because none was requested or its steps have not been reached.
        """
        profiles = self._profiles.get(cmd)
        if not profiles:
            raise ValueError(f"no profile of {cmd!r} was taken: ask for it with add_auto_profiling, and run its steps")
        return profiles

    def _begin_step(self) -> None:
        if self._is_due():
            self._begin_recording()

    def _is_due(self) -> bool:
        if self._step in self._trace_steps:
            return True
        if not self._chooses or self._step <= WARMUP_STEPS or self._traced >= MOST_TRACED_STEPS:
            return False
        if not self._first_chosen:
            self._first_chosen = True
            return True
        return self._step < MOST_TRACED_STEPS and self._random.randint(0, 10) < 2

    def _begin_recording(self) -> None:
        if self._traced >= MOST_TRACED_STEPS:
            _logger.warning("step %d is not traced: the limit of %d steps is reached", self._step, self._traced)
            return
        scratch = TemporaryDirectory(prefix="stepscope-")
        if self._recorder.begin(self._step, scratch.name):
            self._log("tracing step %d", self._step)
            self._traced += 1
            self._scratch = scratch
        else:
            scratch.cleanup()

    def _end_recording(self, *, keep: bool) -> None:
        if self._scratch is None:
            return
        recording = self._recorder.end(finished=keep)
        self._scratch.cleanup()
        self._scratch = None
        if recording is None or not keep:
            return
        run_metadata = recording.run_metadata[self._step]
        self._profiler.add_step(self._step, run_metadata)
        if self._debug:
            try:
                write_new(self._profile_dir, f"run_meta_{self._step}", "", [str(run_metadata).encode()])
            except OSError as error:
                _logger.warning("step %d cannot be written into %s: %s", self._step, self._profile_dir.address, error)

    def _profile(self, auto: _AutoProfile) -> None:
        try:
            self._profiles[auto.command][self._step] = self._profiler.profile(auto.command, auto.options)
        except ValueError as error:  # its options request a step that could not be recorded
            _logger.warning("no profile %r is taken after step %d: %s", auto.command, self._step, error)
        else:
            self._log("took a profile %r after step %d", auto.command, self._step)

    def _dump(self) -> None:
        try:
            path = self._profiler.write_profile(self._profile_dir, self._step)
        except OSError as error:
            _logger.warning("no profile can be written into %s: %s", self._profile_dir.address, error)
        else:
            self._log("wrote %d traced steps into %s", len(self._profiler.steps), path)

    def _log(self, message: str, *arguments: object) -> None:
        _logger.log(logging.INFO if self._debug else logging.DEBUG, message, *arguments)


def _checked_steps(steps: Iterable[int]) -> set[int]:
    return {checked_step_number(step) for step in steps}
