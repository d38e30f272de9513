"""Lines that OpenXLA's xprof derives from GPU kernels: XLA modules, XLA and framework operations, and name scopes.

The rules follow ``DeriveEventsFromAnnotations`` (``derived_timeline.cc``): the kernels of all streams are taken in
order of time, and neighbors with the same name and step become one slice. xprof also adds what it finds in the HLO
modules; that is not done here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

KERNEL: Final = "kernel_details"
STATS: Final = (KERNEL, "hlo_module", "hlo_op", "tf_op", "program_id")
"""Stats of a kernel from which the lines are derived."""
MODULES, HLO_OPS, FRAMEWORK_OPS, SCOPES = "XLA Modules", "XLA Ops", "Framework Ops", "Framework Name Scope"
LINES: Final = (MODULES, HLO_OPS, SCOPES, FRAMEWORK_OPS)
_BETWEEN_HLO_OPS: Final = "::"


class Kernels(NamedTuple):
    """Kernels of one device in any order, as parallel columns."""

    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    texts: NDArray[np.int64]
    """``[n, 4]``: the text numbers of the module, HLO operation and framework operation, and the program's own number;
    -1 for none."""
    step: NDArray[np.int64]
    """Number of the step whose host launched the kernel; -1 for none."""


@dataclass
class DerivedSlice:
    """A slice of one of `LINES`."""

    line: str
    name: str
    start_ns: int
    end_ns: int


class _Line:
    """A line under construction, with the slice of each level that may still grow."""

    def __init__(self, name: str, slices: list[DerivedSlice], *dependent: "_Line") -> None:
        self._name = name
        self._slices = slices
        self._open: list[tuple[str, DerivedSlice]] = []
        self._dependent = dependent

    def add(self, levels: Sequence[tuple[str, str]], start: int, end: int) -> None:
        """Add a time span under the identities and names of its levels, outermost first."""
        for level, (identity, name) in enumerate(levels):
            if level < len(self._open) and self._open[level][0] == identity:
                grown = self._open[level][1]
                grown.end_ns = max(grown.end_ns, end)
                continue
            self.close(level)
            made = DerivedSlice(self._name, name, start, end)
            self._slices.append(made)
            self._open.append((identity, made))
        self.close(len(levels))

    def close(self, level: int) -> None:
        """Stop growing the slices of this level and of deeper ones."""
        del self._open[level:]
        if level == 0:
            for line in self._dependent:
                line.close(0)


def derive(kernels: Kernels, texts: Mapping[int, str]) -> list[DerivedSlice]:
    """Return the slices that kernels form on `LINES`; ``texts`` maps numbers to texts."""
    order = np.lexsort((-kernels.end_ns, kernels.start_ns))
    slices: list[DerivedSlice] = []
    framework_ops = _Line(FRAMEWORK_OPS, slices)
    scopes = _Line(SCOPES, slices, framework_ops)
    hlo_ops = _Line(HLO_OPS, slices)
    modules = _Line(MODULES, slices, scopes, hlo_ops)
    columns = (kernels.start_ns[order], kernels.end_ns[order], kernels.texts[order], kernels.step[order])
    of_step = -1
    for start, end, (*numbers, program), step in zip(*(c.tolist() for c in columns), strict=True):
        if step != of_step:
            modules.close(0)
            of_step = step
        module, hlo, op = (texts.get(number, "") for number in numbers)
        if module:
            name = f"{module}({program})" if program >= 0 else module
            modules.add([(name, name)], start, end)
        if module and hlo:
            prefix = program if program >= 0 else module
            hlo_ops.add([(f"{prefix}/{each}", each) for each in hlo.split(_BETWEEN_HLO_OPS)], start, end)
        elif op:
            path, _, kind = op.partition(":")
            *around, last = path.split("/")
            if around:
                scopes.add([(each, each) for each in around], start, end)
            framework_ops.add([(op, kind or last)], start, end)
    return slices
