"""Fits a small Keras model that goes bad at step 500, watched and then caught; prints the caught error as JSON."""

import json
import os
import sys

backend, watched, caught = sys.argv[1:]
os.environ["KERAS_BACKEND"] = backend

import keras  # type: ignore[import-untyped]  # noqa: E402
import numpy as np  # noqa: E402
from keras import ops  # noqa: E402

from stepscope import debug  # noqa: E402


class Logarithm(keras.layers.Layer):  # type: ignore[misc,unused-ignore]
    def call(self, x: object) -> object:
        return ops.log(x)


def fit(folder: str, catch: bool) -> str:
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.layers.Input((3,)),
            keras.layers.Dense(4, activation="relu", name="dense"),
            Logarithm(name="logarithm"),
            keras.layers.Dense(1, name="dense_1"),
        ]
    )
    model.compile(keras.optimizers.Adam(1e-6), "mse")
    model.layers[0].set_weights([np.ones((3, 4)), np.zeros(4)])
    x = np.ones((502, 3), np.float32)
    x[500] = -1
    with debug.watch(model, folder, every=100, on_alert=None) as watcher:
        if catch:
            model.train_step = debug.catch(model.train_step, watcher)
        try:
            model.fit(x, np.ones((502, 1)), batch_size=1, shuffle=False, verbose=0)
        except debug.CaughtError as error:
            return str(error)
    return ""


fit(watched, catch=False)
# A model made after another would get new names.
keras.backend.clear_session()
sys.stdout.write(f"\n{json.dumps(fit(caught, catch=True))}\n")
