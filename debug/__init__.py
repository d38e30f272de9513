"""Watch the tensors of a training: which went bad first, where it was made, and what it looked like.

from stepscope import debug
with debug.watch(model, "runs/first", every=10):
    train()
"""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from stepscope.debug.catching import Caught, CaughtError, Then
from stepscope.debug.films import film, record_images
from stepscope.debug.health import health
from stepscope.debug.off import OffWatcher
from stepscope.debug.recorder import DEFAULT_BUDGET, AlertError, Reaction
from stepscope.debug.rules import ALL, Rule, judge
from stepscope.debug.showing import end_step, show
from stepscope.debug.verdict import Verdict, first_bad
from stepscope.debug.watcher import Detail, Names, Settings, Watcher
from stepscope.summary.writer import SummaryWriter

if TYPE_CHECKING:
    import torch

    from stepscope.debug.torch_step import Compiled

__all__ = [
    "AlertError",
    "CaughtError",
    "Verdict",
    "Watcher",
    "catch",
    "end_step",
    "film",
    "first_bad",
    "health",
    "judge",
    "record_images",
    "show",
    "watch",
]


def watch(
    model: Any,
    where: str | os.PathLike[str] | SummaryWriter,
    *,
    every: int = 10,
    tensors: Detail = "health",
    include: Names = None,
    exclude: Names = None,
    rules: Iterable[Rule | str] = ALL,
    on_alert: Reaction | Sequence[Reaction] = "log",
    ring: int = 0,
    optimizer: "torch.optim.Optimizer | None" = None,
    gradients: bool = True,
    updates: bool = True,
    optimizer_state: bool = False,
    operations: bool = False,
    evaluation: bool = False,
    compiled: "Compiled" = "outside",
    framework: Literal["jax", "numpy"] | None = None,
    first_step: int = 0,
    budget: int = DEFAULT_BUDGET,
    every_file: bool = False,
    also_tfdbg: bool = False,
    enabled: bool = True,
) -> Watcher:
    """Watch a model while it is trained, until the context is left or `Watcher.close` is called.

    Args:
        model: a `torch.nn.Module`; a `keras.Model`, on PyTorch, JAX or TensorFlow; or a function that does a step, of
            arrays of JAX or NumPy, which is then called through the watcher.
        where: the run's folder, or the run's writer, which then stays open.
        every: a step in so many is recorded.
        tensors: "health" writes figures of each value, "histogram" a histogram too, "full" the value itself too.
        include: names of modules and parameters, each with all below it, or compiled regular expressions; all if
            absent.
        exclude: which of these are left out.
        rules: what is looked for (`stepscope.debug.rules`), by name or as such.
        on_alert: "log" writes a line to the logger "stepscope.debug"; "stop" sets `Watcher.should_stop`; "raise" raises
            `AlertError`; a function is called with the `Alert`. Several in a list.
        ring: this many of the last steps are kept in memory, whether recorded or not, and written when a rule is
            broken, an exception leaves the context, or `Watcher.dump` is called. Then every step is measured.
        optimizer: the one whose steps count; by default the first that holds parameters of the model.
        gradients: whether gradients of outputs and of parameters are watched.
        updates: whether what is added to parameters is watched, for which they are copied in recorded steps.
        optimizer_state: whether the optimizer's state is watched, such as Adam's averages.
        operations: whether every single operation is watched, not only modules; many times slower, in recorded steps.
        evaluation: whether the model is also watched where it is in evaluation mode without gradients.
        compiled: of what `torch.compile` compiled, "outside" watches what goes in and comes out; "eager" runs steps
            that are recorded without it. With ``operations`` these run without it too.
        framework: whose arrays a step function takes; JAX's if the program imported it, unless given.
        first_step: the number of the first step, for a training that was resumed.
        budget: bytes of figures that the file may get; the longer a training takes, the more rarely steps are written.
        every_file: whether stacks and sources have files of libraries too, not only those of the program.
        also_tfdbg: whether a dump as of TensorFlow's debugger is written too, into the run's folder ``tfdbg``, which
            TensorBoard's Debugger opens. It is not bounded by ``budget``.
        enabled: False leaves the model alone and writes nothing, for programs in which it is a switch.

    Raises:
        TypeError, ValueError: an argument is not what it must be.
        OSError: the run's folder cannot be written to.
    """
    settings = Settings(
        every=every,
        tensors=tensors,
        include=include,
        exclude=exclude,
        rules=rules,
        on_alert=on_alert,
        ring=ring,
        first_step=first_step,
        budget=budget,
        every_file=every_file,
        also_tfdbg=also_tfdbg,
    )
    if not enabled:
        return OffWatcher(model)
    options: dict[str, Any] = {
        "optimizer": optimizer,
        "gradients": gradients,
        "updates": updates,
        "optimizer_state": optimizer_state,
        "operations": operations,
        "evaluation": evaluation,
        "compiled": compiled,
    }
    if _is_a(model, "keras", "Model"):
        import keras  # type: ignore[import-untyped]

        from stepscope.debug.keras_watch import watch_keras

        source = f"stepscope.debug, Keras {keras.__version__} on {keras.backend.backend()}, {tensors}"
        with settings.recorder(where, source) as (recorder, owns_writer):
            return watch_keras(model, settings, recorder, owns_writer=owns_writer, options=options)
    if not _is_a(model, "torch.nn.modules.module", "Module"):
        return _watch_function(model, where, settings, framework)
    import torch

    from stepscope.debug.torch_catch import TorchTraining
    from stepscope.debug.torch_state import referenced
    from stepscope.debug.torch_step import TorchOptions
    from stepscope.debug.torch_watch import TorchWatcher

    own = TorchOptions(**options)
    source = f"stepscope.debug, PyTorch {torch.__version__}, {tensors}"
    with settings.recorder(where, source) as (recorder, owns_writer):
        watcher = TorchWatcher(model, recorder, settings, own, owns_writer=owns_writer)
    watcher.repeatable = lambda function, also: TorchTraining(watcher, (*also, *referenced(function)))
    return watcher


