"""Links across the boundaries of a dump's graphs: which call a value inside a graph belongs to, and the call's inputs.

A trace names neither. Python calls one function at a time, and an execution is written when its function has returned.
A trace therefore belongs to the next execution of a graph that encloses the trace's graph, and the values of that call
are those since the previous execution. Calls of functions inside graphs are not in the dump: the output of one is
assumed to be the last nonfinite value inside it, and its input the last nonfinite value in the graphs around it.
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.debugger.dump_contents import DumpContents
from stepscope.summary.debugger.dump_order import DumpOrder, Numbers
from stepscope.summary.debugger.eager_links import EagerLinks
from stepscope.summary.debugger.events import GraphPlace
from stepscope.summary.debugger.graphs import Graph, Operation, operation_and_slot
from stepscope.summary.debugger.model import WatchedTensor
from stepscope.summary.kinds.base import PayloadError

_BLOCK: Final = 1 << 14
_MOST_LOOKED_AT: Final = 1 << 20
"""Maximum number of values examined per call."""
_MOST_FOLLOWED: Final = 1_000
"""Maximum number of operations without values in the dump to follow on the way to those with values."""
_MOST_FUNCTIONS: Final = 10_000
_FUNCTION: Final = "__"
"""The prefix of the names under which TensorFlow calls functions, such as "__inference_train_402"."""
_NEVER_BAD: Final = frozenset(("Const", "Shape", "ShapeN", "Size", "Rank", "ArgMax", "ArgMin", "Range", "NoOp"))
"""Operations that return integers, or constants written in the program."""
_CALLS: Final = frozenset(
    (
        "PartitionedCall",
        "StatefulPartitionedCall",
        "While",
        "StatelessWhile",
        "If",
        "StatelessIf",
        "Case",
        "StatelessCase",
    )
)
"""Operations that run graphs, provided that their own creation is in the dump."""
_LOOPS: Final = frozenset(("While", "StatelessWhile"))


class _Call(NamedTuple):
    """A call of a function by Python."""

    begin: int
    """The number of the first value that may belong to the call."""
    execution: int | None
    """Its index among executions; None if it is not in the dump."""
    graph_id: str


@dataclass(frozen=True, eq=False)
class CallLinks:
    """The inputs from which values inside graphs were made; all values are numbers in the dump's order."""

    dump: DumpContents
    order: DumpOrder
    tensors: Sequence[WatchedTensor]
    links: EagerLinks
    output_numbers: NDArray[np.int32]
    """The number of each output of an execution."""

    def made_of(self, number: int, operation: Operation | None, graph_id: str) -> list[int | None]:
        """Return the input values of the operation that made a value; None for an unknown input.

        Args:
            number: the number of a trace.
            operation: the operation that made it; None if its description is unknown.
            graph_id: the id of the graph that contains it.
        """
        graph = self.dump.graphs.find(graph_id)
        if operation is None or graph is None:
            return [None]
        call = self._call_of(number, graph_id)
        found: dict[int | None, None] = {}
        seen: set[str] = set()
        waiting: list[Operation | int | None] = [operation]
        if operation.op_type != "Placeholder":
            waiting = self._sources(graph, operation, call, number)
        while waiting and len(seen) < _MOST_FOLLOWED:
            source = waiting.pop(0)
            if source is None or isinstance(source, int):
                found[source] = None
            elif source.name not in seen:
                seen.add(source.name)
                if source.op_type == "Placeholder":
                    found.update(dict.fromkeys(self._given(graph, source, call, number)))
                elif source.op_type in _CALLS:
                    found[self._last_bad(self._graphs_in(graph_id) - {graph_id}, call.begin, number)] = None
                elif source.op_type not in _NEVER_BAD:
                    waiting.extend(self._sources(graph, source, call, number))
        return list(found)

    def _sources(self, graph: Graph, operation: Operation, call: _Call, number: int) -> list[Operation | int | None]:
        """Return the inputs of an operation: values in the dump, or operations without values in the dump."""
        found: list[Operation | int | None] = []
        for name, slot in map(operation_and_slot, operation.inputs):
            tensor = self._numbers.get((graph.graph_id, name, slot))
            made_by = graph.operations.get(name)
            if tensor is not None:
                found.append(self._latest(tensor, call.begin, number))
            elif made_by is not None:
                found.append(made_by)
            else:
                # No dump has calls of other functions, only their names as inputs.
                found.append(self._last_bad(self._graphs_in(graph.graph_id) - {graph.graph_id}, call.begin, number))
        return found

    def _given(self, graph: Graph, argument: Operation, call: _Call, number: int) -> list[int | None]:
        """Return the values that a call received for an argument of its graph."""
        taken = [] if call.execution is None else self.links.taken_by(call.execution)
        given = [None if output is None else int(self.output_numbers[output]) for output in taken]
        if graph.graph_id == call.graph_id:
            arguments = [name for name, each in graph.operations.items() if each.op_type == "Placeholder"]
            if len(arguments) == len(given):
                return [given[arguments.index(argument.name)]]
        else:
            around = self._last_bad(self._around(graph), call.begin, number)
            if around is not None:
                return [around]
        known = [each for each in given if each is not None]
        return [*np.array(known, int)[self.order.bad_at(np.array(known, np.int64))].tolist(), None]

    def _around(self, graph: Graph) -> Set[str]:
        """Return the graphs that may provide a graph's inputs; a loop's body also receives its own previous outputs."""
        chain = self.dump.graphs.enclosing(graph.graph_id)
        outer = self.dump.graphs.find(graph.outer_id or "")
        loops = outer is not None and any(each.op_type in _LOOPS for each in outer.operations.values())
        return set(chain if loops else chain[:-1])

    def first_bad_inside(self, execution: int, number: int) -> int | None:
        """Return the first nonfinite value inside the graph of a function that Python called.

        Args:
            execution: the call's index among executions.
            number: the number of the call's output.
        """
        graph_id = self._graph_of_names.get(int(self.dump.execution_columns.op_types[execution]), "")
        if not graph_id:
            return None
        inside = self._mask(self._graphs_in(graph_id))
        begin = self._call(float(self.dump.execution_columns.wall_times[execution]), [graph_id], number).begin
        for first in range(begin, number, _BLOCK):
            check_cancelled()
            numbers = np.arange(first, min(first + _BLOCK, number))
            bad = numbers[self.order.bad_at(numbers)]
            bad = bad[inside[self.order.tensors_at(bad)]]
            if len(bad):
                return int(bad[0])
        return None

    # --- calls -----------------------------------------------------------------------------------------------------

    @cached_property
    def _graph_of_names(self) -> dict[int, str]:
        """The graph of each function, by the function's index among the operation names."""
        columns = self.dump.execution_columns
        named = [at for at, name in enumerate(columns.op_type_names) if name.startswith(_FUNCTION)]
        names = set(named[:_MOST_FUNCTIONS])
        used, firsts = np.unique(columns.op_types, return_index=True)
        rows = sorted((int(first), int(at)) for at, first in zip(used, firsts, strict=True) if at in names)
        try:
            found = list(self.dump.executions_at(np.array([row for row, _ in rows], int)))
        except PayloadError:
            return {}
        return {at: each.graph_id for (_, at), each in zip(rows, found, strict=True) if each is not None}

    def _call_of(self, number: int, graph_id: str) -> _Call:
        time = float(self.order.wall_times_at(np.array([number]))[0])
        return self._call(time, self.dump.graphs.enclosing(graph_id), number)

    def _call(self, time: float, graph_ids: Sequence[str], number: int) -> _Call:
        """Return the call that a value in nested graphs, outermost first, belongs to, judged by its time."""
        columns = self.dump.execution_columns
        wanted = [at for at, graph_id in self._graph_of_names.items() if graph_id in graph_ids]
        rows = np.flatnonzero(np.isin(columns.op_types, wanted))
        earlier = rows[columns.wall_times[rows] < time]
        later = rows[columns.wall_times[rows] >= time]
        least = max(0, number - _MOST_LOOKED_AT)
        begin = least if not len(earlier) else self._first_after(float(columns.wall_times[earlier[-1]]), least, number)
        execution = int(later[0]) if len(later) else None
        called = "" if execution is None else self._graph_of_names[int(columns.op_types[execution])]
        return _Call(begin, execution, called or (graph_ids[0] if graph_ids else ""))

    def _first_after(self, time: float, low: int, high: int) -> int:
        while low < high:
            middle = (low + high) // 2
            if float(self.order.wall_times_at(np.array([middle]))[0]) > time:
                high = middle
            else:
                low = middle + 1
        return low

    # --- values ----------------------------------------------------------------------------------------------------

    @cached_property
    def _numbers(self) -> dict[tuple[str, str, int], int]:
        """The tensors by graph, operation and slot."""
        places, firsts = self.dump.places, np.array(self.order.first_numbers, np.int64)
        found = {}
        for tensor, place in enumerate(self.order.places_at(firsts).tolist()):
            if self.tensors[tensor].phase == "graph":
                where = places[place]
                assert isinstance(where, GraphPlace)
                found[where.graph_id, where.operation, where.slot] = tensor
        return found

    def _graphs_in(self, graph_id: str) -> Set[str]:
        """Return a graph and the graphs inside it."""
        return {each for each in self._graph_ids if graph_id in self.dump.graphs.enclosing(each)} | {graph_id}

    @cached_property
    def _graph_ids(self) -> Set[str]:
        return {tensor.graph_id for tensor in self.tensors} - {""}

    def _mask(self, graph_ids: Set[str]) -> NDArray[np.bool_]:
        return np.array([tensor.graph_id in graph_ids for tensor in self.tensors], np.bool_)

    def _backwards(self, begin: int, number: int) -> Iterator[Numbers]:
        for end in range(number, begin, -_BLOCK):
            check_cancelled()
            yield np.arange(max(begin, end - _BLOCK), end)

    def _latest(self, tensor: int, begin: int, number: int) -> int | None:
        for numbers in self._backwards(begin, number):
            found = numbers[self.order.tensors_at(numbers) == tensor]
            if len(found):
                return int(found[-1])
        return None

    def _last_bad(self, graph_ids: Set[str], begin: int, number: int) -> int | None:
        """Return the last nonfinite value before a number in the given graphs."""
        inside = self._mask(graph_ids)
        for numbers in self._backwards(begin, number):
            bad = numbers[self.order.bad_at(numbers)]
            bad = bad[inside[self.order.tensors_at(bad)]]
            if len(bad):
                return int(bad[-1])
        return None
