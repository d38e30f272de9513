"""What went bad first, and whether that operation caused the problem or received it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from stepscope.debug.rules import stretches
from stepscope.debug.tensor_names import base_name, called, is_operation, makes_masks
from stepscope.summary.counts import counted
from stepscope.summary.debugger.model import (
    COLUMN,
    FIGURES,
    DebugData,
    Frame,
    LinkedData,
    Observations,
    WatchedTensor,
)
from stepscope.summary.debugger.own_frames import own_frame
from stepscope.summary.names import in_order

Part = Literal["producer", "propagator", "unknown"]
"""A producer made a bad value from finite inputs, a propagator received bad ones; unknown if not all of the inputs were
watched."""

_PASSES_MASKS_ON: Final = (
    "add", "sub", "mul", "div", "view", "_unsafe_view", "expand", "slice", "select", "clone", "copy", "_to_copy",
    "detach", "transpose", "permute", "t", "unsqueeze", "squeeze", "reshape", "cat", "stack", "split", "index",
    "contiguous", "alias", "repeat",
    "addv2", "realdiv", "selectv2", "broadcastto", "concatv2", "pack", "stridedslice", "tile", "gatherv2",
)  # fmt: skip
_LONGEST_CODE: Final = 200
"""Maximum length of a line that a sentence quotes."""
_MOST_OF_A_STEP: Final = 1 << 20
"""Maximum number of observations that are examined of the step of the first bad one."""
_BEFORE: Final = 1 << 16
"""Number of preceding observations that are examined if steps are not known, as in dumps of TensorFlow."""


@dataclass(frozen=True)
class Input:
    """An input of an operation."""

    tensor: int
    """Number of its tensor in `DebugData.tensors`."""
    observation: int
    """Its last observation before the operation ran."""
    bad: bool
    """Whether it was non-finite."""
    figures: dict[str, float]
    """Its statistics in `stepscope.summary.debugger.model.FIGURES`."""


@dataclass(frozen=True)
class Verdict:
    """Result of `first_bad`: the first non-finite value, the operation and line that produced it, and its inputs."""

    observation: int
    """Its number in the order of `DebugData.observations`."""
    tensor: int
    """Number of its tensor in `DebugData.tensors`."""
    step: int
    """The step in which it was observed."""
    part: Part
    """Whether the operation produced it from finite inputs or received it from a non-finite one."""
    figures: dict[str, float]
    """The statistics in `stepscope.summary.debugger.model.FIGURES`."""
    inputs: tuple[Input, ...]
    """The inputs that were watched."""
    frame: Frame | None
    """The innermost line of the program's own code, or of all known code if none is its own."""
    sentence: str
    """The whole verdict in words."""


def first_bad(data: DebugData) -> Verdict | None:
    """Return what went bad first, or None if everything that was observed is finite.

    Values are examined in the order in which they were made. -Inf that makes up a mask is not a problem until something
    other than -Inf is made from it. If a step was run again in more detail, the operation that it names counts rather
    than the module around it.
    """
    for begin, found in stretches(data):
        suspects = np.flatnonzero(found.bad)
        if len(suspects) and (verdict := _in_steps(data, begin, found, suspects)) is not None:
            return verdict
    return None


def _in_steps(data: DebugData, begin: int, found: Observations, suspects: NDArray[np.int64]) -> Verdict | None:
    looked_at = -1
    for place in suspects.tolist():
        if begin + place <= looked_at:
            continue
        number = begin + place
        if knows_steps(data.tensors, found):
            first, step = _step_around(data, number, int(found.steps[place]))
        else:
            first = max(0, number - _BEFORE)
            step = data.observations(first, number + 1)
        candidates = _candidates(data.tensors, step)
        if candidates:
            # A step that was run again comes later, and includes single operations.
            exact = [row for row in candidates if is_operation(data.tensors[step.tensors[row]])]
            return _verdict(data, first, step, (exact or candidates)[0])
        looked_at = first + len(step) - 1
    return None


