"""Which cards are on the page: cards in groups, closed and paged so that the page stays quick."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

CARDS_PER_PAGE: Final = 12
MOST_CARDS: Final = 24
"""Cards that open by themselves; the user may open more."""
NO_PREFIX: Final = "(no prefix)"
"""Group of the tags that have no "/"."""


@dataclass(frozen=True)
class Group:
    """Cards that open, close and turn pages together."""

    name: str
    keys: tuple[str, ...]
    open: bool = False
    page: int = 1
    """Counted from 1."""

    @property
    def pages(self) -> int:
        return max(1, -(-len(self.keys) // CARDS_PER_PAGE))

    @property
    def on_page(self) -> tuple[str, ...]:
        """Keys of the cards that are mounted while the group is open."""
        start = (self.page - 1) * CARDS_PER_PAGE
        return self.keys[start : start + CARDS_PER_PAGE]


def shown_tag(tag: str) -> str:
    """The tag as its card calls it: without the end that PyTorch's writers, and ours, give to texts."""
    return tag.removesuffix("/text_summary") or tag


def prefix(tag: str) -> str:
    """The part before the first "/"."""
    head, slash, _ = shown_tag(tag).partition("/")
    return head if slash else NO_PREFIX


def arrange(
    keys: Iterable[tuple[str, str]], opened: Sequence[str], closed: Sequence[str], pages: Mapping[str, int]
) -> list[Group]:
    """Joins cards into groups, in order of first appearance.

    Groups are open from the top until `MOST_CARDS` cards are; ``opened`` and ``closed`` say what the user did about it.

    Args:
        keys: group and key of every card.
        opened: groups that the user opened.
        closed: groups that the user closed.
        pages: page of a group, counted from 1, where it is not the first.
    """
    members: dict[str, list[str]] = {}
    for name, key in keys:
        members.setdefault(name, []).append(key)
    groups: list[Group] = []
    mounted = 0
    for name, found in members.items():
        group = Group(name, tuple(found))
        group = replace(group, page=min(max(pages.get(name, 1), 1), group.pages))
        fits = mounted + len(group.on_page) <= MOST_CARDS
        group = replace(group, open=name in opened or (fits and name not in closed))
        mounted += len(group.on_page) if group.open else 0
        groups.append(group)
    return groups


def parse_pages(raw: Sequence[str]) -> dict[str, int]:
    """Reads "group:2"; what is not of that form is left out."""
    pages: dict[str, int] = {}
    for entry in raw:
        name, colon, number = entry.rpartition(":")
        if colon and number.isdecimal() and len(number) < 6:
            pages[name] = int(number)
    return pages


def structure(groups: Sequence[Group]) -> dict[str, Any]:
    """What is mounted, small enough to travel: when it is unchanged the cards stay as they are."""
    return {
        "order": [group.name for group in groups],
        "counts": [len(group.keys) for group in groups],
        "cards": {group.name: list(group.on_page) if group.open else [] for group in groups},
    }


def still_fits(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether the mounted cards serve the new structure: closing a group only hides its cards."""
    if old.get("order") != new["order"] or old.get("counts") != new["counts"]:
        return False
    return all(not keys or old["cards"].get(name) == keys for name, keys in new["cards"].items())
