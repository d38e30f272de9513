"""Watch a Keras 3 model: on PyTorch by its layers, else by its compiled training step."""

from typing import Any

import keras  # type: ignore[import-untyped]

from stepscope.debug.recorder import Recorder
from stepscope.debug.watcher import Settings, Watcher


def watch_keras(
    model: Any, settings: Settings, recorder: Recorder, *, owns_writer: bool, options: dict[str, Any]
) -> Watcher:
    """Return a watcher of a Keras model.

    Raises:
        TypeError: the values of its backend cannot be observed.
    """
    match keras.backend.backend():
        case "torch":
            from stepscope.debug.keras_torch_watch import KerasTorchWatcher
            from stepscope.debug.torch_catch import TorchTraining
            from stepscope.debug.torch_step import TorchOptions

            watcher = KerasTorchWatcher(model, recorder, settings, TorchOptions(**options), owns_writer=owns_writer)
            watcher.repeatable = lambda _, also: TorchTraining(watcher, also)
            return watcher
        case "jax":
            from stepscope.debug.function_watch import FunctionTraining
            from stepscope.debug.keras_jax_watch import keras_jax_watcher

            of_jax = keras_jax_watcher(model, recorder, settings, owns_writer=owns_writer)
            of_jax.repeatable = lambda _, also: FunctionTraining(of_jax, also)
            return of_jax
        case "tensorflow":
            from stepscope.debug.function_watch import FunctionTraining
            from stepscope.debug.keras_tensorflow_watch import keras_tensorflow_watcher

            of_tensorflow = keras_tensorflow_watcher(
                model, recorder, settings, owns_writer=owns_writer, options=options
            )
            of_tensorflow.repeatable = lambda _, also: FunctionTraining(of_tensorflow, also)
            return of_tensorflow
        case other:
            raise TypeError(f"a Keras model can be watched on PyTorch, JAX and TensorFlow, got {other}")