def _step_around(data: DebugData, number: int, step: int) -> tuple[int, Observations]:
    """Return the observations of the same step around one, and the number of the first."""
    begin = max(0, number - _MOST_OF_A_STEP // 2)
    end = min(data.observation_count, number + _MOST_OF_A_STEP // 2)
    # Most steps are short, so nearby observations are examined first.
    reach = 1 << 12
    while True:
        low, high = max(begin, number - reach), min(end, number + reach)
        found = data.observations(low, high)
        same = found.steps == step
        at = number - low
        before = np.flatnonzero(~same[:at])
        after = np.flatnonzero(~same[at:])
        first = int(before[-1]) + 1 if len(before) else 0
        last = at + int(after[0]) if len(after) else len(found)
        if (first > 0 or low == begin) and (last < len(found) or high == end):
            piece = slice(first, last)
            marked = None if found.marked is None else found.marked[piece]
            return low + first, Observations(
                found.tensors[piece], found.steps[piece], found.wall_times[piece], found.figures[piece], marked
            )
        reach *= 8


def _candidates(tensors: Sequence[WatchedTensor], step: Observations) -> list[int]:
    """Return the first bad row of each run of the step, without masks."""
    found: list[int] = []
    passes = np.flatnonzero(np.diff(step.wall_times, prepend=np.nan) != 0)
    starts = passes.tolist() if knows_steps(tensors, step) else [0]
    for begin, end in zip(starts, [*starts[1:], len(step)], strict=True):
        masks = MaskTracker()
        for row in (np.flatnonzero(step.bad[begin:end]) + begin).tolist():
            number = int(step.tensors[row])
            if not masks.is_mask(number, tensors[number], step.figures[row]):
                found.append(row)
                break
    return found


def knows_steps(tensors: Sequence[WatchedTensor], found: Observations) -> bool:
    """Return whether one step and one time stand for a whole pass; in TensorFlow's dumps, each value has its own."""
    return all(tensors[number].phase not in ("eager", "graph") for number in found.tensors[:1].tolist())


class MaskTracker:
    """Distinguishes masks made of -Inf from problems, in one pass of a step."""

    def __init__(self) -> None:
        self._masks: Final[set[int]] = set()

    def is_mask(self, number: int, tensor: WatchedTensor, figures: NDArray[np.float64]) -> bool:
        """Return whether a bad value is a mask; call it with all bad values, in order."""
        # If the counts per kind are not known, every kind may be present.
        others = figures[COLUMN["nan"]] + figures[COLUMN["positive_infinity"]]
        if others != 0:
            return False
        from_mask = any(source in self._masks for source in tensor.inputs)
        if makes_masks(tensor) or (is_operation(tensor) and base_name(tensor) in _PASSES_MASKS_ON and from_mask):
            self._masks.add(number)
            return True
        return False


def _verdict(data: DebugData, first: int, step: Observations, row: int) -> Verdict:
    number = int(step.tensors[row])
    tensor = data.tensors[number]
    figures = dict(zip(FIGURES, step.figures[row].tolist(), strict=True))
    exact = data.made_of(first + row) if isinstance(data, LinkedData) else None
    if exact is None:
        wanted = len(tensor.inputs)
        inputs = tuple(found for source in tensor.inputs if (found := _input(source, first, step, row)) is not None)
    else:
        taken = list(dict.fromkeys(exact))
        wanted = len(taken)
        inputs = tuple(_observed(data, number) for number in taken if number is not None)
    if any(found.bad for found in inputs):
        part: Part = "propagator"
    else:
        part = "producer" if inputs and len(inputs) == wanted else "unknown"
    frame = own_frame(data.stack(tensor.stack)) if tensor.stack is not None else None
    number_of_step = int(step.steps[row])
    when = f"Step {number_of_step}" if knows_steps(data.tensors, step) else f"Execution {first + row:,}"
    sentence = _sentence(data, tensor, when, figures, part, inputs, frame)
    return Verdict(first + row, number, number_of_step, part, figures, inputs, frame, sentence)


def _input(source: int, first: int, step: Observations, row: int) -> Input | None:
    rows = np.flatnonzero(step.tensors[:row] == source)
    if not len(rows):
        return None
    at = int(rows[-1])
    return _input_at(step, at, first + at)


def _observed(data: DebugData, number: int) -> Input:
    return _input_at(data.observations(number, number + 1), 0, number)


def _input_at(step: Observations, row: int, number: int) -> Input:
    figures = dict(zip(FIGURES, step.figures[row].tolist(), strict=True))
    return Input(int(step.tensors[row]), number, bool(step.bad[row]), figures)


def _sentence(
    data: DebugData,
    tensor: WatchedTensor,
    when: str,
    figures: dict[str, float],
    part: Part,
    inputs: tuple[Input, ...],
    frame: Frame | None,
) -> str:
    names = (("nan", "NaN"), ("positive_infinity", "+Inf"), ("negative_infinity", "-Inf"))
    counts = " and ".join(f"{figures[figure]:,.0f} {name}" for figure, name in names if figures[figure] > 0)
    counts = counts or "elements that are not finite"
    of = f" of {counted(int(figures['size']), 'element')}" if figures["size"] >= 0 else ""
    where = f", {_place(frame)}" if frame is not None else ""
    dtype = f" ({tensor.dtype})" if tensor.dtype else ""
    cause = _cause(data, tensor, part, inputs)
    what = f"with {counts}{of}" if counts else "that is not finite"
    return f"{when}: {called(tensor)}{dtype} is the first {what}{where}. {cause}"


def _cause(data: DebugData, tensor: WatchedTensor, part: Part, inputs: tuple[Input, ...]) -> str:
    if part == "propagator":
        bad = [called(data.tensors[found.tensor]) for found in inputs if found.bad]
        return f"It received {' and '.join(bad)}, which {'was' if len(bad) == 1 else 'were'} already non-finite."
    if part == "producer":
        return f"It produced them: its inputs were finite ({'; '.join(_range(data, found) for found in inputs)})."
    match tensor.phase:
        case "parameter":
            return (
                "An earlier, unrecorded step produced the bad weights: record every step (every=1) or keep the last "
                "steps (ring=N)."
            )
        case "forward" if tensor.op_type == "input":
            if any(is_operation(other) for other in data.tensors):
                return "It came from outside the model: check the batch."
            return (
                "It came from outside the model, or from an operation between modules: check the batch, or use catch()."
            )
        case "eager" | "graph" if not inputs:
            return "Its inputs are not in the dump."
        case _ if inputs:
            return (
                f"Not all of its inputs were watched; these were finite: {'; '.join(_range(data, i) for i in inputs)}."
            )
        case _:
            return "Its inputs were not watched; use catch() to find the operation."


def _range(data: DebugData, found: Input) -> str:
    low, high = found.figures["minimum"], found.figures["maximum"]
    name = called(data.tensors[found.tensor])
    return name if np.isnan(low) else f"{name} from {low:.4g} to {high:.4g}"


def _place(frame: Frame) -> str:
    code = in_order(frame.code.strip())
    shown = f"{code[:_LONGEST_CODE]}..." if len(code) > _LONGEST_CODE else code
    return f"at {frame.path}:{frame.line} in {frame.function}{f': {shown}' if shown else ''}"
