"""One model of what became of the tensors of a training.

Dumps of TensorFlow's debugger (``tfdbg_events.*``) and recordings of `stepscope.debug` are both read as `DebugData`, so
that rules, the command and the page know one form. A *tensor* here is a place where values come by again and again:
a slot of an operation of a module, a parameter, its gradient. What was measured of one value of it is an *observation*.
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
"""What is measured of a value. Counts are of elements. Minimum to absolute mean are of the finite elements alone, so
that they still tell something where others are not finite; variance is divided by their number. Underflow and overflow
are shares (0 to 1) of the elements: those that are subnormal in the value's own type, and those within a factor of two
of its largest number or beyond it."""
FIGURES: Final[tuple[Figure, ...]] = get_args(Figure)
"""The columns of `Observations.figures`."""
COLUMN: Final = {figure: column for column, figure in enumerate(FIGURES)}
"""Of each figure among them."""

Phase = Literal["forward", "backward", "update", "parameter", "shown", "eager", "graph"]
"""Where in a step a value was made; "shown" is what `stepscope.debug.show` was given. The last two are TensorFlow's: an
operation that Python called, and one of a graph."""


@dataclass(frozen=True)
class Frame:
    """A line of code on the way to an operation."""

    path: str
    line: int
    """From 1."""
    function: str
    code: str = ""
    """The text of the line, where it was kept."""
    host: str = ""


@dataclass(frozen=True)
class SourceFile:
    """A file of code as it was when the recording was made. It is never read from the disk of whoever looks at it."""

    path: str
    lines: tuple[str, ...]
    host: str = ""


@dataclass(frozen=True)
class WatchedTensor:
    """Something whose values were observed: one output of one operation, a parameter, a gradient."""

    name: str
    """What it is called: no other tensor of the run has the same name and phase."""
    phase: Phase
    module: str = ""
    """The path of the module, such as "layers.3.attention"; of TensorFlow, the graph's name."""
    op_type: str = ""
    """The operation, such as "aten.log" or "MatMul"."""
    slot: int = 0
    """Which of the operation's outputs it is."""
    dtype: str = ""
    """As NumPy calls it, or "bfloat16" and the like; empty where it is not known."""
    shape: tuple[int, ...] | None = None
    """Of the first value; None where it is not known."""
    stack: int | None = None
    """The number of the stack that made it, for `DebugData.stack`."""
    inputs: tuple[int, ...] = ()
    """The numbers of the tensors that the operation took, as far as they are watched; of "eager" ones, when it was
    called first."""
    graph_id: str = ""
    """TensorFlow's identifier of the graph that it is in."""
    device: str = ""
    """Where the first value was, such as "cuda:0"; empty where it is not known. See also `Observations.devices`."""


@dataclass(frozen=True)
class Observations:
    """Observations in the order in which they were made, as parallel columns."""

    tensors: NDArray[np.int32]
    """The number of the tensor of each."""
    steps: NDArray[np.int64]
    """The training step; where none is known (TensorFlow's dumps), how often the same tensor had come by before."""
    wall_times: NDArray[np.float64]
    """Seconds since the epoch."""
    figures: NDArray[np.float64]
    """[n, len(FIGURES)]; NaN where a figure was not measured."""
    marked: NDArray[np.bool_] | None = None
    """Whether the value is known to have an element that is not finite, where that may be known without how many and of
    which kind: all that TensorFlow's CURT_HEALTH tells. None where the figures tell all."""
    devices: NDArray[np.int32] | None = None
    """Where each value was, as a place in `DevicesData.devices`; None where that is not known of any."""

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
        """Whether the value had an element that is not finite."""
        counts = self.figures[:, [COLUMN["nan"], COLUMN["positive_infinity"], COLUMN["negative_infinity"]]]
        found: NDArray[np.bool_] = np.any(np.nan_to_num(counts) > 0, axis=1)
        return found if self.marked is None else found | self.marked


@dataclass(frozen=True)
class Alert:
    """Something that went wrong, by a rule."""

    rule: str
    """The rule's name, such as "not_finite"."""
    step: int
    tensor: int | None
    """The number of the tensor; None where it is about a scalar or the whole run."""
    message: str
    """One sentence that says what was found, and what was expected."""
    observation: int | None = None
    """The number of the observation, where it is about one."""
    wall_time: float = float("nan")
    figures: dict[str, float] = field(default_factory=dict)
    """What the rule judged by."""


class DebugData(Protocol):
    """What one run's recording or dump holds at one moment; immutable, and read piece by piece."""

    @property
    def source(self) -> str:
        """What wrote it, in words, such as "TensorFlow 2.21 debugger, FULL_HEALTH"."""
        ...

    @property
    def tensors(self) -> Sequence[WatchedTensor]:
        """All tensors; their numbers are their places here, in the order in which they first came by."""
        ...

    @property
    def observation_count(self) -> int:
        """How many observations there are."""
        ...

    def observations(self, begin: int, end: int) -> Observations:
        """Return a stretch of them, in order.

        Raises:
            OSError: the files cannot be read.
        """
        ...

    def value(self, number: int) -> NDArray[np.generic] | None:
        """Return the value of an observation itself; None where it was not kept.

        Raises:
            PayloadError: it is damaged.
        """
        ...

    def stack(self, number: int) -> Sequence[Frame]:
        """Return a stack, outermost call first; empty where it was not kept."""
        ...

    @property
    def sources(self) -> Sequence[SourceFile]:
        """The files of code that were kept."""
        ...

    @property
    def alerts(self) -> Sequence[Alert]:
        """What the rules of the recorder found while it recorded; dumps of TensorFlow have none of their own."""
        ...

    @property
    def problems(self) -> Sequence[str]:
        """What is missing or damaged, a sentence each."""
        ...


@runtime_checkable
class DevicesData(Protocol):
    """Data that knows on which device each value was."""

    @property
    def devices(self) -> Sequence[str]:
        """Their names, each once; "" where it is not known."""
        ...


@runtime_checkable
class LinkedData(Protocol):
    """Data that knows of single values which others each was made of."""

    def made_of(self, number: int) -> Sequence[int | None] | None:
        """Return the observations that the operation took which made one, None for a value that was not observed;
        None where only `WatchedTensor.inputs` tells.
        """
        ...

    def made_into(self, number: int) -> Sequence[int] | None:
        """Return the observations that operations made which took one; None where only `WatchedTensor.inputs` tells."""
        ...


@runtime_checkable
class NestedData(Protocol):
    """Data in which some values were made by what is observed inside: by a function of a graph, by a module."""

    def first_bad_inside(self, number: int) -> int | None:
        """Return the first observation that is not finite inside of what made one; None where there is none."""
        ...
