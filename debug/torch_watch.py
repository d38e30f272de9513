"""Watch a PyTorch model: outputs of modules, their gradients, parameters, updates, the optimizer's state.

The model has hooks only in recorded steps: in others, it is not slowed down. The end of a step is detected from the
optimizer (`torch.optim` reports every step of any optimizer; those that hold the model's parameters count), or from a
call of `step`.
"""

import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Final

import torch
from torch.nn.parameter import is_lazy
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from stepscope.debug.catalog import Lines, described
from stepscope.debug.recorder import Recorder
from stepscope.debug.showing import LIVE
from stepscope.debug.tensor_names import FROZEN
from stepscope.debug.torch_health import dtype_name, stored
from stepscope.debug.torch_live import LiveView
from stepscope.debug.torch_modules import (
    named_modules,
    note_of_compiled,
    note_of_scripted,
    unwrapped,
    without_wrapper,
)
from stepscope.debug.torch_operations import Operation, Operations
from stepscope.debug.torch_step import (
    Detail,
    Step,
    StepNesting,
    TorchOptions,
    is_measurable,
    is_transformed,
    tensors_in,
)
from stepscope.debug.watcher import Settings, Watcher


class _Measuring(threading.local):
    """Whether the calling thread measures."""

    is_on = False


class TorchWatcher(Watcher):
    """Watches a `torch.nn.Module`."""

    def __init__(
        self,
        model: torch.nn.Module,
        recorder: Recorder,
        settings: Settings,
        options: TorchOptions,
        *,
        owns_writer: bool,
    ) -> None:
        super().__init__(recorder, settings, owns_writer=owns_writer)
        self.model: Final = model
        self._measures: Final = _Measuring()
        self.on_operation: Callable[[Operation, list[int | None]], None] | None = None
        """Called with each operation after it was measured, and the numbers of its results."""
        self.on_writing: Callable[[tuple[torch.Tensor, ...]], None] | None = None
        """Called with the tensors that the next operation writes to."""
        self._options: Final = options
        self._parameters: Final = {
            parameter: name for name, parameter in self._named_parameters() if name in self._chosen
        }
        self._all_parameters: Final = {id(parameter) for parameter in model.parameters()}
        self._optimizer: weakref.ref[torch.optim.Optimizer] | None = (
            None if options.optimizer is None else weakref.ref(options.optimizer)
        )
        self._nesting: Final = StepNesting()
        self._counts_steps = False
        """Whether the program calls `step` itself."""
        self._is_caught = False
        """Whether the running step is being run again."""
        self._in_update = ""
        """Name of the running optimizer."""
        self._running: Step | None = None
        self._turn: Final = threading.RLock()
        """Held while a value is measured, as modules may run in several threads."""
        self._before: dict[torch.nn.Parameter, torch.Tensor] = {}
        self._handles: list[Any] = []
        self._mode: Operations | None = None
        self._eager: Any = None
        self._live = LiveView(model, self._parameters)
        names = self._names()
        # Those of operations and of the optimizer's state are not known yet.
        if names and not (options.operations or options.optimizer_state):
            self._chosen.check(names)
        compiled = note_of_compiled(model, seen=options.compiled == "eager" or options.operations)
        for note in filter(None, (compiled, note_of_scripted(model))):
            self.recorder.catalog.note(note)
        self._pre_handle: Any = register_optimizer_step_pre_hook(self._before_update)
        self._post_handle: Any = register_optimizer_step_post_hook(self._after_update)
        try:
            self.begin()
        except BaseException:
            self._let_go()
            raise

    @property
    def optimizer(self) -> torch.optim.Optimizer | None:
        """The optimizer whose steps count; None until one has stepped."""
        return None if self._optimizer is None else self._optimizer()

    def step(self, **scalars: Any) -> None:
        """End the running step, and begin the next.

        Needed if no optimizer of `torch.optim` steps, or not once per step: with a `GradScaler`, which skips steps, or
        with several optimizers. After the first call, optimizers no longer count.
        """
        if not self._is_open:
            return
        # The first call is about a step that the optimizer has ended, if any has.
        is_over = not self._counts_steps and self._step > self._settings.first_step
        self._counts_steps = True
        if scalars:
            self._log(self._step - is_over, scalars)
        if not is_over and not self._is_caught:
            self.end()

    @contextmanager
    def in_detail(self, number: int) -> Iterator["Detail"]:
        """Watch every operation that runs inside, as a step that was recorded before; it is written, not counted.

        Afterwards nothing is watched until `begin`.
        """
        self._let_step_go()
        self._unhook()
        self._is_caught = True
        self._step = number
        step, detail = Step(self._parameters, detailed=True), Detail()
        try:
            self._watch(step)
            yield detail
        finally:
            self._let_step_go()
            self._unhook()
            self._is_caught = False
            if step.numbers:
                detail.observations = self.recorder.record_again(number, step.numbers, step.batch)

    def begin(self, number: int | None = None) -> None:
        """Begin a step: add hooks to the model if it is recorded or kept in the ring.

        Args:
            number: number of the step; the next one by default.
        """
        if number is not None:
            self._step = number
        if LIVE.active or self._live.is_on:
            self._live.begin()
        if self._is_recorded(self._step) or self.recorder.keeps_ring:
            self._watch(Step(self._parameters, detailed=self._options.operations))

    def _watch(self, step: Step) -> None:
        self._running = step
        if step.detailed:
            self._observe_parameters(step)
        if not self._handles:
            self._hook()
        if step.detailed:
            self._mode = Operations(self)
            self._mode.__enter__()
        if (step.detailed or self._options.compiled == "eager") and self._eager is None:
            self._eager = torch.compiler.set_stance("force_eager")

    def _observe_parameters(self, step: Step) -> None:
        """Observe parameters as they are when a step begins to use them.

        Those of lazy modules are observed when they have a shape.
        """
        with self._turn:
            if not step.unobserved or is_transformed():
                return
            for parameter in [parameter for parameter in step.unobserved if not is_lazy(parameter)]:
                name = step.unobserved.pop(parameter)
                kind = "" if parameter.requires_grad else FROZEN
                number = self._observe("parameter", name, parameter, op_type=kind)
                if number is not None:
                    step.made[parameter] = number

    def _let_step_go(self) -> None:
        """Stop observing the running step."""
        with self._turn:
            running, self._running = self._running, None
        self._before = {}
        # An optimizer that raised did not say that its update is over.
        self._in_update = ""
        mode, self._mode = self._mode, None
        if mode is not None:
            mode.__exit__(None, None, None)
        eager, self._eager = self._eager, None
        if eager is not None:
            eager.__exit__(None, None, None)
        for held in running.held.values() if running is not None else ():
            self._write_value(*held)

    def end(self) -> None:
        """End the running step, and begin the next.

        Raises:
            AlertError: a rule is broken, and the recorder is set to raise.
        """
        running, step = self._running, self._step
        if running is not None:
            self._observe_parameters(running)
            self._let_step_go()
        self._step += 1
        if self._live.is_on:
            self._live.end(step)
        try:
            if running is not None and running.numbers:
                if self._is_recorded(step):
                    self.recorder.record(step, running.numbers, running.batch)
                else:
                    self.recorder.keep(step, running.numbers, running.batch)
        finally:
            if self._is_open:
                if self._handles and not (self.recorder.keeps_ring or self._is_recorded(self._step)):
                    self._unhook()
                self.begin()

    def _named_parameters(self) -> list[tuple[str, torch.nn.Parameter]]:
        return [(without_wrapper(name), parameter) for name, parameter in self.model.named_parameters()]

    def _names(self) -> list[str]:
        """Return the names of all modules and parameters; none if they are not known yet."""
        return [name for _, name, _ in named_modules(self.model)] + [name for name, _ in self._named_parameters()]

    def changing(self) -> list[torch.Tensor]:
        """Return the tensors that a step changes, other than gradients and the optimizer's."""
        return [t.detach() for t in (*self.model.parameters(), *self.model.buffers()) if not is_lazy(t)]

    def _hook(self) -> None:
        for path, name, module in named_modules(self.model):
            self._handles.append(module.register_forward_pre_hook(self._before_forward(path, name), with_kwargs=True))
            self._handles.append(module.register_forward_hook(self._after_forward(path, name), with_kwargs=True))

    def _unhook(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _let_go(self) -> None:
        self._let_step_go()
        self._unhook()
        self._live.close()
        for handle in (self._pre_handle, self._post_handle):
            handle.remove()

    def _is_watching(self) -> bool:
        return self._running is not None and (
            self._options.evaluation or self.model.training or torch.is_grad_enabled()
        )

    def _before_forward(self, path: str, name: str) -> Callable[..., None]:
        chosen = name in self._chosen

        def look(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if torch.compiler.is_compiling() or not self._is_watching():
                return
            running = self._running
            assert running is not None
            self._observe_parameters(running)
            self._in_update = ""
            running.modules.append(path)
            if not chosen:
                return
            for slot, value in enumerate(tensors_in((args, kwargs))):
                if running.made.get(value) is None:
                    number = self._observe_output(path, f"{name}:input", "input", slot, value, ())
                    if number is not None:
                        running.made[value] = number

        return look

    def _after_forward(self, path: str, name: str) -> Callable[..., None]:
        chosen = name in self._chosen

        def look(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
            if torch.compiler.is_compiling() or not self._is_watching():
                return
            running = self._running
            assert running is not None
            if path in running.modules:
                # An exception that the program handled may have left other modules behind.
                while running.modules.pop() != path:
                    pass
            if not chosen:
                return
            taken = [running.made.get(value) for value in tensors_in((args, kwargs))]
            module = unwrapped(module)
            taken += [running.made.get(parameter) for parameter in module.parameters(recurse=False)]
            inputs = tuple(number for number in taken if number is not None)
            for slot, value in enumerate(tensors_in(output)):
                number = self._observe_output(path, name, type(module).__name__, slot, value, inputs)
                if number is None:
                    continue
                if value.requires_grad and self._options.gradients:
                    self._watch_gradient(running, value, number)
                running.made[value] = number
                for source in inputs:
                    running.consumers.setdefault(source, []).append(number)

        return look

    def _observe_output(
        self, path: str, name: str, op_type: str, slot: int, value: torch.Tensor, inputs: tuple[int, ...]
    ) -> int | None:
        full = f"{name}{'' if name.endswith(':input') else ':'}{slot}" if slot else name
        return self._observe("forward", full, value, module=path, op_type=op_type, slot=slot, inputs=inputs)

    def _watch_gradient(self, running: Step, value: torch.Tensor, number: int) -> None:
        tensor = self.recorder.catalog.tensors[number]

        def look(gradient: torch.Tensor) -> None:
            if self._running is not running:
                return
            behind = (running.gradients.get(consumer) for consumer in running.consumers.get(number, ()))
            found = self._observe(
                "backward",
                tensor.name,
                gradient,
                module=tensor.module,
                op_type=tensor.op_type,
                slot=tensor.slot,
                inputs=tuple(found for found in behind if found is not None),
                stack=tensor.stack,
            )
            if found is not None:
                running.gradients[number] = found

        value.register_hook(look)

    # --- single operations: the interface for `Operations` ---------------------------------------------------------

    @property
    def is_measuring(self) -> bool:
        """Whether operations of the calling thread are the watcher's own."""
        return self._measures.is_on

    @property
    def module(self) -> str:
        """The running module."""
        if self._in_update:
            return self._in_update
        return self._running.modules[-1] if self._running is not None and self._running.modules else ""

    def lines(self) -> Lines:
        """Return the running lines of the program."""
        return self.recorder.catalog.stack(sys._getframe(2))

    def before(self, written: tuple[torch.Tensor, ...], name: str, module: str, is_backward: bool) -> None:
        """Measure what an operation reads before writing to it, unless it is known."""
        running = self._running
        if running is not None:
            self._observe_inputs(running, written, name, module, self._phase(is_backward))
        if self.on_writing is not None:
            with self._measuring():
                self.on_writing(written)

    def _phase(self, is_backward: bool) -> str:
        return "backward" if is_backward else ("update" if self._in_update else "forward")

    def _observe_inputs(
        self, running: Step, taken: Iterable[torch.Tensor], operation: str, module: str, phase: str
    ) -> list[int]:
        """Return the numbers of an operation's inputs; unknown ones are measured."""
        name = f"{module}/{operation}" if module else operation
        numbers: list[int] = []
        for slot, value in enumerate(taken):
            number = running.made.get(value)
            if number is None:
                ending = f"{name}:input{slot or ''}"
                number = self._observe(phase, ending, value, module=module, op_type="input", slot=slot)
                if number is not None:
                    running.made[value] = number
            if number is not None:
                numbers.append(number)
        return numbers

    def after(self, operation: Operation) -> None:
        """Measure the results of an operation, and its inputs from outside."""
        running = self._running
        if running is None or not operation.given:
            return
        phase = self._phase(operation.is_backward)
        name = f"{operation.module}/{operation.name}" if operation.module else operation.name
        inputs = self._observe_inputs(running, operation.taken, operation.name, operation.module, phase)
        if operation.is_view and inputs:
            for value in operation.given:
                running.made[value] = inputs[0]
            return
        numbers: list[int | None] = []
        for slot, value in enumerate(operation.given):
            number = self._observe(
                phase,
                f"{name}:{slot}" if slot else name,
                value,
                module=operation.module,
                op_type=operation.name,
                slot=slot,
                inputs=tuple(inputs),
                lines=operation.lines,
            )
            numbers.append(number)
            if number is not None:
                running.made[value] = number
        if self.on_operation is not None:
            with self._measuring():
                self.on_operation(operation, numbers)

    # --- measuring -------------------------------------------------------------------------------------------------

    def _observe(
        self,
        phase: str,
        name: str,
        value: torch.Tensor,
        *,
        module: str = "",
        op_type: str = "",
        slot: int = 0,
        inputs: tuple[int, ...] = (),
        stack: int | None = None,
        lines: Lines | None = None,
        may_be_dropped: bool = False,
    ) -> int | None:
        """Measure a value; return the number of its tensor."""
        if name not in self._chosen or not is_measurable(value):
            return None

        def describe() -> Any:
            found = lines
            if found is None:
                found = self.recorder.catalog.stack(sys._getframe(3)) if phase == "forward" else ()
            return (
                described(
                    name,
                    phase,
                    module=module,
                    op_type=op_type,
                    slot=slot,
                    dtype=dtype_name(value.dtype),
                    shape=value.shape,
                    device=str(value.device),
                    inputs=inputs,
                    stack=stack,
                ),
                found,
            )

        with self._turn, self._measuring(), torch.no_grad():
            running = self._running
            if running is None:
                return None
            place = (phase, name, lines)
            running.counts[place] += 1
            number = self.recorder.number((place, running.counts[place]), describe)
            if number is None:
                return None
            running.batch.add(value)
            running.numbers.append(number)
            running.places.append(place)
            if self._settings.tensors != "health" and self._is_recorded(self._step):
                name = self.recorder.catalog.tensors[number].name
                elements = stored(value)
                # A value that is too large is not copied first.
                if self._settings.tensors != "full" or self._is_kept(name, elements.nbytes):
                    found = phase, name, elements.to("cpu", copy=True)
                    if may_be_dropped:
                        running.held[len(running.numbers) - 1] = found
                    else:
                        self._write_value(*found)
        return number

    # --- the optimizer ---------------------------------------------------------------------------------------------

    def _is_ours(self, optimizer: torch.optim.Optimizer) -> bool:
        known = self.optimizer
        if known is None:
            # There is none yet, or it is gone, as in a program that makes a new one for a second part.
            held = (id(p) for group in optimizer.param_groups for p in group["params"])
            if not any(number in self._all_parameters for number in held):
                return False
            self._optimizer = weakref.ref(optimizer)
            return True
        return known is optimizer

    def _before_update(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> Any:
        if not self._is_ours(optimizer) or self._nesting.begins(optimizer):
            return None
        running = self._running
        if running is None:
            return None
        name = type(optimizer).__name__
        self._before = {}
        closure = kwargs.get("closure", args[1] if len(args) > 1 else None)
        if not callable(closure):
            self._observe_gradients(name)
            return None
        watched = self._watched_closure(running, name, closure)
        if "closure" in kwargs:
            return args, {**kwargs, "closure": watched}
        return (args[0], watched, *args[2:]), kwargs

    def _watched_closure(self, running: Step, optimizer: str, closure: Callable[..., Any]) -> Callable[..., Any]:
        """Return a closure after which gradients are observed; the optimizer may call it several times."""
        # It may change parameters before it calls the closure.
        self._copy_parameters(self._parameters)
        self._observe_parameters(running)
        is_called = False
        seen = range(0)

        @wraps(closure)
        def watched(*args: Any, **kwargs: Any) -> Any:
            nonlocal is_called, seen
            if not is_called:
                is_called = True
                self._drop_equal_copies()
            self._in_update = ""
            result = closure(*args, **kwargs)
            if self._running is running:
                with self._turn:
                    running.drop(seen)
                    first = len(running.numbers)
                    self._observe_gradients(optimizer, may_be_dropped=True)
                    seen = range(first, len(running.numbers))
            return result

        return watched

    def _copy_parameters(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Copy those of the parameters that are trained, and were not copied before in the optimizer's step."""
        if self._options.updates:
            with self._measuring():
                for parameter in parameters:
                    if parameter.requires_grad and not is_lazy(parameter) and parameter not in self._before:
                        self._before[parameter] = parameter.detach().clone()

    def _drop_equal_copies(self) -> None:
        """Drop copies that can be made again later, so that they do not lie beside the activations of a closure."""
        with self._measuring():
            self._before = {p: old for p, old in self._before.items() if not (is_measurable(p) and _is_equal(p, old))}

    def _observe_gradients(self, optimizer: str, *, may_be_dropped: bool = False) -> None:
        """Observe gradients of parameters before the named optimizer uses them."""
        running = self._running
        if running is None:
            return
        self._observe_parameters(running)
        if self._options.gradients:
            for parameter, name in self._parameters.items():
                if parameter.grad is not None:
                    number = self._observe("backward", name, parameter.grad, may_be_dropped=may_be_dropped)
                    if number is not None and running.made.get(parameter.grad) is None:
                        running.made[parameter.grad] = number
        self._copy_parameters(parameter for parameter in self._parameters if parameter.grad is not None)
        self._in_update = optimizer

    def _after_update(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        if not self._is_ours(optimizer) or self._nesting.ends(optimizer):
            return
        if self._running is not None:
            self._observe_updates()
            if self._options.optimizer_state:
                self._observe_state(optimizer)
        if not self._counts_steps and not self._is_caught:
            self.end()

    def _observe_updates(self) -> None:
        """Observe what was added to parameters."""
        self._in_update = ""
        before, self._before = self._before, {}
        for parameter, old in before.items():
            with self._measuring():
                update = parameter.detach() - old
            self._observe("update", self._parameters[parameter], update)

    @contextmanager
    def _measuring(self) -> Iterator[None]:
        was_on, self._measures.is_on = self._measures.is_on, True
        try:
            yield
        finally:
            self._measures.is_on = was_on

    def _observe_state(self, optimizer: torch.optim.Optimizer) -> None:
        for parameter, state in optimizer.state.items():
            name = self._parameters.get(parameter)
            if name is None:
                continue
            for key, value in state.items():
                if isinstance(value, torch.Tensor) and (value.numel() > 1 or value.shape == parameter.shape):
                    self._observe("update", f"{name}/{key}", value)


def _is_equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    return bool(torch.allclose(stored(one), stored(other), rtol=0, atol=0, equal_nan=True))
