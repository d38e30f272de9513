"""JSON texts as a collapsible tree."""

import json
from collections.abc import Sequence
from html import escape
from typing import Final, NoReturn

from stepscope.summary.counts import counted

MOST_CHARACTERS: Final = 200_000
"""Maximum length of a text to try to parse as JSON."""
MOST_NODES: Final = 5_000
"""Maximum number of shown nodes; further ones are only counted."""
DEEPEST: Final = 50
_OPEN: Final = 2
"""Levels that are expanded by default."""


class _Number(str):
    """A number as written: 1e5, -0.0 and long integers keep their digits."""


class _Pairs(list[tuple[str, object]]):
    """An object with its keys in order, including repeated ones."""


def json_tree(source: str) -> str | None:
    """Return the text as HTML of nested ``details``, with all content escaped.

    Return None if it is not a JSON object or array.
    """
    stripped = source.strip()
    if len(source) > MOST_CHARACTERS or stripped[:1] + stripped[-1:] not in ("{}", "[]"):
        return None
    try:
        value = json.loads(
            stripped, object_pairs_hook=_Pairs, parse_float=_Number, parse_int=_Number, parse_constant=_refuse
        )
    except (ValueError, RecursionError):
        return None
    left = [MOST_NODES]
    html = _node(value, "", 0, left)
    hidden = counted(-left[0], "more value is", "more values are")
    more = "" if left[0] >= 0 else f'<p class="json-more">{hidden} not shown.</p>'
    return f'<div class="json">{html}</div>{more}'


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _node(value: object, key: str, depth: int, left: list[int]) -> str:
    left[0] -= 1
    if left[0] < 0:
        left[0] -= _inner(value)
        return ""
    match value:
        case _Pairs():
            children: Sequence[tuple[str, object]] = value
            shape, brackets = counted(len(value), "key"), "{}"
        case list():
            children = [(str(index), child) for index, child in enumerate(value)]
            shape, brackets = counted(len(value), "item"), "[]"
        case _:
            return f"<div>{_label(key)}{_leaf(value)}</div>"
    if not children or depth >= DEEPEST:
        return f'<div>{_label(key)}<span class="json-shape">{brackets} {shape}</span></div>'
    inner = "".join(_node(child, name, depth + 1, left) for name, child in children)
    opened = " open" if depth < _OPEN else ""
    summary = f'<summary>{_label(key)}<span class="json-shape">{brackets} {shape}</span></summary>'
    return f"<details{opened}>{summary}<div>{inner}</div></details>"


def _inner(value: object) -> int:
    """Return the number of values inside a value that is not shown; it may be nested deeper than Python recurses."""
    found = 0
    left = [value]
    while left:
        outer = left.pop()
        inner = [child for _, child in outer] if isinstance(outer, _Pairs) else outer
        if isinstance(inner, list):
            found += len(inner)
            left += inner
    return found


def _label(key: str) -> str:
    return f'<span class="json-key">{escape(key)}</span>' if key else ""


def _leaf(value: object) -> str:
    match value:
        case _Number():
            return f'<span class="json-number">{escape(value)}</span>'
        case str():
            return f'<span class="json-string">{escape(json.dumps(value, ensure_ascii=False))}</span>'
        case _:
            return f'<span class="json-word">{json.dumps(value)}</span>'
