"""Graphs as columns, from GraphDef: nodes, edges with their tensors, functions, and problems."""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.graphs.element_types import Shape, is_reference
from stepscope.dashboard.graphs.outputs import output_dtypes, output_shapes, output_slot
from stepscope.dashboard.graphs.records import MOST_EXAMPLES, FunctionCall, GraphModel, Problem, ProblemKind
from stepscope.dashboard.graphs.unique_names import unique_name
from stepscope.summary.listed import listed
from stepscope.summary.proto.graph_pb2 import AttrValue, FunctionDef, GraphDef, NodeDef

__all__ = ["FunctionCall", "GraphModel", "Problem", "model_of"]

ARGUMENT: Final = "_Arg"
RESULT: Final = "_Retval"
RESULT_SUFFIX: Final = "_RetVal"
"""Suffix that TensorFlow adds to a result's name when it turns a function into a graph."""

_SENTENCES: Final[Mapping[ProblemKind, str]] = {
    "dangling input": "Inputs name a node that the graph does not have; they are not drawn.",
    "duplicate name": "Nodes have the name of another node; a number was added to theirs.",
    "unnamed node": 'Nodes have no name, or one with an empty part; it is called "(empty)".',
    "cycle": "Nodes depend on their own output outside of a loop.",
    "recursion": "Functions call themselves; the inner call is not opened.",
    "too large": "Calls of functions are not opened, since their bodies together have too many nodes.",
    "unknown function": "Nodes call a function that the graph does not have.",
}
_LOOP_BACK: Final = frozenset({"NextIteration", "RefNextIteration"})
_VARIABLES_BY_REFERENCE: Final = frozenset({"Variable", "VariableV2", "AutoReloadVariable", "TemporaryVariable"})
_CHANGES: Final = ("Assign", "Apply", "SparseApply", "Scatter", "Ref", "IsVariableInitialized", "CountUpTo")
"""Prefixes of operations that take a variable itself and not its value."""
_OF_THE_MODULE: Final = frozenset({"prim::GetAttr"})
"""PyTorch names the module as their input, but does not write it as a node."""

_Reference = tuple[str, int, bool]
"""Name of a node, index of its output (-1 for control), and whether the input is a control input."""


class Problems:
    """Counts problems by kind, with the first examples of each and the nodes affected."""

    def __init__(self) -> None:
        self._examples: dict[ProblemKind, list[str]] = {}
        self._counts: dict[ProblemKind, int] = {}
        self.nodes: list[int] = []
        self.kinds: list[ProblemKind] = []

    def add(self, kind: ProblemKind, example: str, node: int | None = None, count: int = 1) -> None:
        """Count a problem; ``node`` is the affected node, if any."""
        self._counts[kind] = self._counts.get(kind, 0) + count
        examples = self._examples.setdefault(kind, [])
        if len(examples) < MOST_EXAMPLES and example not in examples:
            examples.append(example)
        if node is not None:
            self.nodes.append(node)
            self.kinds.append(kind)

    def found(self) -> tuple[Problem, ...]:
        """Return all problems, by kind."""
        return tuple(
            Problem(kind, _SENTENCES[kind], count, tuple(self._examples[kind])) for kind, count in self._counts.items()
        )


def model_of(graph_def: GraphDef) -> GraphModel:
    """Return the graph as columns; its errors are reported in ``problems``, and none raises."""
    library = graph_def.library.function
    known = frozenset(function.signature.name for function in library)
    functions: dict[str, GraphModel] = {}
    for function in library:
        functions[function.signature.name] = _body(function, known, functions)
    return _model(list(graph_def.node), _reference, known, functions)


def _body(function: FunctionDef, known: frozenset[str], functions: Mapping[str, GraphModel]) -> GraphModel:
    nodes = [
        NodeDef(name=argument.name, op=ARGUMENT, attr=_argument_attributes(function, index, argument.type))
        for index, argument in enumerate(function.signature.input_arg)
    ]
    nodes += function.node_def
    for index, result in enumerate(function.signature.output_arg):
        attributes = {"index": AttrValue(i=index), "T": AttrValue(type=result.type)}
        inputs = [function.ret[result.name]] if result.name in function.ret else []
        nodes.append(NodeDef(name=f"{result.name}{RESULT_SUFFIX}", op=RESULT, input=inputs, attr=attributes))
    ops = {node.name: node.op for node in nodes}
    return _model(nodes, lambda text: _reference_in_function(text, ops), known, functions)


