"""TensorFlow 2's way of writing summaries."""

import asyncio
import inspect
import io
import re
import threading
import wave
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator
from tensorboard.compat.proto import summary_pb2
from tensorboard.util.tensor_util import make_ndarray

from stepscope.summary import open_logdir
from stepscope.summary import v2 as tf_summary
from stepscope.summary.kinds import decode
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.graph_pb2 import GraphDef, NodeDef
from stepscope.summary.proto.hparams_pb2 import HParamsPluginData
from stepscope.summary.proto.summary_pb2 import Summary, SummaryMetadata
from stepscope.summary.v2 import hp, state

GRAPH = GraphDef(node=[NodeDef(name="x", op="Const")])
ANYTHING: Any = object()
NONE: Any = None


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def events(folder: Path) -> list[Event]:
    """All but the version, of the folder's only file."""
    (path,) = files(folder)
    return [Event.FromString(raw) for raw in RawEventFileLoader(str(path)).Load()][1:]


def points(folder: Path) -> list[tuple[int, str, Any]]:
    """Step, tag and tensor of each value, as TensorBoard reads them."""
    found = []
    for event in events(folder):
        for value in event.summary.value:
            theirs = summary_pb2.Summary.Value.FromString(value.SerializeToString())
            found.append((event.step, value.tag, make_ndarray(theirs.tensor).tolist()))
    return found


def pixels(png: bytes) -> NDArray[Any]:
    return np.asarray(Image.open(io.BytesIO(png)))


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Path]:
    """The folder of a default writer."""
    folder = tmp_path / "run"
    with tf_summary.create_file_writer(folder).as_default():
        yield folder


@pytest.fixture(autouse=True)
def no_defaults_are_left() -> Iterator[None]:
    yield
    assert (tf_summary.should_record_summaries(), tf_summary.experimental.get_step()) == (False, None)


# Values


def test_both_readers_read_all_kinds(tmp_path: Path) -> None:
    picture, sound = np.array([[[[7]]]], np.uint8), np.zeros((1, 4, 1), np.float32)
    writer = tf_summary.create_file_writer(tmp_path)
    with writer.as_default():
        for step in (1, 2):
            assert tf_summary.scalar("loss", step / 2, step)
            assert tf_summary.histogram("weights", [1.0, 2.0], step)
            assert tf_summary.image("digit", picture, step)
            assert tf_summary.audio("tone", sound, 8000, step)
            assert tf_summary.text("note", "hi", step, description="what it is")
    writer.close()
    run = open_logdir(tmp_path).runs["."]
    assert {tag: (series.kind, series.steps.tolist()) for tag, series in run.series.items()} == {
        "loss": ("scalars", [1, 2]),
        "weights": ("histograms", [1, 2]),
        "digit": ("images", [1, 2]),
        "tone": ("audio", [1, 2]),
        "note": ("text", [1, 2]),
    }
    assert run.series["loss"].values.tolist() == [0.5, 1.0]
    assert run.series["note"].description == "what it is"
    theirs = EventAccumulator(str(tmp_path))
    theirs.Reload()
    for tag, series in run.series.items():
        metadata = theirs.SummaryMetadata(tag)
        assert (metadata.plugin_data.plugin_name, metadata.summary_description) == (series.kind, series.description)
        found = [(event.step, event.wall_time) for event in theirs.Tensors(tag)]
        assert found == list(zip(series.steps.tolist(), series.wall_times.tolist(), strict=True))
    assert [make_ndarray(event.tensor_proto).item() for event in theirs.Tensors("loss")] == [0.5, 1.0]
    assert make_ndarray(theirs.Tensors("note")[0].tensor_proto).item() == b"hi"


def test_scalars_are_float32(run: Path) -> None:
    tf_summary.scalar("a", 0.1, 1)
    tf_summary.scalar("b", np.array([2], np.int8), np.int64(2), "about")
    tf_summary.scalar("c", np.nan, 3)
    tf_summary.flush()
    first, second, third = points(run)
    assert (first, second) == ((1, "a", float(np.float32(0.1))), (2, "b", 2.0))
    assert np.isnan(third[2])
    assert [event.summary.value[0].metadata.summary_description for event in events(run)] == ["", "about", ""]


