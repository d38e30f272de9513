"""Watch a step function of JAX or NumPy. It is called through the watcher, and each call is a step."""

import inspect
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from stepscope.debug.catching import BadValue, Replay, random_numbers
from stepscope.debug.recorder import AlertError, Measured, Recorder
from stepscope.debug.watcher import Settings, Watcher
from stepscope.summary.debugger.model import Observations


class FunctionWatcher(Watcher):
    """Watches a function that performs one training step, and returns its result.

    For example:

        with debug.watch(train_step, "runs/first") as step:
            for batch in batches:
                params, loss = step(params, batch)
    """

    def __init__(
        self, function: Callable[..., Any], recorder: Recorder, settings: Settings, *, owns_writer: bool
    ) -> None:
        super().__init__(recorder, settings, owns_writer=owns_writer)
        self._function: Final = function
        self._replaying: int | None = None
        self.replayed = Replay(Observations.none(), None)
        """The result of the last step that was run again."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run a step.

        Raises:
            AlertError: a rule is broken, and ``on_alert`` is "raise".
        """
        if not self._is_open:
            return self._function(*args, **kwargs)
        if self._replaying is not None:
            result, numbers, measured, bad = self._observed(args, kwargs)
            self.replayed = Replay(self.recorder.record_again(self._replaying, numbers, measured), bad)
            return result
        step = self._step
        recorded = self._is_recorded(step)
        if not (recorded or self.recorder.keeps_ring):
            self._step += 1
            return self._function(*args, **kwargs)
        result, numbers, measured, _ = self._observed(args, kwargs)
        self._step += 1
        (self.recorder.record if recorded else self.recorder.keep)(step, numbers, measured)
        return result

    def step(self, **scalars: Any) -> None:
        """Write scalars of the last step that was run."""
        if self._is_open and scalars:
            self._log(self._step - 1, scalars)

    def replay(self, step: int, run: Callable[[], object]) -> Replay:
        """Run a step again as it was, with every operation observed."""
        self._replaying, self.replayed = step, Replay(Observations.none(), None)
        try:
            with suppress(Exception):
                run()
        finally:
            self._replaying = None
        return self.replayed

    @abstractmethod
    def _observed(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, list[int], Measured, BadValue | None]:
        """Run the function; return its result, the measured tensors' numbers, the measurements, and a bad value."""

    @abstractmethod
    def is_finite(self, result: Any) -> bool:
        """Return whether a step's result is finite."""

    def remember(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[], None]:
        """Return a function that restores the arguments; it does nothing if functions do not write into them."""
        return _nothing

    def _let_go(self) -> None:
        """Do nothing, as there is nothing to remove from the function."""


class FunctionTraining:
    """A step function that can be run again; see `stepscope.debug.catching.Repeatable`.

    Raises:
        ValueError: ``also`` has objects, which only PyTorch needs.
    """

    def __init__(self, watcher: FunctionWatcher, also: Sequence[Any] = ()) -> None:
        if also:
            raise ValueError(
                "also works only with PyTorch; otherwise, the arguments of a step are restored. Leave it out."
            )
        self.recorder: Final = watcher.recorder
        self._watcher: Final = watcher
        self._put_back: Callable[[], None] = _nothing

    @property
    def is_open(self) -> bool:
        """Whether it is watched."""
        return self._watcher.is_open

    @property
    def step_number(self) -> int:
        """Number of the next step."""
        return self._watcher.step_number

    def remember(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Save random numbers, and the arguments if a step may write into them."""
        arguments, numbers = self._watcher.remember(args, kwargs), random_numbers()

        def put_back() -> None:
            arguments()
            numbers()

        self._put_back = put_back

    def is_finite(self, result: Any) -> bool:
        """Return whether a step's result is finite."""
        return self._watcher.is_finite(result)

    def give_up(self, step: int) -> None:
        """End a step that was aborted by an exception."""
        with suppress(AlertError):
            self._watcher.skip()

    def replay(self, step: int, run: Callable[[], object]) -> Replay:
        """Run a step again as it was, and restore everything."""
        self._put_back()
        try:
            return self._watcher.replay(step, run)
        finally:
            self._put_back()


def _nothing() -> None:
    pass


def parameter_names(function: Callable[..., Any]) -> list[str]:
    """Return the names of a function's positional parameters, as far as known."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
