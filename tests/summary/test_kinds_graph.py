import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tensorboard.compat.proto import config_pb2, graph_pb2
from tensorboard.compat.proto import meta_graph_pb2 as tensorboard_meta_graph

from stepscope.summary.event_file_writer import EventFileWriter
from stepscope.summary.kinds import KINDS, PayloadError, decode, kind_of
from stepscope.summary.kinds.graph import KerasModel, function_graphs, graph, keras_model
from stepscope.summary.kinds.tensor_proto import strings_tensor
from stepscope.summary.logdir import open_logdir
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.graph_pb2 import GraphDef, NodeDef
from stepscope.summary.proto.meta_graph_pb2 import MetaGraphDef
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.proto.summary_pb2 import Summary, SummaryMetadata

GRAPH = GraphDef(node=[NodeDef(name="a", op="Const"), NodeDef(name="b", op="Neg", input=["a"])])
OTHER = GraphDef(node=[NodeDef(name="other", op="Const")])
META_GRAPH = MetaGraphDef(graph_def=GRAPH)
META_GRAPH.meta_info_def.tags.append("serve")
FUNCTIONS = RunMetadata(function_graphs=[RunMetadata.FunctionGraphs(pre_optimization_graph=GRAPH)])
KERAS_JSON = '{"class_name": "Sequential", "config": {"name": "s", "layers": []}}'


def write(folder: Path, *events: Event) -> None:
    writer = EventFileWriter(folder)
    for event in events:
        writer.add_event(event, 1.0)
    writer.close()


def test_what_is_written_is_read() -> None:
    model = keras_model("keras", KERAS_JSON)
    assert kind_of(model) == "graph_keras_model"
    assert decode(kind_of(model), model) == KerasModel(KERAS_JSON)
    assert decode(kind_of(model), model).config == json.loads(KERAS_JSON)
    functions = function_graphs("func", FUNCTIONS)
    assert kind_of(functions) == "graph_run_metadata_graph"
    assert decode(kind_of(functions), functions) == FUNCTIONS
    assert decode("graphs", graph(GRAPH).graph_def) == GRAPH


def test_a_run_has_its_graph_and_its_models(tmp_path: Path) -> None:
    values = [keras_model("keras", KERAS_JSON), function_graphs("func", FUNCTIONS)]
    write(tmp_path, graph(GRAPH), Event(summary=Summary(value=values)))
    (run,) = open_logdir(tmp_path).runs.values()
    assert {tag: (series.kind, series.read(0)) for tag, series in run.series.items()} == {
        "__run_graph__": ("graphs", GRAPH),
        "keras": ("graph_keras_model", KerasModel(KERAS_JSON)),
        "func": ("graph_run_metadata_graph", FUNCTIONS),
    }


def test_a_meta_graph_alone_is_the_graph_of_its_run(tmp_path: Path) -> None:
    write(tmp_path, Event(meta_graph_def=META_GRAPH.SerializeToString()))
    (run,) = open_logdir(tmp_path).runs.values()
    assert run.series["__run_graph__"].read(0) == GRAPH


def test_a_meta_graph_beside_a_graph_is_not_a_second_one(tmp_path: Path) -> None:
    # TensorFlow's FileWriter writes both for the same graph.
    write(tmp_path, graph(OTHER), Event(meta_graph_def=META_GRAPH.SerializeToString()))
    (run,) = open_logdir(tmp_path).runs.values()
    series = run.series["__run_graph__"]
    assert [series.read(index) for index in range(len(series.steps))] == [OTHER]


def test_a_graph_after_a_meta_graph_is_the_later_one(tmp_path: Path) -> None:
    write(tmp_path, Event(meta_graph_def=META_GRAPH.SerializeToString()), graph(OTHER))
    (run,) = open_logdir(tmp_path).runs.values()
    series = run.series["__run_graph__"]
    assert [series.read(index) for index in range(len(series.steps))] == [GRAPH, OTHER]


