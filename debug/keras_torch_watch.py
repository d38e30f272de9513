"""Watch a Keras model on PyTorch: its layers are PyTorch modules, which are called in Keras's own way."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch

from stepscope.debug.keras_names import layers_of, patched, variable_names
from stepscope.debug.recorder import Recorder
from stepscope.debug.torch_step import TorchOptions
from stepscope.debug.torch_watch import TorchWatcher
from stepscope.debug.watcher import Settings


class KerasTorchWatcher(TorchWatcher):
    """Watches a `keras.Model`: a step is a call of its ``train_step``, as in ``fit`` and ``train_on_batch``."""

    def __init__(
        self, model: Any, recorder: Recorder, settings: Settings, options: TorchOptions, *, owns_writer: bool
    ) -> None:
        self._undo: list[Callable[[], None]] = []
        super().__init__(model, recorder, settings, options, owns_writer=owns_writer)
        self._undo.append(patched(model, "train_step", self._ending(model.train_step)))
        if getattr(model, "optimizer", None) is not None:
            self._undo.append(patched(model.optimizer, "apply", self._updating(model.optimizer.apply)))
        # A function that was made earlier calls the original methods.
        model.train_function = None

    def changing(self) -> list[torch.Tensor]:
        """Return all tensors that a step changes."""
        model: Any = self.model
        optimizer = getattr(model, "optimizer", None)
        variables = [
            *model.variables,
            *(optimizer.variables if optimizer is not None else ()),
            *model.metrics_variables,
        ]
        values = (variable.value for variable in variables)
        return list({id(value): value.detach() for value in values if isinstance(value, torch.Tensor)}.values())

    def _named_parameters(self) -> list[tuple[str, torch.nn.Parameter]]:
        model: Any = self.model
        names = variable_names(model)
        return [(names[id(v)], v.value) for v in model.trainable_variables]

    def _names(self) -> list[str]:
        model: Any = self.model
        if not model.built:
            return []
        layers = [path or type(layer).__name__ for path, layer in layers_of(model)]
        return layers + [name for name, _ in self._named_parameters()]

    def _hook(self) -> None:
        for path, layer in layers_of(self.model):
            name = path or type(layer).__name__
            before, after = self._before_forward(path, name), self._after_forward(path, name)
            self._handles.append(_Handle(patched(layer, "call", _observed(layer, layer.call, before, after))))

    def _ending(self, train_step: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(train_step)
        def step(*args: Any, **kwargs: Any) -> Any:
            result = train_step(*args, **kwargs)
            if not self._is_caught:
                self.end()
            return result

        return step

    def _updating(self, apply: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(apply)
        def update(*args: Any, **kwargs: Any) -> Any:
            self._observe_gradients(type(getattr(apply, "__self__", apply)).__name__)
            try:
                return apply(*args, **kwargs)
            finally:
                self._observe_updates()

        return update

    def _let_go(self) -> None:
        super()._let_go()
        for undo in reversed(self._undo):
            undo()
        self.model.train_function = None


class _Handle:
    """A handle that `TorchWatcher` removes."""

    def __init__(self, remove: Callable[[], None]) -> None:
        self.remove = remove


def _observed(layer: Any, call: Callable[..., Any], before: Callable[..., None], after: Callable[..., None]) -> Any:
    @wraps(call)
    def observed(*args: Any, **kwargs: Any) -> Any:
        before(layer, args, kwargs)
        output = call(*args, **kwargs)
        after(layer, args, kwargs, output)
        return output

    return observed
