"""Hooks: work that a training loop of any framework does besides training, at intervals of steps or seconds.

    from stepscope.summary import SummaryWriter
    from stepscope.summary.hooks import Hooks, LogValues, StepCounter, StopOnNan, SummarySaver

    with SummaryWriter("runs/first") as writer:
        hooks = Hooks(SummarySaver(writer, save_steps=10), StepCounter(writer), LogValues(), StopOnNan())
        for step, batch in hooks.loop(batches):
            loss = train(batch)
            hooks.log(loss=loss)

Logged values stay as they are until a hook needs their numbers: a tensor on a device is copied only in steps that are
saved or shown. Names and intervals are the same as for TensorFlow 1's session hooks.
"""

import logging
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from types import MappingProxyType
from typing import Any, Final, TextIO, TypeVar

import numpy as np

from stepscope.summary.arguments import checked_number, checked_step, checked_tag
from stepscope.summary.writer import SummaryWriter

T = TypeVar("T")
Clock = Callable[[], float]
"""Returns seconds since an arbitrary moment; never goes backward."""

STEPS_PER_SECOND_TAG: Final = "global_step/sec"

_logger: Final = logging.getLogger(__name__)


class NanLossError(RuntimeError):
    """The loss is NaN."""


class Every:
    """An interval of ``steps`` steps or ``secs`` seconds that reports when it is over; created by `every`."""

    def __init__(self, steps: int | None, secs: float | None, clock: Clock) -> None:
        self._steps: Final = steps
        self._secs: Final = secs
        self._clock: Final = clock
        self._last: tuple[int, float] | None = None

    def is_due(self, step: int) -> bool:
        """Return whether ``step`` is due: the first time, and whenever the interval since the last time is over.

        The step of the last time is not due again; an earlier step is, if the interval is in steps:
        the loop was restarted.
        """
        if self._last is None:
            return True
        last_step, last_time = self._last
        if self._steps is not None:
            return not last_step <= step < last_step + self._steps
        assert self._secs is not None
        return step != last_step and self._clock() >= last_time + self._secs

    def happened(self, step: int) -> tuple[int, float] | None:
        """Start the next interval; return the steps and the seconds since the last time, or None the first time."""
        now = self._clock()
        last, self._last = self._last, (step, now)
        return None if last is None else (step - last[0], now - last[1])


def every(steps: int | None = None, secs: float | None = None, *, clock: Clock = time.monotonic) -> Every:
    """Return an interval in steps or in seconds.

    Raises:
        TypeError: ``steps`` is not a whole number, or ``secs`` is not a number.
        ValueError: both or neither are given, ``steps`` is below 1, or ``secs`` is not positive and finite.
    """
    if (steps is None) == (secs is None):
        raise ValueError(f"exactly one of steps and seconds must be given, got {steps!r} and {secs!r}")
    if steps is not None:
        if checked_number(steps, "an interval in steps") != checked_step(steps):
            raise ValueError(f"an interval in steps must be a whole number, got {steps!r}")
        steps = checked_step(steps)
        if steps < 1:
            raise ValueError(f"an interval must be at least 1 step, got {steps}")
    if secs is not None:
        secs = checked_number(secs, "an interval in seconds")
        if not 0 < secs < math.inf:
            raise ValueError(f"an interval in seconds must be positive and finite, got {secs}")
    return Every(steps, secs, clock)


class Hook:
    """Base class of objects that accompany a loop; a subclass overrides the methods that it needs."""

    should_stop = False
    """Set to True to end the loop after the current step."""

    def begin(self) -> None:
        """Run at the beginning of the loop."""

    def before_step(self, step: int) -> None:
        """Run at the beginning of a step."""

    def after_step(self, step: int, values: Mapping[str, Any]) -> None:
        """Run at the end of a step; ``values`` are the values that the loop logged in it, by tag."""

    def end(self, step: int, values: Mapping[str, Any]) -> None:
        """Run when the loop ends for any reason; ``step`` is its last step, which may be unfinished."""


