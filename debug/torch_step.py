"""What is watched of a PyTorch model, and the observations of one step."""

import sys
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from types import FrameType
from typing import Any, Final, Literal

import torch
from torch.nn.parameter import is_lazy

from stepscope.debug.torch_health import HealthBatch
from stepscope.debug.torch_operations import Made
from stepscope.summary.debugger.model import Observations

Compiled = Literal["outside", "eager"]
is_compiling: Final = torch.compiler.is_compiling
_HOOKED_STEP: Final = torch.optim.Optimizer.profile_hook_step(lambda: None).__code__
"""The code that calls the hooks of an optimizer's step, in every class that has a ``step`` of its own."""
_transformation: Final[Callable[[], Any]] = getattr(torch._C._functorch, "peek_interpreter_stack", lambda: None)
_MOST_LEAVES: Final = 64
"""Maximum number of tensors that are examined in one output."""


@dataclass(frozen=True, kw_only=True)
class TorchOptions:
    """What is watched of a PyTorch model; see `stepscope.debug.watch`."""

    optimizer: torch.optim.Optimizer | None = None
    gradients: bool = True
    updates: bool = True
    optimizer_state: bool = False
    operations: bool = False
    evaluation: bool = False
    compiled: Compiled = "outside"

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            ValueError: one is invalid.
        """
        if self.compiled not in ("outside", "eager"):
            raise ValueError(f'compiled must be "outside" or "eager", got {self.compiled!r}')


class _RunningModules(threading.local):
    """The modules that run in the calling thread, outermost first."""

    def __init__(self) -> None:
        self.paths: list[str] = []


class Step:
    """The observations of the running step."""

    def __init__(self, parameters: Mapping[torch.nn.Parameter, str], *, detailed: bool) -> None:
        self.detailed: Final = detailed
        """Whether single operations are observed too."""
        self.numbers: list[int] = []
        self.batch = HealthBatch()
        self.places: list[Hashable] = []
        """What was observed, in the order of ``numbers``, without what distinguishes one time from another."""
        self.held: dict[int, tuple[str, str, torch.Tensor]] = {}
        """Phases, names and values that are written when the step is over, by the index of their observation."""
        self.counts: Counter[Hashable] = Counter()
        """How often each place was seen."""
        self.made = Made()
        self.consumers: dict[int, list[int]] = {}
        """By tensor: the outputs of its consumers."""
        self.gradients: dict[int, int] = {}
        """By tensor: its gradient, if seen."""
        self.unobserved: Final = dict(parameters)
        """The names of the parameters that are still to be observed."""
        self._running: Final = _RunningModules()

    @property
    def modules(self) -> list[str]:
        """The modules that run in the calling thread, outermost first."""
        return self._running.paths

    def drop(self, seen: range) -> None:
        """Leave out observations, by their index."""
        self.batch.drop(seen)
        for index in seen:
            self.held.pop(index, None)
        self.counts.subtract(self.places[index] for index in seen)


@dataclass
class Detail:
    """The observations of a step that was run again."""

    observations: Observations | None = None


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors in a module's inputs or outputs, without parameters."""
    waiting, count = [value], 0
    while waiting and count < _MOST_LEAVES:
        found = waiting.pop()
        if isinstance(found, torch.Tensor):
            if not isinstance(found, torch.nn.Parameter):
                count += 1
                yield found
        elif isinstance(found, Mapping):
            waiting.extend(reversed(list(found.values())))
        elif isinstance(found, Sequence) and not isinstance(found, str | bytes):
            waiting.extend(reversed(found))
        elif is_dataclass(found) and not isinstance(found, type):
            waiting.extend(getattr(found, field.name) for field in reversed(fields(found)))


def is_transformed() -> bool:
    """Return whether code runs inside of a transformation such as `torch.func.grad`, where no tensor has values."""
    return _transformation() is not None


class StepNesting:
    """Tells a step of an optimizer from one within it, of its parent class, for example.

    Each hook of the optimizer's steps must call it.
    """

    def __init__(self) -> None:
        self._begun = 0

    def begins(self, optimizer: torch.optim.Optimizer) -> bool:
        """Return whether the step that begins is within another."""
        if is_compiling():
            # Neither counts nor stacks can be compiled: each attempt would warn the program.
            return False
        self._begun += 1
        return self._begun > 1 and self._is_nested(optimizer, 1)

    def ends(self, optimizer: torch.optim.Optimizer) -> bool:
        """Return whether the step that ends is within another."""
        if is_compiling():
            return False
        self._begun -= 1
        return self._begun != 0 and self._is_nested(optimizer, 0)

    def _is_nested(self, optimizer: torch.optim.Optimizer, otherwise: int) -> bool:
        """Return what the stack tells, as a step that raised an error never ended; correct the count if it is wrong."""
        if not _is_within_step(optimizer):
            self._begun = otherwise
            return False
        return True


def _is_within_step(optimizer: torch.optim.Optimizer) -> bool:
    """Return whether the calling hook is called for a step within a step of the optimizer."""
    running = 0
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and running < 2:
        if frame.f_code is _HOOKED_STEP:
            running += frame.f_locals["args"][0] is optimizer
        frame = frame.f_back
    return running == 2


def is_measurable(value: torch.Tensor) -> bool:
    """Return whether a tensor has values now: in no tracer or transformation, nor while a CUDA graph is captured.

    Parameters of lazy modules have none until the module has run.
    """
    with suppress(RuntimeError):
        if is_lazy(value) or value.is_meta or is_transformed():
            return False
        if torch._C._functorch.is_functorch_wrapped_tensor(value):
            return False
        return not (value.is_cuda and torch.cuda.is_current_stream_capturing())
    return False
