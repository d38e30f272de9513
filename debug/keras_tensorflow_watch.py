"""Watch a Keras model on TensorFlow: recorded steps run through a graph of the training step that measures."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import numpy as np
import tensorflow as tf

from stepscope.debug.catching import BadValue
from stepscope.debug.function_watch import FunctionWatcher
from stepscope.debug.keras_names import patched
from stepscope.debug.recorder import Measured, Recorder
from stepscope.debug.tensorflow_health import TensorFlowHealth
from stepscope.debug.tensorflow_program import Observed, StepTracer
from stepscope.debug.verdict import MaskTracker
from stepscope.debug.watcher import Settings

_MOST_PROGRAMS: Final = 16
"""Maximum number of programs that are kept for batches of different shapes."""


class KerasTensorFlowWatcher(FunctionWatcher):
    """Watches a `keras.Model`: a step is a call of its ``train_step``, as in ``fit`` and ``train_on_batch``.

    Keras would put the watcher itself into a graph, where it would see no values; instead, the step is compiled here,
    once as it is, and once with measurements.
    """

    def __init__(
        self, model: Any, recorder: Recorder, settings: Settings, *, owns_writer: bool, options: dict[str, Any]
    ) -> None:
        step = model.train_step
        plain = step if model.run_eagerly else tf.function(step, reduce_retracing=True, autograph=False)
        super().__init__(plain, recorder, settings, owns_writer=owns_writer)
        self._model: Final = model
        self._operations: Final[bool] = options["operations"]
        self._tracer: Final = StepTracer(
            model,
            step,
            self._chosen.__contains__,
            gradients=options["gradients"],
            updates=options["updates"],
            optimizer_state=options["optimizer_state"],
            every_file=settings.every_file,
        )
        self._programs: dict[Any, tuple[Callable[..., Any], Observed]] = {}
        self._put_back: Callable[[], None] = lambda: None
        self._undo: Final = [
            patched(model, "train_step", self.__call__),
            patched(model, "make_train_function", self._making(model.make_train_function)),
            patched(model, "_jit_compile", False),
        ]
        model.train_function = None
        recorder.catalog.note(
            "On TensorFlow, gradients of layer outputs are not observed unless individual operations are watched; nor"
            " is the inside of loops and branches of the graph."
        )

    def _making(self, make: Callable[..., None]) -> Callable[..., None]:
        """Return a function that makes Keras call the training step as it is, but compile evaluation and prediction."""

        @wraps(make)
        def make_eager(force: bool = False) -> None:
            undo = patched(self._model, "_run_eagerly", True)
            try:
                make(force)
            finally:
                undo()

        return make_eager

    def is_finite(self, result: Any) -> bool:
        """Return whether a step's result is finite, and the parameters after it."""
        values = [*tf.nest.flatten(result), *(variable.value for variable in self._model.trainable_variables)]
        numbers = [tf.convert_to_tensor(value) for value in values]
        return bool(_all_finite([n for n in numbers if n.dtype.is_floating]))

    def remember(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[], None]:
        """Save the model's state, and return a function that restores it.

        The state is the parameters, the optimizer, metrics and random seeds.
        """
        model = self._model
        variables = [*model.variables, *model.metrics_variables, *model.optimizer.variables]
        copies = [(v, tf.identity(v.value)) for v in {id(variable): variable for variable in variables}.values()]

        def put_back() -> None:
            for variable, value in copies:
                variable.assign(value)

        self._put_back = put_back
        return put_back

    def _observed(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, list[int], Measured, BadValue | None]:
        args = tf.nest.map_structure(_as_tensor, args)
        is_again = self._replaying is not None
        kinds = [str(tf.type_spec_from_value(leaf)) for leaf in tf.nest.flatten(args)]
        key = is_again, str(tf.nest.map_structure(type, args)), *kinds
        if key not in self._programs:
            if len(self._programs) >= _MOST_PROGRAMS:
                self._programs.pop(next(iter(self._programs)))
            detailed = self._settings.tensors != "health" and not is_again
            self._programs[key] = self._tracer.traced(
                args, lambda place: detailed, operations=is_again or self._operations
            )
        program, observed = self._programs[key]
        result, rows, values = program(*args)
        for note in observed.notes:
            self.recorder.catalog.note(note)
        numbers = self.recorder.catalog.numbers(observed.places, observed.device_of)
        kept = [place for place, number in enumerate(numbers) if number is not None]
        if len(kept) < len(numbers):
            rows = tf.gather(rows, kept)
        measured = TensorFlowHealth(rows, [observed.places[place].dtype for place in kept])
        known = [number for number in numbers if number is not None]
        for place, number in zip(kept, known, strict=True):
            if str(place) in values and self._is_recorded(self._step):
                tensor = self.recorder.catalog.tensors[number]
                self._write_value(tensor.phase, tensor.name, np.asarray(values[str(place)]))
        bad = self._bad_value(args, kept, known, measured) if is_again else None
        return result, known, measured, bad

    def _bad_value(
        self, args: tuple[Any, ...], kept: list[int], numbers: list[int], measured: TensorFlowHealth
    ) -> BadValue | None:
        """Return the first bad value itself, by running the step once more."""
        masks, tensors = MaskTracker(), self.recorder.catalog.tensors
        for place, number, figures in zip(kept, numbers, measured.figures(), strict=True):
            tensor = tensors[number]
            if not figures[1:4].any() or masks.is_mask(number, tensor, figures):
                continue
            sources = [kept[numbers.index(source)] for source in tensor.inputs if source in numbers]
            wanted = {place, *sources}
            self._put_back()
            program, _ = self._tracer.traced(args, wanted.__contains__, operations=True)
            *_, values = program(*args)
            found = {int(at): np.asarray(value) for at, value in values.items()}
            return BadValue(tensor.phase, tensor.name, found[place], tuple(found[source] for source in sources))
        return None

    def _let_go(self) -> None:
        super()._let_go()
        for undo in reversed(self._undo):
            undo()
        self._model.train_function = None


@tf.function(autograph=False, reduce_retracing=True)  # type: ignore[untyped-decorator]
def _all_finite(values: list[Any]) -> Any:
    return tf.reduce_all([tf.reduce_all(tf.math.is_finite(value)) for value in values])


def _as_tensor(value: Any) -> Any:
    return value if tf.is_tensor(value) or value is None else tf.convert_to_tensor(value)


def keras_tensorflow_watcher(
    model: Any, recorder: Recorder, settings: Settings, *, owns_writer: bool, options: dict[str, Any]
) -> KerasTensorFlowWatcher:
    """Return a watcher of a compiled Keras model on TensorFlow.

    Raises:
        ValueError: the model is not compiled or not built, or runs several steps at once or on several devices.
    """
    if getattr(model, "optimizer", None) is None or not model.built:
        raise ValueError(
            "a Keras model on TensorFlow must be built and compiled first: call model.build() and model.compile()"
            " before watch()"
        )
    if model.steps_per_execution != 1 or model.distribute_strategy.num_replicas_in_sync != 1:
        raise ValueError(
            "a Keras model on TensorFlow is watched one step at a time: expected steps_per_execution=1 and one"
            f" replica, got {model.steps_per_execution} and {model.distribute_strategy.num_replicas_in_sync}"
        )
    if not model.optimizer.built:
        # Its variables are part of the state that a step changes, and a graph may not create any when retraced.
        model.optimizer.build(model.trainable_variables)
    return KerasTensorFlowWatcher(model, recorder, settings, owns_writer=owns_writer, options=options)
