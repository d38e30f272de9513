"""What the watchers of all frameworks have in common: steps, scalars, the ring, and closing."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Final, Literal, Self

import numpy as np

from stepscope.debug.catching import Repeatable
from stepscope.debug.health import real_numbers
from stepscope.debug.recorder import DEFAULT_BUDGET, AlertError, Reaction, Recorder
from stepscope.debug.rules import ALL, Rule, named
from stepscope.debug.scalar_rules import LABELS_FOLDER
from stepscope.summary.arguments import as_array, checked_number, checked_tag
from stepscope.summary.counts import shown_names
from stepscope.summary.debugger.model import Alert
from stepscope.summary.kinds.debug import histogram_tag, value_tag
from stepscope.summary.writer import SummaryWriter

Detail = Literal["health", "histogram", "full"]
"""What is written of each value: its statistics; also a histogram; or also the value itself."""
Names = Iterable[str | re.Pattern[str]] | str | re.Pattern[str] | None
"""Names of modules, parameters or tensors, each with everything below it, or compiled regular expressions that are
searched for in names."""

MOST_VALUE_BYTES: Final = 128 << 20
"""Maximum size of a value that is written whole: readers of event files accept records of twice that size."""
_MOST_CLASSES: Final = 1_000


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a training run is watched; the arguments of `stepscope.debug.watch`."""

    every: int = 10
    tensors: Detail = "health"
    include: Names = None
    exclude: Names = None
    rules: Iterable[Rule | str] = ALL
    on_alert: Reaction | Sequence[Reaction] = "log"
    ring: int = 0
    first_step: int = 0
    budget: int = DEFAULT_BUDGET
    every_file: bool = False
    also_tfdbg: bool = False

    def __post_init__(self) -> None:
        """Check the settings.

        Raises:
            ValueError, TypeError: one is invalid.
        """
        for name, least in (("every", 1), ("ring", 0), ("first_step", 0), ("budget", 0)):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, int):
                raise TypeError(f"{name} must be a whole number, got {number!r}")
            if number < least:
                raise ValueError(f"{name} must be at least {least}, got {number}")
        if self.tensors not in ("health", "histogram", "full"):
            raise ValueError(f'tensors must be "health", "histogram" or "full", got {self.tensors!r}')
        for reaction in self.reactions:
            if not (reaction is None or callable(reaction) or reaction in ("log", "stop", "raise")):
                raise ValueError(f'on_alert must be "log", "stop", "raise" or a function, got {reaction!r}')

    @property
    def reactions(self) -> tuple[Reaction, ...]:
        """The reactions to an alert."""
        given = self.on_alert
        if given is None or isinstance(given, str) or callable(given):
            return (given,)
        return tuple(given)

    @contextmanager
    def recorder(
        self, where: "str | os.PathLike[str] | SummaryWriter", source: str
    ) -> "Iterator[tuple[Recorder, bool]]":
        """Yield a recorder, and whether to close its writer; both are closed if the model is rejected inside.

        Raises:
            TypeError: ``where`` is neither a folder nor a SummaryWriter.
            OSError: the folder cannot be written to.
        """
        rules = [rule if not isinstance(rule, str) else named([rule])[0] for rule in self.rules]
        is_ours = isinstance(where, str | os.PathLike)
        writer = SummaryWriter(os.fspath(where)) if isinstance(where, str | os.PathLike) else where
        if not isinstance(writer, SummaryWriter):
            raise TypeError(f"expected a run's folder or a SummaryWriter, got {type(where).__name__}")
        with ExitStack() as undo:
            if is_ours:
                undo.callback(writer.close)
            recorder = Recorder(
                writer,
                source,
                every=self.every,
                rules=rules,
                reactions=self.reactions,
                ring=self.ring,
                budget=self.budget,
                every_file=self.every_file,
                also_tfdbg=self.also_tfdbg,
            )
            undo.callback(recorder.discard)
            yield recorder, is_ours
            undo.pop_all()


class Chosen:
    """Which names are watched."""

    def __init__(self, include: Names, exclude: Names) -> None:
        self._given: Final = _as_list(include)
        self._include: Final = _tests(self._given)
        self._exclude: Final = _tests(_as_list(exclude))

    def __contains__(self, name: str) -> bool:
        """Return whether a name is included and not excluded."""
        included = not self._include or any(test(name) for test in self._include)
        return included and not any(test(name) for test in self._exclude)

    def check(self, names: Sequence[str]) -> None:
        """Check that something is included.

        Args:
            names: those of all modules and parameters of the model.

        Raises:
            ValueError: nothing is included.
        """
        if not self._include or any(test(name) for name in names for test in self._include):
            return
        given = ", ".join(map(repr, self._given))
        raise ValueError(
            f"include matches no module and no parameter of the model: got {given}; expected names among"
            f" {shown_names(names)}, or regular expressions that are found in them"
        )


def _as_list(names: Names) -> list[str | re.Pattern[str]]:
    if names is None:
        return []
    return [names] if isinstance(names, str | re.Pattern) else list(names)