class SummarySaver(Hook):
    """Writes scalars at the first step and then every ``save_steps`` steps or ``save_secs`` seconds.

    Args:
        writer: the writer to write to.
        save_steps: interval in steps.
        save_secs: interval in seconds; pass one of the two.
        values: values to write besides those that the loop logs, by tag: numbers, arrays or tensors of one element that
            the loop changes in place, or functions that are called without arguments when due.
        save: called with the writer and the step when due, for data other than numbers: images, histograms, text.
        clock: returns seconds; replaced in tests.

    Raises:
        TypeError, ValueError: an argument has the wrong type or value; when due, a value is not a number, in which
            case nothing of that step is written.
    """

    def __init__(
        self,
        writer: SummaryWriter,
        save_steps: int | None = None,
        save_secs: float | None = None,
        values: Mapping[str, Any] = MappingProxyType({}),
        save: Callable[[SummaryWriter, int], object] | None = None,
        *,
        clock: Clock = time.monotonic,
    ) -> None:
        if not isinstance(values, Mapping):
            raise TypeError(f"values must map tags to numbers, got {type(values).__name__}")
        if save is not None and not callable(save):
            raise TypeError(f"`save` must be a function of the writer and the step, got {type(save).__name__}")
        self._interval: Final = every(save_steps, save_secs, clock=clock)
        self._writer: Final = _checked_writer(writer)
        self._values: Final = {checked_tag(tag): value for tag, value in values.items()}
        self._save: Final = save

    def after_step(self, step: int, values: Mapping[str, Any]) -> None:
        """Write, if due."""
        if not self._interval.is_due(step):
            return
        self._interval.happened(step)
        current = {tag: value() if callable(value) else value for tag, value in self._values.items()}
        numbers = {tag: checked_number(value, f"the scalar {tag!r}") for tag, value in {**current, **values}.items()}
        for tag, number in numbers.items():
            self._writer.add_scalar(tag, number, step)
        if self._save is not None:
            self._save(self._writer, step)


class StepCounter(Hook):
    """Writes the loop's steps per second, under TensorFlow's tag ``global_step/sec``.

    Time between two loops, such as an evaluation after each epoch, does not count.

    Args:
        writer: the writer to write to.
        every_n_steps: interval in steps; 100 if neither is given.
        every_n_secs: interval in seconds.
        clock: returns seconds; replaced in tests.

    Raises:
        TypeError, ValueError: an interval has the wrong type or value.
    """

    def __init__(
        self,
        writer: SummaryWriter,
        every_n_steps: int | None = None,
        every_n_secs: float | None = None,
        *,
        clock: Clock = time.perf_counter,
    ) -> None:
        if every_n_steps is None and every_n_secs is None:
            every_n_steps = 100
        self._clock: Final = clock
        self._between_loops = 0.0
        self._ended: float | None = None
        self._interval: Final = every(every_n_steps, every_n_secs, clock=self._time_in_loops)
        self._writer: Final = _checked_writer(writer)

    def begin(self) -> None:
        """Resume counting where the last loop ended."""
        if self._ended is not None:
            # A loop without steps has no end of its own.
            before, self._ended = self._ended, self._clock()
            self._between_loops += self._ended - before

    def after_step(self, step: int, values: Mapping[str, Any]) -> None:
        """Write, if due."""
        if not self._interval.is_due(step):
            return
        elapsed = self._interval.happened(step)
        if elapsed is None:
            return
        steps, seconds = elapsed
        if steps > 0 and seconds > 0:
            self._writer.add_scalar(STEPS_PER_SECOND_TAG, steps / seconds, step)

    def end(self, step: int, values: Mapping[str, Any]) -> None:
        """Stop counting until the next loop."""
        self._ended = self._clock()

    def _time_in_loops(self) -> float:
        return self._clock() - self._between_loops


