import numpy as np
import pytest

from stepscope.dashboard.graphs.model import Problem, model_of
from stepscope.dashboard.graphs.unique_names import unique_name
from stepscope.summary.proto import types_pb2
from stepscope.summary.proto.graph_pb2 import GraphDef
from tests.dashboard.graphs.build import call, function, graph


def problems(graph_def: GraphDef) -> list[tuple[str, int, tuple[str, ...]]]:
    return [(p.kind, p.count, p.examples) for p in model_of(graph_def).problems]


def test_nodes_and_edges_are_columns() -> None:
    model = model_of(
        graph(
            """
            x Placeholder: | FLOAT 2,3
            split Split: x | FLOAT 2,1
            y Add: split:1 split ^x | FLOAT 2,1
            """
        )
    )

    assert model.names == ("x", "split", "y")
    assert model.ops == ("Placeholder", "Split", "Add")
    rows = zip(model.source, model.source_slot, model.target, model.target_slot, model.control, strict=True)
    assert [tuple(int(v) for v in row) for row in rows] == [
        (0, 0, 1, 0, 0),
        (1, 1, 2, 0, 0),
        (1, 0, 2, 1, 0),
        (0, -1, 2, -1, 1),
    ]
    assert model.shapes == {(0, 0): (2, 3), (1, 0): (2, 1), (2, 0): (2, 1)}
    assert model.dtypes == {(0, 0): "float32", (1, 0): "float32", (2, 0): "float32"}
    assert model.problems == ()


def test_an_empty_graph_is_empty() -> None:
    model = model_of(GraphDef())

    assert (len(model), len(model.source), model.problems) == (0, 0, ())


def test_what_is_wrong_is_counted_with_examples() -> None:
    assert problems(graph("a Add: gone:1 ^lost\na Sub: a\nb Neg: b\nc Neg: d\nd Neg: c")) == [
        ("duplicate name", 1, ("a",)),
        ("dangling input", 2, ("gone:1 of a", "^lost of a")),
        ("cycle", 3, ("b", "c", "d")),
    ]


def test_names_are_made_unique() -> None:
    model = model_of(graph("a Add:\na Sub:\na Mul: a"))

    assert model.names == ("a", "a (2)", "a (3)")
    assert model.source.tolist() == [0]


def test_equal_names_do_not_try_the_numbers_of_those_before() -> None:
    class Taken(set[str]):
        looks = 0

        def __contains__(self, name: object) -> bool:
            self.looks += 1
            return super().__contains__(name)

    taken, numbers = Taken({"a (3)"}), dict[str, int]()
    for _ in range(100):
        taken.add(unique_name("a", taken, numbers))
    assert taken == {"a", *(f"a ({number})" for number in range(2, 102))}
    assert taken.looks == 200


@pytest.mark.parametrize(("name", "shown"), [("", "(empty)"), ("/a", "(empty)/a"), ("a//b/", "a/(empty)/b/(empty)")])
def test_names_with_empty_parts_are_filled_in(name: str, shown: str) -> None:
    graph_def = GraphDef()
    graph_def.node.add(name=name, op="NoOp")

    assert model_of(graph_def).names == (shown,)
    assert [(p.kind, p.count) for p in model_of(graph_def).problems] == [("unnamed node", 1)]


def test_a_loop_of_tensorflow_is_no_problem() -> None:
    loop = "enter Enter:\nmerge Merge: enter next\nbody Add: merge\nnext NextIteration: body"

    assert problems(graph(loop)) == []
    assert problems(graph(loop.replace("NextIteration", "Identity"))) == [("cycle", 3, ("merge", "body", "next"))]


def test_reference_edges_hand_a_variable_on() -> None:
    graph_def = graph(
        "v VariableV2: | FLOAT 2\nread Identity: v | FLOAT 2\nset Assign: v read | FLOAT 2\nh VarHandleOp:"
    )
    graph_def.node.append(graph("r ReadVariableOp: h").node[0])
    model = model_of(graph_def)

    edges = zip(model.source.tolist(), model.target.tolist(), model.reference.tolist(), strict=True)
    assert list(edges) == [(0, 1, False), (0, 2, True), (1, 2, False), (3, 4, True)]


def test_functions_are_graphs_with_arguments_and_results() -> None:
    graph_def = graph("x Placeholder:")
    call(graph_def, "y", "PartitionedCall", ["x"], f="double")
    graph_def.library.function.append(
        function("double", ["a"], {"r": "top:indices:0"}, "top TopKV2: a\nsum Add: top:values:0 a")
    )
    model = model_of(graph_def)
    body = model.functions["double"]

    assert {node: [c.function for c in calls] for node, calls in model.function_calls.items()} == {1: ["double"]}
    assert list(zip(body.names, body.ops, strict=True)) == [
        ("a", "_Arg"),
        ("top", "TopKV2"),
        ("sum", "Add"),
        ("r_RetVal", "_Retval"),
    ]
    edges = zip(body.source.tolist(), body.source_slot.tolist(), body.target.tolist(), strict=True)
    assert list(edges) == [(0, 0, 1), (1, 0, 2), (0, 0, 2), (1, 1, 3)]


def test_calls_of_unknown_functions_are_told() -> None:
    graph_def = GraphDef()
    call(graph_def, "y", "PartitionedCall", [], f="gone")

    assert problems(graph_def) == [("unknown function", 1, ("gone of y",))]
    assert isinstance(model_of(graph_def).problems[0], Problem)


def test_large_attributes_are_measured_and_decoded_when_asked_for() -> None:
    graph_def = graph("w Const:")
    values = np.arange(100_000, dtype=np.float32)
    tensor = graph_def.node[0].attr["value"].tensor
    tensor.dtype = types_pb2.DT_FLOAT
    tensor.tensor_shape.dim.add(size=100_000)
    tensor.tensor_content = values.tobytes()
    graph_def.node[0].attr["text"].s = b"x" * 5_000
    graph_def.node[0].attr["flag"].b = True
    model = model_of(graph_def)

    found = model.attributes(0)
    assert {name: (a.kind, a.text, a.truncated) for name, a in found.items()} == {
        "flag": ("bool", "true", False),
        "text": ("string", "x" * 200, True),
        "value": ("tensor", "float32 100000", True),
    }
    assert found["value"].bytes > 400_000
    assert model.attribute_text(0, "text") == ("x" * 5_000, False)
    text, cut = model.attribute_text(0, "value")
    assert cut
    assert text.startswith("float32 100000\n[0.000e+00, 1.000e+00, 2.000e+00")
    with pytest.raises(KeyError):
        model.attribute_text(0, "gone")
