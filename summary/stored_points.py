"""Points of an event file that were read at an earlier start: the tags are known at once, the columns if asked for."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from stepscope.summary.points import TagState


class TagTexts(NamedTuple):
    """What the first value of a tag says beside its kind."""

    display_name: str = ""
    description: str = ""
    plugin_content: bytes = b""


NO_TEXTS = TagTexts()


class TagTable(msgspec.Struct, array_like=True, frozen=True):
    """The tags of one file as parallel columns, in order of first appearance, without the points themselves."""

    tags: list[str]
    kinds: list[str]
    counts: list[int]
    """Points of each tag."""
    first_steps: list[int]
    """0 for a tag without points."""
    last_steps: list[int]
    texts: dict[int, TagTexts]
    """By the tag's place, where any of them is not empty."""
    going_back: list[int]
    """Places of the tags of which a step is below the one before it."""

    @classmethod
    def of(cls, states: Sequence[TagState]) -> "TagTable":
        """Return what the table says of points."""
        texts = {
            place: TagTexts(state.display_name, state.description, state.plugin_content)
            for place, state in enumerate(states)
        }
        return cls(
            [state.tag for state in states],
            [state.kind for state in states],
            [len(state.steps) for state in states],
            [int(state.steps[0]) if len(state.steps) else 0 for state in states],
            [int(state.steps[-1]) if len(state.steps) else 0 for state in states],
            {place: found for place, found in texts.items() if found != NO_TEXTS},
            [place for place, state in enumerate(states) if state.goes_back],
        )

    def tags_of_kind(self, kind: str) -> list[str]:
        """Return the tags of one kind, in order."""
        return [tag for tag, own in zip(self.tags, self.kinds, strict=True) if own == kind]

    def names_of_kind(self, kind: str) -> tuple[tuple[str, str, str], ...]:
        """Return tags of one kind with their display names and descriptions, in order."""
        places = [place for place, own in enumerate(self.kinds) if own == kind]
        return tuple([(self.tags[place], *self.texts.get(place, NO_TEXTS)[:2]) for place in places])

    def plugin_content(self, place: int | None, kind: str) -> bytes | None:
        """Return that of the tag at a place; None where there is none, or it is of another kind."""
        if place is None or self.kinds[place] != kind:
            return None
        return self.texts.get(place, NO_TEXTS).plugin_content

    def is_sound(self, tags: int) -> bool:
        """Return whether it has so many tags, and columns that fit each other; a table from elsewhere may not."""
        columns = (self.tags, self.kinds, self.counts, self.first_steps, self.last_steps)
        return (
            {len(column) for column in columns} == {tags}
            and len(set(self.tags)) == tags
            and min(self.counts, default=0) >= 0
            and set(range(tags)).issuperset((*self.texts, *self.going_back))
        )


def places_of(tags: Sequence[str]) -> Mapping[str, int]:
    """Return where in a table each tag is."""
    return {tag: place for place, tag in enumerate(tags)}


class StoredPoints:
    """The points of a file at the moment when they were stored; any thread may ask for them.

    Args:
        table: the tags.
        load: gives the columns of the tag at a place of the table, from where they are stored; None where that is
            damaged or gone.
        read_again: gives those of all tags from the event file itself; raises OSError.
        places: where in the table each tag is; worked out where that is not given.
        keep: hold what was loaded, as to load it again is dear.
    """

    __slots__ = ("_keep", "_load", "_lock", "_read_again", "_states", "places", "table")

    def __init__(
        self,
        table: TagTable,
        load: Callable[[int], TagState | None],
        read_again: Callable[[], Sequence[TagState]],
        places: Mapping[str, int] | None = None,
        *,
        keep: bool = True,
    ) -> None:
        self._keep = keep
        self.table = table
        self.places: Mapping[str, int] = places_of(table.tags) if places is None else places
        """Where in the table each tag is."""
        self._load = load
        self._read_again = read_again
        self._states: dict[int, TagState] = {}
        self._lock = threading.Lock()

    def state(self, place: int) -> TagState:
        """Return the points of the tag at a place of the table.

        Raises:
            OSError: the stored columns cannot be used, and the event file is not there any more as it was.
        """
        state = self._states.get(place)
        if state is None:
            # Who comes second waits, rather than to check or even to read the same again.
            with self._lock:
                state = self._states.get(place)
                if state is None:
                    state = self._load(place)
                    if state is None:
                        self._states = dict(enumerate(self._read_again()))
                        state = self._states[place]
                    if self._keep:
                        self._states[place] = state
        return state

    def states(self) -> list[TagState]:
        """Return the points of all tags, in the table's order; raises as `state`."""
        return [self.state(place) for place in range(len(self.table.tags))]

    @property
    def count(self) -> int:
        """How many points all tags have."""
        return sum(self.table.counts)
