"""Every kind of summary, written by each way of writing, read back equal by TensorBoard's reader and by this one."""

import io
import json
import math
import time
import wave
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

import numpy as np
import onnx
import pytest
from google.protobuf import json_format, text_format
from matplotlib.figure import Figure
from PIL import Image, ImageSequence
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_accumulator import TENSORS
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.compat.proto import config_pb2, graph_pb2, summary_pb2
from tensorboard.context import RequestContext
from tensorboard.data.provider import RunTagFilter
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData
from tensorboard.plugins.projector import projector_plugin
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

from stepscope.summary import SummaryWriter, hooks, open_logdir, v1, v2
from stepscope.summary.graphs.from_onnx import graph_from_onnx
from stepscope.summary.graphs.from_openvino import graph_from_openvino
from stepscope.summary.kinds import KINDS
from stepscope.summary.kinds.custom_scalars import custom_scalars, layout_of
from stepscope.summary.kinds.debug import ALERTS_PLUGIN, CATALOG_PLUGIN, STEPS_PLUGIN
from stepscope.summary.kinds.graph import function_graphs, keras_model
from stepscope.summary.kinds.hparams import session_end
from stepscope.summary.kinds.mesh import mesh, mesh_info
from stepscope.summary.kinds.pr_curve import pr_curve
from stepscope.summary.kinds.tensor import tensor
from stepscope.summary.kinds.video import video
from stepscope.summary.logdir import Logdir
from stepscope.summary.names import readable_name
from stepscope.summary.projector import CONFIG_PATTERN, find_embedding, projector_runs, read_asset, read_metadata
from stepscope.summary.proto.graph_pb2 import GraphDef, NodeDef
from stepscope.summary.proto.hparams_pb2 import STATUS_SUCCESS, SessionEndInfo
from stepscope.summary.proto.meta_graph_pb2 import MetaGraphDef
from stepscope.summary.proto.plugin_data_pb2 import HistogramPluginData
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.series import Series

WALL, STEP = 10.5, 3
NOW: Final = None
"""The wall time of calls that are given none."""

APIS = ("SummaryWriter", "hooks", "add_scalar_batch", "v1", "v2")

ODD_TAGS = (
    "mean loss", "a/b/c", "a//b/", "/leading", "100 %", "%2F", "ünïcode 損失 🙂", ".", "..", "../up", " ", "two\nlines",
    "a\tb", "back\\slash", "a\0b", '"quoted"', "<b>&amp;", "x" * 10_000, "é" * 10_000,
)  # fmt: skip


class Point(NamedTuple):
    """What a reader must find."""

    tag: str
    plugin: str
    payload: Any
    step: int = STEP
    wall_time: float | None = WALL
    run: str = ""
    """Below the folder that the case writes to."""


class Case(NamedTuple):
    kind: str
    api: str
    write: Callable[[Any], object]
    """Gets a SummaryWriter; the package `v2`, under a default writer; or both FileWriter and package, for v1."""
    points: list[Point]


class V1(NamedTuple):
    file: Any
    package: Any


class Calls:
    """Passes everything on, and records what was asked for."""

    def __init__(self, target: Any, noted: set[str]) -> None:
        self._target: Final = target
        self._noted: Final = noted

    def __getattr__(self, name: str) -> Any:
        self._noted.add(name)
        found = getattr(self._target, name)
        return Calls(found, self._noted) if isinstance(found, ModuleType) else found


def as_dict(message: Any) -> Any:
    return json_format.MessageToDict(message)


# What is written, and what readers see of it.

