"""Log directories of TensorFlow, 1 and 2, and of Keras, with traced steps and TensorFlow's own `Timeline` of them.

    python tensorflow_logs.py FOLDER

Writes ``tensorflow1`` (`tf.compat.v1.summary.FileWriter`, and ``RunMetadata`` of a step of ``FULL_TRACE``) and
``tensorflow2`` (`tf.summary` eagerly, a graph of a function, Keras' callback with a profile, hyperparameters). Needs
tensorflow and tensorboard.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorboard.plugins.hparams import api as hparams
from tensorflow.python.client import timeline

v1 = tf.compat.v1
PROFILED = "2026_11_24_04_17_28"
"""When the profile was made, as its folder says: always the same, since tests name it."""


def in_graph_mode(folder: Path) -> None:
    """Train one layer in the manner of TensorFlow 1."""
    generator = np.random.default_rng(0)
    with v1.Graph().as_default(), v1.Session() as session:
        inputs = v1.placeholder(tf.float32, [None, 12], "x")
        labels = v1.placeholder(tf.int64, [None], "y")
        with v1.name_scope("layer0"):
            weights = v1.get_variable("w", [12, 4], initializer=v1.zeros_initializer())
            bias = v1.get_variable("b", [4], initializer=v1.zeros_initializer())
            logits = tf.matmul(inputs, weights, name="product") + bias
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        train = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        v1.summary.scalar("loss", loss)
        v1.summary.histogram("weights", weights)
        v1.summary.image("x", tf.reshape(inputs, [-1, 3, 4, 1]), max_outputs=2)
        merged = v1.summary.merge_all()
        session.run(v1.global_variables_initializer())
        writer = v1.summary.FileWriter(str(folder / "logdir"), session.graph)
        for step in range(6):
            batch = {inputs: generator.random((8, 12)), labels: generator.integers(0, 4, 8)}
            metadata = v1.RunMetadata() if step in (2, 4) else None
            options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE) if metadata else None
            summary, _ = session.run([merged, train], batch, options=options, run_metadata=metadata)
            writer.add_summary(summary, step)
            if metadata:
                writer.add_run_metadata(metadata, f"step{step}", step)
                (folder / f"rm_{step}.pb").write_bytes(metadata.SerializeToString())
                for name, show_memory in (("dataflow", False), ("dataflow_memory", True)):
                    made = timeline.Timeline(metadata.step_stats).generate_chrome_trace_format(show_memory=show_memory)
                    (folder / f"rm_{step}.timeline_{name}.json").write_text(json.dumps(json.loads(made)))
        writer.close()


def in_eager_mode(folder: Path) -> None:
    """Log one of each kind of `tf.summary`."""
    generator = np.random.default_rng(0)

    @tf.function  # type: ignore[untyped-decorator]
    def dense(x: Any) -> Any:
        return tf.nn.relu(tf.matmul(x, tf.ones([3, 2])))

    with tf.summary.create_file_writer(str(folder / "eager")).as_default():
        for step in range(4):
            tf.summary.scalar("loss", 1 / (1 + step), step, description="of *training*")
        tf.summary.scalar("odd", float("nan"), 1)
        tf.summary.scalar("odd", float("-inf"), 2)
        tf.summary.histogram("weights", generator.normal(size=100), 0, buckets=5)
        tf.summary.image("noise", generator.random((3, 4, 4, 3)), 0, max_outputs=3, description="rgb noise")
        tf.summary.audio("tone", np.sin(np.arange(200) / 4).astype(np.float32)[None, :, None], 8000, 0)
        tf.summary.text("note", "# a note\n**bold** <script>alert(1)</script>", 0)
        tf.summary.trace_on(graph=True)
        dense(tf.ones([1, 3]))
        tf.summary.trace_export("dense", 0)
    with tf.summary.create_file_writer(str(folder / "hparams")).as_default():
        hparams.hparams_config([hparams.HParam("lr", hparams.RealInterval(0.0, 1.0))], [hparams.Metric("loss")])
        hparams.hparams({"lr": 0.1, "opt": "adam"})
        tf.summary.scalar("loss", 0.25, 1)


def by_keras(folder: Path) -> None:
    """Train a convolution for two epochs under Keras' callback."""
    tf.keras.utils.set_random_seed(0)
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            layers.Input((6, 6, 1)),
            layers.Conv2D(2, 3, name="conv"),
            layers.Flatten(name="flat"),
            layers.Dense(3, name="head"),
        ]
    )
    model.compile("sgd", "mse")
    callback = tf.keras.callbacks.TensorBoard(
        str(folder / "keras"), histogram_freq=1, write_images=True, profile_batch=(2, 3)
    )
    inputs, outputs = np.ones((16, 6, 6, 1), np.float32), np.ones((16, 3), np.float32)
    model.fit(inputs, outputs, 4, 2, validation_data=(inputs, outputs), verbose=0, callbacks=[callback])
    (profile,) = (folder / "keras" / "train" / "plugins" / "profile").glob("*/*.xplane.pb")
    profile.rename(profile.with_name("vm.xplane.pb"))
    profile.parent.rename(profile.parent.with_name(PROFILED))


def main(folder: Path) -> None:
    """Write both below a folder."""
    in_graph_mode(folder / "tensorflow1")
    in_eager_mode(folder / "tensorflow2")
    by_keras(folder / "tensorflow2")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