def _argument_attributes(function: FunctionDef, index: int, dtype: int) -> dict[str, AttrValue]:
    attributes = {"index": AttrValue(i=index), "T": AttrValue(type=dtype)}  # type: ignore[arg-type]
    if index in function.arg_attr:
        attributes |= dict(function.arg_attr[index].attr)
    return attributes


def _reference(text: str) -> _Reference:
    if text.startswith("^"):
        return text[1:], -1, True
    name, colon, slot = text.rpartition(":")
    return (name, int(slot), False) if colon and slot.isdecimal() and len(slot) < 9 else (text, 0, False)


def _reference_in_function(text: str, ops: Mapping[str, str]) -> _Reference:
    """Parse an input in a function: outputs have names, ``node:output_name:index``; arguments are names only."""
    if text.startswith("^"):
        return text[1:], -1, True
    name, _, rest = text.partition(":")
    output, _, index = rest.partition(":")
    return (
        name,
        output_slot(ops.get(name, ""), output, int(index) if index.isdecimal() and len(index) < 9 else 0),
        False,
    )


def _model(
    nodes: Sequence[NodeDef],
    reference: Callable[[str], _Reference],
    known: frozenset[str],
    functions: Mapping[str, GraphModel],
) -> GraphModel:
    problems = Problems()
    names, index = _names(nodes, problems)
    ops = [node.op for node in nodes]
    shapes, dtypes = _tensors(nodes)
    edges = _edges(nodes, names, index, reference, problems)
    source, target, source_slot, target_slot = edges[:, 0], edges[:, 1], edges[:, 2].astype(np.int32), edges[:, 3]
    _pass_results_on(nodes, source, target, source_slot, shapes, dtypes)
    _find_cycles(ops, names, source, target, problems)
    calls = _calls(nodes, names, known, problems)
    return GraphModel(
        names=tuple(names),
        ops=tuple(ops),
        devices=tuple([node.device for node in nodes]),
        xla=tuple([_xla(node) for node in nodes]),
        source=source,
        target=target,
        source_slot=source_slot,
        target_slot=target_slot.astype(np.int32),
        control=edges[:, 4].astype(np.bool_),
        reference=_references(ops, source, target, source_slot, dtypes),
        shapes=shapes,
        dtypes=dtypes,
        functions=functions,
        function_calls=calls,
        problems=problems.found(),
        problem_nodes=np.array(problems.nodes, np.int64),
        problem_kinds=tuple(problems.kinds),
        messages=nodes,
    )


def _edges(
    nodes: Sequence[NodeDef],
    names: Sequence[str],
    index: Mapping[str, int],
    reference: Callable[[str], _Reference],
    problems: Problems,
) -> NDArray[np.int64]:
    """Return the edges, [e, 5]: source, target, output, input, whether it is a control edge."""
    # Flat, as creating an array from millions of tuples blocks all other threads.
    cells = array("q")
    for target, node in enumerate(nodes):
        for slot, text in enumerate(node.input):
            # A name may itself look like an output of another node.
            name, output, control = (text, 0, False) if text in index else reference(text)
            source = index.get(name)
            if source is not None:
                cells.extend((source, target, output, -1 if control else slot, control))
            elif node.op not in _OF_THE_MODULE:
                problems.add("dangling input", f"{text} of {names[target]}", target)
    return np.frombuffer(cells, np.int64).reshape(-1, 5)


def _names(nodes: Iterable[NodeDef], problems: Problems) -> tuple[list[str], dict[str, int]]:
    """Return unique names, and the node that each name refers to as an input: the first with that name."""
    index: dict[str, int] = {}
    names: list[str] = []
    taken: set[str] = set()
    numbers: dict[str, int] = {}
    for number, node in enumerate(nodes):
        name = node.name
        if not name or "//" in name or name[0] == "/" or name[-1] == "/":
            name = "/".join(part or "(empty)" for part in name.split("/"))
            problems.add("unnamed node", node.name or f"node {number}", number)
        if node.name in index:
            problems.add("duplicate name", name, number)
        else:
            index[node.name] = number
        unique = unique_name(name, taken, numbers)
        taken.add(unique)
        names.append(unique)
    return names, index