PICTURE = np.array([[[0, 1, 2], [3, 4, 5]]], np.uint8)
"""Height 1, width 2, three channels."""
PICTURE_READ = (2, 1, [[PICTURE.tolist()]])
TWO_READ = (2, 1, [[PICTURE.tolist()]] * 2)
GRAY_READ = (2, 1, [[[[0, 255]]]])
BLANK, BOXED = np.zeros((2, 6, 8, 3), np.uint8)
# Lines are two pixels wide; horizontal ones lie above their places.
BOXED[0:6, 1:6] = [255, 0, 0]
BOXED[2:4, 3] = 0
BOXED_READ = (8, 6, [[BOXED.tolist()]])
FILM = np.stack([np.zeros((3, 1, 2)), np.ones((3, 1, 2))])[np.newaxis]
FILM_READ = (2, 1, [[[[[0, 0, 0]] * 2], [[[255, 255, 255]] * 2]]])
FIGURE_READ = (4, 3, [[[[[255, 0, 0]] * 4] * 3]])
STEREO = np.array([[0.0, 0.5], [1.0, -0.5], [-1.0, 0.25]])
STEREO_READ = [(8000, [[0, 16384], [32767, -16384], [-32767, 8192]])]
STEREO_OF_TENSORFLOW_READ = [(8000, [[0, 16384], [32767, -16384], [-32768, 8192]])]
STRANGE = [1.0, 1.0, 3.0, -1.0, 9.0, 9.0, math.nan, math.inf, math.inf, math.inf, -math.inf]
STRANGE_READ = (
    [[1, 2, 2], [2, 3, 1]],
    {"nan": "1", "positiveInfinite": "3", "negativeInfinite": "1", "below": "1", "above": "2"},
)
THIRTY_BUCKETS = [[i, i + 1, 1 + (i == 29)] for i in range(30)]
"""Of the whole numbers from 0 to 30."""
CURVE_READ = [[1, 1], [1, 0], [0, 1], [0, 0], [0.5, 1], [1, 1]]
CORNERS = [[[0.0, 0.0, 1.0], [0.5, 0.0, 0.0], [0.0, 1.0, 0.0]]]
COLORS = [[[255, 0, 0], [0, 255, 0], [0, 0, 255]]]
FACES = [[[0, 1, 2]]]
CAMERA = {"camera": {"fov": 75}}
MESH_READ = [
    ("m_VERTEX", "mesh", ("float32", CORNERS, "m", "VERTEX", CAMERA)),
    ("m_FACE", "mesh", ("int32", FACES, "m", "FACE", CAMERA)),
    ("m_COLOR", "mesh", ("uint8", COLORS, "m", "COLOR", CAMERA)),
]
LAYOUT = {"L": {"both": ["Multiline", ["loss/.*"]], "band": ["Margin", ["acc", "low", "high"]]}}
MULTILINE = {"title": "both", "multiline": {"tag": ["loss/.*"]}}
MARGIN = {"title": "band", "margin": {"series": [{"value": "acc", "lower": "low", "upper": "high"}]}}
GRAPH = GraphDef(node=[NodeDef(name="a", op="Const"), NodeDef(name="b", op="Neg", input=["a"])])
ONNX = onnx.helper.make_model(
    onnx.helper.make_graph(
        [onnx.helper.make_node("Relu", ["x"], ["y"], name="relu")],
        "g",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2])],
    )
)
OPENVINO = b'<net version="11"><layers><layer id="0" name="x" type="Parameter"/></layers><edges/></net>'
KERAS_JSON = '{"class_name": "Sequential", "config": {"name": "s", "layers": []}}'
METADATA = RunMetadata()
METADATA.step_stats.dev_stats.add(device="/cpu:0").node_stats.add(node_name="matmul", all_start_micros=5)
FUNCTIONS = RunMetadata()
FUNCTIONS.function_graphs.add().pre_optimization_graph.CopyFrom(GRAPH)
HPARAMS = {"lr": 0.5, "bn": True, "opt": "sgd"}
EXPERIMENT_READ = {
    "hparamInfos": [
        {"name": "lr", "type": "DATA_TYPE_FLOAT64"},
        {"name": "bn", "type": "DATA_TYPE_BOOL"},
        {"name": "opt", "type": "DATA_TYPE_STRING"},
    ],
    "metricInfos": [{"name": {"tag": "acc"}}],
}
EXPERIMENT_TAG = "_hparams_/experiment"
START_TAG = "_hparams_/session_start_info"
END_TAG = "_hparams_/session_end_info"
END_READ = {"sessionEndInfo": {"status": "STATUS_SUCCESS"}}
LAYOUT_TAG = "custom_scalars__config__"
LAYOUT_READ = {"category": [{"title": "L", "chart": [MULTILINE, MARGIN]}]}
GRAPH_TAG = "__run_graph__"


def messages() -> Iterator[tuple[str, Summary, list[tuple[str, str, Any]]]]:
    """Kinds for which not every API has a call of its own, as messages, which all APIs take."""
    yield "video", Summary(value=[video("t", FILM, 4)]), [("t", "images", FILM_READ)]
    yield "PR curve", Summary(value=[pr_curve("t", [1, 0], [1.0, 0.0], 2)]), [("t", "pr_curves", CURVE_READ)]
    yield "mesh", Summary(value=mesh("m", CORNERS, COLORS, FACES, CAMERA)), MESH_READ
    end = session_end(SessionEndInfo(status=STATUS_SUCCESS))
    yield "session end", Summary(value=[end]), [(END_TAG, "hparams", END_READ)]
    layout = custom_scalars(layout_of(LAYOUT))
    yield "custom scalars", Summary(value=[layout]), [(LAYOUT_TAG, "custom_scalars", LAYOUT_READ)]
    keras = keras_model("t", KERAS_JSON)
    yield "Keras model", Summary(value=[keras]), [("t", "graph_keras_model", json.loads(KERAS_JSON))]
    functions = function_graphs("t", FUNCTIONS)
    yield "function graphs", Summary(value=[functions]), [("t", "graph_run_metadata_graph", as_dict(FUNCTIONS))]
    traced = function_graphs("t", METADATA)
    traced.metadata.plugin_data.plugin_name = "graph_run_metadata"
    yield "traced RunMetadata", Summary(value=[traced]), [("t", "graph_run_metadata", as_dict(METADATA))]


