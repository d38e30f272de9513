"""TensorFlow 1's way of writing summaries."""

import contextvars
import inspect
import io
import re
import subprocess
import sys
import warnings
import wave
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator
from tensorboard.compat.proto import event_pb2, graph_pb2, node_def_pb2, summary_pb2
from tensorboard.util.tensor_util import make_ndarray

from stepscope.summary import open_logdir, v1
from stepscope.summary.kinds.histogram import decode_histogram
from stepscope.summary.proto.graph_pb2 import GraphDef, NodeDef
from stepscope.summary.proto.meta_graph_pb2 import MetaGraphDef
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.proto.summary_pb2 import SummaryMetadata

ANYTHING: Any = 3
NOT_WHOLE: Any = 1.5
NO_LIST: Any = b"a"
GRAPH = GraphDef(node=[NodeDef(name="x", op="Const")])


def values(serialized: bytes) -> list[v1.Summary.Value]:
    return list(v1.Summary.FromString(serialized).value)


def only(serialized: bytes) -> v1.Summary.Value:
    (value,) = values(serialized)
    return value


def pixels(png: bytes) -> NDArray[Any]:
    return np.asarray(Image.open(io.BytesIO(png)))


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def events(path: Path) -> list[v1.Event]:
    """All but the version."""
    return [v1.Event.FromString(raw) for raw in RawEventFileLoader(str(path)).Load()][1:]


# Functions


def test_scalar() -> None:
    assert only(v1.scalar("loss", np.float64(0.5))) == v1.Summary.Value(tag="loss", simple_value=0.5)
    assert only(v1.scalar("loss", [2], family="train")).tag == "train/train/loss"


@pytest.mark.parametrize(
    ("name", "tag"), [("the loss: 50%", "the_loss__50_"), ("//a/b", "a/b"), ("größe!", "größe_"), ("a\nb", "a_b")]
)
def test_illegal_characters_in_names(name: str, tag: str) -> None:
    with pytest.warns(UserWarning, match="illegal characters") as warned:
        assert only(v1.scalar(name, 1)).tag == tag
    assert [warning.filename for warning in warned] == [__file__]


def test_a_slash_at_the_end_of_a_name_ends_its_scope() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert only(v1.scalar("a/b/", 1)).tag == "a/b"


def test_images_are_one_value_each() -> None:
    pictures = np.arange(24, dtype=np.uint8).reshape(4, 2, 1, 3)
    found = values(v1.image("digits", pictures))
    assert [value.tag for value in found] == ["digits/image/0", "digits/image/1", "digits/image/2"]
    for value, picture in zip(found, pictures, strict=False):
        image = value.image
        assert (image.width, image.height, image.colorspace) == (1, 2, 3)
        assert pixels(image.encoded_image_string).tolist() == picture.tolist()


def test_the_number_in_an_images_tag_depends_on_how_many_may_come() -> None:
    two = np.zeros((2, 1, 1, 1), np.uint8)
    assert [value.tag for value in values(v1.image("a", two, 1))] == ["a/image"]
    assert [value.tag for value in values(v1.image("a", two[:1], 2, family="f"))] == ["f/f/a/image/0"]
    assert v1.image("a", two[:0]) == b""


@pytest.mark.parametrize(
    ("floats", "shown"),
    [
        ([0, 1, 2, 4], [0, 63, 127, 255]),
        ([-2, -1, 0, 2], [1, 64, 128, 255]),
        ([0, 1e-8, 0, 0], [0, 0, 0, 0]),
        ([-1e-8, 0, 0, 0], [128, 128, 128, 128]),
        ([0.5, np.nan, np.inf, 1], [127, 255, 255, 255]),
        ([np.nan, np.nan, -np.inf, np.nan], [255, 255, 255, 255]),
    ],
)
def test_floats_are_scaled_by_the_largest(floats: list[float], shown: list[int]) -> None:
    picture = np.array(floats, np.float32).reshape(1, 1, 4, 1)
    assert pixels(only(v1.image("x", picture, 1)).image.encoded_image_string).tolist() == [shown]


def test_half_floats_that_are_dark_are_scaled_too() -> None:
    picture = np.array([0, 0.25, 0.5, 1], np.float16).reshape(1, 1, 4, 1) * np.float16(2**-10)
    assert pixels(only(v1.image("x", picture, 1)).image.encoded_image_string).tolist() == [[0, 63, 127, 255]]


