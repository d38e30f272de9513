import builtins
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="ONNX is not installed")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from stepscope.summary.graphs import graph_of  # noqa: E402
from stepscope.summary.graphs.from_onnx import graph_from_onnx  # noqa: E402
from stepscope.summary.proto import types_pb2  # noqa: E402
from stepscope.summary.proto.graph_pb2 import GraphDef, NodeDef  # noqa: E402


def value(name: str, shape: list[Any] | None, dtype: int = TensorProto.FLOAT) -> Any:
    return helper.make_tensor_value_info(name, dtype, shape)


def model(nodes: list[Any], inputs: list[Any], outputs: list[Any], weights: dict[str, Any] | None = None) -> Any:
    initializers = [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()]
    graph = helper.make_graph(nodes, "main", inputs, outputs, initializer=initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("my", 1)])


def perceptron() -> Any:
    weights = {"w": np.ones((300, 4), np.float32), "b": np.arange(4, dtype=np.float32)}
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["h"], name="/body/body.0/Gemm", alpha=0.5, transB=0),
        helper.make_node("Relu", ["h"], ["y"], name="/body/body.1/Relu"),
    ]
    return model(nodes, [value("x", ["batch", 300])], [value("y", ["batch", 4])], weights)


def rows(graph: GraphDef) -> list[tuple[str, str, list[str]]]:
    return [(node.name, node.op, list(node.input)) for node in graph.node]


def named(graph: GraphDef) -> dict[str, NodeDef]:
    return {node.name: node for node in graph.node}


def shapes(node: NodeDef) -> list[list[tuple[int, str]]]:
    return [[(dim.size, dim.name) for dim in shape.dim] for shape in node.attr["_output_shapes"].list.shape]


def test_nodes_edges_shapes_and_attributes() -> None:
    graph = graph_from_onnx(perceptron())
    assert rows(graph) == [
        ("input/x", "IO Node", []),
        ("body/body.0/w", "Const", []),
        ("body/body.0/b", "Const", []),
        ("body/body.0/Gemm", "Gemm", ["input/x", "body/body.0/w", "body/body.0/b"]),
        ("body/body.1/Relu", "Relu", ["body/body.0/Gemm"]),
        ("output/y", "IO Node", ["body/body.1/Relu"]),
    ]
    nodes = named(graph)
    assert shapes(nodes["input/x"]) == [[(-1, "batch"), (300, "")]]
    assert shapes(nodes["body/body.0/w"]) == [[(300, ""), (4, "")]]
    assert shapes(nodes["body/body.0/Gemm"]) == [[(-1, "batch"), (4, "")]]
    assert nodes["body/body.0/Gemm"].attr["alpha"].f == 0.5
    assert nodes["body/body.0/w"].attr["value"].s == b"float[300, 4] ..."
    assert nodes["body/body.0/b"].attr["value"].s == b"float[4] [0.0, 1.0, 2.0, 3.0]"
    assert {node.attr["dtype"].type for node in graph.node} == {types_pb2.DT_FLOAT}
    assert graph.ByteSize() < 2000


def test_a_file_its_bytes_and_the_model_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    onnx.save(perceptron(), path)
    expected = graph_from_onnx(perceptron())
    assert graph_from_onnx(path) == graph_from_onnx(str(path)) == graph_from_onnx(path.read_bytes()) == expected
    assert graph_of(path) == graph_of(perceptron()) == expected
    misnamed = path.rename(tmp_path / "net.pb")
    assert graph_of(str(misnamed)) == expected


def test_the_model_itself_stays_as_it_was() -> None:
    given, before = perceptron(), perceptron().SerializeToString()
    graph_from_onnx(given)
    assert given.SerializeToString() == before


