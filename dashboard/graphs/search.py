"""Search for entries by names, operations, and attributes."""

from collections.abc import Iterable
from dataclasses import dataclass
from time import monotonic
from typing import Final, Literal

from stepscope.dashboard.graphs.attributes import LARGE, attribute_of
from stepscope.dashboard.graphs.tree import Tree
from stepscope.summary.safe_regex import Pattern

Match = Literal["text", "regex"]
Place = Literal["name", "op", "attribute"]

LONGEST_SEARCH: Final = 2.0
"""Seconds for each kind of place; a search of attributes then returns its results so far."""


@dataclass(frozen=True)
class Found:
    """An entry that fits."""

    id: str
    op: str
    kind: str
    place: Place
    """The first place where the pattern was found."""
    expand: tuple[str, ...]
    """The groups to open to make it visible, outermost first."""
    hosts: tuple[str, ...]
    """For an auxiliary entry, the entries that it is folded into."""


@dataclass(frozen=True)
class Search:
    """What a search found, in the order of the graph."""

    count: int
    """Number of all matches found."""
    results: tuple[Found, ...]
    whole: bool
    """Whether the whole graph was searched before the time limit."""


def search(tree: Tree, text: str, match: Match, places: Iterable[Place], limit: int) -> Search:
    """Return the entries with the text, or a match of the regular expression; case is ignored.

    Names of groups are their paths. Attributes are searched as "name=value", except those larger than 1 KiB.

    Raises:
        PatternError: the regular expression is invalid or takes too long.
    """
    pattern = Pattern(text, literal=match == "text")
    wanted = frozenset(places)
    hits: dict[int, Place] = {}
    if "name" in wanted:
        # A node that is also a scope is called "name/(name)" here, and "name" in the graph.
        names = [path if node < 0 else tree.model.names[node] for path, node in zip(tree.paths, tree.node, strict=True)]
        found = {*_hits(pattern, list(tree.paths)), *_hits(pattern, names)}
        hits.update((entry, "name") for entry in found if entry)
    if "op" in wanted:
        ops = sorted(set(tree.model.ops))
        fitting = {ops[index] for index in _hits(pattern, ops)}
        for node, op in enumerate(tree.model.ops):
            if op in fitting:
                hits.setdefault(int(tree.leaf_of[node]), "op")
    whole = True
    if "attribute" in wanted:
        whole = _search_attributes(tree, pattern, hits)
    results = [_found(tree, entry, hits[entry]) for entry in sorted(hits)[:limit]]
    return Search(len(hits), tuple(results), whole)


def _hits(pattern: Pattern, candidates: list[str]) -> list[int]:
    return [index for index, hit in enumerate(pattern.matches(candidates, seconds=LONGEST_SEARCH)) if hit]


def _search_attributes(tree: Tree, pattern: Pattern, hits: dict[int, Place]) -> bool:
    """Add the matches in attributes; return whether all were searched before the time limit."""
    end = monotonic() + LONGEST_SEARCH
    for node, message in enumerate(tree.model.messages):
        entry = int(tree.leaf_of[node])
        if entry in hits:
            continue
        if monotonic() >= end:
            return False
        texts = [
            f"{name}={attribute_of(value).text}" for name, value in message.attr.items() if value.ByteSize() <= LARGE
        ]
        # A limit of its own: one that ends within a node would be an error, not the end of the search.
        if any(pattern.matches(texts)):
            hits[entry] = "attribute"
    return True


def _found(tree: Tree, entry: int, place: Place) -> Found:
    expand = tuple([tree.paths[group] for group in reversed(tree.ancestors(entry))])
    hosts = tuple([tree.paths[host] for host in tree.hosts.get(entry, ())])
    return Found(tree.paths[entry], tree.op(entry), tree.kinds[entry], place, expand, hosts)
