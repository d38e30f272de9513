"""Messages from others are parsed in pieces, and only if they do not have too many parts."""

import pytest
from google.protobuf.message import DecodeError, Message
from hypothesis import given
from hypothesis import strategies as st

from stepscope.summary import bounded_messages
from stepscope.summary.bounded_messages import TooManyPartsError, count_parts, parse
from stepscope.summary.cancellation import Cancellation, Cancelled, cancellable
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.graph import decode_graph
from stepscope.summary.kinds.tensor_proto import strings_tensor
from stepscope.summary.proto.debug_event_pb2 import DebugEvent
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.graph_pb2 import GraphDef, NodeDef
from stepscope.summary.proto.hparams_pb2 import HParamsPluginData
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.proto.step_stats_pb2 import StepStats
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.proto.tensor_bundle_pb2 import BundleEntryProto
from stepscope.summary.proto.tensor_pb2 import TensorProto
from stepscope.summary.proto.xplane_pb2 import XPlane, XSpace


def graph() -> GraphDef:
    made = GraphDef()
    for number in range(20):
        made.node.add(name=f"n{number}", op="MatMul", input=["n0", "n1"]).attr["T"].i = 1
    for name in ("f", "g"):
        function = made.library.function.add()
        function.signature.name = name
        for number in range(5):
            function.node_def.add(name=f"inner{number}", op="Add")
    made.versions.producer = 3
    return made


@pytest.mark.parametrize("piece", [1, 7, 100, 1 << 20])
def test_a_message_in_pieces_is_the_message(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_messages, "_PIECE_BYTES", piece)
    assert parse(GraphDef, graph().SerializeToString()) == graph()
    metadata = RunMetadata(partition_graphs=[graph(), graph()])
    metadata.step_stats.dev_stats.add(device="/cpu:0").node_stats.add(node_name="a")
    assert parse(RunMetadata, metadata.SerializeToString()) == metadata
    event = Event(step=1, graph_def=b"first").SerializeToString() + Event(summary=Summary()).SerializeToString()
    assert parse(Event, event) == Event.FromString(event)


@given(
    st.sampled_from([1, 1 << 20]),
    st.binary(max_size=60) | st.lists(st.sampled_from([b"\n\x00", b"\x12\x02\n\x00", b"\x0b", b"\xff"])).map(b"".join),
)
def test_any_bytes_are_the_message_or_refused_as_by_protobuf(piece: int, content: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounded_messages, "_PIECE_BYTES", piece)
        try:
            expected = GraphDef.FromString(content)
        except DecodeError:
            with pytest.raises(DecodeError):
                parse(GraphDef, content)
        else:
            assert parse(GraphDef, content).SerializeToString() == expected.SerializeToString()


def inside(field: int, *parts: bytes) -> bytes:
    """Return a field that holds a message, or bytes, made of these parts."""
    content = b"".join(parts)
    return bytes([field << 3 | 2, len(content) & 127 | 128, len(content) >> 7]) + content


def empty(field: int, count: int = 101) -> bytes:
    return bytes([field << 3 | 2, 0]) * count


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        pytest.param(GraphDef, empty(1), id="nodes"),
        pytest.param(GraphDef, inside(1, empty(3)), id="inputs of a node"),
        pytest.param(GraphDef, inside(2, inside(1, empty(3))), id="nodes of a function"),
        pytest.param(GraphDef, b"\x48\x01" * 101, id="what nobody knows"),
        pytest.param(GraphDef, b"\x4b\x4c" + empty(1), id="nodes behind a group"),
        pytest.param(Event, inside(5, empty(1)), id="values of a summary"),
        pytest.param(Summary.Value, inside(8, empty(8)), id="texts of a tensor"),
        pytest.param(TensorProto, inside(7, b"\x01" * 1_700), id="numbers of a tensor"),
        pytest.param(DebugEvent, inside(4, empty(3)), id="lines of a source file"),
        pytest.param(HParamsPluginData, inside(2, empty(5)), id="hyperparameters of an experiment"),
        pytest.param(StepStats, inside(1, empty(2)), id="nodes of a device"),
        pytest.param(XPlane, inside(3, empty(4)), id="events of a line"),
        pytest.param(XSpace, empty(1), id="planes"),
        pytest.param(BundleEntryProto, empty(7), id="slices of a tensor in a checkpoint"),
    ],
)
@pytest.mark.parametrize("compiled", [True, False])
def test_more_parts_than_can_be_held_are_refused_before_they_are_parsed(
    kind: type[Message], content: bytes, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_messages, "SMALL_PARTS", 100)
    monkeypatch.setattr(bounded_messages, "_LEAST_BYTES", 20)
    monkeypatch.setattr(type(bounded_messages.KERNELS), "ready", compiled)
    with pytest.raises(TooManyPartsError, match=r"^it has more than 100 parts, which is too many to be read$"):
        parse(kind, content)


def test_parts_of_many_bytes_may_be_more_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_messages, "SMALL_PARTS", 10)
    whole = GraphDef(node=[NodeDef(name="a name of a node")] * 30).SerializeToString()
    assert len(parse(GraphDef, whole).node) == 30
    monkeypatch.setattr(bounded_messages, "MOST_PARTS", 29)
    with pytest.raises(TooManyPartsError, match="more than 29 parts"):
        parse(GraphDef, whole)


_FIELDS = st.recursive(
    st.sampled_from([b"\x08\x01", b"\x15abcd", b"\x19abcdefgh", b"\x0b", b"\x0c", b"\x0f", b"\x42\x00"]),
    lambda parts: st.builds(lambda field, found: inside(field, *found), st.integers(1, 10), st.lists(parts)),
)


@given(st.lists(_FIELDS).map(b"".join), st.sampled_from([GraphDef, Event, RunMetadata, TensorProto]))
def test_parts_are_counted_alike_while_the_loop_is_not_compiled(content: bytes, kind: type[Message]) -> None:
    compiled = count_parts(kind, content, 1_000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(bounded_messages.KERNELS), "ready", False)
        assert count_parts(kind, content, 1_000) == compiled


def test_what_is_counted() -> None:
    of_graph = count_parts(GraphDef, graph().SerializeToString(), 10_000)
    # For 20 nodes: each node, two inputs, an attribute and its value; the library, two functions with their signatures
    # and five nodes each; and the versions.
    assert of_graph == 20 * 5 + 1 + 2 * (1 + 1 + 5) + 1
    assert count_parts(TensorProto, TensorProto(float_val=[1.0] * 100).SerializeToString(), 100) == 1
    assert count_parts(TensorProto, TensorProto(int_val=[1] * 100).SerializeToString(), 100) == 1 + 100 // 16


def test_a_graph_of_very_many_empty_nodes_is_refused() -> None:
    content = empty(1, bounded_messages.SMALL_PARTS + 1)
    with pytest.raises(PayloadError, match="more than 2,000,000 parts"):
        decode_graph(Summary.Value(tensor=strings_tensor([content], ())))


def test_parsing_ends_when_nobody_wants_it() -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    with cancellable(cancellation), pytest.raises(Cancelled):
        parse(GraphDef, graph().SerializeToString())