def test_a_broken_pixel_is_red_in_all_channels() -> None:
    picture = np.array([[[[0, 1, 2, np.nan], [0, 1, 0.5, 1]]]], np.float16)
    shown = pixels(only(v1.image("x", picture, 1)).image.encoded_image_string)
    assert shown.tolist() == [[[255, 0, 0, 255], [0, 255, 127, 255]]]


def test_audio() -> None:
    sound = np.array([[[0.0, 1.0], [-1.0, 0.5]]] * 2, np.float32)
    found = values(v1.audio("tone", sound, 8000.4))
    assert [value.tag for value in found] == ["tone/audio/0", "tone/audio/1"]
    audio = found[0].audio
    assert (audio.num_channels, audio.length_frames, audio.content_type) == (2, 2, "audio/wav")
    assert audio.sample_rate == np.float32(8000.4)
    with wave.open(io.BytesIO(audio.encoded_audio_string)) as reader:
        assert (reader.getframerate(), reader.getnchannels(), reader.getsampwidth()) == (8000, 2, 2)
        assert np.frombuffer(reader.readframes(9), "<i2").tolist() == [0, 32767, -32768, 16384]
    assert only(v1.audio("tone", sound[:, :, 0], 8000, 1)).tag == "tone/audio"


def test_audio_that_is_too_loud_says_so() -> None:
    with pytest.warns(UserWarning, match="clips 2 of 3 samples") as warned:
        v1.audio("tone", [[1.5, -2.0, 0.0]], 8000)
    assert [warning.filename for warning in warned] == [__file__]


def test_histogram() -> None:
    histo = only(v1.histogram("weights", [[1, 2], [2, -1]])).histo
    assert (histo.min, histo.max, histo.num, histo.sum, histo.sum_squares) == (-1, 2, 4, 4, 10)
    assert list(histo.bucket) == [0, 1, 0, 1, 0, 2, 0]
    assert [f"{limit:.4g}" for limit in histo.bucket_limit] == [
        "-1.009", "-0.9172", "0.9172", "1.009", "1.966", "2.163", "1.798e+308",
    ]  # fmt: skip


def test_a_histogram_without_values_is_empty() -> None:
    value = only(v1.histogram("weights", []))
    assert (value.histo.num, list(value.histo.bucket)) == (0, [0])
    assert decode_histogram(value).buckets.tolist() == []


def test_histograms_hold_the_largest_numbers() -> None:
    largest = np.finfo(np.float64).max
    histo = only(v1.histogram("far", [-largest, largest])).histo
    assert list(histo.bucket) == [0, 1, 0, 1]
    assert (histo.bucket_limit[0], histo.bucket_limit[-1]) == (-largest, largest)


def test_text() -> None:
    value = only(v1.text("note", ["a", b"\xc3\xa9"]))
    assert (value.tag, list(value.tensor.string_val)) == ("note", [b"a", "é".encode()])
    assert value.metadata.plugin_data.plugin_name == "text"


def test_tensor_summary() -> None:
    metadata = summary_pb2.SummaryMetadata()
    metadata.plugin_data.plugin_name = "mine"
    numbers = np.array([[1, 2]], np.int16)
    value = only(v1.tensor_summary("t", numbers, "about", None, metadata, "f", "T"))
    assert value.tag == "f/f/t"
    assert value.metadata == SummaryMetadata(
        plugin_data=SummaryMetadata.PluginData(plugin_name="mine"), summary_description="about", display_name="T"
    )
    theirs = summary_pb2.Summary.Value.FromString(value.SerializeToString())
    assert make_ndarray(theirs.tensor).tolist() == [[1, 2]]
    assert metadata.display_name == ""


@pytest.mark.parametrize(
    ("number", "dtype"), [(0.5, "float32"), (np.float64(0.5), "float64"), (np.float16(0.5), "float16")]
)
def test_numbers_of_numpy_keep_their_type(number: Any, dtype: str) -> None:
    theirs = summary_pb2.Summary.Value.FromString(only(v1.tensor_summary("t", number)).SerializeToString())
    assert make_ndarray(theirs.tensor).dtype == dtype


def test_merge_takes_messages_of_any_class_and_bytes() -> None:
    theirs = summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag="b", simple_value=2)])
    ours = v1.Summary(value=[v1.Summary.Value(tag="c", simple_value=3)])
    merged = v1.merge([v1.scalar("a", 1), theirs, ours, v1.Summary()])
    assert [(value.tag, value.simple_value) for value in values(merged)] == [("a", 1), ("b", 2), ("c", 3)]