def written_by_summary_writer() -> Iterator[tuple[str, Callable[[Any], object], list[Point]]]:
    def of_t(plugin: str, payload: Any) -> list[Point]:
        return [Point("t", plugin, payload)]

    layout = partial(Point, LAYOUT_TAG, "custom_scalars", step=0, wall_time=NOW)
    graph = partial(Point, GRAPH_TAG, "graphs", step=0, wall_time=NOW)
    session = partial(Point, wall_time=NOW, run="r")
    two, chw = np.concatenate([PICTURE, PICTURE])[:, np.newaxis], PICTURE.transpose(2, 0, 1)
    at = (STEP, WALL)
    yield "scalar", lambda w: w.add_scalar("t", 0.1, *at), of_t("scalars", float(np.float32(0.1)))
    yield "scalar, new style", lambda w: w.add_scalar("t", 0.5, *at, new_style=True), of_t("scalars", 0.5)
    yield "scalar, float64", lambda w: w.add_scalar("t", 0.1, *at, double_precision=True), of_t("scalars", 0.1)
    points = [Point("a/t", "scalars", 0.5, run="a_t_x"), Point("a/t", "scalars", 2.0, run="a_t_y")]
    yield "scalars", lambda w: w.add_scalars("a/t", {"x": 0.5, "y": 2}, *at), points
    yield "image, HWC", lambda w: w.add_image("t", PICTURE, *at, "HWC"), of_t("images", PICTURE_READ)
    yield "image, CHW, float", lambda w: w.add_image("t", chw / 255, *at), of_t("images", PICTURE_READ)
    yield "image, HW, bool", lambda w: w.add_image("t", [[False, True]], *at, "HW"), of_t("images", GRAY_READ)
    yield "images, NHWC", lambda w: w.add_images("t", two, *at, "NHWC"), of_t("images", TWO_READ)
    yield "images, NCHW", lambda w: w.add_images("t", two.transpose(0, 3, 1, 2), *at), of_t("images", TWO_READ)
    boxes = [[1, 1, 5, 4]]
    yield (
        "image with boxes",
        lambda w: w.add_image_with_boxes("t", BLANK, boxes, *at, dataformats="HWC"),
        of_t("images", BOXED_READ),
    )
    figure = Figure(figsize=(0.04, 0.03), dpi=100, facecolor="red")
    yield "figure", lambda w: w.add_figure("t", figure, STEP, walltime=WALL), of_t("images", FIGURE_READ)
    yield "video", lambda w: w.add_video("t", FILM, STEP, walltime=WALL), of_t("images", FILM_READ)
    mono_read = [(8000, [[0], [16384], [-32767]])]
    yield "audio, mono", lambda w: w.add_audio("t", [0.0, 0.5, -1.0], STEP, 8000, WALL), of_t("audio", mono_read)
    yield "audio, stereo", lambda w: w.add_audio("t", STEREO, STEP, 8000, WALL), of_t("audio", STEREO_READ)
    text = partial(Point, "t/text_summary", "text")
    yield "text", lambda w: w.add_text("t", "# é\n", *at), [text("# é\n")]
    yield "text, table", lambda w: w.add_text("t", [["a", "b"]], *at), [text([["a", "b"]])]
    yield "histogram", lambda w: w.add_histogram("t", STRANGE, STEP, [0, 2, 4], WALL), of_t("histograms", STRANGE_READ)
    values = np.array([0.0, 1, 2, 3, 4, 4, 4.5, 8])
    for rule in ("auto", "fd", "doane", "scott", "stone", "rice", "sturges", "sqrt"):
        counts, edges = np.histogram(values, bins=rule)
        buckets = np.stack([edges[:-1], edges[1:], counts], axis=1).tolist()
        write = partial(_add_histogram, values=values, rule=rule)
        yield f"histogram, {rule}", write, of_t("histograms", (buckets, {}))
    yield (
        "histogram, raw",
        lambda w: w.add_histogram_raw("t", 0, 3, 3, 4, 10, [1, 2, 4], [1, 0, 2], *at),
        of_t("histograms", ([[0, 1, 1], [1, 2, 0], [2, 3, 2]], {})),
    )
    yield "tensor", lambda w: w.add_tensor("t", [1 + 2j], *at), of_t("tensor", ("complex128", [1 + 2j]))
    yield (
        "PR curve",
        lambda w: w.add_pr_curve("t", [1, 0], [1.0, 0.0], STEP, 2, walltime=WALL),
        of_t("pr_curves", CURVE_READ),
    )
    yield (
        "PR curves of classes",
        lambda w: w.add_pr_curves("t", [0, 1], np.eye(2), STEP, 2, walltime=WALL),
        [Point("t/0", "pr_curves", CURVE_READ), Point("t/1", "pr_curves", CURVE_READ)],
    )
    yield (
        "PR curve, raw",
        lambda w: w.add_pr_curve_raw("t", [1], [2], [3], [4], [0.5], [0.25], STEP, walltime=WALL),
        of_t("pr_curves", [[1], [2], [3], [4], [0.5], [0.25]]),
    )
    yield "mesh", lambda w: w.add_mesh("m", CORNERS, COLORS, FACES, CAMERA, *at), [Point(*read) for read in MESH_READ]
    cloud: Any = ("float32", CORNERS, "m", "VERTEX", {})
    yield (
        "point cloud",
        lambda w: w.add_mesh("m", CORNERS[0], None, None, None, *at),
        [Point("m_VERTEX", "mesh", cloud)],
    )
    yield (
        "hyperparameters",
        lambda w: w.add_hparams(HPARAMS, {"acc": 0.25}, None, "r", STEP),
        [
            session(EXPERIMENT_TAG, "hparams", {"experiment": EXPERIMENT_READ}),
            session(START_TAG, "hparams", {"sessionStartInfo": {"hparams": HPARAMS}}),
            session(END_TAG, "hparams", END_READ),
            session("acc", "scalars", 0.25),
        ],
    )
    yield "custom scalars", lambda w: w.add_custom_scalars(LAYOUT), [layout(LAYOUT_READ)]
    yield (
        "custom scalars, multiline",
        lambda w: w.add_custom_scalars_multilinechart(["loss/.*"], "L", "both"),
        [layout({"category": [{"title": "L", "chart": [MULTILINE]}]})],
    )
    yield (
        "custom scalars, margin",
        lambda w: w.add_custom_scalars_marginchart(["acc", "low", "high"], "L", "band"),
        [layout({"category": [{"title": "L", "chart": [MARGIN]}]})],
    )
    yield "graph", lambda w: w.add_graph(GRAPH), [graph(as_dict(GRAPH))]
    yield "graph, ONNX", lambda w: w.add_onnx_graph(ONNX), [graph(as_dict(graph_from_onnx(ONNX)))]
    openvino = as_dict(graph_from_openvino(OPENVINO))
    yield "graph, OpenVINO", lambda w: w.add_openvino_graph(OPENVINO), [graph(openvino)]
    tagged = of_t("graph_tagged_run_metadata", as_dict(METADATA))
    yield "RunMetadata", lambda w: w.add_run_metadata(METADATA, "t", *at), tagged
    for kind, summary, reads in messages():
        yield f"{kind}, message", partial(_add_summary, summary=summary), [Point(*read) for read in reads]


