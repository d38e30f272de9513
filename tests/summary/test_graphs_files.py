import io
import struct
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest
from google.protobuf import text_format
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto import graph_pb2 as tensorboard_graph
from tensorboard.compat.proto import meta_graph_pb2 as tensorboard_meta_graph

from stepscope.summary.errors import UserError
from stepscope.summary.graphs import graph_of
from stepscope.summary.graphs.dispatch import graph_of_file
from stepscope.summary.graphs.files import (
    GraphMessage,
    binary_of,
    binary_pieces,
    graph_def_of,
    load_graph_file,
    parse_graph_file,
    text_of,
    unknown_fields,
)
from stepscope.summary.logdir import open_logdir
from stepscope.summary.proto.graph_pb2 import AttrValue, FunctionDef, GraphDef, NodeDef, OpDef
from stepscope.summary.proto.meta_graph_pb2 import MetaGraphDef, SavedModel
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata


def graph() -> GraphDef:
    made = GraphDef(
        node=[NodeDef(name="a", op="Const"), NodeDef(name="scope/b", op="Neg", input=["a"], device="/cpu:0")]
    )
    made.node[0].attr["value"].CopyFrom(AttrValue(f=1e-05))
    made.node[0].attr["bytes"].CopyFrom(AttrValue(s=b"\x00\xff'\"\n"))
    function = FunctionDef(signature=OpDef(name="f"), node_def=[NodeDef(name="n", op="Neg")])
    made.library.function.append(function)
    made.versions.producer = 22
    return made


def meta_graph(*tags: str) -> MetaGraphDef:
    made = MetaGraphDef(graph_def=graph())
    made.meta_info_def.tags.extend(tags)
    made.meta_info_def.tensorflow_version = "2.21.0"
    made.meta_info_def.any_info.type_url = "type.googleapis.com/stepscope.GraphDef"
    made.meta_info_def.any_info.value = graph().SerializeToString()
    made.collection_def["variables"].bytes_list.value.append(b"\xfe")
    return made


def saved_model() -> SavedModel:
    return SavedModel(saved_model_schema_version=1, meta_graphs=[meta_graph("train"), meta_graph("serve")])


MESSAGES: list[GraphMessage] = [graph(), meta_graph("serve"), MetaGraphDef(graph_def=graph()), saved_model()]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_binary_and_text_are_told_apart_and_give_the_same(message: GraphMessage) -> None:
    binary, text = binary_of(message), text_of(message).encode()
    assert parse_graph_file(binary, name="m") == parse_graph_file(text, name="m") == message
    assert binary_of(parse_graph_file(text, name="m")) == binary
    assert graph_def_of(message) == graph()
    assert b"".join(binary_pieces(message)) == binary
    assert unknown_fields(message) == 0


def test_a_graph_is_written_a_node_at_a_time() -> None:
    """No other thread runs while protobuf writes a message."""
    nodes = [len(GraphDef(node=[node]).SerializeToString()) for node in graph().node]
    assert [len(piece) for piece in binary_pieces(graph())][: len(nodes)] == nodes


def test_text_is_that_of_tensorflow_and_tensorboard() -> None:
    theirs = text_format.Parse(text_of(graph()), tensorboard_graph.GraphDef())
    assert theirs.SerializeToString(deterministic=True) == binary_of(graph())
    assert parse_graph_file(str(theirs).encode(), name="m") == graph()
    meta = text_format.Parse(text_of(meta_graph()), tensorboard_meta_graph.MetaGraphDef())
    assert meta.SerializeToString(deterministic=True) == binary_of(meta_graph())


def test_a_saved_model_gives_the_graph_that_is_served() -> None:
    model = saved_model()
    model.meta_graphs[1].graph_def.node[0].name = "served"
    assert graph_def_of(model).node[0].name == "served"
    model.meta_graphs[1].meta_info_def.ClearField("tags")
    assert graph_def_of(model).node[0].name == "a"
    with pytest.raises(ValueError, match="expected a SavedModel with graphs"):
        graph_def_of(SavedModel())


def test_the_directory_of_a_saved_model(tmp_path: Path) -> None:
    (tmp_path / "saved_model.pbtxt").write_text(text_of(saved_model()))
    assert load_graph_file(tmp_path) == saved_model()
    (tmp_path / "saved_model.pb").write_bytes(binary_of(meta_graph()))
    assert load_graph_file(str(tmp_path)) == meta_graph()
    assert graph_of(tmp_path) == graph()


