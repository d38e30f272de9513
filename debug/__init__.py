"""Watch the tensors of a training: which went bad first, where it was made, and what it looked like.

from stepscope import debug
with debug.watch(model, "runs/first", every=10):
    train()
"""

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from stepscope.debug.health import health
from stepscope.debug.recorder import DEFAULT_BUDGET, AlertError, Reaction
from stepscope.debug.rules import ALL, Rule, judge
from stepscope.debug.verdict import Verdict, first_bad
from stepscope.debug.watcher import Detail, Names, Settings, Watcher
from stepscope.summary.writer import SummaryWriter

if TYPE_CHECKING:
    import torch

__all__ = ["AlertError", "Verdict", "Watcher", "first_bad", "health", "judge", "watch"]


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

    from stepscope.debug.torch_watch import TorchWatcher

    recorder, owns_writer = settings.recorder(where, f"stepscope.debug, PyTorch {torch.__version__}, {tensors}")
    return TorchWatcher(
        model,
        recorder,
        settings,
        owns_writer=owns_writer,
        optimizer=optimizer,
        gradients=gradients,
        updates=updates,
        optimizer_state=optimizer_state,
        operations=operations,
        evaluation=evaluation,
    )


def _is_torch_module(model: Any) -> bool:
    return any(kind.__module__ == "torch.nn.modules.module" for kind in type(model).__mro__)
