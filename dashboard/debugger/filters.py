"""Filters for the observations of a recording: by tensor, by step, and by whether they are bad."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.debugger.model import Observations, WatchedTensor
from stepscope.summary.safe_regex import Pattern


@dataclass(frozen=True)
class TensorFilter:
    """Conditions on a tensor."""

    text: str = ""
    """A regular expression to search for in its name, its operation and its module."""
    phase: str = ""
    module: str = ""
    """Its module, or one that contains its module."""
    operation: str = ""

    @property
    def all(self) -> bool:
        return not (self.text or self.phase or self.module or self.operation)


@dataclass(frozen=True)
class ObservationFilter:
    """Conditions on an observation."""

    of: TensorFilter = TensorFilter()
    tensor: int | None = None
    first_step: int | None = None
    last_step: int | None = None
    bad: bool = False
    device: str = ""
    """The device that its value was on."""

    @property
    def all(self) -> bool:
        return self == ObservationFilter()


def passing(tensors: Sequence[WatchedTensor], wanted: TensorFilter) -> NDArray[np.bool_]:
    """Return which tensors pass.

    Raises:
        PatternError: the text is not a regular expression, or takes too long to search with.
    """
    passes = np.ones(len(tensors), np.bool_)
    if wanted.phase:
        passes &= np.array([tensor.phase == wanted.phase for tensor in tensors], np.bool_)
    if wanted.operation:
        passes &= np.array([tensor.op_type == wanted.operation for tensor in tensors], np.bool_)
    if wanted.module:
        inside = wanted.module + "."
        passes &= np.array(
            [tensor.module == wanted.module or tensor.module.startswith(inside) for tensor in tensors], np.bool_
        )
    if wanted.text:
        pattern = Pattern(wanted.text)
        passes &= np.array(pattern.matches([words_of(tensor) for tensor in tensors]), np.bool_)
    return passes


def words_of(tensor: WatchedTensor) -> str:
    """Return the text that is searched."""
    return f"{tensor.name}\n{tensor.op_type}\n{tensor.module}"


def matching(
    observed: Observations, wanted: ObservationFilter, passes: NDArray[np.bool_], devices: Sequence[str] = ()
) -> NDArray[np.bool_]:
    """Return which of some observations pass.

    Args:
        observed: the observations.
        wanted: the conditions.
        passes: which tensors pass.
        devices: names of the devices, for data that has them.
    """
    found: NDArray[np.bool_] = passes[observed.tensors]
    if wanted.tensor is not None:
        found = found & (observed.tensors == wanted.tensor)
    if wanted.first_step is not None:
        found = found & (observed.steps >= wanted.first_step)
    if wanted.last_step is not None:
        found = found & (observed.steps <= wanted.last_step)
    if wanted.bad:
        found = found & observed.bad
    if wanted.device:
        place = devices.index(wanted.device) if wanted.device in devices else -1
        found = found & (np.zeros(len(observed), np.bool_) if observed.devices is None else observed.devices == place)
    return found