@pytest.mark.parametrize(
    ("pictures", "shown"),
    [
        (np.array([0, 0.5, 1, 2, -1, np.nan], np.float32), [0, 127, 255, 255, 0, 0]),
        (np.array([0, 254.4 / 255.5, np.inf], np.float64), [0, 254, 255]),
        (np.array([0, 7, 255], np.uint8), [0, 7, 255]),
        (np.array([-5, 1, 127], np.int8), [0, 2, 254]),
        (np.array([-5, 255, 256, 65535 // 2], np.int16), [0, 1, 2, 255]),
        (np.array([0, 255, 256, 65535], np.uint16), [0, 0, 1, 255]),
        (np.array([False, True]), [0, 255]),
    ],
)
def test_pixels_of_any_dtype(run: Path, pictures: NDArray[Any], shown: list[int]) -> None:
    tf_summary.image("x", pictures.reshape(1, 1, -1, 1), 1)
    tf_summary.flush()
    ((_, _, (width, height, png)),) = points(run)
    assert (width, height) == (str(len(shown)).encode(), b"1")
    assert pixels(png).tolist() == [shown]


def test_gray_with_alpha_and_few_outputs(run: Path) -> None:
    gray = np.array([[[[10, 200]]], [[[20, 100]]]], np.uint8)
    tf_summary.image("x", gray, 1, max_outputs=1)
    tf_summary.image("none", gray, 1, max_outputs=0)
    tf_summary.image("empty", gray[:0], 1)
    tf_summary.flush()
    (_, _, one), (_, _, none), (_, _, empty) = points(run)
    assert pixels(one[2]).tolist() == [[[10, 10, 10, 200]]]
    assert (len(one), none, empty) == (3, [b"1", b"1"], [b"1", b"1"])


def test_audio(run: Path) -> None:
    sound = np.array([[[0.0], [1.0], [-1.0]]] * 4, np.float32)
    tf_summary.audio("tone", sound, 8000, 1, max_outputs=2, encoding="wav")
    tf_summary.flush()
    ((_, _, clips),) = points(run)
    assert [label for _, label in clips] == [b"", b""]
    with wave.open(io.BytesIO(clips[0][0])) as reader:
        assert (reader.getframerate(), np.frombuffer(reader.readframes(9), "<i2").tolist()) == (
            8000,
            [0, 32767, -32768],
        )


def test_audio_that_is_too_loud_says_so(run: Path) -> None:
    with pytest.warns(UserWarning, match="clips 1 of 2 samples") as warned:
        tf_summary.audio("tone", [[[1.5], [0.0]]], 8000, 1)
    assert [warning.filename for warning in warned] == [__file__]


def test_histograms(run: Path) -> None:
    tf_summary.histogram("few", [0, 1, 4, 4], 1, buckets=2)
    tf_summary.histogram("many", np.arange(30), 1)
    tf_summary.flush()
    few, many = points(run)
    assert few == (1, "few", [[0, 2, 2], [2, 4, 2]])
    assert [count for _, _, count in many[2]] == [1] * 30


def test_text(run: Path) -> None:
    tf_summary.text("one", b"h\xc3\xa9", 1)
    tf_summary.text("table", np.array([["a", "b"]]), 1)
    tf_summary.text("tensor", SimpleNamespace(numpy=lambda: np.array([b"a"], object)), 1)
    tf_summary.flush()
    assert points(run) == [(1, "one", "hé".encode()), (1, "table", [[b"a", b"b"]]), (1, "tensor", [b"a"])]


def test_write(run: Path) -> None:
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="mine", content=b"\0"))
    theirs = summary_pb2.SummaryMetadata.FromString(metadata.SerializeToString())
    tf_summary.write("numbers", [[1, 2]], 1, metadata)
    tf_summary.write("strings", [b"\xff\0", "é"], 2, theirs)
    tf_summary.write("lazy", lambda: 1.5, 3, metadata.SerializeToString())
    tf_summary.write("plain", np.bool_(True), 4)
    tf_summary.flush()
    assert points(run) == [
        (1, "numbers", [[1, 2]]),
        (2, "strings", [b"\xff\0", "é".encode()]),
        (3, "lazy", 1.5),
        (4, "plain", True),
    ]
    assert [event.summary.value[0].metadata for event in events(run)] == [metadata] * 3 + [SummaryMetadata()]


def test_write_calls_a_function_only_if_it_writes(run: Path) -> None:
    def fail() -> None:
        pytest.fail("called")

    with tf_summary.record_if(False):
        assert not tf_summary.write("a", fail, 1)


def test_raw_summaries(run: Path) -> None:
    summary = Summary(value=[Summary.Value(tag="a", simple_value=1), Summary.Value(tag="b", simple_value=2)])
    theirs = summary_pb2.Summary.FromString(summary.SerializeToString())
    for one in (summary, theirs, summary.SerializeToString()):
        assert tf_summary.experimental.write_raw_pb(one, 5)
    tf_summary.flush()
    assert [(event.step, event.summary) for event in events(run)] == [(5, summary)] * 3


def test_graph(run: Path) -> None:
    assert tf_summary.graph(GRAPH)
    with tf_summary.record_if(False):
        assert not tf_summary.graph(GRAPH)
    tf_summary.flush()
    (event,) = events(run)
    assert (event.step, GraphDef.FromString(event.graph_def)) == (0, GRAPH)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tf_summary.scalar("a", 1), ValueError, "pass step="),
        (lambda: tf_summary.scalar("a", 1, np.nan), ValueError, "whole number"),
        (lambda: tf_summary.scalar("", 1, 1), ValueError, "empty"),
        (lambda: tf_summary.scalar(ANYTHING, 1, 1), TypeError, "tag must be a string"),
        (lambda: tf_summary.scalar("a", [1, 2], 1), ValueError, "one element"),
        (lambda: tf_summary.scalar("a", "x", 1, "about"), TypeError, "real numbers"),
        (lambda: tf_summary.image("a", np.zeros((2, 2, 1)), 1), ValueError, "4 axes"),
        (lambda: tf_summary.image("a", np.zeros((1, 2, 2, 5)), 1), ValueError, "channels"),
        (lambda: tf_summary.image("a", np.zeros((1, 0, 2, 1)), 1), ValueError, "must have pixels"),
        (lambda: tf_summary.image("a", np.zeros((1, 2, 2, 1)), 1, -1), ValueError, "at least 0"),
        (lambda: tf_summary.audio("a", np.zeros((1, 5)), 8000, 1), ValueError, r"\[clips, frames, channels\]"),
        (lambda: tf_summary.audio("a", np.zeros((1, 5, 1)), 0, 1), ValueError, "sample_rate"),
        (lambda: tf_summary.audio("a", np.zeros((1, 5, 1)), 8000, 1, encoding="mp3"), ValueError, "encoding"),
        (lambda: tf_summary.histogram("a", [1], 1, -1), ValueError, "buckets"),
        (lambda: tf_summary.histogram("a", ["x"], 1), TypeError, "real numbers"),
        (lambda: tf_summary.text("a", 5, 1), TypeError, "string"),
        (lambda: tf_summary.write("a", ANYTHING, 1), TypeError, "must be numbers"),
        (lambda: tf_summary.write("a", 1, 1, ANYTHING), TypeError, "SummaryMetadata"),
        (lambda: tf_summary.write("", 1, 1), ValueError, "empty"),
        (lambda: tf_summary.experimental.write_raw_pb(b"\xff", 1), ValueError, "bytes that are not one"),
        (lambda: tf_summary.experimental.write_raw_pb(Summary(value=[Summary.Value()]), 1), ValueError, "empty"),
        (lambda: tf_summary.graph(5), TypeError, "got int"),
        (lambda: tf_summary.flush(ANYTHING), TypeError, "SummaryWriter or None"),
        (lambda: tf_summary.experimental.set_step("x"), ValueError, "whole number"),
        (lambda: tf_summary.record_if(ANYTHING).__enter__(), TypeError, "boolean"),
        (lambda: tf_summary.name_scope(NONE).__enter__(), TypeError, "string"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_written(
    run: Path, call: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()
    tf_summary.flush()
    assert events(run) == []


# Writers


def test_a_writers_file_is_there_at_once(tmp_path: Path) -> None:
    writer = tf_summary.create_file_writer(tmp_path / "a" / "b")
    tf_summary.create_file_writer(str(tmp_path / "a" / "b"), 5, 100, ".end", "name").close()
    names = [re.sub(r"\d+\..*\.\d+\.\d+", "_", path.name) for path in files(tmp_path / "a" / "b")]
    assert sorted(names) == [
        "events.out.tfevents._.end",
        "events.out.tfevents._.v2",
    ]
    writer.close()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"logdir": None}, ValueError),
        ({"logdir": ""}, ValueError),
        ({"logdir": 5}, TypeError),
        ({"max_queue": -1}, ValueError),
        ({"flush_millis": -1}, ValueError),
        ({"flush_millis": "x"}, TypeError),
        ({"filename_suffix": "a/b"}, ValueError),
        ({"experimental_mesh": object()}, ValueError),
    ],
)
def test_errors_of_a_new_writer(tmp_path: Path, arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=next(iter(arguments))):
        tf_summary.create_file_writer(**{"logdir": tmp_path / "run", **arguments})
    assert files(tmp_path) == []


