"""Points of an event file read at an earlier start: tags are available immediately, columns on demand."""

import bisect
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, TypeAlias

import msgspec

from stepscope.summary.points import TagState
from stepscope.summary.scalar_summaries import ScalarSummary, summary_of

_APART: Final = 16
"""Minimum distance between objects in memory, in bytes."""
_LOCKS: Final = [threading.Lock() for _ in range(61)]
"""Locks for loading points; one per file would take more memory than everything else about very many files."""


class TagTexts(NamedTuple):
    """Texts in the first value of a tag, other than its kind."""

    display_name: str = ""
    description: str = ""
    plugin_content: bytes = b""


NO_TEXTS = TagTexts()
Texts: TypeAlias = Mapping[int, TagTexts]
"""Texts in the first values of a file's tags, by the tag's index in its table; tags without texts are omitted."""
NONE_SAID: Final[Texts] = MappingProxyType({})


def texts_of_states(states: Sequence[TagState]) -> Texts:
    """Return the texts in the first values of tags."""
    texts = {
        place: TagTexts(state.display_name, state.description, state.plugin_content)
        for place, state in enumerate(states)
    }
    return {place: found for place, found in texts.items() if found != NO_TEXTS} or NONE_SAID


def are_texts_of(texts: Texts, tags: int) -> bool:
    """Return whether texts match the number of tags; texts from elsewhere may not."""
    return all(0 <= place < tags for place in texts)


class TagTable(msgspec.Struct, array_like=True, frozen=True):
    """The tags of one file as parallel columns, in order of first appearance, without the points themselves.

    Runs of a sweep share them, but not the texts of first values, such as hyperparameters.
    """

    tags: list[str]
    kinds: list[str]
    counts: list[int]
    """Number of points of each tag."""
    first_steps: list[int]
    """0 for a tag without points."""
    last_steps: list[int]
    going_back: list[int]
    """Indices, ascending, of the tags with a step that is below the one before it."""

    @classmethod
    def of(cls, states: Sequence[TagState]) -> "TagTable":
        """Return the table of the given points."""
        return cls(
            [state.tag for state in states],
            [state.kind for state in states],
            [len(state.steps) for state in states],
            [int(state.steps[0]) if len(state.steps) else 0 for state in states],
            [int(state.steps[-1]) if len(state.steps) else 0 for state in states],
            [place for place, state in enumerate(states) if state.goes_back],
        )

    def alone(self, place: int) -> "TagTable":
        """Return the table of only the tag at an index."""
        return TagTable(
            [self.tags[place]],
            [self.kinds[place]],
            [self.counts[place]],
            [self.first_steps[place]],
            [self.last_steps[place]],
            [0] if self.goes_back(place) else [],
        )

    def goes_back(self, place: int) -> bool:
        """Return whether the tag at an index has a step that is below the one before it."""
        found = bisect.bisect_left(self.going_back, place)
        return self.going_back[found : found + 1] == [place]

    def kind_of(self, place: int | None) -> str | None:
        """Return the kind of the tag at an index, if it exists."""
        return None if place is None else self.kinds[place]

    def tags_of_kind(self, kind: str) -> list[str]:
        """Return the tags of one kind, in order."""
        return [tag for tag, own in zip(self.tags, self.kinds, strict=True) if own == kind]

    def furthest_step(self, kind: str) -> int | None:
        """Return the last step of the tags of a kind, whose steps must not go back; None if they have no points."""
        columns = zip(self.kinds, self.counts, self.last_steps, strict=True)
        return max((last for own, count, last in columns if own == kind and count), default=None)

    def plugin_content(self, texts: Texts, place: int | None, kind: str) -> bytes | None:
        """Return the plugin content of the tag at an index, from its first value; None if the tag has another kind."""
        if place is None or self.kinds[place] != kind:
            return None
        return texts.get(place, NO_TEXTS).plugin_content

    def is_sound(self, tags: int) -> bool:
        """Return whether the table has ``tags`` tags and consistent columns; a table from elsewhere may not."""
        columns = (self.tags, self.kinds, self.counts, self.first_steps, self.last_steps)
        return (
            {len(column) for column in columns} == {tags}
            and len(set(self.tags)) == tags
            and min(self.counts, default=0) >= 0
            and all(before < after for before, after in pairwise([-1, *self.going_back, tags]))
        )


