"""Live tensors of a PyTorch model, shown to viewers during training."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import torch

from stepscope.debug.showing import LIVE
from stepscope.debug.torch_modules import named_modules
from stepscope.debug.torch_step import is_measurable, is_transformed


class LiveView:
    """Offers activations, gradients and parameters while they are being viewed; else the model has no hooks for it.

    Args:
        model: its modules provide the activations.
        parameters: the name of each parameter.
    """

    def __init__(self, model: torch.nn.Module, parameters: Mapping[torch.nn.Parameter, str]) -> None:
        self._model: Final = model
        self._parameters: Final = parameters
        self._handles: list[Any] = []
        self.is_on = False
        """Whether arrays were being viewed when the running step began."""
        self._offered: set[str] = set()
        """Modules offered in the running step: if a module is called again, its first output is shown."""

    def begin(self) -> None:
        """Begin a step: add hooks to the model if arrays are being viewed, and remove them if not."""
        self._offered.clear()
        if not LIVE.active:
            self.close()
        elif not self.is_on:
            self.is_on = True
            for _, name, module in named_modules(self._model):
                self._handles.append(module.register_forward_hook(self._offering(name)))

    def end(self, step: int) -> None:
        """End a step: offer parameters and their gradients."""
        for parameter, name in self._parameters.items():
            _offer("parameters", name, parameter)
            if parameter.grad is not None:
                _offer("gradients", name, parameter.grad)
        LIVE.end_step(step)

    def close(self) -> None:
        """Remove the hooks from the model."""
        self.is_on = False
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _offering(self, name: str) -> Callable[..., None]:
        def offer(module: torch.nn.Module, args: tuple[Any, ...], output: Any) -> None:
            if torch.compiler.is_compiling() or is_transformed():
                return
            value = output[0] if isinstance(output, tuple | list) and output else output
            if isinstance(value, torch.Tensor) and name not in self._offered:
                self._offered.add(name)
                _offer("activations", name, value)

        return offer


def _offer(section: str, name: str, value: torch.Tensor) -> None:
    """Offer a tensor if it has real numbers and is stored as a whole."""
    if not is_measurable(value) or value.is_complex() or value.layout != torch.strided:
        return
    if hasattr(value, "to_local"):  # a DTensor: this process's part
        value = value.to_local()
    LIVE.offer(f"{section}/{name}", value.detach(), section)
