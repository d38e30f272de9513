"""Small graphs for tests: nodes as "name op: inputs", and a scene's contents as text."""

from stepscope.dashboard.graphs.model import model_of
from stepscope.dashboard.graphs.scene import Scene, scene_of
from stepscope.dashboard.graphs.tree import Tree, tree_of
from stepscope.summary.proto import types_pb2
from stepscope.summary.proto.graph_pb2 import FunctionDef, GraphDef, NodeDef


def graph(text: str) -> GraphDef:
    """A graph from lines "name op: input input | float32 2,3"; the type and shape of output 0 follow "|"."""
    made = GraphDef()
    for line in text.strip().splitlines():
        made.node.append(node(line.strip()))
    return made


def node(line: str) -> NodeDef:
    head, _, tensor = line.partition("|")
    name_and_op, _, inputs = head.partition(": ")
    name, _, op = name_and_op.strip().rstrip(":").rpartition(" ")
    made = NodeDef(name=name, op=op, input=inputs.split())
    if tensor:
        dtype, _, sizes = tensor.strip().partition(" ")
        made.attr["T"].type = getattr(types_pb2, f"DT_{dtype}")
        shape = made.attr["_output_shapes"].list.shape.add()
        for size in sizes.split(","):
            shape.dim.add(size=int(size))
    return made


def function(name: str, inputs: list[str], outputs: dict[str, str], text: str) -> FunctionDef:
    made = FunctionDef(ret=outputs)
    made.signature.name = name
    for argument in inputs:
        made.signature.input_arg.add(name=argument, type=types_pb2.DT_FLOAT)
    for result in outputs:
        made.signature.output_arg.add(name=result, type=types_pb2.DT_FLOAT)
    made.node_def.extend(graph(text).node)
    return made


def call(graph_def: GraphDef, name: str, op: str, inputs: list[str], **functions: str) -> None:
    made = graph_def.node.add(name=name, op=op, input=inputs)
    for attribute, called in functions.items():
        made.attr[attribute].func.name = called


def tree(text: str) -> Tree:
    return tree_of(model_of(graph(text)))


def shown(scene: Scene) -> list[str]:
    """Nodes as "id [kind] +folded", then edges as "source -> target"; ".." and "~>" mark control edges."""
    lines = []
    for n in scene.nodes:
        mark = "*" if n.expanded else "!" if n.aside else ""
        lines.append(" ".join([f"{n.id}{mark}", f"[{n.kind} {n.count}]", *(f"+{aux}" for aux in n.aux)]))
    lines += [f"{e.source} {'~>' if e.control else '->'} {e.target}" for e in scene.edges]
    return lines


def scene_lines(text: str, *expanded: str, aside: tuple[str, ...] = (), back: tuple[str, ...] = ()) -> list[str]:
    return shown(scene_of(tree(text), frozenset(expanded), frozenset(aside), frozenset(back)))
