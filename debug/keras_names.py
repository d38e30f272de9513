"""Names of layers and variables of Keras models, and attributes set on one object alone."""

from collections.abc import Callable
from typing import Any


def patched(target: Any, name: str, value: Any) -> Callable[[], None]:
    """Set an attribute on an object alone, bypassing its class; return a function that removes it."""
    attributes = vars(target)
    had, before = name in attributes, attributes.get(name)
    attributes[name] = value

    def take_off() -> None:
        if attributes.get(name) is not value:
            return
        if had:
            attributes[name] = before
        else:
            del attributes[name]

    return take_off


def layers_of(model: Any) -> list[tuple[str, Any]]:
    """Return all layers of a model with their paths, outermost first; the path of the model itself is empty."""
    found: list[tuple[str, Any]] = []
    seen: set[int] = set()
    waiting: list[tuple[str, Any]] = [("", model)]
    while waiting:
        path, layer = waiting.pop(0)
        if id(layer) in seen:
            continue
        seen.add(id(layer))
        found.append((path, layer))
        inner = layer._flatten_layers(include_self=False, recursive=False)
        waiting.extend((f"{path}.{each.name}" if path else each.name, each) for each in inner)
    return found


def variable_names(model: Any) -> dict[int, str]:
    """Return the dotted paths of a model's variables, by their identities."""
    own = f"{model.name}/"
    return {id(variable): variable.path.removeprefix(own).replace("/", ".") for variable in model.variables}