def test_description_of_a_node() -> None:
    node = node_def_pb2.NodeDef(name="n", op="TensorSummary")
    node.attr["description"].s = b'{"typeHint": "hint"}'
    assert v1.get_summary_description(node) == v1.SummaryDescription(type_hint="hint")
    node.attr["description"].s = b"{"
    with pytest.raises(ValueError, match="SummaryDescription in JSON"):
        v1.get_summary_description(node)
    with pytest.raises(ValueError, match="TensorSummary operation, got 'Const'"):
        v1.get_summary_description(GRAPH.node[0])


@pytest.mark.filterwarnings("ignore:the summary's name '//'")
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: v1.scalar("", 1), ValueError, "empty"),
        (lambda: v1.scalar("//", 1), ValueError, "more than slashes"),
        (lambda: v1.scalar("loss", [1, 2]), ValueError, "one element"),
        (lambda: v1.scalar("loss", 1, family=ANYTHING), TypeError, "string"),
        (lambda: v1.image("i", np.zeros((2, 2, 1))), ValueError, "4 axes"),
        (lambda: v1.image("i", np.zeros((1, 2, 2, 2))), ValueError, "1, 3 or 4 channels"),
        (lambda: v1.image("i", np.zeros((1, 2, 2, 1), np.int32)), TypeError, "uint8"),
        (lambda: v1.image("i", np.zeros((1, 2, 2, 1)), 0), ValueError, "at least 1"),
        (lambda: v1.image("i", np.zeros((1, 2, 2, 1)), NOT_WHOLE), ValueError, "whole number"),
        (lambda: v1.audio("a", np.zeros(5), 8000), ValueError, r"\[clips, frames\] or"),
        (lambda: v1.audio("a", np.zeros((1, 5, 3)), 8000), ValueError, "1 or 2 channels"),
        (lambda: v1.audio("a", np.zeros((1, 5), np.int16), 8000), TypeError, "floats"),
        (lambda: v1.audio("a", np.full((1, 5), np.nan), 8000), ValueError, "5 NaN"),
        (lambda: v1.audio("a", np.zeros((1, 5)), 0), ValueError, "above 0"),
        (lambda: v1.histogram("h", [1, np.nan, np.inf]), ValueError, "got 2 that are NaN"),
        (lambda: v1.histogram("h", ["a"]), TypeError, "real numbers"),
        (lambda: v1.text("t", [1]), TypeError, "string"),
        (lambda: v1.text("t", b"\xff"), ValueError, "UTF-8"),
        (lambda: v1.tensor_summary("t", ["a", 1.5, None]), TypeError, "among strings"),
        (lambda: v1.tensor_summary("t", 1, summary_metadata=v1.Summary()), TypeError, "SummaryMetadata"),
        (lambda: v1.merge(NO_LIST), TypeError, "list of summaries"),
        (lambda: v1.merge([]), ValueError, "got none"),
        (lambda: v1.merge([ANYTHING]), TypeError, "Summary message or its bytes, got int"),
        (lambda: v1.merge([b"\xff"]), ValueError, "bytes that are not one"),
        (lambda: v1.merge([v1.scalar("a", 1)] * 2), ValueError, "'a' more than once"),
    ],
)
def test_errors_of_functions(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


# FileWriter


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[v1.FileWriter]:
    with v1.FileWriter(tmp_path) as opened:
        yield opened


def written(writer: v1.FileWriter) -> list[v1.Event]:
    writer.flush()
    (path,) = files(Path(writer.get_logdir()))
    return events(path)


def test_both_readers_read_all_kinds(tmp_path: Path) -> None:
    picture, sound = np.array([[[[7]]]], np.uint8), np.zeros((1, 4), np.float32)
    with v1.FileWriter(tmp_path) as opened:
        for step in (1, 2):
            parts = [
                v1.scalar("loss", step / 2),
                v1.histogram("weights", [1.0, 2.0]),
                v1.image("digit", picture, 1),
                v1.audio("tone", sound, 8000, 1),
                v1.text("note", "hi"),
            ]
            opened.add_summary(v1.merge(parts), step)
    run = open_logdir(tmp_path).runs["."]
    assert {tag: (series.kind, series.steps.tolist()) for tag, series in run.series.items()} == {
        "loss": ("scalars", [1, 2]),
        "weights": ("histograms", [1, 2]),
        "digit/image": ("images", [1, 2]),
        "tone/audio": ("audio", [1, 2]),
        "note": ("text", [1, 2]),
    }
    assert run.series["loss"].values.tolist() == [0.5, 1.0]
    theirs = EventAccumulator(str(tmp_path))
    theirs.Reload()
    for tag, series in run.series.items():
        metadata = theirs.SummaryMetadata(tag)
        assert metadata.plugin_data.plugin_name == series.kind
        found = [(event.step, event.wall_time) for event in theirs.Tensors(tag)]
        assert found == list(zip(series.steps.tolist(), series.wall_times.tolist(), strict=True))
    assert [make_ndarray(event.tensor_proto).item() for event in theirs.Tensors("loss")] == [0.5, 1.0]
    assert run.series["digit/image"].read(0).encoded == tuple(
        make_ndarray(theirs.Tensors("digit/image")[0].tensor_proto).tolist()[2:]
    )


def test_a_tags_metadata_comes_with_each_value_so_that_each_file_can_be_read_alone(tmp_path: Path) -> None:
    note = v1.Summary.FromString(v1.merge([v1.text("a", "x"), v1.scalar("s", 1)]))
    opened = v1.FileWriter(tmp_path)
    for step in range(2):
        opened.add_summary(note, step)
    opened.close()
    opened.reopen()
    opened.add_summary(note.SerializeToString(), 2)
    opened.close()
    assert [
        [[value.HasField("metadata") for value in event.summary.value] for event in events(path)]
        for path in files(tmp_path)
    ] == [[[True, False], [True, False]], [[True, False]]]
    assert note.value[0].HasField("metadata"), "the caller's message stays as it is"


def test_summaries_of_other_classes_and_steps_of_all_kinds(writer: v1.FileWriter) -> None:
    theirs = summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag="a", simple_value=2)])
    for step in (None, np.int64(3), 4.0):
        writer.add_summary(theirs, step)
    found = [(event.step, event.summary.value[0].simple_value) for event in written(writer)]
    assert found == [(0, 2), (3, 2), (4, 2)]


