"""Functions of other modules, replaced while a recording runs."""

from collections.abc import Callable
from typing import Any


class Patches:
    """Replaces attributes, and restores the original ones."""

    def __init__(self) -> None:
        self._replaced: list[tuple[object, str, Any, Any]] = []

    def replace(self, owner: object, name: str, make: Callable[[Any], Any]) -> None:
        """Replace an attribute by the result of ``make``; do nothing if there is no attribute with this name."""
        # As it is stored (the plain function of a class, and never inherited), so that restoring it changes nothing.
        original = vars(owner).get(name)
        if original is not None:
            replacement = make(original)
            setattr(owner, name, replacement)
            self._replaced.append((owner, name, original, replacement))

    def undo(self) -> None:
        """Restore the original attributes, the last replaced first, except those that others have replaced since.

        Those still call the replacement, which must therefore only pass calls on once its recording is over.
        """
        while self._replaced:
            owner, name, original, replacement = self._replaced.pop()
            if vars(owner).get(name) is replacement:
                setattr(owner, name, original)
