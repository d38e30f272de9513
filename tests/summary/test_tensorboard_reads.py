from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import json_format, text_format
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator as FieldAccumulator
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator
from tensorboard.compat.proto import config_pb2, event_pb2
from tensorboard.compat.proto import summary_pb2 as tensorboard_summary
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.plugins.mesh import metadata as mesh_metadata
from tensorboard.plugins.pr_curve import metadata as pr_curve_metadata
from tensorboard.plugins.projector import projector_plugin
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig
from tensorboard.util.tensor_util import make_ndarray

from stepscope.summary import SummaryWriter, open_logdir
from stepscope.summary.kinds.audio import audio
from stepscope.summary.kinds.boxes import image_with_boxes
from stepscope.summary.kinds.histogram import histogram
from stepscope.summary.kinds.image import images
from stepscope.summary.kinds.video import video
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.proto.summary_pb2 import Summary


def tensorboard_events(folder: Path) -> list[Any]:
    """What TensorBoard's Python reader makes of the folder, without the file versions."""
    files = sorted(folder.iterdir())
    events = [event for path in files for event in EventFileLoader(str(path)).Load()]
    return [event for event in events if not event.file_version]


def only_values(folder: Path) -> list[tuple[float, int, str, str, Any]]:
    found = []
    for event in tensorboard_events(folder):
        (value,) = event.summary.value
        plugin = value.metadata.plugin_data.plugin_name
        found.append((event.wall_time, event.step, value.tag, plugin, make_ndarray(value.tensor).tolist()))
    return found


def test_every_kind(tmp_path: Path) -> None:
    gray = np.array([[0, 255, 7]], np.uint8)
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", 0.5, 1, 10.0)
        writer.add_scalar("acc", 0.25, 2, 11.0, new_style=True)
        writer.add_scalar("precise", 0.1, -3, 12.0, double_precision=True)
        writer.add_histogram("weights", [1.0, 1.0, 3.0], 4, [0, 2, 4], 13.0)
        writer.add_image("digit", gray, 5, 14.0, "HW")
        writer.add_images("digits", np.stack([gray, gray]), 6, 15.0, "NHW")
        writer.add_text("note", "# hello", 7, 16.0)
        writer.add_text("table", [["a", "b"]], 8, 17.0)
    png = images("", gray, "HW").tensor.string_val[2]
    assert only_values(tmp_path) == [
        (10.0, 1, "loss", "scalars", 0.5),
        (11.0, 2, "acc", "scalars", 0.25),
        (12.0, -3, "precise", "scalars", 0.1),
        (13.0, 4, "weights", "histograms", [[1.0, 2.0, 2.0], [2.0, 3.0, 1.0]]),
        (14.0, 5, "digit", "images", [b"3", b"1", png]),
        (15.0, 6, "digits", "images", [b"3", b"1", png, png]),
        (16.0, 7, "note/text_summary", "text", b"# hello"),
        (17.0, 8, "table/text_summary", "text", [[b"a", b"b"]]),
    ]


def test_pictures_and_sound(tmp_path: Path) -> None:
    frames = np.arange(24, dtype=np.uint8).reshape(1, 2, 3, 2, 2)
    pixels = np.full((3, 6, 8), 200, np.uint8)
    sound = np.array([[0.5, -0.5, 0.0], [0.0, 0.0, 1.0]])
    with SummaryWriter(tmp_path) as writer:
        writer.add_video("film", frames, 1, walltime=10.0)
        writer.add_image_with_boxes("cat", pixels, [[1, 1, 5, 4]], 2, 11.0)
        writer.add_audio("tone", sound, 3, 8000, 12.0)
    gif = video("", frames, 4).tensor.string_val[2]
    png = image_with_boxes("", pixels, [[1, 1, 5, 4]]).tensor.string_val[2]
    wav = audio("", sound, 8000).tensor.string_val[0]
    assert only_values(tmp_path) == [
        (10.0, 1, "film", "images", [b"2", b"2", gif]),
        (11.0, 2, "cat", "images", [b"8", b"6", png]),
        (12.0, 3, "tone", "audio", [wav]),
    ]