def test_a_closed_writer_stays_closed(tmp_path: Path) -> None:
    writer = tf_summary.create_file_writer(tmp_path)
    with writer.as_default():
        writer.close()
        with pytest.raises(RuntimeError, match="already closed"):
            tf_summary.scalar("a", 1, 1)
    writer.close()
    writer.flush()
    for call in (writer.as_default, writer.set_as_default, writer.init):
        with pytest.raises(RuntimeError, match="already closed"):
            call()
    assert events(tmp_path) == []


def test_without_a_writer_nothing_is_written() -> None:
    assert [
        tf_summary.scalar("a", 1),
        tf_summary.image("a", NONE),
        tf_summary.audio("a", NONE, 0),
        tf_summary.histogram("a", NONE),
        tf_summary.text("a", NONE),
        tf_summary.write("a", NONE),
        tf_summary.graph(NONE),
        tf_summary.experimental.write_raw_pb(NONE),
        hp.hparams({}),
    ] == [False] * 9
    tf_summary.flush()


def test_a_writer_that_does_nothing(run: Path) -> None:
    noop = tf_summary.create_noop_writer()
    with noop.as_default(step=3):
        assert tf_summary.scalar("a", 1, 1), "the default writer stays"
        assert tf_summary.experimental.get_step() is None
    noop.set_as_default()
    noop.init()
    noop.flush()
    noop.close()
    tf_summary.flush(noop)
    tf_summary.flush()
    assert points(run) == [(1, "a", 1.0)]


