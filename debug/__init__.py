"""Watch the tensors of a training: which went bad first, where it was made, and what it looked like.

from stepscope import debug
with debug.watch(model, "runs/first", every=10):
    train()
"""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from stepscope.debug.catching import Caught, CaughtError, Then
from stepscope.debug.films import film, record_images
from stepscope.debug.health import health
from stepscope.debug.recorder import DEFAULT_BUDGET, AlertError, Reaction
from stepscope.debug.rules import ALL, Rule, judge
from stepscope.debug.showing import end_step, show
from stepscope.debug.verdict import Verdict, first_bad
from stepscope.debug.watcher import Detail, Names, Settings, Watcher
from stepscope.summary.writer import SummaryWriter

if TYPE_CHECKING:
    import torch

    from stepscope.debug.torch_watch import Compiled

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
    model: "torch.nn.Module",
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
    first_step: int = 0,
    budget: int = DEFAULT_BUDGET,
    every_file: bool = False,
) -> Watcher:
    """Watch a model while it is trained, until the context is left or `Watcher.close` is called.

    Args:
        model: of PyTorch.
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
        first_step: the number of the first step, for a training that was resumed.
        budget: bytes of figures that the file may get; the longer a training takes, the more rarely steps are written.
        every_file: whether stacks and sources have files of libraries too, not only those of the program.

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
    )
    if not _is_torch_module(model):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    import torch

    from stepscope.debug.torch_catch import TorchTraining
    from stepscope.debug.torch_watch import TorchOptions, TorchWatcher

    options = TorchOptions(
        optimizer=optimizer,
        gradients=gradients,
        updates=updates,
        optimizer_state=optimizer_state,
        operations=operations,
        evaluation=evaluation,
        compiled=compiled,
    )
    recorder, owns_writer = settings.recorder(where, f"stepscope.debug, PyTorch {torch.__version__}, {tensors}")
    watcher = TorchWatcher(model, recorder, settings, options, owns_writer=owns_writer)
    watcher.repeatable = lambda: TorchTraining(watcher)
    return watcher


def catch(function: Callable[..., Any], watcher: Watcher, *, then: Then = "raise", save: bool = True) -> Caught:
    """Return a step function that is run again in full detail when it fails, to say which operation is to blame.

        step = debug.catch(train_step, watcher)
        for batch in batches:
            loss = step(batch)

    A step fails if what it returns is not finite, or the parameters after it, or if it raises something. What it
    changed is put back then: parameters, buffers, gradients, the optimizer's state, random numbers. It is run again
    with every operation observed, which is written into the run, and put back once more.

    Args:
        function: does one whole step; all that it depends on besides the model and the optimizer are its arguments.
        watcher: of `watch`.
        then: "raise" raises `CaughtError`, which has the verdict; "skip" returns None and leaves the step out.
        save: whether the first bad value and its inputs are written, into the run and as ``.npy`` files in the run's
            folder ``caught``.

    Raises:
        ValueError: ``then`` is not one of these.
        TypeError: the watcher's steps cannot be run again.
    """
    if then not in ("raise", "skip"):
        raise ValueError(f'then must be "raise" or "skip", got {then!r}')
    if watcher.repeatable is None:
        raise TypeError(f"a {type(watcher).__name__} cannot run steps again")
    return Caught(function, watcher.repeatable(), then, save=save)


def _is_torch_module(model: Any) -> bool:
    return any(kind.__module__ == "torch.nn.modules.module" for kind in type(model).__mro__)
