"""Names of the modules of a PyTorch model, and which of them `torch.compile` and TorchScript hide."""

from typing import Final

import torch

_WRAPPER: Final = "_orig_mod."
"""Prefix that torch.compile adds to the names of what it wraps."""
_MOST_NAMED: Final = 5


def without_wrapper(name: str) -> str:
    """Return a name without torch.compile's prefix."""
    return name.replace(_WRAPPER, "")


def named_modules(model: torch.nn.Module) -> list[tuple[str, str, torch.nn.Module]]:
    """Return paths, names and modules, without those that TorchScript hides.

    torch.compile's wrapper replaces its module, as the wrapper is called.
    """
    found: dict[str, tuple[str, str, torch.nn.Module]] = {}
    for path, module in model.named_modules():
        if _is_scripted(module):
            continue
        path = _path(path)
        found.setdefault(path, (path, path or type(unwrapped(module)).__name__, module))
    return list(found.values())


def unwrapped(module: torch.nn.Module) -> torch.nn.Module:
    """Return a module without torch.compile's wrapper."""
    while _wraps(module):
        module = module._orig_mod
    return module


def note_of_compiled(model: torch.nn.Module, *, seen: bool) -> str:
    """Return a sentence about the compiled parts of a model; empty if there are none.

    Args:
        model: the model.
        seen: whether recorded steps run uncompiled.
    """
    modules = list(model.named_modules())
    wrapped = [_path(path) or type(module._orig_mod).__name__ for path, module in modules if _wraps(module)]
    inside = [
        path or type(model).__name__
        for path, module in modules
        if getattr(module, "_compiled_call_impl", None) is not None
    ]
    names = [*wrapped, *inside]
    if not names:
        return ""
    rest = (
        "Recorded steps run without it, so that its inside is observed; their numbers may differ from those of"
        " compiled steps."
        if seen
        else "Inside it, only parameters, their gradients and updates are observed;"
        ' compiled="eager" runs recorded steps without it.'
    )
    return f"Compiled by torch.compile: {_listed(names)}. {rest}"


def note_of_scripted(model: torch.nn.Module) -> str:
    """Return a sentence about the parts of a model that TorchScript compiled; empty if there are none."""
    names: list[str] = []
    inside: set[torch.nn.Module] = set()
    for path, module in model.named_modules():
        if module not in inside and _is_scripted(module):
            names.append(_path(path) or module.original_name)
            inside.update(module.modules())
    if not names:
        return ""
    return (
        f"Compiled by TorchScript: {_listed(names)}. Inputs and outputs of modules are not observed there, only"
        " parameters, their gradients and updates, and individual operations with operations=True."
    )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}"


def _is_scripted(module: torch.nn.Module) -> bool:
    """Return whether TorchScript runs a module without calling hooks; those of the outermost traced one are called."""
    compiled = isinstance(module, torch.jit.RecursiveScriptModule | torch.jit.TracedModule)
    return compiled and not isinstance(module, torch.jit.TopLevelTracedModule)


def _wraps(module: torch.nn.Module) -> bool:
    return isinstance(getattr(module, "_orig_mod", None), torch.nn.Module)


def _path(path: str) -> str:
    return without_wrapper(f"{path}.").removesuffix(".")
