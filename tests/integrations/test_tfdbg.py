"""Dumps of TensorFlow's debugger, read here and by TensorBoard; and dumps written here, opened by TensorBoard."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stepscope.summary.debugger.tfdbg import open_dump
from stepscope.summary.debugger.tfdbg_export import write_tfdbg
from stepscope.summary.proto import debug_event_pb2 as tfdbg
from tests.dashboard.media import client_of
from tests.summary.debugger.dumps import MODES, write_dump

tf: Any = pytest.importorskip("tensorflow", reason="TensorFlow is not installed: see make test-integrations")
multiplexers: Any = pytest.importorskip("tensorboard.plugins.debugger_v2.debug_data_multiplexer")

RUN = "__default_debugger_run__"


def read_once(target: Callable[[], None], _: float) -> tuple[threading.Event, None]:
    target()
    return threading.Event(), None


def train() -> None:
    """Something eager, nested functions, a loop, text, more dimensions than a debug tensor has, and values that are
    not finite.
    """
    tf.reshape(tf.range(8.0), [2, 1, 2, 1, 2, 1, 1])
    tf.strings.join(["a", "b"])

    def divided(x: Any) -> Any:
        return tf.math.log(x) / tf.constant([0.0, 1.0])

    inner = tf.function(divided)

    def outer(x: Any) -> Any:
        for _ in tf.range(2):
            x = inner(x)
        return tf.reduce_sum(x), x > 0

    tf.function(outer)(tf.constant([1.0, 0.0]))


def assert_same_answers(folder: Path) -> Any:
    """Asserts that all routes answer as TensorBoard does, and returns TensorBoard's multiplexer."""
    theirs = multiplexers.DebuggerV2EventMultiplexer(str(folder))
    client = client_of(folder)

    def ours(route: str, **query: Any) -> Any:
        answer = client.get(f"/data/plugin/debugger-v2/{route}", params={"run": RUN, **query})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def same(expected: Any) -> Any:
        return [same(each) for each in expected] if isinstance(expected, (list, tuple)) else (
            {key: same(each) for key, each in expected.items()} if isinstance(expected, dict) else expected
        )  # fmt: skip

    assert ours("runs") == {RUN: {"start_time": theirs.FirstEventTimestamp(RUN)}}
    assert ours("alerts") == same(theirs.Alerts(RUN, 0, -1))
    assert ours("execution/digests") == same(theirs.ExecutionDigests(RUN, 0, -1))
    executions = theirs.ExecutionData(RUN, 0, -1)
    assert ours("execution/data") == same(executions)
    assert ours("graph_execution/digests") == same(theirs.GraphExecutionDigests(RUN, 0, -1))
    traces = theirs.GraphExecutionData(RUN, 0, -1)
    assert ours("graph_execution/data") == same(traces)
    files = theirs.SourceFileList(RUN)
    assert ours("source_files/list") == same(files)
    for index in range(len(files)):
        assert ours("source_files/file", index=index) == same(theirs.SourceLines(RUN, index))
    for ids in filter(None, (same(each["stack_frame_ids"]) for each in executions["executions"])):
        found = ours("stack_frames/stack_frames", stack_frame_ids=",".join(ids))
        assert found == same(theirs.StackFrames(RUN, ids))
    for each in {trace["graph_id"]: trace for trace in traces["graph_executions"]}.values():
        for graph_id in each["graph_ids"]:
            assert ours("graphs/graph_info", graph_id=graph_id) == same(theirs.GraphInfo(RUN, graph_id))
    for graph_id, name in {(trace["graph_id"], trace["op_name"]) for trace in traces["graph_executions"]}:
        found = ours("graphs/op_info", graph_id=graph_id, op_name=name)
        assert found == same(theirs.GraphOpInfo(RUN, graph_id, name))
    return theirs


@pytest.fixture(autouse=True)
def no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiplexers, "run_repeatedly_in_background", read_once)


@pytest.mark.parametrize("mode", ["NO_TENSOR", "CURT_HEALTH", "CONCISE_HEALTH", "FULL_HEALTH", "SHAPE"])
def test_what_tensorflow_dumps(tmp_path: Path, mode: str) -> None:
    tf.debugging.experimental.enable_dump_debug_info(str(tmp_path), mode, circular_buffer_size=-1)
    train()
    tf.debugging.experimental.disable_dump_debug_info()
    theirs = assert_same_answers(tmp_path)
    assert theirs.ExecutionDigests(RUN, 0, -1)["num_digests"] >= 3
    assert theirs.GraphExecutionDigests(RUN, 0, -1)["num_digests"] > 5


@pytest.mark.parametrize(
    # TensorBoard waits for a lock that it holds itself when it looks for alerts in full tensors.
    "mode", [mode for mode in MODES if mode != tfdbg.FULL_TENSOR], ids=tfdbg.TensorDebugMode.Name
)  # fmt: skip
def test_what_is_written_here(tmp_path: Path, mode: tfdbg.TensorDebugMode) -> None:
    write_dump(tmp_path, mode)
    theirs = assert_same_answers(tmp_path)
    assert theirs.GraphExecutionDigests(RUN, 0, -1)["num_digests"] == 4
    expected = {tfdbg.NO_TENSOR: 0, tfdbg.SHAPE: 0}.get(mode, 2)
    assert theirs.Alerts(RUN, 0, -1)["num_alerts"] == expected


def test_a_recording_that_is_written_as_a_dump(tmp_path: Path) -> None:
    write_dump(tmp_path / "first", tfdbg.FULL_TENSOR)
    write_tfdbg(open_dump(tmp_path / "first").data(), tmp_path / "second")
    theirs = assert_same_answers(tmp_path / "second")
    assert theirs.ExecutionDigests(RUN, 0, -1)["num_digests"] == 2
    assert theirs.Alerts(RUN, 0, -1)["num_alerts"] == 2