def test_events_keep_their_time(writer: v1.FileWriter) -> None:
    event = v1.Event(step=5, wall_time=7.5, summary=v1.Summary.FromString(v1.scalar("a", 1)))
    writer.add_event(event)
    writer.add_event(event_pb2.Event(step=6))
    first, second = written(writer)
    assert first == event
    assert (second.step, second.wall_time > 1e9) == (6, True)


@pytest.mark.parametrize(
    "graph", [GRAPH, graph_pb2.GraphDef.FromString(GRAPH.SerializeToString()), GRAPH.SerializeToString()]
)
def test_graphs_of_any_class(writer: v1.FileWriter, graph: Any) -> None:
    writer.add_graph(graph, 3)
    writer.add_graph(None, graph_def=graph)
    assert [(event.step, GraphDef.FromString(event.graph_def)) for event in written(writer)] == [(3, GRAPH), (0, GRAPH)]


def test_graph_of_an_object_that_has_a_definition(writer: v1.FileWriter) -> None:
    class Graph:
        def as_graph_def(self, add_shapes: bool = False) -> GraphDef:
            assert add_shapes
            return GRAPH

    writer.add_graph(Graph())
    (event,) = written(writer)
    assert GraphDef.FromString(event.graph_def) == GRAPH


def test_graph_of_a_model(writer: v1.FileWriter) -> None:
    onnx = pytest.importorskip("onnx", reason="ONNX is not installed")
    relu = onnx.helper.make_node("Relu", ["x"], ["y"], name="relu")
    writer.add_graph(onnx.helper.make_model(onnx.helper.make_graph([relu], "g", [], [])))
    (event,) = written(writer)
    assert "Relu" in {node.op for node in GraphDef.FromString(event.graph_def).node}


def test_the_graph_of_a_new_writer_is_also_a_meta_graph(tmp_path: Path) -> None:
    v1.FileWriter(tmp_path, GRAPH, filename_suffix=".end").close()
    (path,) = files(tmp_path)
    graph, meta_graph = events(path)
    assert GraphDef.FromString(graph.graph_def) == GRAPH
    assert MetaGraphDef.FromString(meta_graph.meta_graph_def) == MetaGraphDef(graph_def=GRAPH)
    assert path.name.endswith(".end")
    theirs = EventAccumulator(str(tmp_path))
    theirs.Reload()
    assert theirs.Graph().node[0].name == "x"