def places_of(tags: Sequence[str]) -> Mapping[str, int]:
    """Return the index of each tag in a table."""
    return {tag: place for place, tag in enumerate(tags)}


class KeptPoints(Protocol):
    """Storage of the points of a file."""

    @property
    def texts(self) -> Texts:
        """The texts in the first values of the tags."""
        ...

    def load(self, place: int) -> TagState | None:
        """Return the columns of the tag at an index of the table; None if they are damaged or no longer exist."""
        ...

    def has_picture(self, place: int) -> bool:
        """Return whether a first picture of the tag at an index of the table needs only a few of its points."""
        ...

    def picture(self, place: int) -> TagState | None:
        """Return the points of that picture; None if there are none, or they are damaged or no longer exist."""
        ...

    def summary(self, place: int) -> ScalarSummary | None:
        """Return the summary of the scalar tag at an index of the table; None if it is not available."""
        ...


class StoredPoints:
    """The points of a file at the moment when they were stored; thread-safe.

    Args:
        table: the tags.
        kept: storage of the points.
        read_again: returns the points of all tags from the event file itself; raises OSError.
        places: index of each tag in the table; computed if not given.
        keep: hold loaded points in memory, as loading them again is expensive.
    """

    __slots__ = ("_keep", "_kept", "_read_again", "_states", "places", "table")

    def __init__(
        self,
        table: TagTable,
        kept: KeptPoints,
        read_again: Callable[[], Sequence[TagState]],
        places: Mapping[str, int] | None = None,
        *,
        keep: bool = True,
    ) -> None:
        self._keep = keep
        self._kept = kept
        self.table = table
        self.places: Mapping[str, int] = places_of(table.tags) if places is None else places
        """Index of each tag in the table."""
        self._read_again = read_again
        self._states: dict[int, TagState] | None = None
        """The loaded points, once any have been loaded."""

    @property
    def texts(self) -> Texts:
        """The texts in the first values of the tags."""
        return self._kept.texts

    def state(self, place: int) -> TagState:
        """Return the points of the tag at an index of the table.

        Raises:
            OSError: the stored columns cannot be used, and the event file has changed or no longer exists.
        """
        states = self._states
        state = None if states is None else states.get(place)
        if state is None:
            # Second callers wait, rather than check or even read the same again.
            with _LOCKS[id(self) // _APART % len(_LOCKS)]:
                states = self._states or {}
                state = states.get(place)
                if state is None:
                    state = self._kept.load(place)
                    if state is None:
                        states = dict(enumerate(self._read_again()))
                        state = states[place]
                        self._states = states
                    if self._keep:
                        states[place] = state
                        self._states = states
        return state

    def has_picture(self, place: int) -> bool:
        """Return whether a few points of the tag at an index of the table are faster to get than all of them."""
        is_loaded = self._states is not None and place in self._states
        return not is_loaded and self._kept.has_picture(place)

    def picture(self, place: int) -> TagState:
        """Return a few points of a tag that has a picture, or else all of them; raises as `state`."""
        found = self._kept.picture(place) if self.has_picture(place) else None
        return self.state(place) if found is None else found

    def summary(self, place: int) -> ScalarSummary | None:
        """Return the summary of the scalar tag at an index of the table; None if it has no points.

        Raises as `state`.
        """
        summary = self._kept.summary(place)
        if summary is None and self.table.counts[place]:
            state = self.state(place)
            summary = summary_of(state.steps, state.wall_times, state.values)
        return summary

    def states(self) -> list[TagState]:
        """Return the points of all tags, in table order; raises as `state`."""
        return [self.state(place) for place in range(len(self.table.tags))]

    @property
    def count(self) -> int:
        """Total number of points of all tags."""
        return sum(self.table.counts)
