"""Tags from the names of summaries, by TensorFlow 1's rule."""

import re
import warnings
from typing import Final

from stepscope.summary.arguments import checked_name

_ILLEGAL: Final = re.compile(r"[^-/\w.]")


def tag_of(name: str, family: str | None = None) -> str:
    """Return the tag: the cleaned name, or ``<family>/<family>/<name>``, so that the family always comes first.

    In names and families, characters other than letters, digits, "_", ".", "-" and "/" become "_", and leading slashes
    are removed, with a warning (TensorFlow's ``summary_op_util.py``).

    Raises:
        TypeError: the name or the family is not a string.
        ValueError: nothing is left of the name or the family.
    """
    clean = _clean(name, "name")
    if family is None:
        return clean
    prefix = _clean(family, "family")
    return f"{prefix}/{prefix}/{clean}"


def _clean(name: str, role: str) -> str:
    clean = _ILLEGAL.sub("_", checked_name(name)).lstrip("/")
    if clean != name:
        warnings.warn(f"the summary's {role} {name!r} has illegal characters; it is written as {clean!r}", stacklevel=4)
    # A trailing slash adds nothing to the scope that it ends.
    clean = clean.rstrip("/")
    if not clean:
        raise ValueError(f"a summary's {role} must be more than slashes, got {name!r}")
    return clean


def tags_of_outputs(tag: str, kind: str, count: int, max_outputs: int) -> list[str]:
    """Return a tag for each of ``count`` outputs: ``<tag>/<kind>/<i>``, or ``<tag>/<kind>`` if at most one is kept."""
    if max_outputs == 1:
        return [f"{tag}/{kind}"][:count]
    return [f"{tag}/{kind}/{index}" for index in range(count)]