def test_set_as_default(tmp_path: Path) -> None:
    def write() -> bool:
        writer = tf_summary.create_file_writer(tmp_path)
        writer.set_as_default(step=4)
        done = tf_summary.scalar("a", 1)
        writer.close()
        return done

    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(write).result()
    assert points(tmp_path) == [(4, "a", 1.0)]


# Defaults


def test_defaults_nest(tmp_path: Path) -> None:
    first, second = (tf_summary.create_file_writer(tmp_path / name) for name in ("first", "second"))
    with first.as_default(step=1) as same:
        assert same is first
        with second.as_default(step=2):
            tf_summary.scalar("a", 0)
            with second.as_default():
                tf_summary.scalar("b", 0)
        tf_summary.scalar("c", 0)
        with pytest.raises(KeyError), second.as_default(step=3):
            raise KeyError
        tf_summary.experimental.set_step(5)
        tf_summary.scalar("d", 0)
    assert points(tmp_path / "first") == [(1, "c", 0.0), (5, "d", 0.0)]
    assert points(tmp_path / "second") == [(2, "a", 0.0), (2, "b", 0.0)]
    assert not tf_summary.scalar("lost", 0, 0)
    first.close()
    second.close()


class Variable:
    """Has its number in the same place as TensorFlow's variables."""

    def __init__(self, number: int) -> None:
        self.number = number

    def numpy(self) -> Any:
        return np.int64(self.number)