def test_run_metadata_and_session_logs(writer: v1.FileWriter) -> None:
    writer.add_run_metadata(RunMetadata(), "step_1", 1)
    with pytest.raises(ValueError, match="used once, got 'step_1' again"):
        writer.add_run_metadata(RunMetadata(), "step_1", 2)
    log = v1.SessionLog(status=v1.SessionLog.START)
    writer.add_session_log(event_pb2.SessionLog.FromString(log.SerializeToString()), 3)
    run, session = written(writer)
    assert (run.step, run.tagged_run_metadata) == (1, v1.TaggedRunMetadata(tag="step_1"))
    assert (session.step, session.session_log) == (3, log)


def test_a_closed_writer_goes_on_in_a_new_file(tmp_path: Path) -> None:
    opened = v1.FileWriter(tmp_path)
    opened.reopen()
    opened.close()
    opened.close()
    opened.flush()
    with pytest.warns(UserWarning, match="continues in a new file") as warned:
        opened.add_summary(v1.scalar("a", 1), 1)
    opened.add_summary(v1.scalar("a", 2), 2)
    opened.close()
    with pytest.warns(UserWarning, match="continues in a new file") as warned_again:
        opened.add_graph(GRAPH)
    opened.close()
    assert [warning.filename for warning in [*warned, *warned_again]] == [__file__] * 2
    assert [len(events(path)) for path in files(tmp_path)] == [0, 2, 1]


def test_a_reopened_writer_stays_in_its_folder_when_the_program_changes_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    opened = v1.FileWriter("run")
    opened.close()
    monkeypatch.chdir(tmp_path / "other")
    opened.reopen()
    opened.close()
    assert list((tmp_path / "other").iterdir()) == []
    assert len(files(tmp_path / "run")) == 2
    assert opened.get_logdir() == "run"


