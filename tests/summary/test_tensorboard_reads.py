from pathlib import Path
from typing import Any

import numpy as np
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator
from tensorboard.compat.proto import config_pb2, event_pb2
from tensorboard.compat.proto import summary_pb2 as tensorboard_summary
from tensorboard.util.tensor_util import make_ndarray

from summary import SummaryWriter
from summary.kinds.histogram import histogram
from summary.kinds.image import images
from summary.proto.run_metadata_pb2 import RunMetadata
from summary.proto.summary_pb2 import Summary


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
    grey = np.array([[0, 255, 7]], np.uint8)
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", 0.5, 1, 10.0)
        writer.add_scalar("acc", 0.25, 2, 11.0, new_style=True)
        writer.add_scalar("precise", 0.1, -3, 12.0, double_precision=True)
        writer.add_histogram("weights", [1.0, 1.0, 3.0], 4, [0, 2, 4], 13.0)
        writer.add_image("digit", grey, 5, 14.0, "HW")
        writer.add_images("digits", np.stack([grey, grey]), 6, 15.0, "NHW")
        writer.add_text("note", "# hello", 7, 16.0)
        writer.add_text("table", [["a", "b"]], 8, 17.0)
    png = images("", grey, "HW").tensor.string_val[2]
    assert only_values(tmp_path) == [
        (10.0, 1, "loss", "scalars", 0.5),
        (11.0, 2, "acc", "scalars", 0.25),
        (12.0, -3, "precise", "scalars", 0.1),
        (13.0, 4, "weights", "histograms", [[1.0, 2.0, 2.0], [2.0, 3.0, 1.0]]),
        (14.0, 5, "digit", "images", [b"3", b"1", png]),
        (15.0, 6, "digits", "images", [b"3", b"1", png, png]),
        (16.0, 7, "note", "text", b"# hello"),
        (17.0, 8, "table", "text", [[b"a", b"b"]]),
    ]


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
