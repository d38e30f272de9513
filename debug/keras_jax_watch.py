"""Watch a Keras model on JAX: its training step is a pure function, into which measurements are inserted."""

from collections.abc import Callable
from typing import Any, Final

import jax

from stepscope.debug.jax_watch import JaxWatcher
from stepscope.debug.keras_names import patched, variable_names
from stepscope.debug.recorder import Recorder
from stepscope.debug.watcher import Settings


class KerasJaxWatcher(JaxWatcher):
    """Watches a `keras.Model`: a step is a call of its ``train_step``, as in ``fit`` and ``train_on_batch``."""

    def __init__(self, model: Any, recorder: Recorder, settings: Settings, *, owns_writer: bool) -> None:
        step = model.train_step
        super().__init__(step, recorder, settings, owns_writer=owns_writer, plain=jax.jit(step), role=Roles(model))
        # Keras would jit the watcher itself, which would then see no values.
        self._model: Final = model
        self._undo: Final = [
            patched(model, "train_step", self.__call__),
            patched(model, "_run_eagerly", model._run_eagerly),
            patched(model, "_jit_compile", False),
        ]
        model.train_function = None

    def _let_go(self) -> None:
        super()._let_go()
        for undo in reversed(self._undo):
            undo()
        self._model.train_function = None


class Roles:
    """The names of the arrays of Keras's state."""

    def __init__(self, model: Any) -> None:
        self._model: Final = model

    def __call__(self, name: str) -> tuple[str, str]:
        """Return the name of an argument, and its phase."""
        head, _, rest = name.partition("/")
        if head != "state":
            return name, "forward"
        group, _, place = rest.partition("/")
        model = self._model
        variables: tuple[Callable[[], Any], ...] = (
            lambda: model.trainable_variables,
            lambda: model.non_trainable_variables,
            lambda: model.optimizer.variables,
            lambda: model.metrics_variables,
        )
        found = variables[int(group)]()[int(place)]
        path = variable_names(model).get(id(found)) or found.path.replace("/", ".")
        return path, "parameter" if group == "0" else "update"


def keras_jax_watcher(model: Any, recorder: Recorder, settings: Settings, *, owns_writer: bool) -> KerasJaxWatcher:
    """Return a watcher of a compiled Keras model on JAX.

    Raises:
        ValueError: the model is not compiled, or not built.
    """
    if getattr(model, "optimizer", None) is None or not model.built:
        raise ValueError(
            "a Keras model on JAX must be built and compiled first: call model.build() and model.compile() before"
            " watch()"
        )
    return KerasJaxWatcher(model, recorder, settings, owns_writer=owns_writer)