def _tensors(nodes: Iterable[NodeDef]) -> tuple[dict[tuple[int, int], Shape | None], dict[tuple[int, int], str]]:
    shapes: dict[tuple[int, int], Shape | None] = {}
    dtypes: dict[tuple[int, int], str] = {}
    for number, node in enumerate(nodes):
        for slot, shape in enumerate(output_shapes(node)):
            shapes[number, slot] = shape
        for slot, dtype in enumerate(output_dtypes(node)):
            if dtype:
                dtypes[number, slot] = dtype
    return shapes, dtypes


def _pass_results_on(
    nodes: Sequence[NodeDef],
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    source_slot: NDArray[np.int32],
    shapes: dict[tuple[int, int], Shape | None],
    dtypes: dict[tuple[int, int], str],
) -> None:
    """Copy the shapes and types of a function's results to its result nodes."""
    results = {number for number, node in enumerate(nodes) if node.op == RESULT}
    if not results:
        return
    for edge in np.flatnonzero(np.isin(target, np.array(sorted(results), np.int64))).tolist():
        given, result = (int(source[edge]), int(source_slot[edge])), (int(target[edge]), 0)
        if given in shapes:
            shapes.setdefault(result, shapes[given])
        if given in dtypes:
            dtypes.setdefault(result, dtypes[given])


def _references(
    ops: Sequence[str],
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    source_slot: NDArray[np.int32],
    dtypes: Mapping[tuple[int, int], str],
) -> NDArray[np.bool_]:
    by_type = {tensor for tensor, dtype in dtypes.items() if is_reference(dtype)}
    variable = [op in _VARIABLES_BY_REFERENCE for op in ops]
    changes = [op.startswith(_CHANGES) for op in ops]
    edges = zip(listed(source), listed(target), listed(source_slot), strict=True)
    found = ((s, o) in by_type or (o >= 0 and variable[s] and changes[t]) for s, t, o in edges)
    return np.fromiter(found, np.bool_, len(source))


def _find_cycles(
    ops: Sequence[str],
    names: Sequence[str],
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    problems: Problems,
) -> None:
    """Report cycles as problems, except for TensorFlow's loops, which go back from "NextIteration"."""
    ends_loop = np.array([op in _LOOP_BACK for op in ops], np.bool_)
    forward = np.flatnonzero(~ends_loop[source]) if len(source) else np.zeros(0, np.int64)
    # Most graphs are written in the order of computation, which rules out cycles.
    if (source[forward] < target[forward]).all():
        return
    import igraph

    graph = igraph.Graph(n=len(ops), edges=np.stack((source[forward], target[forward]), axis=1), directed=True)
    if graph.is_dag():
        return
    of_node = np.array(graph.connected_components(mode="strong").membership)
    in_cycle = np.bincount(of_node, minlength=int(of_node.max()) + 1)[of_node] > 1
    in_cycle[source[forward][source[forward] == target[forward]]] = True
    for node in np.flatnonzero(in_cycle).tolist():
        problems.add("cycle", names[node], node)


def _calls(
    nodes: Sequence[NodeDef], names: Sequence[str], known: frozenset[str], problems: Problems
) -> dict[int, tuple[FunctionCall, ...]]:
    calls: dict[int, tuple[FunctionCall, ...]] = {}
    for number, node in enumerate(nodes):
        called = [FunctionCall("", node.op)] if node.op in known else []
        for name in sorted(node.attr) if node.attr else ():
            called += _called_by(name, node.attr[name])
        for call in called:
            if call.function not in known:
                problems.add("unknown function", f"{call.function} of {names[number]}", number)
        found = tuple(call for call in called if call.function in known)
        if found:
            calls[number] = found
    return calls


def _called_by(name: str, value: AttrValue) -> list[FunctionCall]:
    field = value.WhichOneof("value")
    if field == "func":
        return [FunctionCall(name, value.func.name)] if value.func.name else []
    if field == "list" and value.list.func:
        several = len(value.list.func) > 1
        return [
            FunctionCall(f"{name}_{number}" if several else name, function.name)
            for number, function in enumerate(value.list.func)
            if function.name
        ]
    return []


def _xla(node: NodeDef) -> str:
    return node.attr["_XlaCluster"].s.decode(errors="replace") if "_XlaCluster" in node.attr else ""