def test_a_variable_step_is_read_at_each_call(tmp_path: Path) -> None:
    step = Variable(1)
    writer = tf_summary.create_file_writer(tmp_path)
    with writer.as_default(step):
        for _ in range(2):
            tf_summary.scalar("a", 0)
            step.number += 1
        tf_summary.scalar("a", 0, Variable(9))
        assert tf_summary.experimental.get_step() is step
    writer.close()
    assert points(tmp_path) == [(1, "a", 0.0), (2, "a", 0.0), (9, "a", 0.0)]


def test_threads_have_defaults_of_their_own(tmp_path: Path) -> None:
    both_are_in = threading.Barrier(2)

    def write(name: str) -> tuple[bool, Any]:
        before = tf_summary.scalar("before", 0, 0)
        writer = tf_summary.create_file_writer(tmp_path / name)
        with writer.as_default(step=len(name)), tf_summary.name_scope(name), tf_summary.record_if(name == "ab"):
            both_are_in.wait(60)
            for number in range(3):
                tf_summary.scalar("x", number)
            step = tf_summary.experimental.get_step()
            both_are_in.wait(60)
        writer.close()
        return before, step

    outer = tf_summary.create_file_writer(tmp_path / "outer")
    with outer.as_default(step=0), ThreadPoolExecutor(2) as threads:
        assert list(threads.map(write, ["ab", "c"])) == [(False, 2), (False, 1)]
        tf_summary.scalar("y", 1)
    outer.close()
    assert points(tmp_path / "ab") == [(2, "ab/x", 0.0), (2, "ab/x", 1.0), (2, "ab/x", 2.0)]
    assert points(tmp_path / "c") == []
    assert points(tmp_path / "outer") == [(0, "y", 1.0)]


def test_tasks_have_defaults_of_their_own(run: Path) -> None:
    async def write(step: int, own: asyncio.Event, other: asyncio.Event) -> None:
        tf_summary.experimental.set_step(step)
        own.set()
        await other.wait()
        tf_summary.scalar("a", step)

    async def both() -> None:
        first, second = asyncio.Event(), asyncio.Event()
        await asyncio.gather(write(1, first, second), write(2, second, first))

    asyncio.run(both())
    tf_summary.flush()
    assert sorted(points(run)) == [(1, "a", 1.0), (2, "a", 2.0)]


def test_blocks_that_end_in_another_context_leave_nothing_where_they_began(tmp_path: Path) -> None:
    async def letters(closed: asyncio.Event) -> AsyncIterator[str]:
        writer = tf_summary.create_file_writer(tmp_path / "abandoned")
        try:
            with writer.as_default(step=5), tf_summary.record_if(False), tf_summary.name_scope("inner"):
                tf_summary.experimental.set_step(6)
                yield "a"
        finally:
            closed.set()

    async def abandon() -> None:
        closed = asyncio.Event()
        async for _ in letters(closed):
            break
        await closed.wait()
        tf_summary.scalar("t", 1.0)

    with tf_summary.create_file_writer(tmp_path / "own").as_default(step=1), tf_summary.name_scope("outer"):
        asyncio.run(abandon())
    runs = open_logdir(tmp_path).runs
    assert {name: {tag: one.steps.tolist() for tag, one in run.series.items()} for name, run in runs.items()} == {
        "abandoned": {},
        "own": {"outer/t": [1]},
    }


