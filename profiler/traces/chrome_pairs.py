"""Pair events of a Chrome trace: begins and ends on one thread, and those of operations that any thread may end."""

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.traces.chrome_events import Columns
from stepscope.profiler.traces.json_values import UNREADABLE_TIME
from stepscope.summary.kernels import kernel

_EARLY_NS: Final = 1_000
"""Maximum time by which a snapshot may precede the creation of its object: TensorFlow's Timeline dates the snapshot a
microsecond before the end of the operation, which may have taken no time at all."""


@kernel()
def _match_nested(
    thread: NDArray[np.int64], name: NDArray[np.int32], begins: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return each mark's end (-1 for none), whether it ends nothing, and whether it ends a begin of another name."""
    end_of = np.full(thread.size, -1, np.int64)
    stack = np.empty(thread.size, np.int64)
    height = 0
    unmatched = np.zeros(thread.size, np.bool_)
    renamed = np.zeros(thread.size, np.bool_)
    for index in range(thread.size):
        if index > 0 and thread[index] != thread[index - 1]:
            height = 0
        if begins[index]:
            stack[height] = index
            height += 1
        elif height == 0:
            unmatched[index] = True
        else:
            height -= 1
            end_of[stack[height]] = index
            renamed[index] = name[index] >= 0 and name[index] != name[stack[height]]
    return end_of, unmatched, renamed


class Pairs(NamedTuple):
    """Begin events, and the end event of each, or -1 for none."""

    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    in_vain: Mapping[str, Sequence[int]]
    """The events that did not pair up properly, by reason."""


def pair_nested(columns: Columns, thread: NDArray[np.int64]) -> Pairs:
    """Pair begin and end events (B, E): an end closes the innermost open begin of its thread."""
    marks = np.flatnonzero(
        ((columns.phase == ord("B")) | (columns.phase == ord("E"))) & (columns.time_ns != UNREADABLE_TIME)
    )
    marks = marks[np.lexsort((columns.time_ns[marks], thread[marks]))]
    begins = columns.phase[marks] == ord("B")
    end_of, unmatched, renamed = _match_nested(thread[marks], columns.name[marks], begins)
    begin = np.flatnonzero(begins)
    end = end_of[begin]
    return Pairs(
        marks[begin],
        np.where(end < 0, -1, marks[np.maximum(end, 0)] if marks.size else end),
        {
            "begin without an end": marks[begin[end < 0]].tolist(),
            "end without a begin": marks[unmatched].tolist(),
            "end with a different name than its begin": marks[renamed].tolist(),
        },
    )


class Operations(NamedTuple):
    """Asynchronous operations: their begin and end events (equal for an instant, -1 for no end).

    ``root`` is the event that names the lane of the operation: the outermost open event with the same id.
    """

    begin: list[int]
    end: list[int]
    root: list[int]
    described_by: list[int]
    """The event that adds arguments to those of the operation's begin: its end, or its snapshot."""
    in_vain: Mapping[str, Sequence[int]]
    """The events that did not pair up, by reason."""


@dataclass(frozen=True)
class _OpenOperations:
    """Numbers of the operations of one category and id that have begun but not ended.

    Both ends of ``by_age`` are open; an operation closed between them is removed when it reaches an end, so that
    closing needs no search.
    """

    by_age: deque[tuple[int, int]] = field(default_factory=deque)
    """Number and name, outermost first."""
    by_name: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    closed: set[int] = field(default_factory=set)

    def add(self, number: int, name: int) -> None:
        self.by_age.append((number, name))
        self.by_name[name].append(number)

    def innermost(self, name: int) -> int | None:
        """Return the number of the innermost open operation of a name, or None."""
        numbers = self.by_name.get(name)
        return numbers[-1] if numbers else None

    def close(self, name: int) -> int | None:
        """Close the innermost operation of a name, or of all if ``name`` is -1; return None if none is open."""
        if not self.by_age or (name >= 0 and not self.by_name[name]):
            return None
        number = self.by_name[name if name >= 0 else self.by_age[-1][1]].pop()
        self.closed.add(number)
        while self.by_age and self.by_age[-1][0] in self.closed:
            self.closed.remove(self.by_age.pop()[0])
        while self.by_age and self.by_age[0][0] in self.closed:
            self.closed.remove(self.by_age.popleft()[0])
        return number


@dataclass(frozen=True)
class OperationPhases:
    """The letters of one sort of operations: those that begin one, mark a moment of one, and end one."""

    begin: str
    moment: str
    end: str
    lane: str
    """Suffix of an operation's lane name after the category; "" for the name of the outermost operation."""
    of_process: bool
    """Whether equal identifiers in two processes denote two operations."""
    unended: str
    """The reason under which operations without an end are counted."""
    unbegun: str
    described: bool = False
    """Whether moments describe the operation."""


ASYNCHRONOUS: Final = OperationPhases(
    "bS", "nTp", "eF", "", False, "asynchronous begin without an end", "asynchronous end without a begin"
)
OBJECTS: Final = OperationPhases(
    "N", "O", "D", "objects", True, "object without an end", "object deleted without being created", described=True
)
CONTEXTS: Final = OperationPhases(
    "(", "", ")", "contexts", True, "context without an end", "context left without being entered"
)


def pair_asynchronous(columns: Columns, phases_of: OperationPhases = ASYNCHRONOUS) -> Operations:
    """Pair asynchronous events (b, n, e and the older S, T, p, F); those of one category and id nest.

    An end closes the innermost open begin of its name, or the innermost of all if it has no name. Objects (N, O, D) and
    contexts are paired the same way. The only snapshot (O) of an object is not an operation itself: it describes the
    object.
    """
    letters = np.frombuffer((phases_of.begin + phases_of.moment + phases_of.end).encode(), np.uint8)
    marks = np.flatnonzero(np.isin(columns.phase, letters) & (columns.time_ns != UNREADABLE_TIME))
    marks = marks[np.argsort(columns.time_ns[marks], kind="stable")]
    phases = columns.phase[marks].tobytes().decode()
    process = np.where(columns.of_process[marks] | phases_of.of_process, columns.pid[marks], -1)
    keys = zip(process.tolist(), columns.category[marks].tolist(), columns.id[marks].tolist(), strict=True)
    open_: dict[tuple[int, int, int], _OpenOperations] = defaultdict(_OpenOperations)
    begin: list[int] = []
    end: list[int] = []
    root: list[int] = []
    snapshots: dict[int, list[int]] = defaultdict(list)
    early: dict[tuple[tuple[int, int, int], int], int] = {}
    in_vain: dict[str, list[int]] = {phases_of.unbegun: []}
    for event, phase, key in zip(marks.tolist(), phases, keys, strict=True):
        operations = open_[key]
        name = int(columns.name[event])
        if phase in phases_of.end:
            closed = operations.close(name)
            if closed is None:
                in_vain[phases_of.unbegun].append(event)
            else:
                end[closed] = event
            continue
        root.append(begin[operations.by_age[0][0]] if operations.by_age else event)
        begin.append(event)
        if phase in phases_of.begin:
            operations.add(len(begin) - 1, name)
            before = early.pop((key, name), None)
            if before is not None and columns.time_ns[event] - columns.time_ns[begin[before]] <= _EARLY_NS:
                snapshots[len(end)].append(before)
            end.append(-1)
        else:
            of = operations.innermost(name) if phases_of.described else None
            if of is not None:
                snapshots[of].append(len(end))
            elif phases_of.described:
                early[key, name] = len(end)
            end.append(event)
    in_vain[phases_of.unended] = [start for start, last in zip(begin, end, strict=True) if last < 0]
    return _described(Operations(begin, end, root, list(end), in_vain), snapshots, columns)


def _described(operations: Operations, snapshots: Mapping[int, list[int]], columns: Columns) -> Operations:
    """Drop operations that are the only snapshot of another one, unless that one's end has arguments too."""
    if not snapshots:
        return operations
    begin, end, root, described_by, in_vain = operations
    single = {
        moments[0]: of
        for of, moments in snapshots.items()
        if len(moments) == 1 and (end[of] < 0 or columns.arguments_start[end[of]] < 0)
    }
    for moment, of in single.items():
        described_by[of] = begin[moment]
    kept = [number for number in range(len(begin)) if number not in single]
    return Operations(
        [begin[number] for number in kept],
        [end[number] for number in kept],
        [root[number] for number in kept],
        [described_by[number] for number in kept],
        in_vain,
    )
