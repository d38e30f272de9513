"""``debug.catch``: run a failed step again in full detail, to name the first operation that made a bad value."""

import io
import math
import random
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from stepscope.debug.recorder import AlertError, Recorder
from stepscope.debug.step_data import StepData
from stepscope.debug.verdict import Verdict, first_bad
from stepscope.summary.debugger.model import Alert, Observations
from stepscope.summary.kinds.debug import value_tag

Then = Literal["raise", "skip"]
FOLDER: Final = "caught"
"""Folder in the run's folder for arrays of caught steps."""
MOST_SAVED_BYTES: Final = 64 << 20
"""Maximum size of one array; larger ones are not saved, which a note in the recording reports."""
MOST_SAVED_STEPS: Final = 20


class CaughtError(ArithmeticError):
    """A step's result was not finite; it was run again, and ``verdict`` has the findings."""

    def __init__(self, step: int, verdict: Verdict | None) -> None:
        super().__init__(
            verdict.sentence
            if verdict is not None
            else f"Step {step} was not finite, and nothing bad was seen when it was run again: it depends on more than"
            " the model, the optimizer, random numbers and its arguments, or its arguments no longer exist because"
            " their buffers were donated."
        )
        self.step = step
        self.verdict = verdict


@dataclass(frozen=True)
class BadValue:
    """The first bad value of a step that was run again, and the inputs of its operation."""

    phase: str
    name: str
    value: NDArray[np.generic]
    inputs: tuple[NDArray[np.generic], ...]


@dataclass(frozen=True)
class Replay:
    """The results of running a step again."""

    observed: Observations
    bad: BadValue | None


class Repeatable(Protocol):
    """A training run whose steps can be run again; implemented for each framework."""

    @property
    def recorder(self) -> Recorder:
        """The recorder of this training run."""
        ...

    @property
    def is_open(self) -> bool:
        """Whether it is watched."""
        ...

    @property
    def step_number(self) -> int:
        """Number of the running step."""
        ...

    def remember(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Save what the step will change."""

    def is_finite(self, result: Any) -> bool:
        """Return whether a step's result is finite, and the state it left behind."""
        ...

    def replay(self, step: int, run: Callable[[], object]) -> Replay:
        """Run a step again as it was, with every operation observed; then restore the state from before the step."""
        ...

    def give_up(self, step: int) -> None:
        """End a step that was aborted by an exception."""


class Caught:
    """A step function that finds out what went wrong in it; created by `stepscope.debug.catch`."""

    def __init__(self, function: Callable[..., Any], training: Repeatable | None, then: Then, *, save: bool) -> None:
        self.caught: list[CaughtError] = []
        """The errors caught so far, if such steps are skipped."""
        self._function: Final = function
        self._training: Final = training
        self._then: Final = then
        self._save: Final = save
        self._saved_steps = 0
        update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run a step.

        Raises:
            CaughtError: its result is not finite.
            AlertError: another rule is broken, and the recorder is set to raise.
        """
        training = self._training
        if training is None or not training.is_open:
            return self._function(*args, **kwargs)
        training.remember(args, kwargs)
        step = training.step_number
        error: Exception | None = None
        result: Any = None
        try:
            result = self._function(*args, **kwargs)
        except Exception as raised:
            error = raised
            if training.step_number == step:
                training.give_up(step)
        if isinstance(error, AlertError) and not _is_of_bad_value(error.alert):
            raise error
        if error is None and training.is_finite(result):
            return result
        found = self._find(training, step, lambda: self._function(*args, **kwargs))
        if error is not None and not isinstance(error, AlertError) and found.verdict is None:
            raise error
        if self._then == "raise":
            raise found from error
        self.caught.append(found)
        return None

    def _find(self, training: Repeatable, step: int, run: Callable[[], object]) -> CaughtError:
        recorder = training.recorder
        with suppress(AlertError):
            recorder.dump()
        replay = training.replay(step, run)
        verdict = first_bad(StepData(recorder.catalog, replay.observed)) if len(replay.observed) else None
        if replay.bad is not None and self._save and self._saved_steps < MOST_SAVED_STEPS:
            self._saved_steps += 1
            self._write(recorder, step, replay.bad)
        recorder.flush()
        return CaughtError(step, verdict)

    def _write(self, recorder: Recorder, step: int, bad: BadValue) -> None:
        """Write the arrays into the run, and as files beside it."""
        stem = re.sub(r"[^\w.-]+", "_", bad.name)[:100]
        arrays: Mapping[str, NDArray[np.generic]] = {
            "": bad.value,
            **{f"_input{place}": array for place, array in enumerate(bad.inputs)},
        }
        folder = recorder.writer.folder.child(FOLDER)
        for ending, array in arrays.items():
            if array.nbytes > MOST_SAVED_BYTES:
                recorder.catalog.note(f"{bad.name}{ending} of step {step} is not saved: it is {array.nbytes:,} bytes.")
                continue
            folder.replace(f"step_{step}_{stem}{ending}.npy", npy_bytes(array))
        if bad.value.nbytes <= MOST_SAVED_BYTES:
            recorder.writer.add_tensor(value_tag(bad.phase, bad.name), bad.value, step)


def random_numbers() -> Callable[[], None]:
    """Return a function that restores the state of Python's and NumPy's global random numbers; may be called again."""
    python, numpy = random.getstate(), np.random.get_state()

    def put_back() -> None:
        random.setstate(python)
        np.random.set_state(numpy)

    return put_back


def _is_of_bad_value(alert: Alert) -> bool:
    """Return whether an alert is about a value that is not finite: of a tensor, or of a logged scalar."""
    return alert.rule == "not_finite" or not math.isfinite(alert.figures.get("value", 0.0))


def npy_bytes(array: NDArray[np.generic]) -> bytes:
    """Return an array as the content of an ``.npy`` file; types that NumPy lacks, such as bfloat16, become float32."""
    content = io.BytesIO()
    np.save(content, array.astype(np.float32) if array.dtype.kind == "V" else array, allow_pickle=False)
    return content.getvalue()