def test_a_block_stays_when_an_older_one_ends_elsewhere_and_tasks_keep_what_they_began_with(tmp_path: Path) -> None:
    async def letters(writer: tf_summary.SummaryWriter, closed: asyncio.Event) -> AsyncIterator[str]:
        try:
            with writer.as_default(step=5), tf_summary.record_if(False):
                yield "a"
        finally:
            closed.set()

    async def write_later(tag: str, ended: asyncio.Event) -> None:
        await ended.wait()
        tf_summary.scalar(tag, 1.0)

    async def work(first: tf_summary.SummaryWriter, second: tf_summary.SummaryWriter) -> None:
        closed, ended = asyncio.Event(), asyncio.Event()
        async for _ in letters(first, closed):
            break
        with second.as_default(step=7), tf_summary.record_if(True):
            await closed.wait()
            tf_summary.scalar("within", 1.0)
            task = asyncio.create_task(write_later("of a task", ended))
        assert not tf_summary.should_record_summaries()
        ended.set()
        await task

    first, second = (tf_summary.create_file_writer(tmp_path / name) for name in ("first", "second"))
    asyncio.run(work(first, second))
    for writer in (first, second):
        writer.close()
    runs = open_logdir(tmp_path).runs
    assert {name: {tag: one.steps.tolist() for tag, one in run.series.items()} for name, run in runs.items()} == {
        "first": {},
        "second": {"within": [7], "of a task": [7]},
    }


def test_a_block_may_lie_in_itself(tmp_path: Path) -> None:
    with tf_summary.create_file_writer(tmp_path).as_default(step=1) as writer:
        again = writer.as_default(step=2)
        with again:
            with again:
                pass
            assert tf_summary.experimental.get_step() == 2
        assert tf_summary.experimental.get_step() == 1


def test_a_default_that_is_set_again_and_again_takes_no_memory(tmp_path: Path) -> None:
    writer = tf_summary.create_file_writer(tmp_path)
    with writer.as_default(step=0):
        for step in range(3):
            writer.set_as_default(step)
        block = state.DEFAULT_STEP._current().block
        assert block is not None
        assert block.outside.block is None
    assert (state.DEFAULT_STEP.get(), state.DEFAULT_WRITER.get()) == (None, None)
    writer.close()


def test_record_if(run: Path) -> None:
    answers = iter([True, False])
    with tf_summary.record_if(False):
        assert not tf_summary.should_record_summaries()
        assert not tf_summary.scalar("off", 1, 1)
        with pytest.raises(ValueError, match="step"):
            tf_summary.scalar("a missing step is an error all the same", 1)
        with tf_summary.record_if(lambda: next(answers)):
            assert [tf_summary.scalar("asked", step, step) for step in (1, 2)] == [True, False]
        with tf_summary.record_if(np.array([True])):
            assert tf_summary.should_record_summaries()
    assert tf_summary.should_record_summaries()
    tf_summary.flush()
    assert points(run) == [(1, "asked", 1.0)]


def test_name_scopes(run: Path) -> None:
    with tf_summary.name_scope("a") as outer, tf_summary.name_scope("b/c") as inner:
        tf_summary.scalar("x", 0, 0)
        tf_summary.write("as it is", 0, 0)
        with tf_summary.name_scope("d/"):
            tf_summary.scalar("x", 0, 0)
        with tf_summary.name_scope(""):
            tf_summary.scalar("x", 0, 0)
        with tf_summary.experimental.summary_scope("my name!") as (tag, scope):
            tf_summary.scalar("x", 0, 0)
        with tf_summary.experimental.summary_scope(None, "default") as (default, _):
            pass
    with tf_summary.name_scope(outer):
        tf_summary.scalar("again", 0, 0)
    tf_summary.flush()
    assert (outer, inner, tag, scope, default) == ("a/", "a/b/c/", "a/b/c/my name!", "a/b/c/myname/", "a/b/c/default")
    assert [tag for _, tag, _ in points(run)] == [
        "a/b/c/x", "as it is", "d/x", "x", "a/b/c/myname/x", "a/again",
    ]  # fmt: skip


# Hyperparameters


def content(summary: Summary) -> HParamsPluginData:
    return HParamsPluginData.FromString(summary.value[0].metadata.plugin_data.content)


def test_hyperparameters_of_a_session(run: Path) -> None:
    assert hp.hparams({"lr": 0.5, hp.HParam("units"): np.int64(8), "bn": True, "name": "x"}, "trial", 5.0)
    tf_summary.flush()
    (event,) = events(run)
    message = decode("hparams", event.summary.value[0]).session_start_info
    assert (event.step, message.group_name, message.start_time_secs) == (0, "trial", 5.0)
    found = {name: getattr(value, str(value.WhichOneof("kind"))) for name, value in message.hparams.items()}
    assert found == {"lr": 0.5, "units": 8.0, "bn": True, "name": "x"}


