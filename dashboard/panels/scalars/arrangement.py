"""The cards of the scalars panel and their order."""

import json
from typing import Final

from stepscope.dashboard.curves.spec import ChartSpec, LineSpec
from stepscope.dashboard.page.state import View
from stepscope.dashboard.panels.cards import tag_keys
from stepscope.dashboard.panels.groups import Place
from stepscope.dashboard.panels.scalars.settings import ARRANGEMENT
from stepscope.summary.series import SCALARS
from stepscope.summary.snapshot import Snapshot

PINNED_GROUP: Final = "Pinned"
COMBINED_GROUP: Final = "Combined"
MOST_TAGS: Final = 40


def combined_tags(key: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the tags on the left and on the right axis for a key of the form ``[["a", "b"], ["c"]]``.

    Return None for any other key, and for tags with halves of characters (lone surrogates), which no page can be sent.
    """
    if not key.startswith("[["):
        return None
    try:
        value = json.loads(key)
    except (ValueError, RecursionError):
        return None
    if not (isinstance(value, list) and len(value) == 2 and all(isinstance(side, list) for side in value)):
        return None
    left, right = value
    if not left + right or len(left) + len(right) > MOST_TAGS or not all(isinstance(tag, str) for tag in left + right):
        return None
    try:
        "".join(left + right).encode()
    except UnicodeEncodeError:
        return None
    return tuple(left), tuple(right)


def spec_of(key: str, _snapshot: Snapshot, _view: View) -> ChartSpec:
    """Return the lines of a card: one tag, or several combined."""
    combined = combined_tags(key)
    if combined is None:
        return ChartSpec((LineSpec(key),))
    left, right = combined
    return ChartSpec((*(LineSpec(tag) for tag in left), *(LineSpec(tag, "right") for tag in right)))


def card_keys(snapshot: Snapshot, view: View) -> list[tuple[Place, str]]:
    """Return the group and key of every card: pinned ones first, then those of several tags, then single tags."""
    tags = tag_keys(snapshot, view, SCALARS)
    combined = [(COMBINED_GROUP, key) for key in ARRANGEMENT.combined.of(view) if combined_tags(key) is not None]
    known = {key for _, key in (*combined, *tags)}
    pinned = [(PINNED_GROUP, key) for key in ARRANGEMENT.pinned.of(view) if key in known]
    first = {key for _, key in pinned}
    return [*pinned, *(pair for pair in (*combined, *tags) if pair[1] not in first)]
