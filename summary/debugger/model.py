"""A common model of tensors observed in training.

Dumps of TensorFlow's debugger (``tfdbg_events.*``) and recordings of `stepscope.debug` are both read as `DebugData`, so
that the rules, the command and the page need only one form. A *tensor* here is a place where values appear repeatedly:
a slot of an operation in a module, a parameter, its gradient. The measurement of one of its values is an *observation*.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal, Protocol, get_args, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Figure = Literal[
    "size",
    "nan",
    "positive_infinity",
    "negative_infinity",
    "zeros",
    "negatives",
    "minimum",
    "maximum",
    "mean",
    "variance",
    "l2",
    "absolute_mean",
    "underflow",
    "overflow",
]
"""A measurement of a value. Counts are numbers of elements. Minimum to absolute mean cover only the finite elements, so
that they stay informative when others are not finite; variance is divided by their number. Underflow and overflow are
shares (0 to 1) of the elements: those that are subnormal in the value's own type, and those within a factor of two of
the type's largest number or beyond it."""
FIGURES: Final[tuple[Figure, ...]] = get_args(Figure)
"""The columns of `Observations.figures`."""
COLUMN: Final = {figure: column for column, figure in enumerate(FIGURES)}
"""The column of each figure in `FIGURES`."""

Phase = Literal["forward", "backward", "update", "parameter", "shown", "eager", "graph"]
"""Where in a step a value was made; "shown" marks values passed to `stepscope.debug.show`. The last two come from
TensorFlow: an operation that Python called, and a graph operation."""


@dataclass(frozen=True)
class Frame:
    """A line of code in the call stack of an operation."""

    path: str
    line: int
    """The line number, starting at 1."""
    function: str
    code: str = ""
    """The text of the line, if it was kept."""
    host: str = ""


@dataclass(frozen=True)
class SourceFile:
    """A source file as it was when the recording was made. It is never read from the viewer's disk."""

    path: str
    lines: tuple[str, ...]
    host: str = ""


@dataclass(frozen=True)
class WatchedTensor:
    """A tensor whose values were observed: an output of an operation, a parameter, a gradient."""

    name: str
    """The name of the tensor; no other tensor of the run has the same name and phase."""
    phase: Phase
    module: str = ""
    """The path of the module, such as "layers.3.attention"; for TensorFlow, the graph's name."""
    op_type: str = ""
    """The operation, such as "aten.log" or "MatMul"."""
    slot: int = 0
    """The index of the operation's output."""
    dtype: str = ""
    """The NumPy name of the type, or a name such as "bfloat16"; empty if unknown."""
    shape: tuple[int, ...] | None = None
    """The shape of the first value; None if unknown."""
    stack: int | None = None
    """The number of the stack that made it, for `DebugData.stack`."""
    inputs: tuple[int, ...] = ()
    """The numbers of the operation's input tensors, as far as they are watched; for "eager" operations, those of the
    first call."""
    graph_id: str = ""
    """TensorFlow's identifier of the graph that contains the tensor."""
    device: str = ""
    """The device of the first value, such as "cuda:0"; empty if unknown. See also `Observations.devices`."""


@dataclass(frozen=True)
class Observations:
    """Observations in the order in which they were made, as parallel columns."""

    tensors: NDArray[np.int32]
    """The tensor number of each observation."""
    steps: NDArray[np.int64]
    """The training step; if unknown (TensorFlow dumps), the number of earlier observations of the same tensor."""
    wall_times: NDArray[np.float64]
    """Seconds since the epoch."""
    figures: NDArray[np.float64]
    """[n, len(FIGURES)]; NaN where a figure was not measured."""
    marked: NDArray[np.bool_] | None = None
    """Whether the value is known to have a nonfinite element, where this may be known without the number and kind of
    such elements, as with TensorFlow's CURT_HEALTH. None where the figures show everything."""
    devices: NDArray[np.int32] | None = None
    """The device of each value, as an index into `DevicesData.devices`; None if no device is known."""

    @classmethod
    def none(cls) -> "Observations":
        """Return no observations."""
        empty = np.empty(0)
        return cls(empty.astype(np.int32), empty.astype(np.int64), empty, np.empty((0, len(FIGURES))))

    def __len__(self) -> int:
        return len(self.tensors)

    def figure(self, figure: Figure) -> NDArray[np.float64]:
        """Return one figure of each observation."""
        column: NDArray[np.float64] = self.figures[:, COLUMN[figure]]
        return column

    @cached_property
    def bad(self) -> NDArray[np.bool_]:
        """Whether each value had a nonfinite element."""
        counts = self.figures[:, [COLUMN["nan"], COLUMN["positive_infinity"], COLUMN["negative_infinity"]]]
        found: NDArray[np.bool_] = np.any(np.nan_to_num(counts) > 0, axis=1)
        return found if self.marked is None else found | self.marked


@dataclass(frozen=True)
class Alert:
    """A problem found by a rule."""

    rule: str
    """The rule's name, such as "not_finite"."""
    step: int
    tensor: int | None
    """The number of the tensor; None if the alert concerns a scalar or the whole run."""
    message: str
    """One sentence that states what was found and what was expected."""
    observation: int | None = None
    """The number of the observation, if the alert concerns one."""
    wall_time: float = float("nan")
    figures: dict[str, float] = field(default_factory=dict)
    """The figures on which the rule based its decision."""


class DebugData(Protocol):
    """The contents of one run's recording or dump at one moment; immutable, and read piece by piece."""

    @property
    def source(self) -> str:
        """A description of the program that wrote it, such as "TensorFlow 2.21 debugger, FULL_HEALTH"."""
        ...

    @property
    def tensors(self) -> Sequence[WatchedTensor]:
        """All tensors, in the order of their first observation; a tensor's number is its index here."""
        ...

    @property
    def observation_count(self) -> int:
        """The number of observations."""
        ...

    def observations(self, begin: int, end: int) -> Observations:
        """Return a range of observations, in order.

        Raises:
            OSError: the files cannot be read.
        """
        ...

    def value(self, number: int) -> NDArray[np.generic] | None:
        """Return the observed value itself; None if it was not kept.

        Raises:
            PayloadError: the value is damaged.
        """
        ...

    def stack(self, number: int) -> Sequence[Frame]:
        """Return a stack, outermost call first; empty if it was not kept."""
        ...

    @property
    def sources(self) -> Sequence[SourceFile]:
        """The source files that were kept."""
        ...

    @property
    def alerts(self) -> Sequence[Alert]:
        """The findings of the recorder's rules while it recorded; TensorFlow dumps have none of their own."""
        ...

    @property
    def problems(self) -> Sequence[str]:
        """Missing or damaged content, one sentence each."""
        ...


@runtime_checkable
class DevicesData(Protocol):
    """Data that includes the device of each value."""

    @property
    def devices(self) -> Sequence[str]:
        """The device names, each once; "" for an unknown device."""
        ...


@runtime_checkable
class LinkedData(Protocol):
    """Data that includes the values from which each individual value was made."""

    def made_of(self, number: int) -> Sequence[int | None] | None:
        """Return the observations taken by the operation that made one, with None for each value not observed.

        Return None if only `WatchedTensor.inputs` is known.
        """
        ...

    def made_into(self, number: int) -> Sequence[int] | None:
        """Return the observations made by operations that took one; None if only `WatchedTensor.inputs` is known."""
        ...


@runtime_checkable
class NestedData(Protocol):
    """Data in which some values were made by observed inner computations: by a graph function or a module."""

    def first_bad_inside(self, number: int) -> int | None:
        """Return the first nonfinite observation inside the computation that made one; None if there is none."""
        ...
