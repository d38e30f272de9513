"""Expansion of function calls: a graph in which each call is followed by a copy of its function's body."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.graphs.element_types import Shape
from stepscope.dashboard.graphs.model import ARGUMENT, RESULT, Problems
from stepscope.dashboard.graphs.records import FunctionCall, GraphModel, Problem, ProblemKind
from stepscope.dashboard.graphs.unique_names import unique_name
from stepscope.summary.proto.graph_pb2 import NodeDef

MOST_NODES: Final = 200_000
"""Maximum nodes of a graph with its bodies; calls that would exceed it stay closed."""
MOST_DEPTH: Final = 64
"""Maximum depth of nested calls; deeper calls stay closed."""

_FIRST_ARGUMENT: Final[Mapping[str, int]] = {
    **dict.fromkeys(("PartitionedCall", "StatefulPartitionedCall", "TPUPartitionedCall", "XlaLaunch"), 0),
    **dict.fromkeys(("While", "StatelessWhile"), 0),
    **dict.fromkeys(("If", "StatelessIf", "Case", "StatelessCase", "RemoteCall"), 1),
}
"""The input of each calling operation that is the function's first argument; other operations do not pass inputs on."""


@dataclass(frozen=True, eq=False)
class OpenedGraph:
    """A graph with the bodies of its functions."""

    model: GraphModel
    """The graph's own nodes in their order, then the copies, named ``call/node``."""
    own: int
    """Number of the graph's own nodes."""
    opened: frozenset[int]
    """Nodes whose bodies are included."""


@dataclass
class _Parts:
    """A graph under construction; ``edges`` is [e, 6]: the columns of a `GraphModel` in order."""

    names: list[str]
    ops: list[str]
    devices: list[str]
    xla: list[str]
    edges: NDArray[np.int64]
    shapes: dict[tuple[int, int], Shape | None]
    dtypes: dict[tuple[int, int], str]
    calls: dict[int, tuple[FunctionCall, ...]]
    messages: list[NodeDef]
    problem_nodes: list[int]
    problem_kinds: list[ProblemKind]
    opened: set[int] = field(default_factory=set)


def open_calls(model: GraphModel, most_nodes: int = MOST_NODES) -> OpenedGraph:
    """Copy the bodies of called functions into the graph, at all depths.

    Inputs of a call go to its body's arguments, and its outputs come from the body's results. Recursive calls and calls
    that would exceed ``most_nodes`` nodes stay closed and are reported in the model's problems.
    """
    if not model.function_calls:
        return OpenedGraph(model, len(model), frozenset())
    opener = _Opener(model.functions, most_nodes)
    parts = opener.opened(model, ())
    bodies = [model.functions[name] for name in sorted(opener.used)]
    edges = parts.edges
    merged = replace(
        model,
        names=tuple(_unique(parts.names)),
        ops=tuple(parts.ops),
        devices=tuple(parts.devices),
        xla=tuple(parts.xla),
        source=edges[:, 0],
        target=edges[:, 1],
        source_slot=edges[:, 2].astype(np.int32),
        target_slot=edges[:, 3].astype(np.int32),
        control=edges[:, 4].astype(np.bool_),
        reference=edges[:, 5].astype(np.bool_),
        shapes=parts.shapes,
        dtypes=parts.dtypes,
        function_calls=parts.calls,
        problems=_together([*model.problems, *(p for body in bodies for p in body.problems), *opener.problems.found()]),
        problem_nodes=np.array(parts.problem_nodes, np.int64),
        problem_kinds=tuple(parts.problem_kinds),
        messages=parts.messages,
    )
    return OpenedGraph(merged, len(model), frozenset(parts.opened))


class _Opener:
    """Opens the calls in graphs; each function's body is opened once and then copied."""

    def __init__(self, functions: Mapping[str, GraphModel], most_nodes: int) -> None:
        self._functions = functions
        self._most_nodes = most_nodes
        self._bodies: dict[str, _Parts] = {}
        self.problems: Final = Problems()
        self.used: Final[set[str]] = set()

    def opened(self, model: GraphModel, around: tuple[str, ...]) -> _Parts:
        """Return the graph with bodies; ``around`` names the functions currently being opened."""
        parts = _parts_of(model)
        arguments: dict[int, list[dict[int, int]]] = {}
        results: dict[int, list[dict[int, int]]] = {}
        for call, called in model.function_calls.items():
            for part in called:
                body = self._body(part.function, model.names[call], around)
                fits = body is not None and self._fits(parts, body, model.names[call], part.function)
                if body is None or not fits:
                    parts.problem_nodes.append(call)
                    parts.problem_kinds.append("recursion" if body is None else "too large")
                    continue
                scope = model.names[call] if len(called) == 1 else f"{model.names[call]}/{part.attribute}"
                offset = _append(parts, body, scope)
                parts.opened.add(call)
                own = self._functions[part.function]
                if model.ops[call] in _FIRST_ARGUMENT or model.ops[call] == part.function:
                    arguments.setdefault(call, []).append(_numbered(own, ARGUMENT, offset))
                    # The result of a loop's condition goes nowhere.
                    if part.attribute != "cond":
                        results.setdefault(call, []).append(_numbered(own, RESULT, offset))
        parts.edges = _led_on(parts.edges, len(model.source), model.ops, arguments, results)
        return parts

    def _body(self, name: str, call: str, around: tuple[str, ...]) -> _Parts | None:
        if name in around or len(around) >= MOST_DEPTH:
            self.problems.add("recursion", f"{name} in {call}")
            return None
        if name not in self._bodies:
            self._bodies[name] = self.opened(self._functions[name], (*around, name))
        self.used.add(name)
        return self._bodies[name]

    def _fits(self, parts: _Parts, body: _Parts, call: str, function: str) -> bool:
        if len(parts.names) + len(body.names) <= self._most_nodes:
            return True
        self.problems.add("too large", f"{function} in {call}")
        return False


