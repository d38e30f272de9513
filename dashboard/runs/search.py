"""Search for runs and tags by a few of their letters, for the palette and for completing names."""

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from stepscope.dashboard.runs.facts import each_description
from stepscope.summary.kinds.custom_scalars import TAG as LAYOUT_TAG
from stepscope.summary.snapshot import Snapshot

HitKind = Literal["run", "tag"]
LONGEST_SEARCH: Final = 200
MOST_HITS: Final = 50
_SEPARATORS: Final = frozenset("/_-. :=")


@dataclass(frozen=True)
class Hit:
    """A run or a tag that was found."""

    kind: HitKind
    name: str
    data: str
    """The tag's kind of data: the name of the plugin that wrote it. Empty for a run."""
    places: tuple[int, ...]
    """Positions of the matched letters in the name, in code points."""
    score: float


def match(wanted: str, name: str) -> tuple[float, tuple[int, ...]] | None:
    """Return how well a name matches a search: it must contain all its letters in order, ignoring case and blanks.

    Adjacent letters, and letters at the beginning of a word, count more; long names count less.

    Returns:
        The score and the positions of the letters; None if one is missing.
    """
    folded = name.lower()
    if len(folded) != len(name):
        # A few letters become two in lowercase; positions would be off.
        folded = name
    letters = "".join(wanted.lower().split())
    whole = folded.find(letters)
    if whole >= 0:
        starts = whole == 0 or name[whole - 1] in _SEPARATORS
        places = tuple(range(whole, whole + len(letters)))
        return 4.0 * len(letters) + (6 if starts else 2) - len(name) / 100, places
    found: list[int] = []
    score = 0.0
    at = -1
    for letter in letters:
        last = at
        at = folded.find(letter, at + 1)
        if at < 0:
            return None
        score += 3 if found and at == last + 1 else 2 if at == 0 or name[at - 1] in _SEPARATORS else 0.5
        found.append(at)
    return score - len(name) / 100, tuple(found)


def search(snapshot: Snapshot, wanted: str, most: int = MOST_HITS) -> list[Hit]:
    """Return the best matching runs and tags, best first; for an empty search, the first of each."""
    text = wanted[:LONGEST_SEARCH].strip()
    candidates: Iterable[tuple[HitKind, str, str]] = [
        *(("run", run, "") for run in snapshot.runs),
        *(("tag", tag, data) for tag, data in tags_of(snapshot)),
    ]
    if not text:
        return [Hit(kind, name, data, (), 0.0) for kind, name, data in candidates][:most]
    hits = (
        Hit(kind, name, data, found[1], found[0])
        for kind, name, data in candidates
        if (found := match(text, name)) is not None
    )
    return heapq.nlargest(most, hits, key=lambda hit: hit.score)


def tags_of(snapshot: Snapshot) -> list[tuple[str, str]]:
    """Return every tag with its kind of data, in order of first appearance.

    Internal tags of plugins are left out.
    """
    found = {
        (tag, kind): None
        for run in each_description(snapshot.runs)
        for tag in run.series
        if not tag.startswith("_hparams_/") and tag != LAYOUT_TAG and (kind := run.kind_of(tag)) is not None
    }
    return list(found)
