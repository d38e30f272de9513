"""The same calls to TensorFlow's summary functions and to ours give the same summaries."""

import inspect
import io
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader

from stepscope.summary import v1
from stepscope.summary import v2 as tf_summary
from stepscope.summary.kinds.tensor_proto import real_or_complex_numbers, strings
from stepscope.summary.proto import types_pb2
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.hparams_pb2 import HParamsPluginData
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.v2 import hp

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")

RANDOM = np.random.default_rng(0)
FLOATS = RANDOM.standard_normal((3, 5, 7, 3)).astype(np.float32)
BYTES = RANDOM.integers(0, 256, (2, 4, 3, 4)).astype(np.uint8)
SOUND = RANDOM.uniform(-1, 1, (2, 50, 2)).astype(np.float32)


def shown(encoded: bytes) -> Any:
    """Pixels instead of PNG, because two encoders may write the same image differently."""
    if not encoded.startswith(b"\x89PNG"):
        return encoded
    return np.asarray(Image.open(io.BytesIO(encoded)).convert("RGBA")).tolist()


def essence(value: Summary.Value) -> Any:
    """Tag, metadata without the data class (which TensorFlow leaves to its readers), and payload."""
    metadata = value.metadata
    plugin = (metadata.plugin_data.plugin_name, metadata.summary_description, metadata.display_name)
    kind = value.WhichOneof("value")
    match kind:
        case "image":
            image = value.image
            payload: Any = (image.width, image.height, image.colorspace, shown(image.encoded_image_string))
        case "tensor" if value.tensor.dtype == types_pb2.DT_STRING:
            array = strings(value.tensor)
            payload = (array.shape, [shown(one) for one in array.reshape(-1)])
        case "tensor":
            numbers = real_or_complex_numbers(value.tensor)
            payload = (numbers.dtype, numbers.shape, numbers.tobytes())
        case "histo":
            histo = value.histo
            # The two libraries add the numbers up in a different order.
            sums = [float(f"{number:.9g}") for number in (histo.sum, histo.sum_squares)]
            payload = (histo.min, histo.max, histo.num, sums, list(histo.bucket_limit), list(histo.bucket))
        case "audio":
            payload = value.audio.SerializeToString(deterministic=True)
        case "simple_value":
            payload = value.simple_value
        case _:
            payload = None
    return value.tag, plugin, kind, payload


def events(folder: Path) -> list[Any]:
    (path,) = folder.iterdir()
    found = []
    for raw in list(RawEventFileLoader(str(path)).Load())[1:]:
        event = Event.FromString(raw)
        found.append((event.step, event.WhichOneof("what"), [essence(value) for value in event.summary.value]))
    return found


def all_described(found: list[Any]) -> list[Any]:
    """Repeats a tag's metadata at each value: TensorFlow writes it once, Stepscope as often as it comes."""
    first: dict[str, Any] = {}
    return [
        (step, what, [(tag, first.setdefault(tag, metadata), *rest) for tag, metadata, *rest in values])
        for step, what, values in found
    ]


