"""Run a PyTorch step again: its changes are undone, and every operation is observed."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.parameter import is_lazy

from stepscope.debug.catching import BadValue, Replay
from stepscope.debug.recorder import AlertError
from stepscope.debug.torch_health import HealthBatch
from stepscope.debug.torch_operations import Operation
from stepscope.debug.torch_state import TrainingState
from stepscope.debug.torch_step import tensors_in
from stepscope.debug.torch_watch import TorchWatcher
from stepscope.debug.verdict import MaskTracker
from stepscope.summary.arguments import as_array
from stepscope.summary.debugger.model import Observations


class TorchTraining:
    """A watched training run whose last step can be run again; see `stepscope.debug.catching.Repeatable`."""

    def __init__(self, watcher: TorchWatcher, held: Sequence[Any] = ()) -> None:
        """Create it for a watcher.

        Args:
            watcher: the model's watcher.
            held: what a step may change besides the model and its optimizer; see `TrainingState`.
        """
        self.recorder: Final = watcher.recorder
        self._watcher: Final = watcher
        self._state: Final = TrainingState(watcher, held)

    @property
    def is_open(self) -> bool:
        """Whether it is watched."""
        return self._watcher.is_open

    @property
    def step_number(self) -> int:
        """Number of the running step."""
        return self._watcher.step_number

    def remember(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Save what the step will change."""
        self._state.take()

    def is_finite(self, result: Any) -> bool:
        """Return whether a step's result is finite, and the parameters after it."""
        parameters = [parameter for parameter in self._watcher.model.parameters() if not is_lazy(parameter)]
        values = [value.detach() for value in (*tensors_in(result), *parameters)]
        return all_finite(values) and all(np.isfinite(n) for n in _floats_in(result))

    def give_up(self, step: int) -> None:
        """End a step that was aborted by an exception."""
        with suppress(AlertError):
            self._watcher.end()

    def replay(self, step: int, run: Callable[[], object]) -> Replay:
        """Run a step again as it was, with every operation observed, and restore everything."""
        watcher, finder = self._watcher, _BadFinder(self._watcher)
        self._state.put_back()
        watcher.on_operation, watcher.on_writing = finder.after, finder.before
        try:
            with watcher.in_detail(step) as detail, suppress(Exception):
                run()
        finally:
            watcher.on_operation = watcher.on_writing = None
            self._state.put_back()
            watcher.begin(step + 1)
        return Replay(detail.observations or Observations.none(), finder.bad)


class _BadFinder:
    """Keeps the first bad value that an operation makes, and the operation's inputs."""

    def __init__(self, watcher: TorchWatcher) -> None:
        self.bad: BadValue | None = None
        self._watcher: Final = watcher
        self._masks: Final = MaskTracker()
        self._overwritten: dict[int, torch.Tensor] = {}

    def before(self, written: tuple[torch.Tensor, ...]) -> None:
        """Save what the next operation writes to."""
        self._overwritten = {} if self.bad is not None else {id(tensor): tensor.detach().clone() for tensor in written}

    def after(self, operation: Operation, numbers: list[int | None]) -> None:
        """Check the results of an operation."""
        if self.bad is not None or all_finite(list(operation.given)):
            return
        for value, number in zip(operation.given, numbers, strict=True):
            if number is None or all_finite([value]):
                continue
            batch = HealthBatch()
            batch.add(value)
            tensor = self._watcher.recorder.catalog.tensors[number]
            if self._masks.is_mask(number, tensor, batch.figures()[0]):
                continue
            inputs = [self._overwritten.get(id(taken), taken) for taken in operation.taken]
            self.bad = BadValue(tensor.phase, tensor.name, _array(value), tuple(_array(taken) for taken in inputs))
            return


def all_finite(values: list[torch.Tensor]) -> bool:
    """Return whether all elements of all tensors are finite; waits for each device once."""
    by_device: dict[torch.device, list[torch.Tensor]] = {}
    for value in values:
        if value.numel() and (value.is_floating_point() or value.is_complex()) and not value.is_meta:
            by_device.setdefault(value.device, []).append(value)
    with torch.no_grad():
        return all(bool(torch.stack([_is_finite(v) for v in found]).all()) for found in by_device.values())


def _is_finite(value: torch.Tensor) -> torch.Tensor:
    if value.layout != torch.strided:
        value = value.coalesce().values() if value.layout == torch.sparse_coo else value.values()
    # Finite values times zero are zero, so their sum cannot overflow.
    if value.is_complex() or value.itemsize < 2:
        return torch.isfinite(value.to(torch.float32) if value.itemsize < 2 else value).all()
    return (value * 0).sum() == 0


def _floats_in(result: Any) -> Iterator[float]:
    waiting = [result]
    while waiting:
        found = waiting.pop()
        if isinstance(found, float):
            yield found
        elif isinstance(found, dict):
            waiting.extend(found.values())
        elif isinstance(found, list | tuple):
            waiting.extend(found)


def _array(value: torch.Tensor) -> NDArray[np.generic]:
    plain = value.detach()
    if plain.layout != torch.strided:
        plain = plain.to_dense()
    return as_array(plain, "a tensor", allow_complex=True).copy()
