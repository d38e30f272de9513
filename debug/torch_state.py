"""The state that a PyTorch step changes, saved and restored."""

import copy
import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import MethodType
from typing import Any, Final

import torch
from torch.amp import GradScaler
from torch.optim.lr_scheduler import LRScheduler

from stepscope.debug.catching import random_numbers
from stepscope.debug.torch_watch import TorchWatcher


class TrainingState:
    """Parameters, buffers, gradients, optimizers, learning rate schedulers, gradient scalers, random numbers.

    Args:
        watcher: the model's watcher; its optimizer is also restored.
        held: further optimizers, schedulers and scalers, and anything else with ``state_dict`` and ``load_state_dict``.
    """

    def __init__(self, watcher: TorchWatcher, held: Sequence[Any] = ()) -> None:
        self._watcher: Final = watcher
        self._held: Final = list({id(each): each for each in held}.values())
        self._put_back: list[Callable[[], None]] = []

    def take(self) -> None:
        """Save the current state."""
        model, own = self._watcher.model, self._watcher.optimizer
        self._put_back = [_tensors(self._watcher.changing()), _gradients(list(model.parameters()))]
        # Schedulers and scalers come after optimizers, whose learning rates they know.
        held = self._held if own is None or any(each is own for each in self._held) else [own, *self._held]
        for each in sorted(held, key=lambda one: not isinstance(one, torch.optim.Optimizer)):
            if isinstance(each, torch.optim.Optimizer):
                self._put_back.append(_optimizer(each))
            elif isinstance(each, GradScaler):
                self._put_back.append(_scaler(each))
            else:
                self._put_back.append(partial(_load, each, copy.deepcopy(each.state_dict())))
        self._put_back.append(_random_numbers())

    def put_back(self) -> None:
        """Restore the state; may be called again."""
        for put_back in self._put_back:
            put_back()


def referenced(function: Callable[..., Any]) -> Iterator[Any]:
    """Yield the optimizers, schedulers and scalers that a step function refers to, by its variables or its object's."""
    while isinstance(function, partial):
        function = function.func
    function = inspect.unwrap(function)
    known: list[Any] = []
    if isinstance(function, MethodType):
        known += vars(function.__self__).values() if hasattr(function.__self__, "__dict__") else ()
        function = function.__func__
    if inspect.isfunction(function):
        found = inspect.getclosurevars(function)
        known += [*found.nonlocals.values(), *found.globals.values()]
    for value in known:
        parts = value if isinstance(value, list | tuple) else value.values() if isinstance(value, dict) else (value,)
        yield from (each for each in parts if isinstance(each, torch.optim.Optimizer | LRScheduler | GradScaler))


def _tensors(tensors: Sequence[torch.Tensor]) -> Callable[[], None]:
    copies = [tensor.clone() for tensor in tensors]

    def put_back() -> None:
        with torch.no_grad():
            for tensor, before in zip(tensors, copies, strict=True):
                tensor.copy_(before)

    return put_back


def _gradients(parameters: Sequence[torch.nn.Parameter]) -> Callable[[], None]:
    gradients = [None if p.grad is None else p.grad.detach().clone() for p in parameters]

    def put_back() -> None:
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = None if gradient is None else gradient.clone()

    return put_back


def _optimizer(optimizer: torch.optim.Optimizer) -> Callable[[], None]:
    states = {parameter: _copied(state) for parameter, state in optimizer.state.items()}
    groups = [_group(group) for group in optimizer.param_groups]

    def put_back() -> None:
        optimizer.state.clear()
        optimizer.state.update({parameter: _copied(state) for parameter, state in states.items()})
        for group, before in zip(optimizer.param_groups, groups, strict=False):
            group.update(_group(before))

    return put_back


def _group(group: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of a parameter group; the parameters themselves are not copied."""
    others = _copied({name: value for name, value in group.items() if name != "params"})
    return {**others, "params": [*group["params"]]}


def _scaler(scaler: GradScaler) -> Callable[[], None]:
    # Not by state_dict, which omits how far each optimizer was: an exception in the middle of a step leaves that
    # behind, and the next step would refuse to continue from there.
    before = {name: _copied(value) for name, value in vars(scaler).items() if name != "_per_optimizer_states"}
    stages = {key: _copied(value) for key, value in scaler._per_optimizer_states.items()}

    def put_back() -> None:
        vars(scaler).update({name: _copied(value) for name, value in before.items()})
        scaler._per_optimizer_states.clear()
        scaler._per_optimizer_states.update({key: _copied(value) for key, value in stages.items()})

    return put_back


def _load(target: Any, state: Any) -> None:
    target.load_state_dict(copy.deepcopy(state))


def _random_numbers() -> Callable[[], None]:
    cpu, global_numbers = torch.get_rng_state(), random_numbers()
    devices = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []

    def put_back() -> None:
        torch.set_rng_state(cpu)
        if devices:
            torch.cuda.set_rng_state_all(devices)
        global_numbers()

    return put_back


def _copied(state: Any) -> Any:
    if isinstance(state, torch.Tensor):
        return state.detach().clone()
    if isinstance(state, dict):
        return {key: _copied(value) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return type(state)(_copied(value) for value in state)
    return state
