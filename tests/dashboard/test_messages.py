"""Protobuf messages that are written while they are sent."""

import asyncio

import numpy as np
import orjson
import pytest
from fastapi.responses import StreamingResponse
from google.protobuf.message import Message

from stepscope.dashboard.tensorboard.messages import message_json, messages_answer, text_pieces
from stepscope.dashboard.tensorboard.projector import row_pieces
from stepscope.summary.memory_budget import MemoryBudget, claim
from stepscope.summary.proto.graph_pb2 import GraphDef
from stepscope.summary.proto.hparams_pb2 import ListSessionGroupsResponse, SessionGroup
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.proto.types_pb2 import DT_FLOAT


def a_large_graph() -> GraphDef:
    graph = GraphDef()
    for number in range(2_000):
        node = graph.node.add(name=f"layer {number}", op='Op\n"{}"', input=[f"a{number}", "b"])
        node.attr["T"].type = DT_FLOAT
        node.attr["value"].tensor.tensor_content = b"\x00\n}" * 20
    large = graph.node.add(name="large", input=["a" * 50] * 4_000, device="cpu")
    large.attr["text"].tensor.string_val.extend([b"one\ntwo"] * 3)
    graph.library.function.add().signature.name = "f"
    graph.versions.producer = 3
    return graph


def a_long_step() -> RunMetadata:
    metadata = RunMetadata()
    device = metadata.step_stats.dev_stats.add(device="gpu")
    device.thread_names.update({1: "main", 2: "worker"})
    for number in range(5_000):
        device.node_stats.add(node_name=f"node {number}", all_start_micros=number, all_end_rel_micros=-1)
    return metadata


@pytest.mark.parametrize("message", [GraphDef(), a_large_graph(), a_long_step()])
def test_text_in_pieces_is_the_text(message: Message) -> None:
    pieces = list(text_pieces(message))
    assert "".join(pieces) == str(message)
    assert max(map(len, pieces)) < 300_000


def test_groups_in_pieces_are_the_message() -> None:
    groups = [SessionGroup(name="a"), SessionGroup(name='"b"', monitor_url="http://b")]
    groups[0].hparams["rate"].number_value = 0.5
    for found in (groups, []):
        whole = ListSessionGroupsResponse(session_groups=found, total_size=7)
        answer = messages_answer("sessionGroups", found, totalSize=7)
        assert orjson.loads(body_of(answer)) == orjson.loads(message_json(whole))


def test_points_count_as_memory_until_they_are_sent() -> None:
    points = np.arange(100_000, dtype=np.float32).reshape(-1, 10)
    budget = MemoryBudget(points.nbytes)

    def read() -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        claim(points.nbytes)
        return points

    pieces = row_pieces(budget, read)
    first = next(pieces)
    assert budget.claimed == points.nbytes
    assert b"".join([first, *pieces]) == points.tobytes()
    assert budget.claimed == 0

    left = row_pieces(budget, read)
    next(left)
    left.close()  # type: ignore[attr-defined]
    assert budget.claimed == 0


def body_of(answer: StreamingResponse) -> bytes:
    async def read() -> bytes:
        return b"".join([bytes(piece) async for piece in answer.body_iterator])  # type: ignore[arg-type]

    return asyncio.run(read())
