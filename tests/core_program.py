"""A training program that does everything stepscope-core is for: logs each kind, profiles, reads back.

Tests run it as a separate program, in interpreters that have little else. ``core_program.py FOLDER``
"""

import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from stepscope import Profile, SummaryWriter, annotate, debug, open_logdir
from stepscope.summary.full_install import NotInstalledError
from stepscope.summary.kinds import KINDS
from stepscope.summary.kinds.graph import function_graphs
from stepscope.summary.kinds.tensor_proto import strings_tensor
from stepscope.summary.proto.graph_pb2 import GraphDef, NodeDef
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.proto.summary_pb2 import Summary, SummaryMetadata

LOGS = Path(sys.argv[1])
RUN = LOGS / "run"
STEPS = 50
COLLECTORS = ["resources", "python", "asyncio", "subprocesses", "data_loading", "tracemalloc"]
CORNERS = np.array([[[0.0, 0.0, 1.0], [0.5, 0.0, 0.0], [0.0, 1.0, 0.0]]])


def write() -> None:
    random = np.random.default_rng(0)
    with SummaryWriter(RUN) as writer:
        for step in range(STEPS):
            writer.add_scalar("loss", 1 / (step + 1), step)
        writer.add_scalar_batch("batch", [0.5, 0.25], [0, 1], new_style=True)
        writer.add_scalars("both", {"train": 1.0, "test": 2.0}, 0)
        writer.add_histogram("weights", random.normal(size=100), 0)
        writer.add_image("small", random.random((3, 4, 5)), 0)
        writer.add_image("large", random.random((3, 300, 300)), 0)
        writer.add_audio("sound", random.random(100) - 0.5, 0, 8000)
        writer.add_text("note", "**fine**", 0)
        writer.add_mesh("mesh", CORNERS, global_step=0)
        writer.add_embedding(random.random((4, 3)), ["a", "b", "c", "d"], random.random((4, 3, 8, 8)))
        writer.add_tensor("tensor", np.arange(6).reshape(2, 3), 0)
        writer.add_pr_curve("curve", [0, 1, 1], [0.1, 0.4, 0.9], 0)
        writer.add_custom_scalars({"all": {"loss": ["Multiline", ["loss"]]}})
        writer.add_hparams({"lr": 0.1}, {"final": 1.0}, run_name="session")
        writer.add_graph(GraphDef(node=[NodeDef(name="x", op="Placeholder")]))
        model = RUN / "model.json"
        model.write_text(json.dumps({"class_name": "Sequential", "config": {"name": "m", "layers": []}}))
        writer.add_graph(model)
        metadata = RunMetadata()
        writer.add_run_metadata(metadata, "step", 0)
        functions = function_graphs("functions", metadata)
        recorded = Summary.Value(
            tag="recorded",
            metadata=SummaryMetadata(plugin_data={"plugin_name": "graph_run_metadata", "content": b"1"}),
            tensor=strings_tensor([metadata.SerializeToString()], ()),
        )
        writer.add_summary(Summary(value=[functions, recorded]), 0)


def write_drawn_images() -> list[str]:
    """Return the messages about images that need Pillow, where Pillow is not installed."""
    random = np.random.default_rng(0)
    refusals = []
    with SummaryWriter(LOGS / "drawn") as writer:
        calls: list[Callable[[], None]] = [
            lambda: writer.add_image_with_boxes("boxes", random.random((3, 20, 20)), [[2, 2, 9, 9]], labels=["cat"]),
            lambda: writer.add_video("film", random.random((1, 2, 3, 4, 4)), 0),
            lambda: debug.film(LOGS / "weights.gif").close(),
        ]
        for call in calls:
            try:
                call()
            except NotInstalledError as error:
                refusals.append(str(error))
    with SummaryWriter(LOGS / "as PyTorch", legacy=True) as writer:
        writer.add_image("one", random.random((3, 4, 5)), 0)
        writer.add_images("several", random.random((9, 3, 4, 5)), 0)
    return refusals


def watch() -> None:
    def step(values: Any) -> Any:
        return np.log(values)

    with (
        np.errstate(invalid="ignore"),
        debug.watch(step, LOGS / "watched", every=1, framework="numpy", on_alert="stop") as watcher,
    ):
        for value in (1.0, -1.0):
            watcher(np.array([value]))


def profile() -> int:
    with Profile(
        RUN, collectors=["resources", "python", "asyncio", "subprocesses", "data_loading", "tracemalloc"]
    ) as recorded:
        for _ in range(3):
            with annotate("forward"):
                sum(range(1000))
            recorded.step()
    assert recorded.recording is not None
    trace = json.loads(gzip.decompress(Path(recorded.recording.trace_path).read_bytes()))
    return sum(event["name"] == "forward" for event in trace["traceEvents"])


def read() -> dict[str, object]:
    snapshot = open_logdir(LOGS)
    loss = snapshot.series("run", "loss")
    assert loss is not None
    return {
        "loss": loss.values.tolist() == np.float32(1 / (loss.steps + 1)).tolist() and len(loss.steps) == STEPS,
        "kinds": sorted(set(KINDS) - {series.kind for run in snapshot.runs.values() for series in run.series.values()}),
        "unread": [
            f"{run.name} {series.tag}"
            for run in snapshot.runs.values()
            for series in run.series.values()
            if series.kind != "scalars" and series.read(0) is None
        ],
    }


if __name__ == "__main__":
    write()
    watch()
    print(json.dumps({"needs_pillow": write_drawn_images(), "forward": profile(), **read()}))
