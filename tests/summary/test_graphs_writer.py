"""Graphs through `SummaryWriter`, read by this package and by TensorBoard."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import text_format
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.compat.proto import graph_pb2 as tensorboard_graph
from tensorboard.context import RequestContext
from tensorboard.plugins.base_plugin import TBContext
from tensorboard.plugins.graph.graphs_plugin import GraphsPlugin

from stepscope.summary import SummaryWriter
from stepscope.summary.errors import UserError
from stepscope.summary.graphs import graph_of
from stepscope.summary.graphs.files import binary_of, text_of
from stepscope.summary.graphs.from_onnx import graph_from_onnx
from stepscope.summary.graphs.from_openvino import graph_from_openvino
from stepscope.summary.graphs.functions import graph_of_functions
from stepscope.summary.kinds.graph import function_graphs
from stepscope.summary.logdir import open_logdir
from stepscope.summary.proto.graph_pb2 import GraphDef, NodeDef
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.proto.summary_pb2 import Summary

GRAPH = GraphDef(node=[NodeDef(name="a", op="Const"), NodeDef(name="b", op="Neg", input=["a"])])
XML = (
    '<net version="11"><layers><layer id="0" name="x" type="Parameter"><output><port id="0"><dim>1</dim></port>'
    '</output></layer></layers><edges/></net>'
)  # fmt: skip


def plugin(folder: Path) -> GraphsPlugin:
    multiplexer = EventMultiplexer()
    multiplexer.AddRunsFromDirectory(str(folder))
    multiplexer.Reload()
    return GraphsPlugin(TBContext(data_provider=MultiplexerDataProvider(multiplexer, str(folder))))


def tensorboards_graph(folder: Path) -> bytes:
    accumulator = EventAccumulator(str(folder))
    accumulator.Reload()
    graph: bytes = accumulator.Graph().SerializeToString(deterministic=True)
    return graph


def own_graph(folder: Path) -> GraphDef:
    (run,) = open_logdir(folder).runs.values()
    series = run.series["__run_graph__"]
    assert len(series.steps) == 1
    graph: GraphDef = series.read(0)
    return graph


def onnx_model() -> Any:
    onnx = pytest.importorskip("onnx", reason="ONNX is not installed")
    helper, float32 = onnx.helper, onnx.TensorProto.FLOAT
    ends = [helper.make_tensor_value_info(name, float32, [2]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="relu")], "g", ends[:1], ends[1:])
    return helper.make_model(graph)


def keras_model() -> Any:
    os.environ.setdefault("KERAS_BACKEND", "torch")
    keras = pytest.importorskip("keras", reason="Keras is not installed")
    return keras.Sequential([keras.layers.Input((4,), name="x"), keras.layers.Dense(2, name="d")], name="s")


def test_a_pytorch_model_is_read_back_equal(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(model, torch.ones(2, 4))
    expected = graph_of(model, torch.ones(2, 4))
    assert own_graph(tmp_path) == expected
    assert tensorboards_graph(tmp_path) == binary_of(expected)


def test_an_onnx_model_is_read_back_equal(tmp_path: Path) -> None:
    model = onnx_model()
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    for name in ("model", "path", "graph"):
        with SummaryWriter(tmp_path / name) as writer:
            if name == "graph":
                writer.add_graph(model)
            else:
                writer.add_onnx_graph(model if name == "model" else tmp_path / "m.onnx")
        assert own_graph(tmp_path / name) == graph_from_onnx(model)
        assert tensorboards_graph(tmp_path / name) == binary_of(graph_from_onnx(model))


def test_an_openvino_model_is_read_back_equal(tmp_path: Path) -> None:
    (tmp_path / "m.xml").write_text(XML)
    with SummaryWriter(tmp_path / "run") as writer:
        writer.add_openvino_graph(str(tmp_path / "m.xml"))
    assert own_graph(tmp_path / "run") == graph_from_openvino(XML.encode())
    assert tensorboards_graph(tmp_path / "run") == binary_of(graph_from_openvino(XML.encode()))


@pytest.mark.parametrize("form", ["own", "tensorboard's", "path"])
def test_a_graph_def_is_read_back_equal(form: str, tmp_path: Path) -> None:
    given: Any = GRAPH
    if form == "tensorboard's":
        given = tensorboard_graph.GraphDef.FromString(binary_of(GRAPH))
    elif form == "path":
        given = tmp_path / "g.pbtxt"
        given.write_text(text_of(GRAPH))
    with SummaryWriter(tmp_path / "run") as writer:
        writer.add_graph(given, walltime=12.5)
    (run,) = open_logdir(tmp_path / "run").runs.values()
    assert run.series["__run_graph__"].wall_times.tolist() == [12.5]
    assert own_graph(tmp_path / "run") == GRAPH
    assert tensorboards_graph(tmp_path / "run") == binary_of(GRAPH)


def test_tensorboards_panel_shows_the_graph_of_a_run(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path / "run") as writer:
        writer.add_graph(GRAPH)
    shown = plugin(tmp_path)
    context = RequestContext()
    assert shown.info_impl(context, "") == {"run": {"run": "run", "tags": {}, "run_graph": True}}
    body, _ = shown.graph_impl(context, "run", None, False, "")
    assert text_format.Parse(body, GraphDef()) == GRAPH


@pytest.mark.parametrize("form", ["model", "json", "archive"])
def test_tensorboards_panel_shows_the_layers_of_a_keras_model(form: str, tmp_path: Path) -> None:
    given = model = keras_model()
    if form == "json":
        given = tmp_path / "m.txt"
        given.write_text(model.to_json())
    elif form == "archive":
        given = tmp_path / "m.keras"
        model.save(given)
    with SummaryWriter(tmp_path / "run") as writer:
        writer.add_graph(given)
    (series,) = open_logdir(tmp_path / "run").runs["."].series.values()
    assert (series.tag, series.kind) == ("keras", "graph_keras_model")
    assert series.read(0).config["config"]["layers"] == json.loads(model.to_json())["config"]["layers"]
    shown = plugin(tmp_path)
    row = {"tag": "keras", "conceptual_graph": True, "op_graph": False, "profile": False}
    assert shown.info_impl(RequestContext(), "") == {"run": {"run": "run", "tags": {"keras": row}, "run_graph": False}}
    body, _ = shown.graph_impl(RequestContext(), "run", "keras", True, "")
    nodes = text_format.Parse(body, GraphDef()).node
    assert [(node.name, list(node.input)) for node in nodes] == [("s/x", []), ("s/d", ["s/x"])]


@pytest.mark.parametrize("count", [1, 2])
def test_tensorboards_panel_shows_traced_functions_as_they_are_read_here(count: int, tmp_path: Path) -> None:
    traced = GraphDef(
        node=[NodeDef(name="x", op="Placeholder"), NodeDef(name="call", op="PartitionedCall", input=["x"])]
    )
    traced.node[1].attr["f"].func.name = "f"
    traced.library.function.add().signature.name = "f"
    traced.library.gradient.add(function_name="f", gradient_func="f")
    traced.versions.producer = 22
    graphs = [RunMetadata.FunctionGraphs(pre_optimization_graph=traced) for _ in range(count)]
    with SummaryWriter(tmp_path / "run") as writer:
        writer.add_summary(Summary(value=[function_graphs("func", RunMetadata(function_graphs=graphs))]))
    (series,) = open_logdir(tmp_path / "run").runs["."].series.values()
    shown = plugin(tmp_path)
    assert shown.info_impl(RequestContext(), "")["run"]["tags"]["func"]["op_graph"]
    body, _ = shown.graph_impl(RequestContext(), "run", "func", False, "")
    assert text_format.Parse(body, GraphDef()) == graph_of_functions(series.read(0))


def test_functions_that_call_each_other_keep_to_their_graph() -> None:
    traced = GraphDef(node=[NodeDef(name="x", op="f"), NodeDef(name="y", op="NoOp", input=["x:1", "^x"])])
    traced.library.function.add(node_def=[NodeDef(name="n", op="f")]).signature.name = "f"
    graphs = [RunMetadata.FunctionGraphs(pre_optimization_graph=traced) for _ in range(2)]
    merged = graph_of_functions(RunMetadata(function_graphs=graphs))
    assert [(node.name, node.op, list(node.input)) for node in merged.node] == [
        ("graph_1/x", "graph_1_f", []),
        ("graph_1/y", "NoOp", ["graph_1/x:1", "^graph_1/x"]),
        ("graph_2/x", "graph_2_f", []),
        ("graph_2/y", "NoOp", ["graph_2/x:1", "^graph_2/x"]),
    ]
    assert [(f.signature.name, f.node_def[0].op) for f in merged.library.function] == [
        ("graph_1_f", "graph_1_f"),
        ("graph_2_f", "graph_2_f"),
    ]


def test_a_keras_model_under_another_tag(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(keras_model(), tag="generator")
        writer.add_graph(keras_model(), tag="critic")
    assert list(open_logdir(tmp_path).runs["."].series) == ["generator", "critic"]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda writer: writer.add_graph(3), TypeError, "got int"),
        (lambda writer: writer.add_graph(GRAPH, tag=""), ValueError, "a tag must not be empty"),
        (lambda writer: writer.add_graph(GRAPH, walltime=float("nan")), ValueError, "a wall time must be finite"),
        (lambda writer: writer.add_graph("no/such/file"), UserError, "cannot be read"),
        (lambda writer: writer.add_onnx_graph(b"nothing"), ValueError, "expected an ONNX model"),
        (lambda writer: writer.add_openvino_graph("no.xml"), FileNotFoundError, "No such file"),
    ],
)
def test_what_is_refused_is_not_written(call: Any, error: type[Exception], message: str, tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer, pytest.raises(error, match=message):
        call(writer)
    assert [run for run in open_logdir(tmp_path).runs.values() if run.series] == []