def _add_histogram(writer: Any, values: Any, rule: str) -> None:
    writer.add_histogram("t", values, STEP, rule, WALL)


def _add_summary(writer: Any, summary: Summary) -> None:
    writer.add_summary(summary, STEP, WALL)


def written_in_batches() -> Iterator[tuple[str, Callable[[Any], object], list[Point]]]:
    forms: dict[str, dict[str, bool]] = {
        "scalar": {},
        "scalar, new style": {"new_style": True},
        "scalar, float64": {"double_precision": True},
    }
    for kind, form in forms.items():
        numbers = [0.1, math.nan] if "double_precision" in form else [0.5, math.nan]

        def write(writer: Any, numbers: list[float] = numbers, form: dict[str, bool] = form) -> None:
            writer.add_scalar_batch("t", numbers, [STEP, STEP + 1], [WALL, WALL + 1], **form)

        yield kind, write, [Point("t", "scalars", n, STEP + i, WALL + i) for i, n in enumerate(numbers)]


def written_by_hooks() -> Iterator[tuple[str, Callable[[Any], object], list[Point]]]:
    """What a loop logs, and whatever `SummaryWriter` writes, in the step that a hook saves."""

    def log(writer: Any) -> None:
        saver = hooks.SummarySaver(writer, save_steps=1, values={"lr": np.float32(0.25)})
        loop = hooks.Hooks(saver)
        for step, loss in loop.loop([math.inf, 0.5], STEP):
            loop.log(loss=loss)
            assert step in (STEP, STEP + 1)

    yield (
        "scalar",
        log,
        [
            Point(tag, "scalars", number, step, NOW)
            for tag, numbers in (("lr", (0.25, 0.25)), ("loss", (math.inf, 0.5)))
            for step, number in enumerate(numbers, STEP)
        ],
    )
    for kind, write, points in written_by_summary_writer():
        if kind != "scalar":
            yield kind, partial(_in_a_hook, write=write), points


def _in_a_hook(writer: Any, write: Callable[[Any], object]) -> None:
    saver = hooks.SummarySaver(writer, save_steps=1, save=lambda of_hook, step: write(of_hook))
    assert [step for step, _ in hooks.Hooks(saver).loop([None])] == [0]


def written_by_v1() -> Iterator[tuple[str, Callable[[Any], object], list[Point]]]:
    two = np.stack([PICTURE, PICTURE])
    metadata = tensor("t", [0]).metadata
    built: dict[str, tuple[Callable[[Any], bytes], list[tuple[str, str, Any]]]] = {
        "scalar": (lambda tf: tf.scalar("t", 0.5), [("t", "scalars", 0.5)]),
        "images, NHWC": (lambda tf: tf.image("t", two), [(f"t/image/{i}", "images", PICTURE_READ) for i in range(2)]),
        "audio, stereo": (
            lambda tf: tf.audio("t", STEREO[np.newaxis], 8000, 1),
            [("t/audio", "audio", STEREO_OF_TENSORFLOW_READ)],
        ),
        "text": (lambda tf: tf.text("t", "# é\n"), [("t", "text", "# é\n")]),
        "text, table": (lambda tf: tf.text("t", [["a", "b"]]), [("t", "text", [["a", "b"]])]),
        "histogram": (lambda tf: tf.histogram("t", [2.0, 2.0]), [("t", "histograms", ([[2, 2, 2]], {}))]),
        "tensor": (
            lambda tf: tf.tensor_summary("t", np.array([1 + 2j]), summary_metadata=metadata),
            [("t", "tensor", ("complex128", [1 + 2j]))],
        ),
        "merged": (
            lambda tf: tf.merge([tf.scalar("a", 0.5), tf.text("b", "c")]),
            [("a", "scalars", 0.5), ("b", "text", "c")],
        ),
    }
    for kind, (build, reads) in built.items():
        yield kind, partial(_add_built, build=build), [Point(*read, wall_time=NOW) for read in reads]
    graph = Point(GRAPH_TAG, "graphs", as_dict(GRAPH), wall_time=NOW)
    yield "graph", lambda w: w.file.add_graph(GRAPH, STEP), [graph]
    meta_graph = MetaGraphDef(graph_def=GRAPH)
    yield "meta graph", lambda w: (w.file.add_graph(GRAPH, STEP), w.file.add_meta_graph(meta_graph, STEP)), [graph]
    tagged = [Point("t", "graph_tagged_run_metadata", as_dict(METADATA), wall_time=NOW)]
    yield "RunMetadata", lambda w: w.file.add_run_metadata(METADATA, "t", STEP), tagged
    yield "restart", _restart, [Point("t", "scalars", number, step) for step, number in enumerate([0.0, 1.0, 7.0])]
    for kind, summary, reads in messages():
        event = v1.Event(step=STEP, wall_time=WALL, summary=summary)
        yield kind, partial(_add_event, event=event), [Point(*read) for read in reads]


