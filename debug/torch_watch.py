"""Watching a model of PyTorch: outputs of modules, their gradients, parameters, updates, the optimizer's state.

Hooks are on the model only in steps that are recorded: in others nothing of it is slower. The end of a step is known
from the optimizer (`torch.optim` tells of every step of any optimizer, of which those that hold the model's parameters
count), or from the call of `step`.
"""

import sys
import weakref
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Any, Final

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from stepscope.debug.catalog import described
from stepscope.debug.recorder import Recorder
from stepscope.debug.torch_health import HealthBatch, dtype_name
from stepscope.debug.watcher import Settings, Watcher

_MOST_LEAVES: Final = 64
"""Tensors of one output that are looked at."""


class Made:
    """Which watched tensor made a value, as long as that exists."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[weakref.ref[torch.Tensor], int]] = {}

    def __setitem__(self, tensor: torch.Tensor, number: int) -> None:
        self._found[id(tensor)] = (weakref.ref(tensor), number)

    def get(self, tensor: torch.Tensor) -> int | None:
        """Return the number of the tensor that it is a value of."""
        found = self._found.get(id(tensor))
        return found[1] if found is not None and found[0]() is tensor else None

    def clear(self) -> None:
        """Forget all."""
        self._found.clear()


class Step:
    """What was observed in the running step."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.batch = HealthBatch()
        self.counts: Counter[Hashable] = Counter()
        """How often each place came by."""
        self.made = Made()
        self.consumers: dict[int, list[int]] = {}
        """By tensor: the outputs of what took it."""
        self.gradients: dict[int, int] = {}
        """By tensor: its gradient, where that came by."""