def test_names_say_nothing(tmp_path: Path) -> None:
    path = tmp_path / "graph.pb"
    path.write_text(text_of(graph()))
    assert load_graph_file(path) == graph()
    assert graph_of_file(path) == graph()


def with_unknown_fields() -> bytes:
    """Field 1000, "new", in the graph, in a node, and in an attribute of it."""
    new = b"\xc2\x3e\x03new"
    attribute = b"\x0a\x01k\x12" + struct.pack("B", len(new) + 2) + b"\x18\x05" + new
    node = b"\x0a\x01a\x12\x05Const" + b"\x2a" + struct.pack("B", len(attribute)) + attribute + new
    return b"\x0a" + struct.pack("B", len(node)) + node + new


def test_fields_that_nobody_knows_survive_as_binary_and_are_counted_for_text() -> None:
    message = parse_graph_file(with_unknown_fields(), name="m")
    assert binary_of(message) == b"".join(binary_pieces(message)) == with_unknown_fields()
    assert unknown_fields(message) == 3
    assert parse_graph_file(text_of(message).encode(), name="m").node[0].attr["k"].i == 5  # type: ignore[union-attr]


def pickled_archive(*members: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for member in members:
            archive.writestr(member, b"")
    return stream.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a GraphDef, MetaGraphDef or SavedModel"),
        (b"garbage", "is not a .*, or is incomplete"),
        (binary_of(graph())[:-3], "is not a .*, or is incomplete"),
        (text_of(graph()).encode()[:-10], r"is not .*\nAs text, GraphDef: \d+:\d+"),
        (text_of(graph()).replace("device", "devise").encode(), 'no field named "devise"'),
        (b"versions { producer: 22 }", "has no node, so there is nothing to show"),
        (b"\x22\x02\x08\x16", "has no node, so there is nothing to show"),
        (b"node { name: 'a' attr { key: 'v' value { list { func { " * 2000, "is not a .*, or is incomplete"),
        (b"\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", "is not a .*, or is incomplete"),
        (
            RunMetadata(partition_graphs=[graph()]).SerializeToString(deterministic=True),
            "is not a |has no node",
        ),
    ],
)
def test_what_holds_no_graph(content: bytes, message: str) -> None:
    with pytest.raises(UserError, match=rf"^m\.pb {message}" if message.startswith(("is", "has")) else message):
        parse_graph_file(content, name="m.pb")


def read_or_refused(content: bytes) -> GraphDef | None:
    try:
        return graph_def_of(parse_graph_file(content, name="m"))
    except UserError:
        return None


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_give_a_graph_or_the_documented_error(content: bytes) -> None:
    found = read_or_refused(content)
    assert found is None or found.node


@given(st.integers(0, 400), st.integers(0, 255))
def test_a_damaged_file_gives_a_graph_or_the_documented_error(place: int, byte: int) -> None:
    content = bytearray(binary_of(saved_model()))
    content[place % len(content)] = byte
    found = read_or_refused(bytes(content))
    assert found is None or isinstance(found, GraphDef)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pickled_archive("net/data.pkl", "net/version"), "holds pickled Python objects"),
        (pickled_archive("net/data.pkl", "net/constants.pkl"), "is a TorchScript archive. Loading one may run code"),
        (pickled_archive("net/models/model.json"), "is a program of torch.export"),
        (pickled_archive("readme.txt"), "is an archive without a Keras model's config.json"),
        (pickled_archive("config.json"), "holds no graph: expected the JSON of a Keras model"),
        (b"PK\x03\x04garbage", "holds no graph: expected a .keras archive"),
        (b"\x80\x02}q\x00.", "holds pickled Python objects"),
        (b"\x89HDF\r\n\x1a\n", "is an HDF5 file"),
        (b'{"layers": []}', "holds no graph: expected the JSON of a Keras model"),
        (b"<svg/>", "holds no graph: expected an OpenVINO model"),
        (b"\x08\x0a\x3a\x00", "has no node, so there is nothing to show. Expected an ONNX model"),
        (b"<net><layers/></net>", "has no node"),
        (b"hello", "is not an ONNX model, an OpenVINO .xml file"),
    ],
)
def test_files_that_are_something_else_say_what(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(content)
    with pytest.raises(UserError, match=f"model (?:{message})"):
        graph_of_file(path)


def onnx_model() -> bytes:
    onnx = pytest.importorskip("onnx", reason="ONNX is not installed")
    helper = onnx.helper
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in ("x", "y")]
    weight = onnx.numpy_helper.from_array(numpy.ones(2, numpy.float32), "w")
    nodes = [helper.make_node("Add", ["x", "w"], ["y"], name="add", axis=1)]
    content: bytes = helper.make_model(
        helper.make_graph(nodes, "g", ends[:1], ends[1:], initializer=[weight])
    ).SerializeToString()
    return content