def _add_built(writer: V1, build: Callable[[Any], bytes]) -> None:
    writer.file.add_summary(build(writer.package), STEP)


def _add_event(writer: V1, event: v1.Event) -> None:
    writer.file.add_event(event)


def _restart(writer: V1) -> None:
    def add(number: float, step: int) -> None:
        value = Summary.Value(tag="t", simple_value=number)
        writer.file.add_event(v1.Event(step=step, wall_time=WALL, summary=Summary(value=[value])))

    start = v1.SessionLog(status=v1.SessionLog.START)
    writer.file.add_session_log(start, 0)
    for step in range(4):
        add(step, step)
    writer.file.add_session_log(start, 2)
    add(7, 2)


def written_by_v2() -> Iterator[tuple[str, Callable[[Any], object], list[Point]]]:
    two = np.stack([PICTURE, PICTURE])
    metadata = tensor("t", [0]).metadata
    written: dict[str, tuple[Callable[[Any], object], list[tuple[str, str, Any]]]] = {
        "scalar": (lambda tf: tf.scalar("t", 0.5, STEP), [("t", "scalars", 0.5)]),
        "images, NHWC": (lambda tf: tf.image("t", two, STEP), [("t", "images", TWO_READ)]),
        "audio, stereo": (
            lambda tf: tf.audio("t", STEREO[np.newaxis], 8000, STEP),
            [("t", "audio", STEREO_OF_TENSORFLOW_READ)],
        ),
        "text": (lambda tf: tf.text("t", "# é\n", STEP), [("t", "text", "# é\n")]),
        "text, table": (lambda tf: tf.text("t", [["a", "b"]], STEP), [("t", "text", [["a", "b"]])]),
        "histogram": (
            lambda tf: tf.histogram("t", [*range(30), 30, math.nan, math.inf], STEP),
            [("t", "histograms", (THIRTY_BUCKETS, {"nan": "1", "positiveInfinite": "1"}))],
        ),
        "tensor": (
            lambda tf: tf.write("t", np.array([1 + 2j]), STEP, metadata),
            [("t", "tensor", ("complex128", [1 + 2j]))],
        ),
    }
    for kind, (write, reads) in written.items():
        yield kind, write, [Point(*read, wall_time=NOW) for read in reads]
    at_zero = partial(Point, step=0, wall_time=NOW)
    yield "graph", lambda tf: tf.graph(GRAPH), [at_zero(GRAPH_TAG, "graphs", as_dict(GRAPH))]
    start = {"sessionStartInfo": {"hparams": HPARAMS, "groupName": "g", "startTimeSecs": 5.0}}
    yield "hyperparameters", lambda tf: tf.hp.hparams(HPARAMS, "g", 5.0), [at_zero(START_TAG, "hparams", start)]
    experiment = {"timeCreatedSecs": 5.0, "hparamInfos": [{"name": "lr"}], "metricInfos": [{"name": {"tag": "acc"}}]}
    yield (
        "experiment",
        lambda tf: tf.hp.hparams_config([tf.hp.HParam("lr")], [tf.hp.Metric("acc")], 5.0),
        [at_zero(EXPERIMENT_TAG, "hparams", {"experiment": experiment})],
    )
    for kind, summary, reads in messages():
        write = partial(_write_raw, message=summary.SerializeToString())
        yield kind, write, [Point(*read, wall_time=NOW) for read in reads]


def _write_raw(tf: Any, message: bytes) -> None:
    tf.experimental.write_raw_pb(message, STEP)


def all_cases() -> list[Case]:
    ways: Any = (written_by_summary_writer, written_by_hooks, written_in_batches, written_by_v1, written_by_v2)
    return [Case(kind, api, *how) for api, way in zip(APIS, ways, strict=True) for kind, *how in way()]


# Reading with either reader, into one form.


def frames(encoded: bytes) -> list[Any]:
    picture = Image.open(io.BytesIO(encoded))
    form = "RGB" if picture.format == "GIF" else picture.mode
    return [np.asarray(frame.convert(form)).tolist() for frame in ImageSequence.Iterator(picture)]


