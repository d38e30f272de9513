"""A training of TensorFlow's under its debugger, whose powers overflow in its second step.

    python debugged_training.py FOLDER MODE

The folder is as it is given in what is written, so a relative one says nothing of this machine. Needs tensorflow.
"""

import sys
from typing import Any

import numpy as np
import tensorflow as tf

STEPS = 4
RATE = 60.0

folder, mode = sys.argv[1:]
tf.debugging.experimental.enable_dump_debug_info(folder, tensor_debug_mode=mode, circular_buffer_size=-1)
generator = np.random.default_rng(0)
inputs = tf.constant(generator.random((8, 4)), tf.float32)
labels = tf.constant(generator.integers(0, 3, 8))
weights = tf.Variable(tf.zeros([4, 3]))


@tf.function  # type: ignore[untyped-decorator]
def forward(x: Any) -> Any:
    """Return the probabilities of three classes."""
    powers = tf.exp(tf.matmul(x, weights) * 4.0)
    return powers / tf.reduce_sum(powers, axis=1, keepdims=True)


@tf.function  # type: ignore[untyped-decorator]
def train(x: Any, y: Any) -> Any:
    """Make a step that is far too large."""
    with tf.GradientTape() as tape:
        loss = -tf.reduce_mean(tf.math.log(tf.gather(forward(x), y, axis=1, batch_dims=1)))
    weights.assign_sub(RATE * tape.gradient(loss, weights))
    return loss


for _ in range(STEPS):
    train(inputs, labels)
# Outside functions too, and with a type that has no numbers.
logarithms = tf.math.log(tf.constant([1.0, 2.0, 0.0]) - 1.0)
tf.reduce_sum(logarithms / 0.0)
tf.strings.join(["a", "b"])
tf.debugging.experimental.disable_dump_debug_info()
