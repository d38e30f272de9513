"""What the modules of a model of PyTorch are called, and which of them `torch.compile` hides."""

from typing import Final

import torch

_WRAPPER: Final = "_orig_mod."
"""What torch.compile puts before the names of what it wraps."""
_MOST_NAMED: Final = 5


def without_wrapper(name: str) -> str:
    """Return a name as it is without torch.compile."""
    return name.replace(_WRAPPER, "")


def named_modules(model: torch.nn.Module) -> list[tuple[str, str, torch.nn.Module]]:
    """Return paths, names and modules; what torch.compile wraps around one stands for it, as that is what is called."""
    found: dict[str, tuple[str, str, torch.nn.Module]] = {}
    for path, module in model.named_modules():
        path = _path(path)
        found.setdefault(path, (path, path or type(unwrapped(module)).__name__, module))
    return list(found.values())


def unwrapped(module: torch.nn.Module) -> torch.nn.Module:
    """Return a module without what torch.compile wraps around it."""
    while _wraps(module):
        module = module._orig_mod
    return module


def note_of_compiled(model: torch.nn.Module, *, seen: bool) -> str:
    """Return a sentence about what of a model is compiled; empty where nothing is.

    Args:
        model: which.
        seen: whether steps that are recorded run without that.
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
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    rest = (
        "Steps that are recorded run without it, so that what is inside is seen; their numbers may differ from those of"
        " compiled steps."
        if seen
        else "Of what is inside, only parameters, their gradients and updates are seen;"
        ' compiled="eager" runs recorded steps without it.'
    )
    return f"Compiled by torch.compile: {', '.join(names[:_MOST_NAMED])}{more}. {rest}"


def _wraps(module: torch.nn.Module) -> bool:
    return isinstance(getattr(module, "_orig_mod", None), torch.nn.Module)


def _path(path: str) -> str:
    return without_wrapper(f"{path}.").removesuffix(".")