def sound(encoded: bytes) -> tuple[int, list[Any]]:
    """Frames per second, and the samples of each frame."""
    with wave.open(io.BytesIO(encoded)) as reader:
        assert reader.getsampwidth() == 2
        samples = np.frombuffer(reader.readframes(reader.getnframes()), "<i2").reshape(-1, reader.getnchannels())
        return reader.getframerate(), samples.tolist()


def read_by_us(series: Series, index: int) -> Any:
    found = series.read(index)
    match series.kind:
        case "scalars":
            return found
        case "histograms":
            names = ("nan", "positive_infinite", "negative_infinite", "below", "above")
            return found.buckets.tolist(), as_dict(
                HistogramPluginData(**{name: getattr(found, name) for name in names})
            )
        case "images":
            return found.width, found.height, [frames(encoded) for encoded in found.encoded]
        case "audio":
            return [sound(clip.encoded) for clip in found.clips]
        case "text":
            return found.strings.tolist()
        case "tensor":
            return found.array.dtype.name, found.array.tolist()
        case "pr_curves":
            return found.table.tolist()
        case "mesh":
            info = mesh_info(series.plugin_content)
            return found.rows.dtype.name, found.rows.tolist(), info.name, info.part, info.config
        case "graph_keras_model":
            return found.config
        case _:
            return as_dict(found)


def read_by_tensorboard(metadata: Any, array: Any) -> Any:
    """What a TensorBoard panel makes of the array that it is given."""
    content = metadata.plugin_data.content
    match metadata.plugin_data.plugin_name:
        case "scalars":
            return array
        case "histograms":
            return array.tolist(), as_dict(HistogramPluginData.FromString(content))
        case "images":
            return int(array[0]), int(array[1]), [frames(encoded) for encoded in array[2:]]
        case "audio":
            return [sound(encoded) for encoded in array]
        case "text":
            return _decoded(array.tolist())
        case "tensor":
            return array.dtype.name, array.tolist()
        case "pr_curves":
            return array.tolist()
        case "mesh":
            data = MeshPluginData.FromString(content)
            part = MeshPluginData.ContentType.Name(data.content_type)
            return array.dtype.name, array.tolist(), data.name, part, json.loads(data.json_config)
        case "hparams":
            return as_dict(plugin_data_pb2.HParamsPluginData.FromString(content))
        case "custom_scalars":
            return as_dict(layout_pb2.Layout.FromString(array.item()))
        case "graphs":
            return as_dict(graph_pb2.GraphDef.FromString(array[0]))
        case "graph_keras_model":
            return json.loads(array[0])
        case _:
            return as_dict(config_pb2.RunMetadata.FromString(array[0]))


def _decoded(strings: Any) -> Any:
    return [_decoded(element) for element in strings] if isinstance(strings, list) else strings.decode()


def multiplexer_of(folder: Path) -> EventMultiplexer:
    """TensorBoard's reader, told to keep every point."""
    multiplexer = EventMultiplexer(size_guidance={TENSORS: 0})
    multiplexer.AddRunsFromDirectory(str(folder))
    multiplexer.Reload()
    return multiplexer


def points_by_tensorboard(folder: Path) -> dict[str, list[Point]]:
    """All points by run, as TensorBoard's data provider gives them to its panels."""
    multiplexer = multiplexer_of(folder)
    provider = MultiplexerDataProvider(multiplexer, str(folder))
    found: dict[str, list[Point]] = defaultdict(list)
    for run, tags in multiplexer.AllSummaryMetadata().items():
        for tag, metadata in tags.items():
            for step, wall_time, array in _data(provider, run, tag, metadata):
                plugin = metadata.plugin_data.plugin_name
                found[run].append(Point(tag, plugin, read_by_tensorboard(metadata, array), step, wall_time))
    return found


def _data(provider: Any, run: str, tag: str, metadata: Any) -> Iterator[tuple[int, float, Any]]:
    wanted: dict[str, Any] = {
        "experiment_id": "",
        "plugin_name": metadata.plugin_data.plugin_name,
        "downsample": 1 << 30,
        "run_tag_filter": RunTagFilter([run], [tag]),
    }
    context = RequestContext()
    match metadata.data_class:
        case summary_pb2.DATA_CLASS_SCALAR:
            for datum in provider.read_scalars(context, **wanted)[run][tag]:
                yield datum.step, datum.wall_time, datum.value
        case summary_pb2.DATA_CLASS_TENSOR:
            for datum in provider.read_tensors(context, **wanted)[run][tag]:
                yield datum.step, datum.wall_time, datum.numpy
        case summary_pb2.DATA_CLASS_BLOB_SEQUENCE:
            for datum in provider.read_blob_sequences(context, **wanted)[run][tag]:
                blobs = [provider.read_blob(context, blob_key=reference.blob_key) for reference in datum.values]
                yield datum.step, datum.wall_time, blobs
        case _:
            raise AssertionError(f"no panel is given {run!r}, {tag!r}: {metadata}")


def points_by_us(folder: Path) -> dict[str, list[Point]]:
    return {
        run.name: [
            Point(
                tag, series.kind, read_by_us(series, index), int(series.steps[index]), float(series.wall_times[index])
            )
            for tag, series in run.series.items()
            for index in range(len(series))
        ]
        for run in open_logdir(folder).runs.values()
    }


# Writing all of it, and what both readers see of it.


class Written(NamedTuple):
    folder: Path
    cases: list[Case]
    began: float
    ended: float
    called: dict[str, set[str]]
    """What was called, by API."""


