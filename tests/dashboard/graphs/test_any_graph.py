"""In any graph, each visible edge stands for real ones, and each real one is in a visible edge."""

from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.dashboard.graphs.model import model_of
from stepscope.dashboard.graphs.scene import scene_of
from stepscope.dashboard.graphs.tree import Tree, tree_of
from stepscope.summary.proto.graph_pb2 import GraphDef

PARTS = st.sampled_from(["a", "b", "c_1", "c_2", "c_3", "c_4", "c_5", "w", "(a)", "", "a[1-5]"])
NAMES = st.lists(PARTS, min_size=1, max_size=4).map("/".join)
OPS = st.sampled_from(["Add", "Neg", "Const", "VariableV2", "Identity", "Assign", "NoOp", "ScalarSummary", "Call", "f"])


@st.composite
def graph_defs(draw: st.DrawFn) -> GraphDef:
    made = GraphDef()
    names = draw(st.lists(NAMES, max_size=14))
    marks = st.sampled_from(["{}", "^{}", "{}:1", "{}"])
    for name in names:
        inputs = draw(st.lists(st.tuples(marks, st.sampled_from([*names, "gone"])), max_size=3))
        node = made.node.add(name=name, op=draw(OPS), input=[mark.format(source) for mark, source in inputs])
        if node.op == "Call":
            node.attr["f"].func.name = draw(st.sampled_from(["f", "g", "gone"]))
    for name, called in (("f", "g"), ("g", draw(st.sampled_from(["f", "h"])))):
        function = made.library.function.add()
        function.signature.name = name
        function.signature.input_arg.add(name="x")
        function.signature.output_arg.add(name="r")
        function.ret["r"] = "n:y:0"
        function.node_def.add(name="n", op="PartitionedCall", input=["x"]).attr["f"].func.name = called
    return made


def visible(tree: Tree, paths: set[str], entry: int) -> str | None:
    """The innermost entry around one that is shown in the scene."""
    while entry > 0 and tree.paths[entry] not in paths:
        entry = int(tree.parent[entry])
    return tree.paths[entry] if entry > 0 else None


@settings(max_examples=300)
@given(graph_defs(), st.data())
def test_edges_are_neither_made_up_nor_lost(graph_def: GraphDef, data: st.DataObject) -> None:
    tree = tree_of(model_of(graph_def))
    groups = [path for entry, path in enumerate(tree.paths) if entry and tree.is_group(entry)]
    expanded = frozenset(groups if data.draw(st.booleans()) else data.draw(st.sets(st.sampled_from([*groups, "gone"]))))
    back = frozenset(tree.paths[1:] if data.draw(st.booleans()) else ())
    scene = scene_of(tree, expanded, frozenset(), back)

    ids = [node.id for node in scene.nodes]
    assert len(set(ids)) == len(ids)
    for place, node in enumerate(scene.nodes):
        assert node.parent is None or node.parent in ids[:place]
    leaves = {node.id for node in scene.nodes if not node.expanded and not node.aside}
    model = tree.model
    folded = {entry for entry in tree.hosts if tree.paths[entry] not in back}
    real: set[tuple[str, str]] = set()
    possible: set[tuple[str, str]] = set()
    for source, target in zip(tree.leaf_of[model.source].tolist(), tree.leaf_of[model.target].tolist(), strict=True):
        ends = [
            {visible(tree, leaves, host) for host in (tree.hosts[end] if end in folded else (end,))}
            for end in (source, target)
        ]
        pairs = {(a, b) for a in ends[0] for b in ends[1] if a and b and a != b}
        possible |= pairs
        if source not in folded and target not in folded:
            real |= pairs
    drawn = {(edge.source, edge.target) for edge in scene.edges}
    assert len(drawn) == len(scene.edges)
    assert real <= drawn <= possible
    if back:
        assert drawn == real
