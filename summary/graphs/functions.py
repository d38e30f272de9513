"""The graph of the functions that TensorFlow traced, as shown for a value of kind ``graph_run_metadata_graph``."""

from collections.abc import Iterable

from stepscope.summary.proto.graph_pb2 import GraphDef, NodeDef
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata


def graph_of_functions(run_metadata: RunMetadata) -> GraphDef:
    """Return the graphs of functions before optimization, as TensorBoard shows them.

    A single graph is returned as traced. Several become the scopes ``graph_1``, ``graph_2`` and so on of one graph,
    since their node names may collide; the names of their library functions get the scope's name and "_" as a prefix.
    """
    graphs = [functions.pre_optimization_graph for functions in run_metadata.function_graphs]
    if len(graphs) == 1:
        return graphs[0]
    merged = GraphDef()
    for number, graph in enumerate(graphs, 1):
        if not merged.HasField("versions"):
            merged.versions.CopyFrom(graph.versions)
        _add(merged, graph, f"graph_{number}")
    return merged


def _add(merged: GraphDef, graph: GraphDef, scope: str) -> None:
    functions = {function.signature.name for function in graph.library.function}
    for node in graph.node:
        added = merged.node.add()
        added.CopyFrom(node)
        added.name = f"{scope}/{node.name}"
        # The mark of a control input stays first.
        added.input[:] = [f"^{scope}/{name[1:]}" if name.startswith("^") else f"{scope}/{name}" for name in node.input]
        _rename_calls([added], functions, scope)
    for function in graph.library.function:
        copy = merged.library.function.add()
        copy.CopyFrom(function)
        copy.signature.name = f"{scope}_{function.signature.name}"
        _rename_calls(copy.node_def, functions, scope)
    for gradient in graph.library.gradient:
        merged.library.gradient.add(
            function_name=f"{scope}_{gradient.function_name}", gradient_func=f"{scope}_{gradient.gradient_func}"
        )


def _rename_calls(nodes: Iterable[NodeDef], functions: set[str], scope: str) -> None:
    for node in nodes:
        if node.op in functions:
            node.op = f"{scope}_{node.op}"
        for value in node.attr.values():
            called = [value.func] if value.HasField("func") else list(value.list.func) if value.HasField("list") else []
            for function in called:
                if function.name in functions:
                    function.name = f"{scope}_{function.name}"