def test_a_meta_graph_that_is_none_is_damage_and_an_empty_one_is_nothing(tmp_path: Path) -> None:
    empty = MetaGraphDef(meta_info_def=META_GRAPH.meta_info_def)
    write(tmp_path, Event(meta_graph_def=b"\x0a\xff"), Event(meta_graph_def=empty.SerializeToString()))
    snapshot = open_logdir(tmp_path)
    assert [run for run in snapshot.runs.values() if run.series] == []
    (health,) = snapshot.health
    assert ["expected a MetaGraphDef message" in damage.reason for damage in health.damages] == [True]


@pytest.mark.parametrize(
    ("kind", "tensor", "message"),
    [
        ("graphs", strings_tensor([b"\x0a\xff"], ()), "expected a GraphDef message"),
        ("graphs", strings_tensor([b"", b""], (2,)), r"expected one string for a graph, got shape \[2\]"),
        ("graph_keras_model", strings_tensor([b"{"], ()), "expected the JSON of a Keras model"),
        ("graph_keras_model", strings_tensor([b"[1]"], ()), 'an object with a "config"'),
        ("graph_keras_model", strings_tensor([b"\xff"], ()), "utf-8"),
        ("graph_keras_model", strings_tensor([b"[" * 100_000], ()), "expected the JSON of a Keras model"),
        ("graph_run_metadata_graph", strings_tensor([b"\x0a\xff"], ()), "expected a RunMetadata message"),
    ],
)
def test_what_is_no_graph(kind: str, tensor: object, message: str) -> None:
    with pytest.raises(PayloadError, match=message):
        decode(kind, Summary.Value(tensor=tensor))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["graph_keras_model", "graph_run_metadata_graph"])
def test_content_of_another_version_is_refused_as_tensorboard_refuses_it(kind: str) -> None:
    plugin = SummaryMetadata.PluginData(plugin_name=kind, content=b"2")
    value = Summary.Value(metadata=SummaryMetadata(plugin_data=plugin), tensor=strings_tensor([b""], ()))
    with pytest.raises(PayloadError, match=rf"expected {kind} of version b'1', got b'2'"):
        decode(kind, value)


@pytest.mark.parametrize("kind", ["graphs", "graph_keras_model", "graph_run_metadata_graph"])
def test_a_number_is_no_graph(kind: str) -> None:
    with pytest.raises(PayloadError, match="as a tensor, got simple_value"):
        decode(kind, Summary.Value(simple_value=1.0))


@pytest.mark.parametrize("text", ["", "{}", "null", '{"config": 3}', "\ud800"])
def test_only_json_of_a_model_is_written(text: str) -> None:
    with pytest.raises(ValueError, match="JSON of a Keras model"):
        keras_model("keras", text)


def test_messages_are_those_of_tensorboard() -> None:
    assert graph_pb2.GraphDef.FromString(graph(GRAPH).graph_def).SerializeToString() == GRAPH.SerializeToString()
    stored = function_graphs("f", FUNCTIONS).tensor.string_val[0]
    theirs = config_pb2.RunMetadata.FromString(stored).function_graphs[0].pre_optimization_graph
    assert [node.name for node in theirs.node] == ["a", "b"]
    meta = tensorboard_meta_graph.MetaGraphDef.FromString(META_GRAPH.SerializeToString())
    assert [node.name for node in meta.graph_def.node] == ["a", "b"]


@pytest.mark.parametrize(("place", "function"), [("", "func"), ("pack/", "dense")])
def test_graphs_of_tensorflow(peer: Callable[[str], Path], place: str, function: str) -> None:
    (version_1,) = open_logdir(peer(f"{place}tensorflow1/logdir")).runs.values()
    run_graph = version_1.series["__run_graph__"]
    nodes = {node.name for node in run_graph.read(len(run_graph.steps) - 1).node}
    assert nodes
    version_2 = open_logdir(peer(f"{place}tensorflow2")).runs
    model = version_2["keras/train"].series["keras"].read(0)
    assert model.config["class_name"] in ("Sequential", "Functional")
    functions = version_2["eager"].series[function].read(0)
    assert all(graphs.pre_optimization_graph.node for graphs in functions.function_graphs)
    assert {"graphs", "graph_keras_model", "graph_run_metadata_graph"} <= set(KINDS)