def catch(
    function: Callable[..., Any], watcher: Watcher, *, then: Then = "raise", save: bool = True, also: Sequence[Any] = ()
) -> Caught:
    """Return a step function that is run again in full detail when it fails, to say which operation is to blame.

        step = debug.catch(train_step, watcher)
        for batch in batches:
            loss = step(batch)

    A step fails if what it returns is not finite, or the parameters after it, or if it raises something. What it
    changed is put back then: parameters, buffers, gradients, random numbers, and the optimizers, schedules of learning
    rates and `GradScaler` of PyTorch that the function knows by a variable or as an attribute of its object. It is run
    again with every operation observed, which is written into the run, and put back once more. What is read from a
    data iterator inside of the step cannot be put back: give the batch as an argument.

    Args:
        function: does one whole step; all that it depends on besides the model and the optimizer are its arguments.
        watcher: of `watch`.
        then: "raise" raises `CaughtError`, which has the verdict; "skip" returns None and leaves the step out.
        save: whether the first bad value and its inputs are written, into the run and as ``.npy`` files in the run's
            folder ``caught``.
        also: what else of PyTorch is put back: objects with ``state_dict`` and ``load_state_dict``.

    Raises:
        ValueError: ``then`` is not one of these, or ``also`` is given for another framework.
        TypeError: one of ``also`` cannot be put back.
    """
    if then not in ("raise", "skip"):
        raise ValueError(f'then must be "raise" or "skip", got {then!r}')
    for each in also:
        if not (hasattr(each, "state_dict") and hasattr(each, "load_state_dict")):
            raise TypeError(f"also must have objects with state_dict and load_state_dict, got {type(each).__name__}")
    repeatable = None if watcher.repeatable is None else watcher.repeatable(function, also)
    return Caught(function, repeatable, then, save=save)


def _watch_function(
    function: Any, where: str | os.PathLike[str] | SummaryWriter, settings: Settings, framework: str | None
) -> Watcher:
    """Return the watcher of a step function."""
    if not callable(function):
        raise TypeError(
            "model must be a torch.nn.Module, a Keras model or a step function of JAX or NumPy, got"
            f" {type(function).__name__}"
        )
    from stepscope.debug.function_watch import FunctionTraining, FunctionWatcher

    watcher: FunctionWatcher
    if framework not in (None, "jax", "numpy"):
        raise ValueError(f'framework must be "jax" or "numpy", got {framework!r}')
    if framework == "jax" or (framework is None and "jax" in sys.modules):
        import jax

        from stepscope.debug.jax_watch import JaxWatcher

        source = f"stepscope.debug, JAX {jax.__version__}, {settings.tensors}"
        with settings.recorder(where, source) as (recorder, owns_writer):
            watcher = JaxWatcher(function, recorder, settings, owns_writer=owns_writer)
    else:
        from stepscope.debug.numpy_watch import NumpyWatcher

        source = f"stepscope.debug, NumPy {np.__version__}, {settings.tensors}"
        with settings.recorder(where, source) as (recorder, owns_writer):
            watcher = NumpyWatcher(function, recorder, settings, owns_writer=owns_writer)
    watcher.repeatable = lambda function, also: FunctionTraining(watcher, also)
    return watcher


def _is_a(model: Any, module: str, name: str) -> bool:
    """Return whether a class or one of its bases is of that name, in a module or below it, without importing it."""
    return any(
        kind.__name__ == name and (kind.__module__ == module or kind.__module__.startswith(f"{module}."))
        for kind in type(model).__mro__
    )
