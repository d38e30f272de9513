"""Which steps of a training are recorded, in the manner of ``torch.profiler.schedule``."""

from collections.abc import Callable
from enum import Enum
from typing import Protocol, TypeAlias


class ProfilerAction(Enum):
    """What a profile does during a step."""

    NONE = 0
    WARMUP = 1
    """Collectors run, and what they record is thrown away: their own start shall not be in the recording."""
    RECORD = 2
    RECORD_AND_SAVE = 3
    """The last recorded step: with its end, the recording is written."""


class _NamedAction(Protocol):
    """An action of ours, or of the same name as PyTorch has it."""

    @property
    def name(self) -> str: ...


Schedule: TypeAlias = Callable[[int], _NamedAction]
"""What to do in a step, which is counted from 0; those of ``torch.profiler.schedule`` are taken too."""


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Schedule:
    """Return a schedule that, again and again, waits, warms up and records.

    Args:
        wait: steps of a cycle that nothing is done in.
        warmup: steps of a cycle whose records are thrown away.
        active: steps of a cycle that are recorded, at least one.
        repeat: how many cycles; 0 for as many as there are.
        skip_first: steps before the first cycle.
        skip_first_wait: 1 for a first cycle that does not wait.

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
    """Return the schedule of a profile that has no other: everything is recorded, and written at the end."""
    return ProfilerAction.RECORD


def checked_action(action: _NamedAction) -> ProfilerAction:
    """Return the action of this name.

    Raises:
        TypeError: there is none.
    """
    try:
        return ProfilerAction[action.name]
    except (AttributeError, KeyError):
        names = ", ".join(each.name for each in ProfilerAction)
        raise TypeError(f"a schedule must return a ProfilerAction ({names}), got {action!r}") from None