class LogValues(Hook):
    """Shows logged values on the terminal: ``loss = 0.25, step = 100 (1.234 sec)``.

    The time is measured from the previous line. Numbers are shown with as few digits as their precision allows.

    Args:
        every_n_iter: interval in steps, from the loop's first step; 100 if nothing else is given.
        every_n_secs: interval in seconds.
        at_end: also show the loop's last values at its end; if given without an interval, show nothing else.
        tags: tags of the values to show, in this order; by default all. Values that a step does not log are left out.
        formatter: returns the line for the values, which include ``step``, instead of the default format.
        to: a logger, which gets the line at level INFO, or a text stream; by default standard error.
        clock: returns seconds; replaced in tests.

    Raises:
        TypeError, ValueError: an argument has the wrong type or value.
    """

    def __init__(
        self,
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        tags: Iterable[str] | None = None,
        formatter: Callable[[Mapping[str, Any]], str] | None = None,
        to: logging.Logger | TextIO | None = None,
        *,
        clock: Clock = time.perf_counter,
    ) -> None:
        if every_n_iter is None and every_n_secs is None and not at_end:
            every_n_iter = 100
        if isinstance(tags, str):
            raise TypeError(f"tags must be a list of tags, got the string {tags!r}")
        if to is not None and not isinstance(to, logging.Logger) and not hasattr(to, "write"):
            raise TypeError(f"`to` must be a logger or a stream, got {type(to).__name__}")
        only_at_end = every_n_iter is None and every_n_secs is None
        self._shows_steps: Final = not only_at_end
        self._interval: Final = every(1 if only_at_end else every_n_iter, every_n_secs, clock=clock)
        self._at_end: Final = at_end
        self._tags: Final = None if tags is None else tuple(map(checked_tag, tags))
        self._formatter: Final = formatter or _line
        self._to: Final = to
        self._last_shown: int | None = None

    def begin(self) -> None:
        """Forget which step of an earlier loop was shown last."""
        self._last_shown = None

    def after_step(self, step: int, values: Mapping[str, Any]) -> None:
        """Show the values, if due."""
        if self._shows_steps and self._interval.is_due(step):
            self._show(step, values)

    def end(self, step: int, values: Mapping[str, Any]) -> None:
        """Show the last values, if requested and not shown already."""
        if self._at_end and self._last_shown != step:
            self._show(step, values)

    def _show(self, step: int, values: Mapping[str, Any]) -> None:
        tags = tuple(values) if self._tags is None else [tag for tag in self._tags if tag in values]
        line = self._formatter({**{tag: values[tag] for tag in tags}, "step": step})
        elapsed = self._interval.happened(step)
        self._last_shown = step
        if elapsed is not None:
            line += f" ({elapsed[1]:.3f} sec)"
        if isinstance(self._to, logging.Logger):
            self._to.info("%s", line)
        else:
            print(line, file=self._to or sys.stderr, flush=True)


class StopOnNan(Hook):
    """Ends the loop when its loss is NaN.

    Args:
        fail_on_nan_loss: raise `NanLossError`; otherwise log a warning and ask the loop to stop.
        tag: the tag of the loss among the logged values.
        every_n_steps: interval in steps between checks; each check waits for the device that computes the loss.

    Raises:
        TypeError, ValueError: an argument has the wrong type or value; when checked, the step did not log the loss, or
            it is not a number.
    """

    def __init__(self, fail_on_nan_loss: bool = True, tag: str = "loss", every_n_steps: int = 1) -> None:
        self._fails: Final = fail_on_nan_loss
        self._tag: Final = checked_tag(tag)
        self._interval: Final = every(every_n_steps)

    def begin(self) -> None:
        """Withdraw an earlier loop's request to stop."""
        self.should_stop = False

    def after_step(self, step: int, values: Mapping[str, Any]) -> None:
        """Check the loss, if due.

        Raises:
            ValueError: the step did not log the loss.
            NanLossError: the loss is NaN, and the hook was told to fail then.
        """
        if not self._interval.is_due(step):
            return
        self._interval.happened(step)
        if self._tag not in values:
            raise ValueError(f"each step must log {self._tag!r} for StopOnNan, but step {step} logged {sorted(values)}")
        if not math.isnan(checked_number(values[self._tag], f"the loss {self._tag!r}")):
            return
        message = f"{self._tag} is NaN at step {step}"
        if self._fails:
            raise NanLossError(message)
        _logger.warning("%s: the loop stops", message)
        self.should_stop = True


