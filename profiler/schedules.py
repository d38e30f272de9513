"""Which steps of a training run are recorded, modeled on ``torch.profiler.schedule``."""

from collections.abc import Callable
from enum import Enum
from typing import Protocol, TypeAlias


class ProfilerAction(Enum):
    """What a profile does during a step."""

    NONE = 0
    WARMUP = 1
    """Collectors run, but their records are discarded, so that their own startup is not in the recording."""
    RECORD = 2
    RECORD_AND_SAVE = 3
    """The last recorded step: when it ends, the recording is written."""


class _NamedAction(Protocol):
    """A `ProfilerAction`, or PyTorch's action of the same name."""

    @property
    def name(self) -> str: ...


Schedule: TypeAlias = Callable[[int], _NamedAction]
"""Returns what to do in a step, counted from 0; schedules made by ``torch.profiler.schedule`` are accepted too."""


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Schedule:
    """Return a schedule that repeatedly waits, warms up and records.

    Args:
        wait: steps of each cycle in which nothing is done.
        warmup: steps of each cycle whose records are discarded.
        active: steps of each cycle that are recorded, at least one.
        repeat: number of cycles; 0 for no limit.
        skip_first: steps before the first cycle.
        skip_first_wait: 1 if the first cycle does not wait.

    Raises:
        ValueError: a number is negative, or nothing would ever be recorded.
    """
    for name, steps in {"wait": wait, "warmup": warmup, "repeat": repeat, "skip_first": skip_first}.items():
        if steps < 0:
            raise ValueError(f"{name} must be a number of steps, 0 or more, got {steps}")
    if active < 1:
        raise ValueError(f"active must be a number of steps, 1 or more, got {active}")
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        number, place = divmod(step - skip_first + (wait if skip_first_wait else 0), cycle)
        if step < skip_first or (repeat and number >= repeat) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if place == cycle - 1 else ProfilerAction.RECORD

    return action


def record_all(step: int) -> ProfilerAction:
    """Return the action of the default schedule: everything is recorded, and written at the end."""
    return ProfilerAction.RECORD


def checked_action(action: _NamedAction) -> ProfilerAction:
    """Return the `ProfilerAction` of the same name.

    Raises:
        TypeError: there is none.
    """
    try:
        return ProfilerAction[action.name]
    except (AttributeError, KeyError):
        names = ", ".join(each.name for each in ProfilerAction)
        raise TypeError(f"a schedule must return a ProfilerAction ({names}), got {action!r}") from None
