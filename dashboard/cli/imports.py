"""How the command imports what takes long."""

import gc
import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any, Final, cast

from stepscope.summary.collections_off import without_collections

_MANTINE: Final = "dash_mantine_components"
_NOTEBOOKS: Final = "IPython"


@contextmanager
def quick_imports() -> Iterator[None]:
    """Import faster, without garbage collections, which also need not look through what was imported later on."""
    with without_collections():
        try:
            yield
        finally:
            gc.freeze()


def import_dash() -> None:
    """Import Dash and its components by Mantine without what no page has: a sixth of a start, and 20 MB.

    Dash imports IPython with all that belongs to it, for applications in a notebook's own process, and does without
    where it is not installed. Mantine's components are a module each, of which one in ten is used: each is imported
    when it is first asked for. Nothing happens where they were imported before.
    """
    loaded = cast(dict[str, Any], sys.modules)
    hidden = "dash" not in loaded and loaded.setdefault(_NOTEBOOKS, None) is None
    try:
        import dash  # noqa: F401
    finally:
        if hidden:
            del loaded[_NOTEBOOKS]
    if _MANTINE not in loaded:
        # The package takes all names of this module, whose own imports are all components.
        no_components: Any = ModuleType(f"{_MANTINE}._imports_")
        no_components.__all__ = []
        loaded[no_components.__name__] = no_components
        package: Any = importlib.import_module(_MANTINE)
        package.__getattr__ = _component_of(package)
        # The first component has Dash send the package's scripts, and every page has this one.
        package.MantineProvider  # noqa: B018


def _component_of(package: ModuleType) -> Callable[[str], object]:
    """Return what gives a package's components by their names, each of which is a class in a module of its name."""
    found: dict[str, object] = {}
    importing = threading.Lock()

    def component(name: str) -> object:
        with importing:
            if name not in found:
                # Not by an import: that would make the module itself an attribute of the package.
                spec = None if name.startswith("_") else find_spec(f"{package.__name__}.{name}")
                if spec is None or spec.loader is None:
                    raise AttributeError(f"module {package.__name__!r} has no attribute {name!r}")
                module = module_from_spec(spec)
                spec.loader.exec_module(module)
                made: Any = getattr(module, name)
                made._js_dist, made._css_dist = cast(Any, package)._js_dist, cast(Any, package)._css_dist
                found[name] = made
        return found[name]

    return component
