import numpy as np
import pytest

from stepscope.dashboard.graphs.model import model_of
from stepscope.dashboard.graphs.tree import tree_of
from stepscope.summary.proto import types_pb2
from stepscope.summary.proto.graph_pb2 import GraphDef
from tests.dashboard.graphs.build import graph, tree

NET = """
x Placeholder: | FLOAT 2,3
a/b/one Neg: x | FLOAT 2,3
a/two Relu: a/b/one | FLOAT 2,3
y Neg: a/two | FLOAT 2,3
"""


def test_entries_are_numbered_in_preorder() -> None:
    found = tree(NET)

    assert found.paths == ("", "x", "a", "a/b", "a/b/one", "a/two", "y")
    assert found.parent.tolist() == [-1, 0, 0, 2, 3, 2, 0]
    assert found.end.tolist() == [7, 2, 6, 5, 5, 6, 7]
    assert found.node.tolist() == [-1, 0, -1, -1, 1, 2, 3]
    assert found.leaf_of.tolist() == [1, 4, 5, 6]
    assert found.count.tolist() == [4, 1, 2, 1, 1, 1, 1]
    assert found.kinds == ("group", "op", "group", "group", "op", "op", "op")
    assert found.children(0) == [1, 2, 6]
    assert found.ancestors(4) == [3, 2]
    assert found.op_histogram(0) == {"Neg": 2, "Placeholder": 1, "Relu": 1}


def test_values_of_nodes_are_summed_over_groups() -> None:
    assert tree(NET).summed(np.array([1, 2, 4, 8])).tolist() == [15, 1, 6, 2, 2, 4, 8]


def test_an_empty_graph_has_only_itself() -> None:
    found = tree_of(model_of(GraphDef()))

    assert (found.paths, found.count.tolist(), found.children(0)) == (("",), [0], [])


def test_too_many_siblings_are_folded_whether_they_are_alike_or_not() -> None:
    """A flat graph of 100,000 nodes could not be drawn, nor was there a group to close."""
    ops = ("Neg", "Relu")
    found = tree("\n".join(f"v{number}x {ops[number // 750 % 2]}:" for number in range(10_100)))
    root = found.children(0)
    assert [found.labels[entry] for entry in (root[0], root[-1])] == ["v0x … v499x", "v10000x … v10099x"]
    assert (len(root), {found.kinds[entry] for entry in root}) == (21, {"series"})
    assert [int(found.count[entry]) for entry in (0, root[0], root[-1])] == [10_100, 500, 100]
    assert [found.op(entry) for entry in root[:3]] == ["Neg", "", "Relu"]
    assert [found.labels[entry] for entry in found.children(root[1])[:2]] == ["v500x", "v501x"]


def test_a_label_holds_what_lies_too_deep() -> None:
    found = tree("/".join(["s"] * 300) + " Neg:")

    assert len(found) == 258
    assert found.labels[-1] == "/".join(["s"] * 44)


def test_paths_are_unique_whatever_names_there_are() -> None:
    found = tree("a Neg:\na/(a) Neg:\na/(a)/b Neg:\na/c Neg:")

    assert len(set(found.paths)) == len(found.paths)
    assert found.count[0] == 4


def test_optimizer_steps_say_which_variables_are_trained() -> None:
    text = """
    w VariableV2: | FLOAT 3,4
    mean VariableV2: | FLOAT 4
    step ApplyGradientDescent: w lr grad
    lr Const: | FLOAT 1
    grad Add: | FLOAT 3,4
    y Neg: mean w
    """
    assert tree(text).parameters[0] == 12
    assert tree(text.replace("step ApplyGradientDescent: w lr grad", "")).parameters[0] == 16


@pytest.mark.parametrize(
    ("name", "elements"), [("bn/gamma", 4), ("bn/moving_mean", 0), ("dense/kernel/Adam_1", 0), ("beta1_power", 0)]
)
def test_names_tell_what_optimizers_and_normalizations_keep(name: str, elements: int) -> None:
    assert tree(f"{name} VariableV2: | FLOAT 4\ny Neg: {name}").parameters[0] == elements