def test_weights_in_another_file_are_not_needed(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    onnx.save(perceptron(), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    (tmp_path / "weights.bin").unlink()
    graph = graph_from_onnx(path)
    assert [row[0] for row in rows(graph)] == [row[0] for row in rows(graph_from_onnx(perceptron()))]
    assert named(graph)["body/body.0/b"].attr["value"].s == b"float[4] ..."


def test_a_loop_sees_what_is_around_it_and_a_function_is_in_the_library() -> None:
    body = helper.make_graph(
        [
            helper.make_node("Add", ["sum", "w"], ["next"], name="add"),
            helper.make_node("Identity", ["go"], ["on"], name="keep"),
        ],
        "body",
        [value("turn", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("sum", [3])],
        [value("on", [], TensorProto.BOOL), value("next", [3])],
    )
    twice = helper.make_function(
        "my", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 18)]
    )
    nodes = [
        helper.make_node("Loop", ["n", "", "x"], ["z"], name="loop", body=body),
        helper.make_node("Twice", ["z"], ["y"], domain="my", name="call"),
    ]
    given = model(nodes, [value("x", [3])], [value("y", [3])], {"w": np.ones(3, np.float32), "n": np.array(4)})
    given.functions.append(twice)
    graph = graph_from_onnx(given)
    assert rows(graph) == [
        ("input/x", "IO Node", []),
        ("w", "Const", []),
        ("n", "Const", []),
        ("loop/body/turn", "Param", ["n"]),
        ("loop/body/go", "Param", []),
        ("loop/body/sum", "Param", ["input/x"]),
        ("loop/body/add", "Add", ["loop/body/sum", "w"]),
        ("loop/body/keep", "Identity", ["loop/body/go"]),
        ("loop", "Loop", ["n", "input/x", "loop/body/keep", "loop/body/add"]),
        ("call", "my.Twice", ["loop"]),
        ("output/y", "IO Node", ["call"]),
    ]
    (function,) = graph.library.function
    assert function.signature.name == "my.Twice"
    assert [(node.op, list(node.input)) for node in function.node_def] == [("Add", ["a", "a"])]
    assert dict(function.ret) == {"b": function.node_def[0].name}


def test_branches_of_a_condition_are_scopes() -> None:
    branches: dict[str, Any] = {
        label: helper.make_graph([helper.make_node(op, ["x"], [op], name="node")], label, [], [value(op, [2])])
        for label, op in (("then_branch", "Neg"), ("else_branch", "Abs"))
    }
    given = model(
        [helper.make_node("If", ["c"], ["y"], name="if", **branches)],
        [value("c", [], TensorProto.BOOL), value("x", [2])],
        [value("y", [2])],
    )
    found = {row[0]: row for row in rows(graph_from_onnx(given))}
    assert found["if/then_branch/node"] == ("if/then_branch/node", "Neg", ["input/x"])
    assert found["if/else_branch/node"] == ("if/else_branch/node", "Abs", ["input/x"])
    assert found["if"][2][0] == "input/c"
    assert set(found["if"][2][1:]) == {"if/then_branch/node", "if/else_branch/node"}


def test_several_outputs_shapes_and_modules_noted_by_the_exporter() -> None:
    split = helper.make_node("Split", ["x"], ["a", "b"], name="node_split", axis=0, num_outputs=2)
    split.metadata_props.add(
        key="namespace", value=": net.Net/body: torch.nn.Sequential/body.0: torch.nn.Linear/split: aten.split"
    )
    given = model([split, helper.make_node("Add", ["a", "b"], ["y"])], [value("x", [4, 3])], [value("y", None)])
    graph = graph_from_onnx(given)
    assert rows(graph)[1:3] == [
        ("Net/Sequential[body]/Linear[0]/node_split", "Split", ["input/x"]),
        ("Add", "Add", ["Net/Sequential[body]/Linear[0]/node_split", "Net/Sequential[body]/Linear[0]/node_split:1"]),
    ]
    assert shapes(graph.node[1]) == [[(2, ""), (3, "")], [(2, ""), (3, "")]]
    assert shapes(graph.node[2]) == [[(2, ""), (3, "")]]


def test_what_pytorch_exports(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(3, 2)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(net.eval(), (torch.ones(2, 4),), tmp_path / "m.onnx", dynamo=False, input_names=["x"])
    operations = [row for row in rows(graph_from_onnx(tmp_path / "m.onnx")) if row[1] not in ("Const", "IO Node")]
    assert operations == [
        ("0/Gemm", "Gemm", ["input/x", "0/0.weight", "0/0.bias"]),
        ("1/1.0/Relu", "Relu", ["0/Gemm"]),
        ("1/1.1/Gemm", "Gemm", ["1/1.0/Relu", "1/1.1/1.1.weight", "1/1.1/1.1.bias"]),
    ]


def test_a_model_that_makes_no_sense_is_shown_as_far_as_it_does() -> None:
    nodes = [helper.make_node("NoSuchOperator", ["nowhere", "x"], ["y"], domain="odd", name="a:b//c")]
    graph = graph_from_onnx(model(nodes, [value("x", [2], 999)], [value("y", [2])]))
    assert rows(graph) == [
        ("input/x", "IO Node", []),
        ("a_b/c", "odd.NoSuchOperator", ["input/x"]),
        ("output/y", "IO Node", ["a_b/c"]),
    ]


def test_a_constant_without_elements_is_shown_whatever_its_shape() -> None:
    empty = model([], [], [], {"w": np.ones((0, 4), np.float32)})
    empty.graph.initializer[0].dims[:] = [1 << 40, 0]
    (node,) = graph_from_onnx(empty).node
    assert (node.name, node.attr["value"].s) == ("w", b"float[1099511627776, 0] []")


@pytest.mark.parametrize("content", [b"", b"no model", b"\x08\x0a", b"\x3a\xff\xff"])
def test_bytes_that_are_no_model(content: bytes) -> None:
    with pytest.raises(ValueError, match="expected an ONNX model"):
        graph_from_onnx(content)


def test_what_is_no_model() -> None:
    with pytest.raises(TypeError, match="expected the path, the bytes or the ModelProto of an ONNX model, got int"):
        graph_from_onnx(3)


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == "onnx":
            raise ImportError("No module named 'onnx'")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(ImportError, match=r'pip install "stepscope\[onnx\]"'):
        graph_from_onnx(b"")
