"""Time by line of the program: tfprof's "code" view, for traces with Python call stacks."""

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.analysis.facts import Facts, facts_of
from stepscope.profiler.analysis.nesting import enclosing
from stepscope.profiler.analysis.operators import operator_calls
from stepscope.profiler.analysis.reasons import NO_STACKS
from stepscope.profiler.analysis.records import Analysis, Column
from stepscope.profiler.trace import Trace
from stepscope.summary.distinct import numbered
from stepscope.summary.listed import listed

if TYPE_CHECKING:
    import polars as pl

Stack = tuple[str, ...]
"""Frames, outermost first."""
MOST_AROUND: Final = 10_000
_FUNCTION: Final = "python_function"
_MODULE: Final = "nn.Module: "
_STATED: Final = ("Call stack", "stack")
_NOTHING: Final = np.zeros(3, np.int64)


def code_view(trace: Trace | Facts) -> "pl.DataFrame":
    """Return the time of operators by call site: a tree of frames, in order, longest first.

    Like tfprof's ``code`` view: a row is a frame, below its callers; its own time is that of the operators it calls
    itself, and its total adds what the frames below it call. Frames come from Kineto's "Call stack", from stack frames
    in the file, or from recorded Python functions around the operator.

    Columns: frame (text), depth (int64, 0 for the outermost), calls (int64, of operators, its own), cpu_ns,
    accelerator_ns (int64, its own), self_ns, total_ns (int64; self = cpu + accelerator), path (text: the frames down to
    this one, one per line).
    """
    import polars as pl

    facts = facts_of(trace)
    calls = operator_calls(facts)
    own: dict[Stack, NDArray[np.int64]] = defaultdict(lambda: np.zeros(3, np.int64))
    # Operators with the same stack are summed before their sums are added to every enclosing frame.
    stacks, number = _stacks(facts, calls.slice[calls.is_operator])
    sums = np.zeros((len(stacks), 3), np.int64)
    times = (calls.host_self[calls.is_operator], calls.device_self[calls.is_operator])
    for column, values in enumerate((np.ones_like(number), *times)):
        np.add.at(sums[:, column], number, values)
    for stack, of_stack in zip(stacks, sums, strict=True):
        if stack:
            own[stack] += of_stack
    total: dict[Stack, int] = defaultdict(int)
    for stack, (_, host, device) in own.items():
        for depth in range(1, len(stack) + 1):
            total[stack[:depth]] += int(host) + int(device)
    order = _in_order(total)
    numbers = np.array([own.get(stack, _NOTHING) for stack in order], np.int64).reshape(-1, 3)
    # Column by column, since rows are objects, and there may be very many of them.
    return pl.DataFrame(
        {
            "frame": pl.Series([stack[-1] for stack in order], dtype=pl.String),
            "depth": np.array([len(stack) - 1 for stack in order], np.int64),
            "calls": numbers[:, 0],
            "cpu_ns": numbers[:, 1],
            "accelerator_ns": numbers[:, 2],
            "self_ns": numbers[:, 1] + numbers[:, 2],
            "total_ns": np.array([total[stack] for stack in order], np.int64),
            "path": pl.Series(["\n".join(stack) for stack in order], dtype=pl.String),
        }
    )


def _in_order(total: Mapping[Stack, int]) -> list[Stack]:
    """Return every frame, each followed by those below it, longest first."""
    beside: dict[Stack, list[Stack]] = defaultdict(list)
    for stack in total:
        beside[stack[:-1]].append(stack)
    # The last one is taken first.
    below = {outer: _shortest_first(frames, total) for outer, frames in beside.items()}
    order: list[Stack] = []
    waiting = list(below.get((), ()))
    while waiting:
        stack = waiting.pop()
        order.append(stack)
        waiting += below.get(stack, ())
    return order