class TorchWatcher(Watcher):
    """Watches a `torch.nn.Module`."""

    def __init__(
        self,
        model: torch.nn.Module,
        recorder: Recorder,
        settings: Settings,
        *,
        owns_writer: bool,
        optimizer: torch.optim.Optimizer | None,
        gradients: bool,
        updates: bool,
        optimizer_state: bool,
        operations: bool,
        evaluation: bool,
    ) -> None:
        super().__init__(recorder, settings, owns_writer=owns_writer)
        self.model: Final = model
        self._gradients: Final = gradients
        self._updates: Final = updates
        self._optimizer_state: Final = optimizer_state
        self._operations: Final = operations
        self._evaluation: Final = evaluation
        self._parameters: Final = {
            parameter: name for name, parameter in model.named_parameters() if name in self._chosen
        }
        self._all_parameters: Final = {id(parameter) for parameter in model.parameters()}
        self._optimizer: weakref.ref[torch.optim.Optimizer] | None = (
            None if optimizer is None else weakref.ref(optimizer)
        )
        self._counts_steps = False
        """Whether the program calls `step` itself."""
        self._running: Step | None = None
        self._before: dict[torch.nn.Parameter, torch.Tensor] = {}
        self._handles: list[Any] = []
        self._operation_mode: Any = None
        self._pre_handle: Any = register_optimizer_step_pre_hook(self._before_update)
        self._post_handle: Any = register_optimizer_step_post_hook(self._after_update)
        self._begin()

    def step(self, **scalars: Any) -> None:
        """End the running step, and begin the next.

        Needed where no optimizer of `torch.optim` steps, or not once a step: with a `GradScaler`, which leaves steps
        out, or with several optimizers. From its first call on optimizers no longer count.
        """
        if not self._is_open:
            return
        if not self._counts_steps:
            self._counts_steps = True
            if self._step > self._settings.first_step and not scalars:
                # The optimizer ended the step that this call is about.
                return
        if scalars:
            self.log(scalars)
        self._end()

    def _begin(self) -> None:
        """Begin a step: put hooks on the model if it is recorded or kept in the ring."""
        recorded = self._is_recorded(self._step)
        if not (recorded or self._recorder.keeps_ring):
            return
        self._running = Step()
        for parameter, name in self._parameters.items():
            number = self._observe(("parameter", name), "parameter", name, parameter)
            if number is not None:
                self._running.made[parameter] = number
        if not self._handles:
            self._hook()

    def _end(self) -> None:
        running, self._running = self._running, None
        step = self._step
        self._step += 1
        try:
            if running is not None and running.numbers:
                if self._is_recorded(step):
                    self._recorder.record(step, running.numbers, running.batch)
                else:
                    self._recorder.keep(step, running.numbers, running.batch)
        finally:
            if self._is_open:
                if self._handles and not (self._recorder.keeps_ring or self._is_recorded(self._step)):
                    self._unhook()
                self._begin()

    def _hook(self) -> None:
        for path, module in self.model.named_modules():
            name = path or type(self.model).__name__
            if name not in self._chosen:
                continue
            self._handles.append(module.register_forward_pre_hook(self._before_forward(path, name), with_kwargs=True))
            self._handles.append(module.register_forward_hook(self._after_forward(path, name), with_kwargs=True))

    def _unhook(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _let_go(self) -> None:
        self._running = None
        self._unhook()
        for handle in (self._pre_handle, self._post_handle):
            handle.remove()

    def _is_watching(self) -> bool:
        return self._running is not None and (self._evaluation or self.model.training or torch.is_grad_enabled())

    def _before_forward(self, path: str, name: str) -> Callable[..., None]:
        def look(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if not self._is_watching():
                return
            running = self._running
            assert running is not None
            for slot, value in enumerate(tensors_in((args, kwargs))):
                if running.made.get(value) is None:
                    number = self._observe_output(path, name, "input", "input", slot, value, ())
                    if number is not None:
                        running.made[value] = number

        return look

    def _after_forward(self, path: str, name: str) -> Callable[..., None]:
        def look(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
            if not self._is_watching():
                return
            running = self._running
            assert running is not None
            taken = [running.made.get(value) for value in tensors_in((args, kwargs))]
            taken += [running.made.get(parameter) for parameter in module.parameters(recurse=False)]
            inputs = tuple(number for number in taken if number is not None)
            for slot, value in enumerate(tensors_in(output)):
                number = self._observe_output(path, name, "", type(module).__name__, slot, value, inputs)
                if number is None:
                    continue
                if value.requires_grad and self._gradients:
                    self._watch_gradient(running, value, number)
                running.made[value] = number
                for source in inputs:
                    running.consumers.setdefault(source, []).append(number)

        return look

    def _observe_output(
        self, path: str, name: str, ending: str, op_type: str, slot: int, value: torch.Tensor, inputs: tuple[int, ...]
    ) -> int | None:
        full = f"{name}:{ending}{slot or ''}" if ending else (f"{name}:{slot}" if slot else name)
        return self._observe(
            ("forward", full), "forward", full, value, module=path, op_type=op_type, slot=slot, inputs=inputs
        )

    def _watch_gradient(self, running: Step, value: torch.Tensor, number: int) -> None:
        tensor = self._recorder.catalog.tensors[number]

        def look(gradient: torch.Tensor) -> None:
            if self._running is not running:
                return
            behind = (running.gradients.get(consumer) for consumer in running.consumers.get(number, ()))
            inputs = tuple(found for found in behind if found is not None)
            found = self._observe(
                ("backward", tensor.name),
                "backward",
                tensor.name,
                gradient,
                module=tensor.module,
                op_type=tensor.op_type,
                slot=tensor.slot,
                inputs=inputs,
                stack=tensor.stack,
            )
            if found is not None:
                running.gradients[number] = found

        value.register_hook(look)

    def _observe(
        self,
        key: Hashable,
        phase: str,
        name: str,
        value: torch.Tensor,
        *,
        module: str = "",
        op_type: str = "",
        slot: int = 0,
        inputs: tuple[int, ...] = (),
        stack: int | None = None,
    ) -> int | None:
        """Measure a value; returns the number of its tensor."""
        running = self._running
        if running is None or name not in self._chosen or not _is_measurable(value):
            return None
        running.counts[key] += 1
        count = running.counts[key]
        shown = name if count == 1 else f"{name}#{count}"

        def describe() -> Any:
            lines = self._recorder.catalog.stack(sys._getframe(3)) if phase == "forward" else ()
            return (
                described(
                    shown,
                    phase,
                    module=module,
                    op_type=op_type,
                    slot=slot,
                    dtype=dtype_name(value.dtype),
                    shape=value.shape,
                    inputs=inputs,
                    stack=stack,
                ),
                lines,
            )

        number = self._recorder.number((key, count), describe)
        if number is None:
            return None
        with torch.no_grad():
            running.batch.add(value)
            running.numbers.append(number)
            if self._settings.tensors != "health" and self._is_recorded(self._step):
                self._write_value(phase, shown, value.detach().to("cpu", copy=True))
        return number

    def _is_ours(self, optimizer: torch.optim.Optimizer) -> bool:
        if self._optimizer is None:
            held = (id(p) for group in optimizer.param_groups for p in group["params"])
            if not any(number in self._all_parameters for number in held):
                return False
            self._optimizer = weakref.ref(optimizer)
        return self._optimizer() is optimizer

    def _before_update(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        if self._running is None or not self._is_ours(optimizer):
            return
        if self._gradients:
            for parameter, name in self._parameters.items():
                if parameter.grad is not None:
                    self._observe(("gradient", name), "backward", name, parameter.grad)
        if self._updates:
            trained = [p for p in self._parameters if p.requires_grad and p.grad is not None]
            self._before = {p: p.detach().clone() for p in trained}

    def _after_update(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        if not self._is_ours(optimizer):
            return
        if self._running is not None:
            before, self._before = self._before, {}
            for parameter, old in before.items():
                name = self._parameters[parameter]
                self._observe(("update", name), "update", name, parameter.detach() - old)
            if self._optimizer_state:
                self._observe_state(optimizer)
        if not self._counts_steps:
            self._end()

    def _observe_state(self, optimizer: torch.optim.Optimizer) -> None:
        for parameter, state in optimizer.state.items():
            name = self._parameters.get(parameter)
            if name is None:
                continue
            for key, value in state.items():
                if isinstance(value, torch.Tensor) and value.numel() > 1:
                    self._observe(("state", name, key), "update", f"{name}/{key}", value)


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """Give the tensors in what a module was given or gave, parameters not among them."""
    waiting, count = [value], 0
    while waiting and count < _MOST_LEAVES:
        found = waiting.pop()
        if isinstance(found, torch.Tensor):
            if not isinstance(found, torch.nn.Parameter):
                count += 1
                yield found
        elif isinstance(found, Mapping):
            waiting.extend(reversed(list(found.values())))
        elif isinstance(found, list | tuple):
            waiting.extend(reversed(found))
        elif is_dataclass(found) and not isinstance(found, type):
            waiting.extend(getattr(found, field.name) for field in reversed(fields(found)))


def _is_measurable(value: torch.Tensor) -> bool:
    with suppress(RuntimeError):
        if value.is_meta or torch._C._functorch.is_functorch_wrapped_tensor(value):
            return False
        return not (value.is_cuda and torch.cuda.is_current_stream_capturing())
    return False
