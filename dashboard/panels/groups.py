"""Which cards are on the page: cards in nested sections, collapsed and paged so that the page stays fast."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple

from stepscope.dashboard.panels.tag_order import REST, importance, label_within, section_path

CARDS_PER_PAGE: Final = 12
"""Maximum cards of a section that are mounted at once; a section with no more is not divided further."""
MOST_CARDS: Final = 24
"""Maximum cards that open by themselves; the user may open more."""
MOST_OPENED: Final = 480
"""Maximum cards that open when all sections are expanded."""
OTHER: Final = "Other"
"""Section of the tags that share none."""
ALL: Final = "All tags"
"""Name of that section if there is no other."""


@dataclass(frozen=True)
class OfTag:
    """Where the card of a tag belongs: in the sections of its name."""

    tag: str


Place = str | OfTag
"""Where a card belongs: in a section of exactly that name, or where its tag does."""
Fold = Literal["auto", "open", "closed"]
"""Which sections are open, except for those that the user opened and closed individually."""


@dataclass(frozen=True)
class Arrangement:
    """How the user arranged the cards of a panel."""

    opened: Sequence[str] = ()
    closed: Sequence[str] = ()
    pages: Mapping[str, int] = field(default_factory=dict)
    """Page of a section, counted from 1, if it is not the first."""
    fold: Fold = "auto"
    sections: Sequence[str] = ()
    """Sections in the order that the user gave them, before the others at their level."""
    cards: Sequence[str] = ()
    """Keys of cards in the order that the user gave them, before the others of their sections."""


@dataclass(frozen=True)
class Group:
    """A section: cards that turn pages together, then the nested sections."""

    name: str
    label: str
    """Name within the enclosing section."""
    keys: tuple[str, ...]
    open: bool = False
    page: int = 1
    """Counted from 1."""
    groups: tuple["Group", ...] = ()

    @property
    def pages(self) -> int:
        return max(1, -(-len(self.keys) // CARDS_PER_PAGE))

    @property
    def earlier(self) -> tuple[str, ...]:
        """Keys of the cards on the pages before."""
        return self.keys[: (self.page - 1) * CARDS_PER_PAGE]

    @property
    def on_page(self) -> tuple[str, ...]:
        """Keys of the cards that are mounted while the section is open."""
        start = len(self.earlier)
        return self.keys[start : start + CARDS_PER_PAGE]

    @property
    def count(self) -> int:
        """Number of cards in the section and its nested sections."""
        return len(self.keys) + sum(group.count for group in self.groups)

    def all(self) -> Iterator["Group"]:
        """Yield the section and all nested sections."""
        yield self
        for group in self.groups:
            yield from group.all()

    def mounted(self) -> Iterator[str]:
        """Yield the keys of the mounted cards, in order."""
        if self.open:
            yield from self.on_page
            for group in self.groups:
                yield from group.mounted()


class _Card(NamedTuple):
    at: int
    """Position in the order of all cards."""
    key: str
    place: Place

    @property
    def name(self) -> str:
        return self.place if isinstance(self.place, str) else self.place.tag


@dataclass
class _Node:
    """A section while cards are being distributed."""

    name: str
    cards: list[_Card] = field(default_factory=list)
    inner: dict[str, "_Node"] = field(default_factory=dict)

    def all_cards(self) -> list[_Card]:
        return _in_order([*self.cards, *(card for node in self.inner.values() for card in node.all_cards())])

    def simplified(self) -> "_Node":
        """Without sections of one card, of a single section, and within those that fit on a page."""
        for name, node in list(self.inner.items()):
            simple = node.simplified()
            if simple.inner or len(simple.cards) > 1:
                self.inner[name] = simple
            else:
                del self.inner[name]
                self.cards += simple.cards
        if self.name and not self.cards and len(self.inner) == 1:
            return next(iter(self.inner.values()))
        everything = self.all_cards()
        if self.name and len(everything) <= CARDS_PER_PAGE:
            return _Node(self.name, everything)
        self.cards = _in_order(self.cards)
        return self


def _in_order(cards: Sequence[_Card]) -> list[_Card]:
    return sorted(cards, key=lambda card: card.at)


def arrange(cards: Iterable[tuple[Place, str]], by: Arrangement) -> list[Group]:
    """Group cards into sections: named ones in the given order, then those of tags.

    Sections are open from the top until `MOST_CARDS` cards are, whatever the user did with others. Of sections that
    contain others, only those that people look at first open by themselves, or the first of all: otherwise a model's
    many layers would fill the page.

    Args:
        cards: where each card belongs and its key, in order.
        by: the user's arrangement.
    """
    named: dict[str, _Node] = {}
    root = _Node("")
    for at, (place, key) in enumerate(cards):
        if isinstance(place, str):
            node = named.setdefault(place, _Node(place))
        else:
            node = root
            for name in section_path(place.tag):
                node = node.inner.setdefault(name, _Node(name))
        node.cards.append(_Card(at, key, place))
    groups = list(_Opening(by).groups(_outermost(named, root.simplified()), ""))
    return [replace(groups[0], label=ALL)] if [group.name for group in groups] == [OTHER] else groups


def _outermost(named: dict[str, _Node], root: _Node) -> list[_Node]:
    """Return all outermost sections; what tags have in common with a named one, or with `OTHER`, goes there."""
    of_tags = {node.name: node for node in root.inner.values()}
    if root.cards and OTHER in named | of_tags:
        (named.get(OTHER) or of_tags[OTHER]).cards += root.cards
    elif root.cards:
        # Tags that people look at first may be among these, one of each section.
        best = min(importance(card.name) for card in root.cards)
        before = [node for node in of_tags.values() if importance(node.name) <= best]
        of_tags = {node.name: node for node in (*before, _Node(OTHER, root.cards))} | of_tags
    for name in named.keys() & of_tags.keys():
        named[name].cards += of_tags.pop(name).all_cards()
    return [*named.values(), *of_tags.values()]


class _Opening:
    """Opens sections from the top while there is room."""

    def __init__(self, by: Arrangement) -> None:
        self._by = by
        self._room = MOST_OPENED if by.fold == "open" else MOST_CARDS
        self._opened, self._closed = frozenset(by.opened), frozenset(by.closed)
        self._sections = {name: place for place, name in enumerate(by.sections)}
        self._cards = {key: place for place, key in enumerate(by.cards)}
        self._untouched = True

    def groups(self, nodes: Iterable[_Node], around: str, seen: bool = True) -> Iterator[Group]:
        """Yield the sections within one, given whether that is open unless the user closed it."""
        for node in sorted(nodes, key=lambda node: self._sections.get(node.name, len(self._sections))):
            label = label_within(around, node.name)
            by_itself = seen and self._opens(node, label)
            cards = sorted(node.cards, key=lambda card: self._cards.get(card.key, len(self._cards)))
            keys = tuple(card.key for card in cards)
            bare = Group(node.name, label, keys)
            yield Group(
                node.name,
                label,
                keys,
                open=node.name in self._opened or (by_itself and node.name not in self._closed),
                page=min(max(self._by.pages.get(node.name, 1), 1), bare.pages),
                groups=tuple(self.groups(node.inner.values(), node.name, by_itself)),
            )

    def _opens(self, node: _Node, label: str) -> bool:
        if self._by.fold == "closed":
            return False
        cards = min(len(node.cards), CARDS_PER_PAGE)
        looked_at = self._by.fold == "open" or not node.inner or self._untouched or importance(label) < REST
        if cards > self._room or not looked_at:
            return False
        self._room -= cards
        self._untouched = self._untouched and not cards
        return True


def card_places(groups: Iterable[Group], around: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...], int]]:
    """Yield each card's key, the names of its sections, outermost first, and its page in the innermost."""
    for group in groups:
        path = (*around, group.name)
        yield from ((key, path, at // CARDS_PER_PAGE + 1) for at, key in enumerate(group.keys))
        yield from card_places(group.groups, path)


def parse_pages(raw: Sequence[str]) -> dict[str, int]:
    """Parse "section:2"; entries not of that form are left out."""
    pages: dict[str, int] = {}
    for entry in raw:
        name, colon, number = entry.rpartition(":")
        if colon and number.isdecimal() and len(number) < 6:
            pages[name] = int(number)
    return pages


def structure(group: Group) -> dict[str, Any]:
    """Return what is mounted of a section, small enough to send: while it is unchanged, the cards stay as they are."""
    reported: dict[str, Any] = {"name": group.name, "label": group.label, "count": group.count}
    if group.open:
        reported |= {"cards": list(group.on_page), "groups": [structure(inner) for inner in group.groups]}
    return reported


def still_fits(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Return whether what is mounted fits the new structure: closing a section only hides its cards."""
    if any(old[part] != new[part] for part in ("name", "label", "count")):
        return False
    if "cards" not in new:
        return True
    if old.get("cards") != new["cards"] or len(old["groups"]) != len(new["groups"]):
        return False
    return all(still_fits(before, now) for before, now in zip(old["groups"], new["groups"], strict=True))


def mounted_keys(reported: Mapping[str, Any]) -> list[str]:
    """Return the keys of the cards in a `structure`."""
    return [*reported.get("cards", ()), *(key for inner in reported.get("groups", ()) for key in mounted_keys(inner))]