def test_constants_are_weights_where_there_are_no_variables() -> None:
    text = "x Placeholder: | FLOAT 2,3\nw Const: | FLOAT 3,4\nshape Const: | INT32 2\ny MatMul: x w\nz Reshape: y shape"

    assert tree(text).parameters[0] == 12


@pytest.mark.parametrize(
    ("line", "flops"),
    [
        ("y MatMul: a b | FLOAT 2,4", 2 * 2 * 4 * 3),
        ("y aten::linear: a b | FLOAT 2,4", 2 * 2 * 4 * 3),
        ("y aten::addmm: b a b | FLOAT 2,4", 2 * 2 * 4 * 3),
        ("y Conv2D: image kernel | FLOAT 1,8,8,16", 2 * 8 * 8 * 16 * 3 * 3 * 4),
        ("y DepthwiseConv2dNative: image kernel | FLOAT 1,8,8,64", 2 * 8 * 8 * 64 * 3 * 3),
        ("y Relu: a | FLOAT 2,3", 6),
        ("y MatMul: a b | FLOAT -1,4", None),
        ("y Unheard: a | FLOAT 2,3", None),
    ],
)
def test_flops_are_told_where_shapes_are_known(line: str, flops: int | None) -> None:
    inputs = "a In: | FLOAT 2,3\nb In: | FLOAT 3,4\nimage In: | FLOAT 1,8,8,4\nkernel In: | FLOAT 3,3,4,16\n"
    found = float(tree(inputs + line).flops[0])

    assert (None if np.isnan(found) else found) == flops


def test_a_scope_with_a_product_of_unknown_cost_has_no_sum() -> None:
    found = tree(
        "a In: | FLOAT 2,3\nb In: | FLOAT 3,4\none/y MatMul: a b | FLOAT 2,4\none/z Relu: one/y | FLOAT 2,4\n"
        "two/y MatMul: one/z b | FLOAT -1,4\ntwo/z Relu: two/y | FLOAT 2,4"
    )
    flops = {path: found.flops[found.entry_of[path]] for path in ("one", "two", "two/z")}

    assert flops["one"] == 2 * 2 * 4 * 3 + 8
    assert np.isnan(flops["two"])
    assert flops["two/z"] == 8
    assert np.isnan(found.flops[0])


def test_resource_variables_hold_what_their_handle_stands_for() -> None:
    graph_def = graph("v VarHandleOp:\nr ReadVariableOp: v\ny Neg: r")
    graph_def.node[0].attr["dtype"].type = types_pb2.DT_HALF
    for size in (5, 6):
        graph_def.node[0].attr["shape"].shape.dim.add(size=size)
    found = tree_of(model_of(graph_def))

    assert (found.parameters[0], found.bytes[0]) == (30, 60)
    assert found.parameters[found.entry_of["y"]] == 30


@pytest.mark.parametrize("sizes", ["4611686018427387904,4611686018427387904", ",".join(["4611686018427387904"] * 20)])
def test_what_shapes_beyond_any_memory_hold_and_cost_is_unknown(sizes: str) -> None:
    found = tree(
        f"""
        w VariableV2: | FLOAT {sizes}
        bad/y MatMul: w w | FLOAT 9223372036854775807
        bad/z Neg: w | FLOAT {sizes}
        good/v VariableV2: | FLOAT 2,3
        good/y MatMul: good/v good/v | FLOAT 2,3
        """
    )

    assert (found.parameters[0], found.parameters[found.entry_of["good"]]) == (6, 6)
    assert (found.flops[found.entry_of["good"]], str(found.flops[found.entry_of["bad"]])) == (36, "nan")


def test_a_node_whose_operations_nobody_can_do_does_not_spoil_the_sums_of_others() -> None:
    found = tree(
        """
        x Placeholder: | FLOAT 2097152,4611686018427387904
        bad MatMul: x x | FLOAT 2097152,2
        good Neg: x | FLOAT 3
        """
    )

    assert (found.flops[found.entry_of["good"]], str(found.flops[found.entry_of["bad"]])) == (3, "nan")
