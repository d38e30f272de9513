"""Processing of a graph before it is sent: function graphs are merged, and large attributes are left out."""

from stepscope.summary.proto.graph_pb2 import GraphDef
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata


def tensorboards_graph_of_functions(run_metadata: RunMetadata) -> GraphDef:
    """Return the graphs of a run's functions as one, before optimization, as TensorBoard answers.

    For viewing, use `stepscope.summary.graphs.functions.graph_of_functions`: here, as in TensorBoard, control inputs
    lose their nodes, and function calls their names. With several graphs, node names become ``graph_1/name`` and
    function names ``graph_1_name``, so that graphs with the same names stay distinct (TensorBoard's
    ``plugins/graph/graph_util.py``).
    """
    graphs = [found.pre_optimization_graph for found in run_metadata.function_graphs]
    if len(graphs) == 1:
        return graphs[0]
    merged = GraphDef()
    if graphs and graphs[0].versions.producer:
        merged.versions.CopyFrom(graphs[0].versions)
    for number, graph in enumerate(graphs, 1):
        _rename(graph, f"graph_{number}")
        merged.node.extend(graph.node)
        # Graphs without functions get no empty library, which would appear in the text.
        if graph.library.function:
            merged.library.function.extend(graph.library.function)
        if graph.library.gradient:
            merged.library.gradient.extend(graph.library.gradient)
    return merged


def _rename(graph: GraphDef, prefix: str) -> None:
    for node in graph.node:
        node.name = f"{prefix}/{node.name}"
        node.input[:] = [f"{prefix}/{name}" for name in node.input]
        if node.op == "PartitionedCall" and "f" in node.attr:
            node.attr["f"].func.name = f"{prefix}_{node.attr['f'].func.name}"
    for function in graph.library.function:
        function.signature.name = f"{prefix}_{function.signature.name}"
    for gradient in graph.library.gradient:
        gradient.function_name = f"{prefix}_{gradient.function_name}"
        gradient.gradient_func = f"{prefix}_{gradient.gradient_func}"


def leave_out_large_attributes(graph: GraphDef, largest: int, key: str) -> None:
    """Remove node attributes of more than ``largest`` bytes; their names go to the attribute ``key``."""
    for node in graph.node:
        large = [name for name, value in node.attr.items() if value.ByteSize() > largest]
        for name in large:
            del node.attr[name]
        if large:
            node.attr[key].list.s.extend(name.encode() for name in sorted(large))
