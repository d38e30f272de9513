"""Where tag names are divided into sections, and which tags come first: pure functions of names."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, islice
from typing import Any, Final

from stepscope.dashboard.server.numbers import natural

LOOKED_AT_FIRST: Final = (
    frozenset({"train", "training"}),
    frozenset({"val", "valid", "validation", "dev"}),
    frozenset({"eval", "evaluation"}),
    frozenset({"test", "testing"}),
    frozenset({"loss", "losses"}),
    frozenset({"accuracy", "acc", "metric", "metrics", "score", "scores", "reward", "rewards", "return", "returns"}),
)
"""Words in names that people look for first, in this order."""
REST: Final = len(LOOKED_AT_FIRST)
"""The `importance` of all other names."""
NO_TAG: Final = "(empty tag)"
"""Title of the card of an empty tag, which writers allow."""
MOST_LEVELS: Final = 8
"""Maximum depth of nested sections."""
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_DOT: Final = re.compile(r"(?<=\w)\.(?=\w)")
_NUMBER: Final = re.compile(r"[-+]?\d+\.\d+(?:e[-+]?\d+)?", re.IGNORECASE)


def shown_tag(tag: str) -> str:
    """Return the tag as its card shows it: without the ending that PyTorch's and Stepscope's writers give to texts."""
    return tag.removesuffix("/text_summary") or tag or NO_TAG


@lru_cache(maxsize=65_536)
def section_path(tag: str) -> tuple[str, ...]:
    """Return the sections that a tag lies in, outermost first, each by its whole name.

    Names are divided at "/", and at "." between words; not within numbers such as that of "mAP_0.5".

    >>> section_path("model.layers.0/loss")
    ('model', 'model.layers', 'model.layers.0')
    """
    return tuple(islice(_sections(shown_tag(tag)), MOST_LEVELS))


def _sections(tag: str) -> Iterator[str]:
    last = ""
    start = 0
    for part in tag.split("/"):
        ends = [start - 1] if part and start else []
        for end in chain(ends, (start + dot for dot in _dots(part))):
            name = tag[:end].rstrip("/")
            if name and name != last:
                yield name
                last = name
        start += len(part) + 1


def _dots(part: str) -> Iterator[int]:
    """Yield the positions of the dots that divide a part of a name."""
    if _NUMBER.fullmatch(part):
        return
    start = 0
    for match in _DOT.finditer(part):
        dot = match.start()
        word = part[start:dot]
        if word[-1].isdigit() and not word.isdigit() and part[dot + 1].isdigit():
            continue  # Within a number.
        yield dot
        start = dot + 1


def importance(name: str) -> int:
    """Return how soon people look for a name: the index in `LOOKED_AT_FIRST` of its first word there, or `REST`."""
    words = {word.lower() for word in _WORD.findall(name)}
    return next((place for place, known in enumerate(LOOKED_AT_FIRST) if words & known), REST)


@lru_cache(maxsize=65_536)
def tag_order(tag: str) -> tuple[Any, ...]:
    """Return a key that sorts tags: section by section, what people look at first before the rest, numbers by value."""
    path = (*section_path(tag), shown_tag(tag))
    labels = [label_within(outer, name) for outer, name in zip(("", *path), path, strict=False)]
    return tuple((importance(label), natural(label)) for label in labels)


def label_within(outer: str, name: str) -> str:
    """Return a section's name without the name of the enclosing section."""
    return name[len(outer) :].lstrip("/.") or name if outer else name