class Hooks:
    """Several hooks and the loop that they accompany.

    `loop` does everything needed. Where it does not fit, call `begin`; then for each step `before_step`, `log` and
    `after_step`, and check `should_stop`; finally, call `end`.

    Raises:
        TypeError: an argument is not a `Hook`.
    """

    def __init__(self, *hooks: Hook) -> None:
        for hook in hooks:
            if not isinstance(hook, Hook):
                raise TypeError(f"each argument must be a summary.hooks.Hook, got {type(hook).__name__}")
        self._hooks: Final = hooks
        self._values: dict[str, Any] = {}
        self._step: int | None = None
        self._stop_requested = False

    @property
    def should_stop(self) -> bool:
        """Whether a hook or `request_stop` asked to end the loop."""
        return self._stop_requested or any(hook.should_stop for hook in self._hooks)

    def request_stop(self) -> None:
        """Ask the loop to end after the current step."""
        self._stop_requested = True

    def log(self, values: Mapping[str, Any] = MappingProxyType({}), /, **more_values: Any) -> None:
        """Pass values of the current step to the hooks, by tag; a later value replaces an earlier one of the same tag.

        ``hooks.log(loss=loss)`` and ``hooks.log({"loss/train": loss})`` differ only in the tag.

        Raises:
            TypeError, ValueError: a name is not a tag.
        """
        self._values.update({checked_tag(tag): value for tag, value in {**values, **more_values}.items()})

    def loop(self, batches: Iterable[T], first_step: int = 0) -> Iterator[tuple[int, T]]:
        """Yield the number and the batch of each step, and run the hooks around it.

        A step that is left by ``break`` or an exception is unfinished: `Hook.after_step` is not called for it, but
        `Hook.end` always is.

        Raises:
            TypeError, ValueError: ``first_step`` is not an int64.
        """
        return self._steps(batches, checked_step(first_step))

    def _steps(self, batches: Iterable[T], first_step: int) -> Iterator[tuple[int, T]]:
        try:
            self.begin()
            for step, batch in enumerate(batches, first_step):
                self.before_step(step)
                yield step, batch
                self.after_step(step)
                if self.should_stop:
                    return
        finally:
            self.end()

    def begin(self) -> None:
        """Begin a loop."""
        self._values = {}
        self._step = None
        self._stop_requested = False
        for hook in self._hooks:
            hook.begin()

    def before_step(self, step: int) -> None:
        """Begin a step."""
        self._step = step
        self._values = {}
        for hook in self._hooks:
            hook.before_step(step)

    def after_step(self, step: int, values: Mapping[str, Any] = MappingProxyType({})) -> None:
        """End a step; ``values`` are logged as by `log`."""
        self.log(values)
        for hook in self._hooks:
            hook.after_step(step, MappingProxyType(self._values))

    def end(self) -> None:
        """End the loop: call `Hook.end` of every hook, even if one of them fails; without a step, call none."""
        if self._step is None:
            return
        with ExitStack() as ends:
            for hook in reversed(self._hooks):
                ends.callback(hook.end, self._step, MappingProxyType(self._values))


def _line(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{tag} = {_shortest(tag, value)}" for tag, value in values.items())


def _shortest(tag: str, value: Any) -> str:
    """Return a number with the fewest digits that distinguish it from its neighbors of the same precision."""
    if isinstance(value, str | int):
        return str(value)
    number = checked_number(value, f"the value {tag!r}")
    # PyTorch's dtypes have NumPy's names after a dot.
    match str(getattr(value, "dtype", "")).rpartition(".")[2]:
        case "float16":
            return str(np.float16(number))
        case "float32" | "bfloat16":
            return str(np.float32(number))
        case dtype if "int" in dtype:
            return str(int(number))
        case _:
            return str(number)


def _checked_writer(writer: SummaryWriter) -> SummaryWriter:
    if not callable(getattr(writer, "add_scalar", None)):
        raise TypeError(f"writer must be a SummaryWriter, got {type(writer).__name__}")
    return writer