def _tests(names: Iterable[str | re.Pattern[str]]) -> list[Callable[[str], object]]:
    tests: list[Callable[[str], object]] = []
    for name in names:
        if isinstance(name, re.Pattern):
            tests.append(name.search)
        elif isinstance(name, str):
            tests.append(partial(_is_at_or_below, name))
        else:
            raise TypeError(f"a name must be a string or a compiled regular expression, got {type(name).__name__}")
    return tests


def _is_at_or_below(name: str, other: str) -> bool:
    return other == name or other.startswith((f"{name}.", f"{name}/", f"{name}:", f"{name}#"))


class Watcher(ABC):
    """Watches a training run; created by `stepscope.debug.watch`, and a context manager.

    Leaving the context writes pending data. If it is left by an exception, the ring is written too.
    """

    def __init__(self, recorder: Recorder, settings: Settings, *, owns_writer: bool) -> None:
        self.recorder: Final = recorder
        self._settings: Final = settings
        self._owns_writer: Final = owns_writer
        self._chosen: Final = Chosen(settings.include, settings.exclude)
        self._step = settings.first_step
        self._is_open = True
        self._labels: dict[str, int] = {}
        self.repeatable: Callable[[Callable[..., Any], Sequence[Any]], Repeatable] | None = None
        """Makes the object that runs the last step of a function again, if possible; also takes what else it
        changes."""

    @property
    def step_number(self) -> int:
        """Number of the running step."""
        return self._step

    @property
    def is_open(self) -> bool:
        """Whether it is still watching."""
        return self._is_open

    @property
    def should_stop(self) -> bool:
        """Whether a rule that stops the training (``on_alert="stop"``) was broken; the training loop checks this."""
        return self.recorder.should_stop

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """The alerts raised so far."""
        return tuple(self.recorder.alerts)

    def log(self, scalars: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        """Write scalars of the running step, by tag, for the curves and for the rules about losses.

        Raises:
            TypeError, ValueError: a value is not a number, or a name is not a valid tag.
            AlertError: a rule is broken, and ``on_alert`` is "raise".
        """
        self._log(self._step, {**(scalars or {}), **more})

    def _log(self, step: int, scalars: Mapping[str, Any]) -> None:
        numbers = {checked_tag(tag): checked_number(value, f"the scalar {tag!r}") for tag, value in scalars.items()}
        self.recorder.log(step, numbers)

    def labels(self, labels: Any, names: Sequence[str] | None = None) -> None:
        """Count the classes of a batch.

        The counts are written as the scalars ``labels/<class>``, for the rule class_imbalance.

        Args:
            labels: whole numbers or texts, of any shape.
            names: names of the classes, if labels are their indices.
        """
        array = np.asarray(labels.detach().cpu() if hasattr(labels, "detach") else labels)
        classes, counts = np.unique(array, return_counts=True)
        for label, count in zip(classes.tolist(), counts.tolist(), strict=True):
            name = names[label] if names is not None else str(label)
            if name in self._labels or len(self._labels) < _MOST_CLASSES:
                self._labels[name] = self._labels.get(name, 0) + count
        if self._step % self._settings.every == 0:
            self.log({f"{LABELS_FOLDER}/{name}": count for name, count in self._labels.items()})

    def dump(self) -> int:
        """Judge and write the steps in the ring; return their number.

        Raises:
            AlertError: a rule is broken, and ``on_alert`` is "raise".
        """
        count = self.recorder.dump()
        self.recorder.flush()
        return count

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run a step, if a step function is watched.

        Raises:
            TypeError: a model is watched; call the model itself.
        """
        raise TypeError(f"a {type(self).__name__} cannot be called: call the model itself as usual")

    def skip(self) -> None:
        """Advance the step number without observing anything."""
        self._step += 1

    @abstractmethod
    def step(self, **scalars: Any) -> None:
        """End the running step, whose scalars may be given as in `log`, and begin the next."""

    @abstractmethod
    def _let_go(self) -> None:
        """Remove everything from the model."""

    def close(self) -> None:
        """Stop watching, and write pending data."""
        if not self._is_open:
            return
        self._is_open = False
        self._let_go()
        try:
            self.recorder.judge_kept()
        finally:
            self.recorder.close()
            if self._owns_writer:
                self.recorder.writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is not None:
                # The program's own error is the one to raise.
                with suppress(AlertError):
                    self.recorder.dump()
        finally:
            self.close()

    def _is_recorded(self, step: int) -> bool:
        return (step - self._settings.first_step) % self._settings.every == 0

    def _write_value(self, phase: str, name: str, array: Any) -> None:
        """Write a histogram of a value, or the value, depending on the settings."""
        detail = self._settings.tensors
        if detail == "histogram":
            numbers = real_numbers(as_array(array, name, allow_complex=True))
            if numbers.size:
                self.recorder.writer.add_histogram(histogram_tag(phase, name), numbers, self._step)
        elif detail == "full" and self._is_kept(name, array.nbytes):
            self.recorder.writer.add_tensor(value_tag(phase, name), array, self._step)

    def _is_kept(self, name: str, size: int) -> bool:
        """Return whether a whole value of so many bytes is written; the recording notes each that is not."""
        if size <= MOST_VALUE_BYTES:
            return True
        self.recorder.catalog.note(f"{name} is too large to be written whole ({size:,} bytes): its statistics are.")
        return False
