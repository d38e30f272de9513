"""Messages of others are parsed in pieces, and only where they do not have too many parts."""

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from stepscope.summary.cancellation import Cancellation, Cancelled, cancellable
from stepscope.summary.kinds import bounded_messages
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.bounded_messages import GRAPH, RUN_METADATA, parse
from stepscope.summary.kinds.graph import decode_graph
from stepscope.summary.kinds.tensor_proto import strings_tensor
from stepscope.summary.proto.graph_pb2 import GraphDef
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.proto.summary_pb2 import Summary


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
    assert parse(GraphDef, graph().SerializeToString(), GRAPH) == graph()
    metadata = RunMetadata(partition_graphs=[graph(), graph()])
    metadata.step_stats.dev_stats.add(device="/cpu:0").node_stats.add(node_name="a")
    assert parse(RunMetadata, metadata.SerializeToString(), RUN_METADATA) == metadata


@given(
    st.binary(max_size=60) | st.lists(st.sampled_from([b"\n\x00", b"\x12\x02\n\x00", b"\x0b", b"\xff"])).map(b"".join)
)
def test_any_bytes_are_the_message_or_refused_as_by_protobuf(content: bytes) -> None:
    try:
        expected = GraphDef.FromString(content)
    except DecodeError:
        with pytest.raises(DecodeError):
            parse(GraphDef, content, GRAPH)
    else:
        assert parse(GraphDef, content, GRAPH).SerializeToString() == expected.SerializeToString()


@pytest.mark.parametrize(
    "content",
    [
        b"\n\x00" * 101,  # nodes
        b"\x12\xcc\x01\n\xc9\x01" + b"\x1a\x00" * 100 + b"\x1a",  # nodes of a function
        b"\x20\x01" * 101,  # what nobody knows
    ],
)
def test_more_parts_than_can_be_held_are_refused_before_they_are_parsed(content: bytes) -> None:
    with pytest.raises(
        PayloadError, match=r"^it has more than 100 nodes and other parts, which is too many to be read$"
    ):
        parse(GraphDef, content, GRAPH, most_parts=100)


def test_a_graph_of_very_many_empty_nodes_is_refused() -> None:
    content = b"\n\x00" * (bounded_messages.MOST_PARTS + 1)
    with pytest.raises(PayloadError, match="more than 2,000,000 nodes"):
        decode_graph(Summary.Value(tensor=strings_tensor([content], ())))


def test_counting_ends_when_nobody_wants_it() -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    with cancellable(cancellation), pytest.raises(Cancelled):
        parse(GraphDef, b"\n\x00" * 200_000, GRAPH)