V1_CALLS: dict[str, Callable[[Any], Any]] = {
    "scalar": lambda api: api.scalar("loss", 0.1),
    "scalar_of_int": lambda api: api.scalar("count", np.int64(7)),
    "illegal": lambda api: api.scalar("/the loss: 50%", 0.5),
    "slash": lambda api: api.scalar("a/b/", 0.5),
    "family": lambda api: api.scalar("loss", 0.5, family="train"),
    "image": lambda api: api.image("bytes", BYTES),
    "one_image": lambda api: api.image("bytes", BYTES, 1),
    "image_of_positive": lambda api: api.image("floats", np.abs(FLOATS)),
    "image_of_lists": lambda api: api.image("floats", np.abs(FLOATS).astype(float).tolist()),
    "image_of_both_signs": lambda api: api.image("floats", FLOATS, 2),
    "image_of_halves": lambda api: api.image("floats", FLOATS.astype(np.float16)),
    "image_of_doubles": lambda api: api.image("floats", FLOATS.astype(np.float64), family="f"),
    "dark_image": lambda api: api.image("floats", np.abs(FLOATS) * np.float32(1e-8)),
    "broken_image": lambda api: api.image("floats", np.where(FLOATS > 1, np.nan, FLOATS).astype(np.float32)),
    "wholly_broken_image": lambda api: api.image("floats", np.full((1, 2, 2, 4), np.inf, np.float32)),
    "audio": lambda api: api.audio("tone", SOUND, 8000.0),
    "one_audio": lambda api: api.audio("tone", SOUND[:, :, 0], 44100.4, max_outputs=1),
    "loud_audio": lambda api: api.audio("tone", np.array([[1.0, -1.0, 0.5 / 32768]], np.float32), 8000.0),
    "histogram": lambda api: api.histogram("weights", FLOATS),
    "histogram_of_ints": lambda api: api.histogram("ints", np.array([0, 0, -5, 3, 10**6])),
    "histogram_of_extremes": lambda api: api.histogram("far", np.array([-1e300, 1e-20, -1e-20, 1e25, 0.0])),
    "empty_histogram": lambda api: api.histogram("none", np.zeros(0)),
    "text": lambda api: api.text("note", tf.constant("# hello")),
    "table": lambda api: api.text("table", tf.constant([["a", "b"], ["c", "d"]])),
    "tensor": lambda api: api.tensor_summary(
        "t", np.arange(6, dtype=np.int32).reshape(2, 3), "about", display_name="T"
    ),
    "strings": lambda api: api.tensor_summary("t", tf.constant(["a", "b"])),
    "merge": lambda api: api.merge([api.scalar("a", 1.0), api.merge([api.scalar("b", 2.0), api.scalar("c", 3.0)])]),
}


def in_graph(call: Callable[[Any], Any]) -> bytes:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        evaluated: bytes = session.run(call(tf.compat.v1.summary))
        return evaluated


@pytest.mark.filterwarnings("ignore:the summary's name", "ignore:the audio")
@pytest.mark.parametrize("call", V1_CALLS.values(), ids=V1_CALLS.keys())
def test_functions_of_tensorflow_1(call: Callable[[Any], Any]) -> None:
    theirs, ours = Summary.FromString(in_graph(call)), Summary.FromString(call(v1))
    assert [essence(value) for value in ours.value] == [essence(value) for value in theirs.value]


@pytest.mark.parametrize(
    "call",
    [
        lambda api: api.scalar("loss", np.zeros(3)),
        lambda api: api.image("i", np.zeros((1, 2, 2, 2), np.float32)),
        lambda api: api.image("i", np.zeros((1, 2, 2, 1), np.float32), 0),
        lambda api: api.histogram("h", np.array([1.0, np.nan])),
        lambda api: api.histogram("h", np.array([np.inf])),
        lambda api: api.audio("a", SOUND, -1.0),
        lambda api: api.audio("a", SOUND, 8000.0, 0),
        lambda api: api.audio("a", SOUND[0, :, 0], 8000.0),
        lambda api: api.merge([api.scalar("a", 1.0), api.scalar("a", 2.0)][:1] * 2),
        lambda api: api.merge([]),
    ],
)
def test_what_tensorflow_1_refuses(call: Callable[[Any], Any]) -> None:
    with pytest.raises((ValueError, TypeError, tf.errors.InvalidArgumentError)):
        in_graph(call)
    with pytest.raises((ValueError, TypeError)):
        call(v1)