def test_curves_buckets_and_tensors(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_pr_curve("pr", [1, 0], [1.0, 0.0], 1, 2, walltime=10.0)
        writer.add_pr_curve_raw("raw", [1], [2], [3], [4], [0.5], [0.25], 2, walltime=11.0)
        writer.add_histogram_raw("h", 0, 3, 3, 4, 10, [1, 2, 4], [1, 0, 2], 3, 12.0)
        writer.add_tensor("t", np.array([[1 + 2j, 3]]), 4, 13.0)
    assert only_values(tmp_path) == [
        (10.0, 1, "pr", "pr_curves", [[1, 1], [1, 0], [0, 1], [0, 0], [0.5, 1], [1, 1]]),
        (11.0, 2, "raw", "pr_curves", [[1], [2], [3], [4], [0.5], [0.25]]),
        (12.0, 3, "h", "histograms", [[0, 1, 1], [1, 2, 0], [2, 3, 2]]),
        (13.0, 4, "t", "tensor", [[1 + 2j, 3]]),
    ]
    content = tensorboard_events(tmp_path)[0].summary.value[0].metadata.plugin_data.content
    assert pr_curve_metadata.parse_plugin_metadata(content).num_thresholds == 2


def test_one_curve_per_class(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_pr_curves("pr", [0, 1], [[0.9, 0.1], [0.2, 0.8]], 3, 2, walltime=10.0, class_names=["cat", "dog"])
    (event,) = tensorboard_events(tmp_path)
    assert [(value.tag, value.metadata.plugin_data.plugin_name) for value in event.summary.value] == [
        ("pr/cat", "pr_curves"),
        ("pr/dog", "pr_curves"),
    ]


def test_meshes(tmp_path: Path) -> None:
    points = [[[0.0, 0.0, 1.0], [0.5, 0.0, 0.0], [0.0, 1.0, 0.0]]]
    with SummaryWriter(tmp_path) as writer:
        writer.add_mesh("tri", points, np.array(points) * 255, [[[0, 1, 2]]], {"camera": {"fov": 75}}, 5, 10.0)
    (event,) = tensorboard_events(tmp_path)
    found = {}
    for value in event.summary.value:
        data = mesh_metadata.parse_plugin_metadata(value.metadata.plugin_data.content)
        assert value.tag == mesh_metadata.get_instance_name("tri", data.content_type)
        assert (data.name, data.components, data.json_config) == ("tri", 14, '{"camera": {"fov": 75}}')
        array = make_ndarray(value.tensor)
        assert list(data.shape) == list(array.shape)
        found[value.tag] = (array.dtype.name, array.tolist())
    colors = np.rint(np.array(points) * 255).astype(int).tolist()
    assert found == {
        "tri_VERTEX": ("float32", points),
        "tri_FACE": ("int32", [[[0, 1, 2]]]),
        "tri_COLOR": ("uint8", colors),
    }


def test_hyperparameters(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path / "all") as writer:
        writer.add_hparams({"lr": 0.5, "bn": True, "opt": "sgd"}, {"acc": 0.25}, {"opt": ["sgd", "x"]}, "trial", 7)
    events = tensorboard_events(tmp_path / "all" / "trial")
    values = [event.summary.value[0] for event in events]
    assert [(event.step, value.tag) for event, value in zip(events, values, strict=True)] == [
        (7, hparams_metadata.EXPERIMENT_TAG),
        (7, hparams_metadata.SESSION_START_INFO_TAG),
        (7, hparams_metadata.SESSION_END_INFO_TAG),
        (7, "acc"),
    ]
    contents = [value.metadata.plugin_data.content for value in values]
    assert json_format.MessageToDict(hparams_metadata.parse_experiment_plugin_data(contents[0])) == {
        "hparamInfos": [
            {"name": "lr", "type": "DATA_TYPE_FLOAT64"},
            {"name": "bn", "type": "DATA_TYPE_BOOL"},
            {"name": "opt", "type": "DATA_TYPE_STRING", "domainDiscrete": ["sgd", "x"]},
        ],
        "metricInfos": [{"name": {"tag": "acc"}}],
    }
    assert json_format.MessageToDict(hparams_metadata.parse_session_start_info_plugin_data(contents[1])) == {
        "hparams": {"lr": 0.5, "bn": True, "opt": "sgd"}
    }
    assert json_format.MessageToDict(hparams_metadata.parse_session_end_info_plugin_data(contents[2])) == {
        "status": "STATUS_SUCCESS"
    }
    assert make_ndarray(values[3].tensor) == 0.25


def test_layouts_of_custom_scalars(tmp_path: Path) -> None:
    layout = {"Losses": {"both": ["Multiline", ["loss/.*"]], "band": ["Margin", ["acc", "low", "high"]]}}
    with SummaryWriter(tmp_path) as writer:
        writer.add_custom_scalars(layout)
    ((_, step, tag, plugin, encoded),) = only_values(tmp_path)
    assert (step, tag, plugin) == (0, "custom_scalars__config__", "custom_scalars")
    assert json_format.MessageToDict(layout_pb2.Layout.FromString(encoded)) == {
        "category": [
            {
                "title": "Losses",
                "chart": [
                    {"title": "both", "multiline": {"tag": ["loss/.*"]}},
                    {"title": "band", "margin": {"series": [{"value": "acc", "lower": "low", "upper": "high"}]}},
                ],
            }
        ]
    }


def test_embeddings(tmp_path: Path) -> None:
    points = np.array([[0.1, -2.0], [3.0, 4.0]], np.float32)
    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(points, ["a", "b"], np.zeros((2, 1, 4, 4), np.uint8), 3)
        writer.add_embedding(points, tag="raw", tensor_format="float32")
    path = tmp_path / "projector_config.pbtxt"
    text, raw = text_format.Parse(path.read_text(), ProjectorConfig()).embeddings
    for info in (text, raw):
        assert projector_plugin._rel_to_abs_asset_path(info.tensor_path, str(path)) == str(tmp_path / info.tensor_path)
        assert list(info.tensor_shape) == [2, 2]
    read = projector_plugin._read_tensor_tsv_file(str(tmp_path / text.tensor_path))
    np.testing.assert_array_equal(read, points)
    read = projector_plugin._read_tensor_binary_file(str(tmp_path / raw.tensor_path), [2, 2])
    np.testing.assert_array_equal(read, points)
    assert (text.tensor_name, list(text.sprite.single_image_dim)) == ("default:00003", [4, 4])
    assert (tmp_path / text.metadata_path).read_text() == "a\nb\n"


def test_names_and_descriptions_of_scalars(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", 0.5, 1, 10.0, display_name="Loss", summary_description="*lower* is better")
    assert only_values(tmp_path) == [(10.0, 1, "loss", "scalars", 0.5)]
    (event,) = tensorboard_events(tmp_path)
    metadata = event.summary.value[0].metadata
    assert (metadata.display_name, metadata.summary_description) == ("Loss", "*lower* is better")


def test_run_metadata(tmp_path: Path) -> None:
    metadata = RunMetadata()
    metadata.step_stats.dev_stats.add(device="/cpu:0").node_stats.add(node_name="matmul", all_start_micros=5)
    with SummaryWriter(tmp_path) as writer:
        writer.add_run_metadata(metadata, "step 3", 3, 10.0)
    ((wall_time, step, tag, plugin, [encoded]),) = only_values(tmp_path)
    read = config_pb2.RunMetadata.FromString(encoded)
    assert (wall_time, step, tag, plugin) == (10.0, 3, "step 3", "graph_tagged_run_metadata")
    assert RunMetadata.FromString(read.SerializeToString()) == metadata


def test_many_scalars_of_many_tags(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        for step in range(2000):
            writer.add_scalar(f"tag {step % 7}", step / 8, step, float(step + 1))
            writer.add_scalar("all", -step, step, float(step + 1), new_style=step % 2 == 1)
    accumulator = EventAccumulator(str(tmp_path), size_guidance={"tensors": 0})
    accumulator.Reload()
    assert sorted(accumulator.Tags()["tensors"]) == ["all", *(f"tag {n}" for n in range(7))]
    for n in range(7):
        points = [(e.wall_time, e.step, make_ndarray(e.tensor_proto)) for e in accumulator.Tensors(f"tag {n}")]
        assert points == [(float(step + 1), step, step / 8) for step in range(n, 2000, 7)]
    assert [e.step for e in accumulator.Tensors("all")] == list(range(2000))


def test_a_restart_supersedes_what_came_after(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        for step in range(5):
            writer.add_scalar("loss", step, step, 1.0 + step)
    with SummaryWriter(tmp_path, purge_step=3, filename_suffix=".second") as writer:
        writer.add_scalar("loss", 30.0, 3, 50.0)
    restart = tensorboard_events(tmp_path)[5]
    assert (restart.step, restart.session_log.status) == (3, event_pb2.SessionLog.START)


def test_summaries_of_tensorboards_own_class(tmp_path: Path) -> None:
    value = tensorboard_summary.Summary.Value(tag="loss", simple_value=0.5)
    with SummaryWriter(tmp_path) as writer:
        writer.add_summary(tensorboard_summary.Summary(value=[value]), 3, 10.0)
        writer.add_summary(Summary(value=[histogram("h", [2.0])]), 4, 11.0)
    assert only_values(tmp_path) == [
        (10.0, 3, "loss", "scalars", 0.5),
        (11.0, 4, "h", "histograms", [[2.0, 2.0, 1.0]]),
    ]


def test_the_form_of_pytorch_is_found_by_the_event_accumulator(tmp_path: Path) -> None:
    gray = np.array([[0, 255, 7]], np.uint8)
    with SummaryWriter(tmp_path, legacy=True) as writer:
        writer.add_scalar("loss", 0.5, 1)
        writer.add_histogram("weights", [1.0, 1.0, 3.0, np.nan], 2, [0, 2, 4])
        writer.add_image("digit", gray, 3, dataformats="HW")
        writer.add_images("digits", np.stack([gray] * 9), 4, dataformats="NHW")
        writer.add_audio("tone", [0.5, -0.5], 5, 8000)
        writer.add_video("film", np.zeros((1, 2, 3, 2, 2), np.uint8), 6)
    read = FieldAccumulator(str(tmp_path), size_guidance={"images": 0})
    read.Reload()
    tags = read.Tags()
    assert (tags["scalars"], tags["histograms"], tags["images"], tags["audio"]) == (
        ["loss"],
        ["weights"],
        ["digit", "digits", "film"],
        ["tone"],
    )
    (histogram,) = read.Histograms("weights")
    found = histogram.histogram_value
    assert (found.min, found.max, found.num, found.sum, found.sum_squares) == (1, 3, 3, 5, 11)
    assert (list(found.bucket_limit), list(found.bucket)) == ([1, 2, 3], [0, 2, 1])
    (picture,), (grid,) = read.Images("digit"), read.Images("digits")
    assert (picture.width, picture.height, grid.width, grid.height) == (3, 1, 24, 2)
    (sound,) = read.Audio("tone")
    assert (sound.sample_rate, sound.length_frames, sound.content_type) == (8000, 2, "audio/wav")
    series = open_logdir(tmp_path).runs["."].series
    assert series["weights"].read(0).buckets.tolist() == [[1, 2, 2], [2, 3, 1]]
    assert [tag for tag, found in series.items() if found.kind == "images"] == ["digit", "digits", "film"]
