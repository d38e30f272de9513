"""Modules of the user's that have the names of Stepscope's packages, and come before them on Python's path."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Final

PACKAGES: Final = ("summary", "profiler", "dashboard")


def check_packages() -> None:
    """Returns if the packages that Python finds are those beside this one.

    Raises:
        ImportError: another is found; one sentence with its path and what to do.
    """
    home = Path(__file__).resolve().parents[1]
    for name in PACKAGES:
        found = _path_of(name)
        if found is not None and found.resolve() != home / name:
            raise ImportError(
                f"{found} hides Stepscope's package {name!r}: rename it, or run this where {found.parent} is not on "
                "Python's path, such as without it in PYTHONPATH."
            )


def _path_of(name: str) -> Path | None:
    """The file of a module, or the folder of a package; None if there is none."""
    try:
        spec = find_spec(name)
    except ValueError:
        return None
    if spec is None or spec.origin is None:
        return None
    path = Path(os.path.abspath(spec.origin))
    return path.parent if path.name == "__init__.py" else path
