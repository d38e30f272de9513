"""Watch the tensors of a training run: which went bad first, where it was made, and what it looked like.

For example:

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
    """Watch a model during training, until the context is left or `Watcher.close` is called.

    Args:
        model: a `torch.nn.Module`; a `keras.Model`, on PyTorch, JAX or TensorFlow; or a function that performs one step
            on JAX or NumPy arrays, which is then called through the watcher.
        where: the run's folder, or the run's writer, which then stays open.
        every: record every N-th step.
        tensors: "health" writes statistics of each value, "histogram" adds a histogram, "full" adds the value itself.
        include: names of modules and parameters, each with everything below it, or compiled regular expressions; all by
            default.
        exclude: which of these to leave out.
        rules: the rules to check (`stepscope.debug.rules`), by name or as objects.
        on_alert: "log" writes a line to the logger "stepscope.debug"; "stop" sets `Watcher.should_stop`; "raise" raises
            `AlertError`; a function is called with the `Alert`. Pass a list for several.
        ring: number of last steps to keep in memory, whether recorded or not; they are written when a rule is broken,
            an exception leaves the context, or `Watcher.dump` is called. Every step is then measured.
        optimizer: the optimizer whose steps count; by default the first that holds parameters of the model.
        gradients: whether to watch gradients of outputs and of parameters.
        updates: whether to watch what is added to parameters, for which they are copied in recorded steps.
        optimizer_state: whether to watch the optimizer's state, such as Adam's averages.
        operations: whether to watch every single operation, not only modules; many times slower, in recorded steps.
        evaluation: whether to watch the model also in evaluation mode without gradients.
        compiled: for code compiled by `torch.compile`, "outside" watches its inputs and outputs; "eager" runs recorded
            steps uncompiled. With ``operations``, these run uncompiled too.
        framework: whose arrays a step function takes; by default JAX's if the program imported it.
        first_step: the number of the first step, for resumed training.
        budget: maximum number of bytes of statistics in the file; the longer the training, the less often steps are
            written.
        every_file: whether stacks and sources include files of libraries, not only those of the program.
        also_tfdbg: whether to also write a dump in the format of TensorFlow's debugger, into the run's folder
            ``tfdbg``, which TensorBoard's Debugger opens. It is not limited by ``budget``.
        enabled: False leaves the model alone and writes nothing, so that a flag of the program can turn watching off.

    Raises:
        TypeError, ValueError: an argument is invalid.
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
    """Return a step function that is run again in full detail when it fails, to find the operation to blame.

        step = debug.catch(train_step, watcher)
        for batch in batches:
            loss = step(batch)

    A step fails if its result, or the parameters after it, are not finite, or if it raises an exception. Its changes
    are then undone: parameters, buffers, gradients, random numbers, and PyTorch's optimizers, learning rate schedulers
    and `GradScaler` that the function refers to by a variable or as an attribute of its object. It is run again with
    every operation observed and written into the run, and its changes are undone once more. Reading from a data
    iterator inside the step cannot be undone: pass the batch as an argument.

    Args:
        function: performs one whole step; besides the model and the optimizer, it depends only on its arguments.
        watcher: returned by `watch`.
        then: "raise" raises `CaughtError`, which has the verdict; "skip" returns None and skips the step.
        save: whether to write the first bad value and its inputs, into the run and as ``.npy`` files in the run's
            folder ``caught``.
        also: other PyTorch objects to restore: those with ``state_dict`` and ``load_state_dict``.

    Raises:
        ValueError: ``then`` is not one of these, or ``also`` is given for another framework.
        TypeError: one of ``also`` cannot be restored.
    """
    if then not in ("raise", "skip"):
        raise ValueError(f'`then` must be "raise" or "skip", got {then!r}')
    for each in also:
        if not (hasattr(each, "state_dict") and hasattr(each, "load_state_dict")):
            raise TypeError(
                f"`also` must contain objects with state_dict and load_state_dict, got {type(each).__name__}"
            )
    repeatable = None if watcher.repeatable is None else watcher.repeatable(function, also)
    return Caught(function, repeatable, then, save=save)


def _watch_function(
    function: Any, where: str | os.PathLike[str] | SummaryWriter, settings: Settings, framework: str | None
) -> Watcher:
    """Return the watcher for a step function."""
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
    """Return whether a class or one of its bases has this name, in a module or below it, without importing it."""
    return any(
        kind.__name__ == name and (kind.__module__ == module or kind.__module__.startswith(f"{module}."))
        for kind in type(model).__mro__
    )
