"""Faster imports of slow libraries for the command."""

import gc
import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final, cast

from stepscope.plugins import is_any_installed
from stepscope.summary.collections_off import without_collections

_MANTINE: Final = "dash_mantine_components"
_NOTEBOOKS: Final = "IPython"
COMPONENTS: Final = (
    "Chip", "ChipGroup", "Loader", "MantineProvider", "MultiSelect", "NumberInput", "Pagination",
    "Popover", "PopoverDropdown", "PopoverTarget", "SegmentedControl", "Select", "Slider", "Switch", "Tabs",
    "TabsList", "TabsTab", "TextInput",
)  # fmt: skip
"""Mantine components that pages use."""


@contextmanager
def quick_imports() -> Iterator[None]:
    """Import faster, without garbage collections; later collections also skip what was imported."""
    with without_collections():
        try:
            yield
        finally:
            gc.freeze()


def import_dash() -> None:
    """Import Dash and its Mantine components without the parts that no page uses: a sixth of a start, and 20 MB.

    Dash imports IPython and its dependencies for applications in a notebook's own process, and works without IPython
    if it is not installed. Each Mantine component is a module, and one in ten is used; all of them are imported if a
    plug-in may use others. Nothing happens if they were imported before.
    """
    loaded = cast(dict[str, Any], sys.modules)
    hidden = "dash" not in loaded and loaded.setdefault(_NOTEBOOKS, None) is None
    try:
        import dash  # noqa: F401
    finally:
        if hidden:
            del loaded[_NOTEBOOKS]
    if _MANTINE in loaded or is_any_installed():
        return
    # The package takes all names from this module, which itself only imports components.
    none: Any = ModuleType(f"{_MANTINE}._imports_")
    none.__all__ = []
    loaded[none.__name__] = none
    package: Any = importlib.import_module(_MANTINE)
    # Not on first use: a page is told at its beginning where components contain other components.
    for name in COMPONENTS:
        component = getattr(importlib.import_module(f"{_MANTINE}.{name}"), name)
        component._js_dist, component._css_dist = package._js_dist, package._css_dist
        setattr(package, name, component)