def _parts_of(model: GraphModel) -> _Parts:
    columns = (model.source, model.target, model.source_slot, model.target_slot, model.control, model.reference)
    return _Parts(
        list(model.names),
        list(model.ops),
        list(model.devices),
        list(model.xla),
        np.stack([column.astype(np.int64) for column in columns], axis=1).reshape(-1, 6),
        dict(model.shapes),
        dict(model.dtypes),
        dict(model.function_calls),
        list(model.messages),
        model.problem_nodes.tolist(),
        list(model.problem_kinds),
    )


def _append(parts: _Parts, body: _Parts, scope: str) -> int:
    """Append a copy of the body and return its first index."""
    offset = len(parts.names)
    parts.names += [f"{scope}/{name}" for name in body.names]
    parts.ops += body.ops
    parts.devices += body.devices
    parts.xla += body.xla
    parts.messages += body.messages
    shifted = body.edges.copy()
    shifted[:, :2] += offset
    parts.edges = np.concatenate((parts.edges, shifted))
    parts.shapes.update({(node + offset, slot): shape for (node, slot), shape in body.shapes.items()})
    parts.dtypes.update({(node + offset, slot): dtype for (node, slot), dtype in body.dtypes.items()})
    parts.calls.update({node + offset: calls for node, calls in body.calls.items()})
    parts.problem_nodes += [node + offset for node in body.problem_nodes]
    parts.problem_kinds += body.problem_kinds
    parts.opened |= {node + offset for node in body.opened}
    return offset


def _numbered(body: GraphModel, op: str, offset: int) -> dict[int, int]:
    """Return arguments or results of a body by number."""
    return {int(body.messages[node].attr["index"].i): node + offset for node, o in enumerate(body.ops) if o == op}


def _led_on(
    edges: NDArray[np.int64],
    own: int,
    ops: tuple[str, ...],
    arguments: Mapping[int, list[dict[int, int]]],
    results: Mapping[int, list[dict[int, int]]],
) -> NDArray[np.int64]:
    """Redirect data edges at opened calls to the arguments and from the results of their bodies."""
    calls = np.array(sorted(arguments), np.int64)
    touched = np.zeros(len(edges), np.bool_)
    touched[:own] = np.isin(edges[:own, :2], calls).any(axis=1) & (edges[:own, 4] == 0)
    rows: list[list[int]] = []
    for source, target, output, slot, control, reference in edges[touched].tolist():
        number = slot - _FIRST_ARGUMENT.get(ops[target], 0)
        sources = [(found[output], 0) for found in results.get(source, []) if output in found]
        targets = [(found[number], 0) for found in arguments.get(target, []) if number in found]
        rows += [
            [s, t, s_slot, t_slot, control, reference]
            for s, s_slot in sources or [(source, output)]
            for t, t_slot in targets or [(target, slot)]
        ]
    return np.concatenate((edges[~touched], np.array(rows, np.int64).reshape(-1, 6)))


def _unique(names: list[str]) -> list[str]:
    if len(set(names)) == len(names):
        return names
    taken: set[str] = set()
    numbers: dict[str, int] = {}
    unique: list[str] = []
    for name in names:
        free = unique_name(name, taken, numbers)
        taken.add(free)
        unique.append(free)
    return unique


def _together(problems: list[Problem]) -> tuple[Problem, ...]:
    """Merge the problems of each kind into one."""
    merged: dict[str, Problem] = {}
    for problem in problems:
        known = merged.get(problem.kind)
        if known is None:
            merged[problem.kind] = problem
        else:
            examples = tuple(dict.fromkeys((*known.examples, *problem.examples)))[:5]
            merged[problem.kind] = replace(known, count=known.count + problem.count, examples=examples)
    return tuple(merged.values())