def test_what_is_wrong_is_refused_before_anything_is_written(writer: v1.FileWriter) -> None:
    calls: list[tuple[Callable[[], None], type[Exception], str]] = [
        (lambda: writer.add_summary(b"\xff"), ValueError, "bytes that are not one"),
        (lambda: writer.add_summary(GRAPH), TypeError, "Summary message or its bytes, got GraphDef"),
        (lambda: writer.add_summary(v1.Summary(value=[v1.Summary.Value(simple_value=1)])), ValueError, "empty"),
        (lambda: writer.add_summary(v1.scalar("a", 1), np.nan), ValueError, "whole number"),
        (lambda: writer.add_event(v1.Event(wall_time=np.nan)), ValueError, "finite"),
        (lambda: writer.add_graph(None), TypeError, "got None"),
        (lambda: writer.add_graph(GRAPH, graph_def=GRAPH), ValueError, "got both"),
        (lambda: writer.add_graph(b"\xff"), ValueError, "bytes that are not one"),
        (lambda: writer.add_graph(5), TypeError, "got int"),
        (lambda: writer.add_meta_graph(GRAPH), TypeError, "MetaGraphDef"),
        (lambda: writer.add_run_metadata(GRAPH, "a"), TypeError, "RunMetadata"),
        (lambda: writer.add_run_metadata(RunMetadata(), ""), ValueError, "empty"),
        (lambda: writer.add_session_log(GRAPH), TypeError, "SessionLog"),
    ]
    for call, error, message in calls:
        with pytest.raises(error, match=message):
            call()
    assert written(writer) == []


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"logdir": None}, ValueError, "path of a folder"),
        ({"logdir": ""}, ValueError, "path of a folder"),
        ({"session": object()}, ValueError, "only TensorFlow itself"),
        ({"max_queue": -1}, ValueError, "max_queue"),
        ({"flush_secs": np.nan}, ValueError, "flush_secs"),
        ({"filename_suffix": "/../x"}, ValueError, "part of a file's name"),
        ({"filename_suffix": 5}, TypeError, "string"),
        ({"graph": 5}, TypeError, "got int"),
    ],
)
def test_errors_of_a_new_writer(
    tmp_path: Path, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        v1.FileWriter(**{"logdir": tmp_path / "run", **arguments})
    assert files(tmp_path) == []


def test_cache(tmp_path: Path) -> None:
    first = v1.FileWriterCache.get(str(tmp_path))
    try:
        assert v1.FileWriterCache.get(tmp_path) is first
        first.add_summary(v1.scalar("a", 1))
    finally:
        v1.FileWriterCache.clear()
    assert [len(events(path)) for path in files(tmp_path)] == [1]
    try:
        assert v1.FileWriterCache.get(tmp_path) is not first
    finally:
        v1.FileWriterCache.clear()


# The module


def test_what_needs_a_graph_says_so() -> None:
    with pytest.raises(AttributeError, match="pass the summaries to merge"):
        _ = v1.merge_all
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = v1.nothing


def test_parameters_are_tensorflows() -> None:
    assert {name: list(inspect.signature(getattr(v1, name)).parameters) for name in ("scalar", "image", "audio")} == {
        "scalar": ["name", "tensor", "collections", "family"],
        "image": ["name", "tensor", "max_outputs", "collections", "family"],
        "audio": ["name", "tensor", "sample_rate", "max_outputs", "collections", "family"],
    }
    assert str(inspect.signature(v1.FileWriter)).replace("'", "") == (
        "(logdir: str | os.PathLike[str], graph: Any = None, max_queue: int = 10, flush_secs: float = 120, "
        "graph_def: Any = None, filename_suffix: str | None = None, session: None = None) -> None"
    )


@pytest.mark.parametrize("module", ["v1", "v2"])
def test_writing_needs_no_framework_and_is_imported_on_demand(module: str) -> None:
    heavy = {"numba", "torch", "tensorflow", "keras", "onnx", "tensorboard"}
    code = (
        f"import sys, summary; early = 'summary.{module}' in sys.modules; from stepscope.summary import {module}; "
        f"print(early, *sorted({heavy!r} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


@pytest.mark.parametrize(
    ("page", "tags"),
    [
        ("tensorflow1", {"loss", "weights", "samples/image/0", "samples/image/1", "note"}),
        ("tensorflow2", {"loss", "layer_1/weights", "layer_1/filters"}),
    ],
)
def test_the_example_in_the_guide(page: str, tags: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = Path(__file__).resolve().parents[2] / "docs" / f"{page}.md"
    _, example, _ = re.split("```(?:python)?\n", guide.read_text(), maxsplit=2)
    monkeypatch.chdir(tmp_path)
    # In a context of its own, because it sets a default step.
    contextvars.copy_context().run(exec, compile(example, guide.name, "exec"), {})
    assert set(open_logdir(tmp_path / "runs").runs["first"].series) == tags


# TensorFlow's own file


def samples_of(histo: Any) -> NDArray[np.float64]:
    """Numbers that fall into the histogram's buckets, including its extremes."""
    lefts = np.append(-np.inf, histo.bucket_limit[:-1])
    found = [np.full(int(count), left) for left, count in zip(lefts, histo.bucket, strict=True)]
    flat = np.concatenate(found).clip(histo.min, histo.max)
    flat[0], flat[-1] = histo.min, histo.max
    return flat


@pytest.mark.peers
@pytest.mark.parametrize("logdir", ["tensorflow1/logdir", "pack/tensorflow1/logdir"])
def test_the_same_as_in_tensorflows_file(peer: Callable[[str], Path], logdir: str) -> None:
    (path,) = peer(logdir).iterdir()
    seen = set()
    for event in events(path):
        for value in event.summary.value:
            kind = value.WhichOneof("value")
            match kind:
                case "simple_value":
                    ours = values(v1.scalar(value.tag, np.float32(value.simple_value)))
                    assert ours == [value]
                case "image":
                    shown = pixels(value.image.encoded_image_string)
                    name, index = value.tag.split("/image/")
                    one = values(v1.image(name, shown[np.newaxis, :, :, np.newaxis].repeat(3, 0)))[int(index)]
                    assert pixels(one.image.encoded_image_string).tolist() == shown.tolist()
                    one.image.encoded_image_string = value.image.encoded_image_string
                    assert one == value
                case "histo":
                    one = only(v1.histogram(value.tag, samples_of(value.histo)))
                    # The numbers are different ones from the same buckets.
                    one.histo.sum, one.histo.sum_squares = value.histo.sum, value.histo.sum_squares
                    assert one == value
            seen.add(kind)
    assert seen == {"simple_value", "image", "histo"}


@pytest.mark.peers
@pytest.mark.parametrize("logdir", ["tensorflow1/logdir", "pack/tensorflow1/logdir"])
def test_tensorflows_events_are_written_as_they_are(peer: Callable[[str], Path], tmp_path: Path, logdir: str) -> None:
    (path,) = peer(logdir).iterdir()
    theirs = events(path)
    with v1.FileWriter(tmp_path) as opened:
        for event in theirs:
            opened.add_event(event.SerializeToString())
    (copy,) = files(tmp_path)
    assert events(copy) == theirs