def _shortest_first(frames: list[Stack], total: Mapping[Stack, int]) -> list[Stack]:
    """Return frames called from one place sorted by time, ties by name."""
    import polars as pl

    if len(frames) < _MANY:
        return sorted(frames, key=lambda stack: (total[stack], stack[-1]))
    # Sorting in Python would keep every other thread waiting.
    times = np.fromiter((total[stack] for stack in frames), np.int64, len(frames))
    names = pl.Series([stack[-1] for stack in frames], dtype=pl.String)
    order = pl.DataFrame({"time": times, "name": names}).select(pl.arg_sort_by("time", "name")).to_series()
    return [frames[at] for at in listed(order.to_numpy())]


_MANY: Final = 10_000
_LOOKED_AT: Final = 500
"""Number of operators that are checked for call stacks."""


def has_stacks(facts: Facts) -> bool:
    """Return whether the program's call stacks are known, judged by a sample of the operators."""
    slices = facts.operator_slices
    if _FUNCTION in facts.trace.categories:
        return bool(len(slices))
    sample = slices[:: max(1, len(slices) // _LOOKED_AT)]
    return any(map(_stated, facts.decoded(sample)))


def _stacks(facts: Facts, slices: NDArray[np.int64]) -> tuple[list[Stack], NDArray[np.int64]]:
    """Return the stacks, and the index of each operator's stack, int64 ``[n]``."""
    trace = facts.trace
    if _FUNCTION in trace.categories:
        functions = trace.category_id == trace.categories.index(_FUNCTION)
        around = facts.nearest(functions)
        known: dict[int, Stack] = {-1: ()}
        innermost = numbered(around[slices])
        return [_enclosing(facts, index, around, known) for index in listed(innermost.distinct)], innermost.number
    stated = facts.distinct(slices, *_STATED)
    return stated.each(_stated), stated.number


def _enclosing(facts: Facts, function: int, around: NDArray[np.int64], known: dict[int, Stack]) -> Stack:
    """Return the names of a function and of the functions around it."""
    chain = []
    while function not in known:
        chain.append(function)
        function = int(around[function])
    for each in reversed(chain):
        name = facts.trace.names[int(facts.trace.name_id[each])]
        outer = known[int(around[each])]
        # A module has the frame of its forward method, which is recorded separately.
        known[each] = outer if name.startswith(_MODULE) else (*outer, name)
    return known[chain[0]] if chain else known[function]


def call_stack(trace: Trace, index: int) -> Stack:
    """Return the stack of frames in which one slice was called.

    These are the recorded Python functions around it, including itself, or else stated frames: Kineto's "Call stack" or
    stack frames in the file, of the closest slice that has any. The closest `MOST_AROUND` slices are searched.
    """
    around = [*enclosing(trace, index)[-MOST_AROUND:].tolist(), index]
    if _FUNCTION in trace.categories:
        category = trace.categories.index(_FUNCTION)
        functions = [trace.names[int(trace.name_id[each])] for each in around if trace.category_id[each] == category]
        if frames := tuple(name for name in functions if not name.startswith(_MODULE)):
            return frames
    return next((stack for each in reversed(around) if (stack := _stated(trace.arguments[each]))), ())


def _stated(arguments: Mapping[str, object]) -> Stack:
    """Return the frames stated in an operator's arguments.

    Kineto lists the innermost frame first; stack frames of files do not.
    """
    stated, frames = map(arguments.get, _STATED)
    if isinstance(stated, str):
        return tuple(frame for frame in reversed(stated.split(";")) if frame)
    return tuple(map(str, frames)) if isinstance(frames, list) else ()


CODE: Final = Analysis(
    "code",
    "time by line of the program, if stacks are recorded",
    code_view,
    (
        Column("frame", "the line of the program, below the frame that calls it"),
        Column("depth", "number of frames around it", hidden=True),
        Column("calls", "calls of operators from this very frame", adds_up=True),
        Column("cpu_ns", "time on the host of operators called from this very frame", adds_up=True),
        Column("accelerator_ns", "time on streams of devices", adds_up=True, of_devices=True),
        Column("self_ns", "self time, excluding what is nested inside", adds_up=True),
        Column("total_ns", "total time, including the frames below"),
        Column("path", "the frames down to this one, one per line", hidden=True),
    ),
    title="By line of the program",
    description="A frame's self time is that of the operators it calls itself.",
    empty=NO_STACKS,
)
"""Time by line of the program."""
