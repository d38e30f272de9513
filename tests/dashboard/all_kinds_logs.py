"""A small log directory with data of every kind, odd cases included."""

from pathlib import Path

import numpy as np

import stepscope.summary.v2 as tf_summary
from stepscope.summary import SummaryWriter
from stepscope.summary.kinds.graph import function_graphs
from stepscope.summary.proto.graph_pb2 import GraphDef
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.proto.summary_pb2 import Summary


def graph_def(*names: str) -> GraphDef:
    """A chain of operations, the last of which calls a function."""
    graph = GraphDef()
    graph.versions.producer = 22
    for place, name in enumerate(names):
        graph.node.add(name=name, op="Const", input=names[place - 1 : place] if place else ())
        graph.node[-1].attr["large"].s = bytes(80)
        graph.node[-1].attr["small"].i = place
    graph.node.add(name="call", op="PartitionedCall", input=names[-1:]).attr["f"].func.name = "inner"
    graph.library.function.add().signature.name = "inner"
    graph.library.gradient.add(function_name="inner", gradient_func="inner_grad")
    return graph


def write_all_kinds(logdir: Path) -> Path:
    """Runs "one", "two" and "three", which differ in descriptions, layouts and graphs."""
    graphs = RunMetadata()
    for names in (("a", "b"), ("a",)):
        graphs.function_graphs.add().pre_optimization_graph.CopyFrom(graph_def(*names))
    for run, about in (("one", "of *one*"), ("two", "of others"), ("three", "of others")):
        pixels = np.zeros((2, 2, 2, 3), np.uint8)
        with tf_summary.create_file_writer(str(logdir / run)).as_default():
            for step in (3, 5):
                tf_summary.scalar("loss", 1 / step, step, description=about)
                tf_summary.histogram("weights", [float(step), 1.0, 2.0], step, buckets=3, description=about)
                tf_summary.image("digit", pixels + step, step, description="a digit")
                tf_summary.audio("tone", np.zeros((2, 8, 1), np.float32), 8000, step, description=about)
        with SummaryWriter(str(logdir / run)) as writer:
            writer.add_pr_curve("pr", np.array([0, 1, 1]), np.array([0.1, 0.2, 0.3]), 7, num_thresholds=11)
            writer.add_pr_curve("pr", np.array([0, 0]), np.array([0.0, 0.0]), 9, num_thresholds=3)
            triangles = np.arange(18, dtype=np.float32).reshape(2, 3, 3)
            writer.add_mesh("shape", triangles, np.zeros((2, 3, 3), np.uint8), np.array([[[0, 1, 2]]] * 2))
            writer.add_summary(Summary(value=[function_graphs("step", graphs)]), 1)
            charts = {"both": ["Multiline", ["loss", "acc.*"]], run: ["Margin", ["loss", "low", "high"]]}
            # TensorBoard loses charts of a category that first comes with a later run and again with another.
            writer.add_custom_scalars({"Losses": charts, "Of one run": charts} if run == "two" else {"Losses": charts})
    return logdir