def test_sessions_of_equal_hyperparameters_are_one_group() -> None:
    names = [
        content(hp.hparams_pb(given)).session_start_info.group_name
        for given in ({"a": 1, "b": 2.0}, {"b": np.float32(2), "a": np.int8(1)}, {"a": 1.0, "b": 2.0})
    ]
    assert names[0] == names[1] != names[2]


def test_configuration_of_an_experiment() -> None:
    hparams = [
        hp.HParam("lr", hp.RealInterval(0.1, 1.0), "rate", "how fast"),
        hp.HParam("units", hp.IntInterval(1, 8)),
        hp.HParam("name", hp.Discrete(["sgd", "adam"])),
        hp.HParam("bn", hp.Discrete([], dtype=bool)),
        hp.HParam("any"),
    ]
    metrics = [hp.Metric("loss"), hp.Metric("acc", "val", "accuracy", "good", hp.Metric.VALIDATION)]
    found = content(hp.hparams_config_pb(hparams, metrics, 6.0)).experiment
    assert found.time_created_secs == 6.0
    assert [(info.name, info.display_name, info.description, info.type) for info in found.hparam_infos] == [
        ("lr", "rate", "how fast", 3),
        ("units", "", "", 3),
        ("name", "", "", 1),
        ("bn", "", "", 2),
        ("any", "", "", 0),
    ]
    domains = [info.domain_interval for info in found.hparam_infos[:2]]
    assert [(domain.min_value, domain.max_value) for domain in domains] == [(0.1, 1.0), (1, 8)]
    assert [value.string_value for value in found.hparam_infos[2].domain_discrete.values] == ["adam", "sgd"]
    assert [(m.name.tag, m.name.group, m.display_name, m.description, m.dataset_type) for m in found.metric_infos] == [
        ("loss", "", "", "", 0),
        ("acc", "val", "accuracy", "good", 2),
    ]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: hp.hparams_pb(ANYTHING), TypeError, "map names to values"),
        (lambda: hp.hparams_pb({"a": [1]}), TypeError, "'a'"),
        (lambda: hp.hparams_pb({"a": 1, hp.HParam("a"): 2}), ValueError, "one value"),
        (lambda: hp.hparams_pb({"a": 1}, ANYTHING), TypeError, "trial_id"),
        (lambda: hp.hparams_pb({"a": 1}, "t", ANYTHING), TypeError, "start_time_secs"),
        (lambda: hp.hparams_config_pb(["a"], []), TypeError, "HParam objects"),
        (lambda: hp.hparams_config_pb([], ["a"]), TypeError, "Metric objects"),
        (lambda: hp.HParam("a", [1, 2]), TypeError, "a domain must be"),
        (lambda: hp.HParam(""), ValueError, "empty"),
        (lambda: hp.Metric("a", dataset_type=ANYTHING), ValueError, "dataset_type"),
        (lambda: hp.IntInterval(0.5, 1), TypeError, "of type int, got 0.5"),
        (lambda: hp.RealInterval(2.0, 1.0), ValueError, "min_value must not be above"),
        (lambda: hp.Discrete([]), ValueError, "or a dtype"),
        (lambda: hp.Discrete([b"x"]), ValueError, "bool, int, float or str"),
        (lambda: hp.Discrete(["x", 1]), TypeError, "may contain only str values, got 1"),
    ],
)
def test_errors_of_hyperparameters(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


# The module


def test_what_the_profiler_does_says_so() -> None:
    with pytest.raises(AttributeError, match=r"profiler\.Profile"):
        _ = tf_summary.trace_on
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tf_summary.nothing


def test_parameters_are_tensorflows() -> None:
    expected = {
        "create_file_writer": [
            "logdir", "max_queue", "flush_millis", "filename_suffix", "name", "experimental_trackable",
            "experimental_mesh",
        ],
        "scalar": ["name", "data", "step", "description"],
        "image": ["name", "data", "step", "max_outputs", "description"],
        "audio": ["name", "data", "sample_rate", "step", "max_outputs", "encoding", "description"],
        "histogram": ["name", "data", "step", "buckets", "description"],
        "text": ["name", "data", "step", "description"],
        "write": ["tag", "tensor", "step", "metadata", "name"],
        "graph": ["graph_data"],
        "flush": ["writer", "name"],
        "record_if": ["condition"],
    }  # fmt: skip
    assert {name: list(inspect.signature(getattr(tf_summary, name)).parameters) for name in expected} == expected


# TensorFlow's own files


def samples_of(buckets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers that fall into the buckets, including their extremes."""
    flat = np.repeat(buckets[:, :2].mean(axis=1), buckets[:, 2].astype(int))
    flat[0], flat[-1] = buckets[0, 0], buckets[-1, 1]
    return flat


def write_again(value: Summary.Value, kind: str, step: int) -> None:
    payload = decode(kind, value)
    match kind:
        case "scalars":
            tf_summary.scalar(value.tag, payload, step)
        case "histograms":
            tf_summary.histogram(value.tag, samples_of(payload.buckets), step, buckets=len(payload.buckets))
        case "images":
            tf_summary.image(value.tag, np.stack([pixels(png) for png in payload.encoded]), step)
        case "audio":
            with wave.open(io.BytesIO(payload.clips[0].encoded)) as reader:
                frames = np.frombuffer(reader.readframes(reader.getnframes()), "<i2").reshape(1, -1, 1) / 32768
                tf_summary.audio(value.tag, frames, reader.getframerate(), step)
        case "text":
            tf_summary.text(value.tag, payload.strings, step)
        case _:
            raise AssertionError(kind)


@pytest.mark.peers
@pytest.mark.parametrize("logdir", ["tensorflow2", "pack/tensorflow2"])
def test_the_same_as_in_tensorflows_file(run: Path, peer: Callable[[str], Path], logdir: str) -> None:
    theirs = [event for event in events(peer(f"{logdir}/eager")) if event.summary.value]
    kinds = {value.tag: value.metadata.plugin_data.plugin_name for event in theirs for value in event.summary.value}
    kinds = {tag: kind for tag, kind in kinds.items() if kind in ("scalars", "histograms", "images", "audio", "text")}
    assert set(kinds.values()) == {"scalars", "histograms", "images", "audio", "text"}
    theirs = [event for event in theirs if event.summary.value[0].tag in kinds]
    for event in theirs:
        (value,) = event.summary.value
        write_again(value, kinds[value.tag], event.step)
    tf_summary.flush()
    for event, theirs_event in zip(events(run), theirs, strict=True):
        (ours,), (value,) = event.summary.value, theirs_event.summary.value
        assert (event.step, ours.tag) == (theirs_event.step, value.tag)
        assert ours.metadata.plugin_data == value.metadata.plugin_data
        assert ours.tensor.tensor_shape == value.tensor.tensor_shape
        kind = kinds[value.tag]
        if kind == "images":
            shown = [[pixels(png).tolist() for png in decode(kind, one).encoded] for one in (ours, value)]
            assert shown[0] == shown[1]
        else:
            own, yours = (
                make_ndarray(summary_pb2.Summary.Value.FromString(one.SerializeToString()).tensor)
                for one in (ours, value)
            )
            np.testing.assert_array_equal(own, yours)


@pytest.mark.peers
@pytest.mark.parametrize(
    ("run", "given"),
    [("tensorflow2/keras", {"lr": 1e-3, "units": 8}), ("pack/tensorflow2/hparams", {"lr": 0.1, "opt": "adam"})],
)
def test_the_group_of_a_session_is_tensorboards(
    peer: Callable[[str], Path], run: str, given: dict[str, float | str]
) -> None:
    (path,) = peer(run).glob("*tfevents*")
    for raw in RawEventFileLoader(str(path)).Load():
        for value in Event.FromString(raw).summary.value:
            if value.tag == "_hparams_/session_start_info":
                theirs = HParamsPluginData.FromString(value.metadata.plugin_data.content)
                ours = hp.hparams_pb(given, start_time_secs=theirs.session_start_info.start_time_secs)
                assert content(ours) == theirs
                return
    pytest.fail("the file has no session")