def write_case(case: Case, folder: Path, called: dict[str, set[str]]) -> None:
    match case.api:
        case "v1":
            with v1.FileWriter(folder) as file:
                case.write(V1(Calls(file, called["FileWriter"]), Calls(v1, called["v1"])))
        case "v2":
            writer = v2.create_file_writer(folder)
            with writer.as_default():
                case.write(Calls(v2, called["v2"]))
            writer.close()
        case _:
            with SummaryWriter(folder) as of_case:
                case.write(Calls(of_case, called[case.api]))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    folder = tmp_path_factory.mktemp("all")
    cases = all_cases()
    called: dict[str, set[str]] = defaultdict(set)
    began = time.time()
    for number, case in enumerate(cases):
        write_case(case, folder / f"{number}", called)
    return Written(folder, cases, began, time.time(), called)


@pytest.mark.parametrize("read", [points_by_tensorboard, points_by_us])
def test_every_kind_of_every_api_is_read_back_equal(written: Written, read: Callable[[Path], Any]) -> None:
    found = read(written.folder)
    differences = {}
    for number, case in enumerate(written.cases):
        expected: dict[str, list[Point]] = defaultdict(list)
        for point in case.points:
            expected[f"{number}/{point.run}".rstrip("/")].append(point)
        for run, points in expected.items():
            got = [without_present_time(point, written) for point in found.pop(run, [])]
            wanted = [point._replace(run="") for point in points]
            if repr(sorted(map(plain, got))) != repr(sorted(map(plain, wanted))):
                differences[case.kind, case.api] = f"expected {wanted}\n     got {got}"
    assert not differences, matrix(written.cases, differences)
    assert not any(found.values()), f"points that no case wrote: {found}"


def without_present_time(point: Point, written: Written) -> Point:
    is_now = point.wall_time is not None and written.began <= point.wall_time <= written.ended
    return point._replace(wall_time=NOW) if is_now else point


def plain(value: Any) -> str:
    """A text that differs where values do; whole numbers become floats, and NaN equals NaN."""
    match value:
        case dict():
            return str(sorted((key, plain(of_key)) for key, of_key in value.items()))
        case list() | tuple():
            return f"[{', '.join(map(plain, value))}]"
        case bool() | complex():
            return repr(value)
        case int() | float():
            return repr(float(value))
        case _:
            return repr(value)


def matrix(cases: list[Case], differences: dict[tuple[str, str], str]) -> str:
    """Kinds by APIs: "ok", "DIFFERS", or "-" where the API has no such kind; and the differences."""
    there = {(case.kind, case.api) for case in cases}
    kinds = dict.fromkeys(case.kind for case in cases)
    lines = [f"{'':30}" + "".join(f"{api:18}" for api in APIS)]
    for kind in kinds:
        cells = ["-" if (kind, api) not in there else "DIFFERS" if (kind, api) in differences else "ok" for api in APIS]
        lines.append(f"{kind:30}" + "".join(f"{cell:18}" for cell in cells))
    lines += [f"{kind}, {api}:\n{difference}" for (kind, api), difference in differences.items()]
    return "\n".join(["both readers must find what was written:", *lines])


def test_no_two_cases_are_the_same(written: Written) -> None:
    places = [(case.kind, case.api) for case in written.cases]
    assert sorted(places) == sorted(set(places))


def test_no_kind_is_left_out(written: Written) -> None:
    # No writer's call makes these, only `stepscope.debug` does: tests/debug reads what it wrote.
    of_recorder = {STEPS_PLUGIN, CATALOG_PLUGIN, ALERTS_PLUGIN}
    assert {point.plugin for case in written.cases for point in case.points} == set(KINDS) - of_recorder


def test_no_call_is_left_out(written: Written) -> None:
    def adding(owner: Any) -> set[str]:
        return {name for name in dir(owner) if name.startswith("add_")}

    batch = {"add_scalar_batch"}
    others = {"add_embedding", "add_event", "add_value"}
    assert written.called["SummaryWriter"] == adding(SummaryWriter) - batch - others
    assert written.called["add_scalar_batch"] == batch
    assert written.called["FileWriter"] == adding(v1.FileWriter) - {"add_summary", "add_event"} | {
        "add_summary",
        "add_event",
    }
    functions = {name for name in v1.__all__ if name[0].islower()}
    assert written.called["v1"] == functions - {"get_summary_description"}
    writing = {"audio", "graph", "histogram", "image", "scalar", "text", "write"}
    of_hp, of_experimental = {"hp", "HParam", "Metric", "hparams", "hparams_config"}, {"experimental", "write_raw_pb"}
    assert written.called["v2"] == writing | of_hp | of_experimental