WHOLE: dict[str, Callable[[], bytes]] = {
    "onnx": onnx_model,
    "openvino": lambda: (
        b'<net><layers><layer id="0" name="x" type="P"><data a="1,2"/><output><port id="0"><dim>1</dim>'
        b'</port></output></layer></layers><edges><edge from-layer="0" from-port="0" to-layer="0"/></edges></net>'
    ),
    "keras": lambda: (
        b'{"class_name": "Functional", "config": {"name": "m", "layers": [{"class_name": "Dense", "config": '
        b'{"name": "d"}, "inbound_nodes": [[["d", 0, 0, {}]]]}], "input_layers": [], "output_layers": [["d", 0, 0]]}}'
    ),
}


@pytest.mark.parametrize("form", WHOLE)
@given(place=st.integers(0, 400), byte=st.integers(0, 255), cut=st.booleans())
def test_damaged_models_give_a_graph_or_the_documented_error(form: str, place: int, byte: int, cut: bool) -> None:
    content = bytearray(WHOLE[form]())
    place %= len(content)
    content[place:] = b"" if cut else bytes([byte]) + content[place + 1 :]
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        try:
            assert graph_of_file(file.name).node
        except UserError as error:
            message = str(error)
            assert message.startswith(file.name)


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("weights", "holds pickled Python objects"),
        ("old weights", "holds pickled Python objects"),
        ("script", "is a TorchScript archive"),
        ("program", "is a program of torch.export"),
    ],
)
def test_files_of_pytorch_are_not_opened(form: str, message: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    net, path = torch.nn.Linear(2, 2).eval(), tmp_path / "model.pt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        match form:
            case "weights":
                torch.save(net.state_dict(), path)
            case "old weights":
                torch.save(net, path, _use_new_zipfile_serialization=False)
            case "script":
                torch.jit.save(torch.jit.script(net), path)
            case _:
                path = tmp_path / "model.pt2"
                torch.export.save(torch.export.export(net, (torch.ones(1, 2),)), path)
    with pytest.raises(UserError, match=message):
        graph_of_file(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.pb cannot be read: No such file or directory"):
        load_graph_file(tmp_path / "none.pb")
    with pytest.raises(UserError, match=r"is a directory without saved_model\.pb or saved_model\.pbtxt"):
        load_graph_file(tmp_path)
    with pytest.raises(UserError, match="cannot be read"):
        load_graph_file("a\0b")


@pytest.mark.parametrize("logdir", ["tensorflow1/logdir", "pack/tensorflow1/logdir"])
def test_the_graph_of_a_run_of_tensorflow(peer: Callable[[str], Path], logdir: str) -> None:
    (run,) = open_logdir(peer(logdir)).runs.values()
    stored = run.series["__run_graph__"].read(0)
    assert parse_graph_file(binary_of(stored), name="m") == stored
    assert parse_graph_file(text_of(stored).encode(), name="m") == stored


@pytest.mark.parametrize(
    "message", [tensorboard_graph.GraphDef, tensorboard_meta_graph.MetaGraphDef], ids=lambda kind: kind.__name__
)
def test_messages_of_tensorboards_classes(message: type) -> None:
    own = graph() if message is tensorboard_graph.GraphDef else meta_graph()
    assert graph_of(message.FromString(binary_of(own))) == graph()  # type: ignore[attr-defined]


def test_graphs_of_tensorflow_are_asked_for_their_message() -> None:
    class Graph:
        def as_graph_def(self) -> tensorboard_graph.GraphDef:
            return tensorboard_graph.GraphDef.FromString(binary_of(graph()))

    class ConcreteFunction:
        graph = Graph()

    assert graph_of(Graph()) == graph_of(ConcreteFunction()) == graph()


@pytest.mark.parametrize("model", [3, None, object(), RunMetadata()])
def test_what_is_no_model(model: object) -> None:
    with pytest.raises(TypeError, match=r"expected a (PyTorch module|GraphDef)"):
        graph_of(model)