def write_v1(api: Any, folder: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        tf.constant(1.0, name="one")
    metadata = tf.compat.v1.RunMetadata()
    metadata.step_stats.dev_stats.add(device="/cpu:0")
    described = api.Summary()
    value = described.value.add(tag="note", simple_value=1.0)
    value.metadata.plugin_data.plugin_name = "scalars"
    with api.FileWriter(str(folder), graph, filename_suffix=".end") as writer:
        for step in (1, 2):
            writer.add_summary(type(described).FromString(described.SerializeToString()), step)
        writer.add_summary(described.SerializeToString())
        writer.add_graph(None, 5, graph.as_graph_def())
        writer.add_run_metadata(metadata, "step_3", 3)
        writer.add_session_log(api.SessionLog(status=api.SessionLog.START), 4)
        writer.add_event(api.Event(step=7, wall_time=5.0, summary=described))
        assert writer.get_logdir() == str(folder)


def test_file_writer(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        write_v1(tf.compat.v1.summary, tmp_path / "theirs")
    write_v1(v1, tmp_path / "ours")
    assert all_described(events(tmp_path / "ours")) == all_described(events(tmp_path / "theirs"))
    raw = [list(RawEventFileLoader(str(next((tmp_path / who).iterdir()))).Load())[1] for who in ("ours", "theirs")]
    ours, theirs = (Event.FromString(one).graph_def for one in raw)
    assert tf.compat.v1.GraphDef.FromString(ours) == tf.compat.v1.GraphDef.FromString(theirs)


V2_CALLS: dict[str, Callable[[Any], Any]] = {
    "scalar": lambda api: api.scalar("loss", 0.1, 1),
    "described_scalar": lambda api: api.scalar("loss", np.float64(0.1), 2, "*how bad*"),
    "scalar_beyond_float32": lambda api: api.scalar("loss", np.float64(1e300), 2),
    "default_step": lambda api: [api.experimental.set_step(7), api.scalar("loss", True)][1],
    "variable_step": lambda api: api.scalar("loss", 1, tf.Variable(9, dtype=tf.int64)),
    "image_of_bytes": lambda api: api.image("bytes", BYTES, 3),
    "image_of_floats": lambda api: api.image("floats", FLOATS, 3, max_outputs=2),
    "image_of_fine_floats": lambda api: api.image(
        "f", np.linspace(0, 1, 1023, dtype=np.float32).reshape(1, 31, 33, 1), 1
    ),
    "image_of_doubles": lambda api: api.image("f", np.linspace(0, 1, 1023).reshape(1, 31, 33, 1), 1),
    "image_of_halves": lambda api: api.image("floats", FLOATS.astype(np.float16), 3),
    "image_of_lists": lambda api: api.image("floats", FLOATS.astype(float).tolist(), 3),
    "image_of_tensors": lambda api: api.image("floats", [tf.constant(one) for one in FLOATS], 3),
    "image_of_int16": lambda api: api.image("ints", (FLOATS * 20000).clip(-30000, 30000).astype(np.int16), 3),
    "image_of_int8": lambda api: api.image("ints", (FLOATS * 100).clip(-120, 120).astype(np.int8), 3),
    "image_of_uint16": lambda api: api.image("ints", np.abs(FLOATS * 9000).astype(np.uint16), 3),
    "image_of_int32": lambda api: api.image("ints", (FLOATS * 5e8).astype(np.int32), 3),
    "gray_and_alpha": lambda api: api.image("gray", BYTES[..., :2], 3),
    "no_images": lambda api: api.image("none", BYTES, 3, 0),
    "audio": lambda api: api.audio("tone", SOUND, 8000, 4),
    "few_audios": lambda api: api.audio("tone", SOUND, 8000, 4, 1, "wav", "a *tone*"),
    "histogram": lambda api: api.histogram("weights", FLOATS.astype(np.float64), 5),
    "histogram_of_few": lambda api: api.histogram("weights", np.array([1, 2, 2, 9]), 5, buckets=4),
    "histogram_of_one": lambda api: api.histogram("weights", np.array([2.0, 2.0]), 5, buckets=3),
    "empty_histogram": lambda api: api.histogram("weights", np.zeros(0), 5, buckets=2),
    "no_buckets": lambda api: api.histogram("weights", np.ones(2), 5, buckets=0),
    "text": lambda api: api.text("note", "# hello", 6),
    "text_of_bytes": lambda api: api.text("note", "hé".encode(), 6, "about"),
    "table": lambda api: api.text("table", [["a", "b"], ["c", "d"]], 6),
    "text_of_tensor": lambda api: api.text("table", tf.constant(["a", "b"]), 6),
    "write": lambda api: api.write("own", np.arange(3, dtype=np.int16), 7),
    "write_strings": lambda api: api.write("own", tf.constant([b"\xff\x00", b""]), 7, b"\n\x03\n\x01x"),
    "write_floats": lambda api: api.write("own", [[1.5, 2.5]], 7),
    "write_complex": lambda api: api.write("own", np.array([1j]), 7),
    "write_lazily": lambda api: api.write("own", lambda: tf.constant(2.0), 7),
    "write_raw": lambda api: api.experimental.write_raw_pb(v1.scalar("raw", 1.0), 8),
}


@pytest.mark.filterwarnings("ignore:the audio")
@pytest.mark.parametrize("call", V2_CALLS.values(), ids=V2_CALLS.keys())
def test_functions_of_tensorflow_2(call: Callable[[Any], Any], tmp_path: Path) -> None:
    for api, name in ((tf.summary, "theirs"), (tf_summary, "ours")):
        with api.create_file_writer(str(tmp_path / name)).as_default():
            assert bool(call(api))
        api.experimental.set_step(None)
    assert events(tmp_path / "ours") == events(tmp_path / "theirs")


def parameters(function: Any) -> list[tuple[str, Any]]:
    return [(one.name, one.default) for one in inspect.signature(function).parameters.values() if one.name != "self"]


def test_names_order_and_defaults_of_parameters() -> None:
    pairs = [
        (getattr(theirs, name), getattr(ours, name))
        for theirs, ours in (
            (tf.compat.v1.summary, v1),
            (tf.summary, tf_summary),
            (tf.summary.experimental, tf_summary.experimental),
            (tf.compat.v1.summary.FileWriter, v1.FileWriter),
            (tf.compat.v1.summary.FileWriterCache, v1.FileWriterCache),
            (tf.summary.SummaryWriter, tf_summary.SummaryWriter),
        )
        for name in dir(theirs)
        if not name.startswith("_") and callable(getattr(ours, name, None))
    ]
    assert len(pairs) > 40
    different = {
        theirs.__qualname__: (parameters(ours), parameters(theirs))
        for theirs, ours in pairs
        if not hasattr(theirs, "DESCRIPTOR") and parameters(ours) != parameters(theirs)
    }
    assert different == {}


def test_what_is_missing_is_known() -> None:
    def public(api: Any) -> set[str]:
        return {name for name in dir(api) if not name.startswith("_")}

    assert public(tf.compat.v1.summary) - public(v1) == {"all_v2_summary_ops", "initialize", "merge_all"}
    assert public(tf.summary) - public(tf_summary) == {"trace_export", "trace_off", "trace_on"}
    assert public(tf.summary.experimental) - public(tf_summary.experimental) == set()
    assert public(tf.compat.v1.summary.FileWriter) - public(v1.FileWriter) == set()


def write_in_contexts(api: Any, name_scope: Any, folder: Path) -> list[bool]:
    writer, other = (
        api.create_file_writer(str(folder)),
        api.create_file_writer(str(folder.with_name(folder.name + "2"))),
    )
    done = [api.scalar("lost", 1, 0), api.should_record_summaries()]
    with ExitStack() as stack:
        stack.enter_context(writer.as_default(step=1))
        done.append(api.scalar("first", 1))
        with other.as_default(step=20):
            done.append(api.scalar("other", 1))
        with name_scope("a"), name_scope("b/c"), api.experimental.summary_scope("my name: é") as (tag, scope):
            done += [api.write(tag, 1.0), api.write(scope, 1.0), api.scalar("inner", 1, 2)]
            with name_scope("d/"):
                done.append(api.scalar("reset", 1))
            with name_scope(""):
                done.append(api.scalar("root", 1))
        with api.record_if(False):
            done += [api.scalar("off", 1), api.should_record_summaries()]
            with api.record_if(lambda: True):
                done += [api.scalar("on", 1), api.should_record_summaries()]
            with api.create_noop_writer().as_default():
                done.append(api.scalar("still off", 1))
        with api.create_noop_writer().as_default(step=9):
            done.append(api.scalar("not noop", 1))
        writer.init()
        api.flush()
    done.append(api.scalar("lost", 1, 0))
    for one in (writer, other):
        one.close()
        one.close()
        one.flush()
    return [bool(one) for one in done]


def test_contexts(tmp_path: Path) -> None:
    theirs = write_in_contexts(tf.summary, tf.name_scope, tmp_path / "theirs")
    ours = write_in_contexts(tf_summary, tf_summary.name_scope, tmp_path / "ours")
    assert ours == theirs
    for name in ("", "2"):
        assert events(tmp_path / f"ours{name}") == events(tmp_path / f"theirs{name}")


@pytest.mark.parametrize(
    "call",
    [
        lambda api: api.scalar("no_step", 1),
        lambda api: api.scalar("shape", np.zeros(3), 1),
        lambda api: api.text("number", 1, 1),
        lambda api: api.image("rank", np.zeros((2, 2, 1)), 1),
        lambda api: api.image("channels", np.zeros((1, 2, 2, 5)), 1),
        lambda api: api.image("most", np.zeros((1, 2, 2, 1)), 1, max_outputs=-1),
        lambda api: api.audio("encoding", SOUND, 8000, 1, encoding="mp3"),
        lambda api: api.audio("rank", SOUND[0], 8000, 1),
        lambda api: api.flush("writer"),
        lambda api: api.graph(5),
        lambda api: api.create_file_writer(None),
        lambda api: [api.create_noop_writer(), api.experimental.set_step("x"), api.scalar("s", 1)],
    ],
)
def test_what_tensorflow_2_refuses(call: Callable[[Any], Any], tmp_path: Path) -> None:
    for api in (tf.summary, tf_summary):
        with (
            api.create_file_writer(str(tmp_path)).as_default(),
            pytest.raises((ValueError, TypeError, tf.errors.InvalidArgumentError)),
        ):
            call(api)
        api.experimental.set_step(None)


def test_closed_writers(tmp_path: Path) -> None:
    for api in (tf.summary, tf_summary):
        writer = api.create_file_writer(str(tmp_path))
        writer.close()
        for call in (writer.as_default, writer.set_as_default, writer.init):
            with pytest.raises(RuntimeError, match="closed"):
                call()


def test_hyperparameters(tmp_path: Path) -> None:
    theirs = pytest.importorskip("tensorboard.plugins.hparams.api")
    values = {"lr": 0.001, "units": np.int64(8), "name": "adam", "bn": True}

    def domains(api: Any) -> list[Any]:
        return [
            api.HParam("lr", api.RealInterval(1e-4, 0.1), "rate", "how fast"),
            api.HParam("units", api.IntInterval(1, 64)),
            api.HParam("name", api.Discrete(["sgd", "adam"])),
            api.HParam("bn", api.Discrete([False, True])),
            api.HParam("any"),
        ]

    def metrics(api: Any) -> list[Any]:
        return [api.Metric("loss"), api.Metric("acc", "val", "accuracy", "good", api.Metric.VALIDATION)]

    def content(message: Any) -> bytes:
        own = Summary.FromString(message.SerializeToString())
        return own.value[0].metadata.plugin_data.content

    with_keys = {domains(hp)[0]: 0.001, **{name: values[name] for name in ("units", "name", "bn")}}
    for given in (values, with_keys):
        ours = hp.hparams_pb(given, start_time_secs=5.0)
        assert HParamsPluginData.FromString(content(ours)) == HParamsPluginData.FromString(
            content(theirs.hparams_pb(values, start_time_secs=5.0))
        )
    for api in (hp, theirs):
        ours = hp.hparams_config_pb(domains(api), metrics(api), 6.0)
        assert content(ours) == content(theirs.hparams_config_pb(domains(theirs), metrics(theirs), 6.0))
    with tf_summary.create_file_writer(tmp_path).as_default():
        assert hp.hparams(values, "trial")
        assert hp.hparams_config(domains(hp), metrics(hp))
    assert [(step, [value[0] for value in values]) for step, _, values in events(tmp_path)] == [
        (0, ["_hparams_/session_start_info"]),
        (0, ["_hparams_/experiment"]),
    ]