def write_odd_tag(tag: str, api: str, folder: Path) -> None:
    match api:
        case "SummaryWriter":
            with SummaryWriter(folder) as writer:
                writer.add_scalar(tag, 0.5, STEP)
                writer.add_scalar(f"{tag}, new style", 0.5, STEP, new_style=True)
                writer.add_histogram(f"{tag}, histogram", [1.0], STEP)
                writer.add_run_metadata(METADATA, f"{tag}, metadata", STEP)
        case "hooks":
            with SummaryWriter(folder) as writer:
                loop = hooks.Hooks(hooks.SummarySaver(writer, save_steps=1))
                for _ in loop.loop([None], STEP):
                    loop.log({tag: 0.5})
        case "add_scalar_batch":
            with SummaryWriter(folder) as writer:
                writer.add_scalar_batch(tag, np.full(100, 0.5), np.full(100, STEP))
        case "v1":
            with v1.FileWriter(folder) as file:
                file.add_summary(v1.Summary(value=[v1.Summary.Value(tag=tag, simple_value=0.5)]), STEP)
                file.add_run_metadata(METADATA, f"{tag}, metadata", STEP)
        case "v2":
            writer_of_v2 = v2.create_file_writer(folder)
            with writer_of_v2.as_default(STEP):
                v2.scalar(tag, 0.5)
                v2.text(f"{tag}, text", "a")
            writer_of_v2.close()


@pytest.mark.parametrize("api", APIS)
def test_odd_tags_survive(tmp_path: Path, api: str) -> None:
    endings = {
        "SummaryWriter": ["", ", new style", ", histogram", ", metadata"],
        "v1": ["", ", metadata"],
        "v2": ["", ", text"],
    }.get(api, [""])
    for number, tag in enumerate(ODD_TAGS):
        write_odd_tag(tag, api, tmp_path / f"{number}")
    expected = {f"{number}": {tag + end for end in endings} for number, tag in enumerate(ODD_TAGS)}
    shown = {run: {readable_name(tag) for tag in tags} for run, tags in expected.items()}
    for points, found in ((points_by_us(tmp_path), shown), (points_by_tensorboard(tmp_path), expected)):
        assert {run: {point.tag for point in of_run} for run, of_run in points.items()} == found
        assert {point.payload for of_run in points.values() for point in of_run if point.tag in ODD_TAGS} == {0.5}


@pytest.mark.parametrize("api", APIS)
def test_nan_and_infinities_survive(tmp_path: Path, api: str) -> None:
    numbers = [math.nan, math.inf, -math.inf]
    match api:
        case "SummaryWriter" | "hooks" | "add_scalar_batch":
            with SummaryWriter(tmp_path) as writer:
                loop = hooks.Hooks(hooks.SummarySaver(writer, save_steps=1))
                if api == "hooks":
                    for _, number in loop.loop(numbers):
                        loop.log(t=number)
                elif api == "add_scalar_batch":
                    writer.add_scalar_batch("t", numbers, range(3))
                else:
                    for step, number in enumerate(numbers):
                        writer.add_scalar("t", number, step)
        case "v1":
            with v1.FileWriter(tmp_path) as file:
                for step, number in enumerate(numbers):
                    file.add_summary(v1.scalar("t", number), step)
        case _:
            with v2.create_file_writer(tmp_path).as_default():
                for step, number in enumerate(numbers):
                    v2.scalar("t", number, step)
    for points in (points_by_us(tmp_path), points_by_tensorboard(tmp_path)):
        assert [str((point.step, point.payload)) for point in points["."]] == ["(0, nan)", "(1, inf)", "(2, -inf)"]


@pytest.mark.parametrize("tag", ["default", *ODD_TAGS])
def test_embeddings(tmp_path: Path, tag: str) -> None:
    matrix = np.array([[0.1, -2.0], [3.0, math.inf]], np.float32)
    sprite = np.array([[[[0, 255]]], [[[255, 0]]]], np.uint8)
    with SummaryWriter(tmp_path / "run") as writer:
        writer.add_scalar("t", 1.0)
        writer.add_embedding(matrix, [["a", "é"], ["b", "1"]], sprite, STEP, tag, ["name", "kind"])
        writer.add_embedding(matrix, ["a", "b"], None, STEP + 1, tag, tensor_format="float32")
    config_path = tmp_path / "run" / "projector_config.pbtxt"
    theirs = text_format.Parse(config_path.read_text(), ProjectorConfig()).embeddings
    logdir = Logdir(tmp_path, companion_patterns=[CONFIG_PATTERN])
    run = projector_runs(logdir.update())["run"]
    assert run.problem == ""
    ours = [find_embedding(run, f"{tag}:{STEP:05}"), find_embedding(run, f"{tag}:{STEP + 1:05}")]
    assert list(map(as_dict, ours)) == list(map(as_dict, theirs))
    as_text, raw = (projector_plugin._rel_to_abs_asset_path(info.tensor_path, str(config_path)) for info in theirs)
    np.testing.assert_array_equal(projector_plugin._read_tensor_tsv_file(as_text), matrix)
    np.testing.assert_array_equal(projector_plugin._read_tensor_binary_file(raw, [2, 2]), matrix)
    assert read_asset(run, ours[1].tensor_path) == matrix.tobytes()
    assert read_asset(run, ours[0].tensor_path).decode() == "0.1\t-2.0\n3.0\tinf\n"
    assert read_metadata(run, ours[0]).decode() == "name\tkind\na\té\nb\t1\n"
    assert read_metadata(run, ours[1]).decode() == "a\nb\n"
    cells = [[0, 255, 255, 0], [0, 0, 0, 0]]
    assert frames(read_asset(run, ours[0].sprite.image_path)) == [cells]
    assert list(theirs[0].sprite.single_image_dim) == [2, 1]
