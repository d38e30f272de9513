"""Search of all texts of the shown runs, a few hundred at a time, so that each answer comes quickly."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from time import monotonic
from typing import Final

from stepscope.dashboard.page.safe_html import raw_text
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.safe_regex import TOO_SLOW, Pattern, PatternError
from stepscope.summary.series import Series

MOST_TEXTS: Final = 400
"""Maximum number of texts that one request searches."""
MOST_CHARACTERS: Final = 8_000_000
"""Maximum number of characters that one request searches, except for the last text, of which at most this many."""
MOST_HITS: Final = 100
"""Maximum number of texts with hits in one answer."""
MOST_COUNTED: Final = 10_000
"""Maximum number of matches counted in one text."""
MOST_WORDS: Final = 40
"""Maximum number of distinct strings highlighted in one text."""
_SECONDS: Final = 0.5
_AROUND: Final = 40


class TextPattern(Pattern):
    """A pattern that also returns the positions of its matches in a text."""

    def spans(self, text: str, *, seconds: float = _SECONDS) -> Iterator[tuple[int, int]]:
        """Return the start and end of every nonempty match, in order.

        Raises:
            PatternError: if it takes longer than ``seconds``.
        """
        try:
            for found in self._compiled.finditer(text, timeout=max(seconds, 1e-3), concurrent=True):
                if found.end() > found.start():
                    yield found.start(), found.end()
        except TimeoutError:
            raise PatternError(TOO_SLOW) from None

    def words(self, text: str, *, seconds: float = _SECONDS) -> list[str]:
        """Return the distinct strings that match, at most `MOST_WORDS`.

        Raises:
            PatternError: if it takes longer than ``seconds``.
        """
        spans = islice(self.spans(text, seconds=seconds), MOST_COUNTED)
        return list(islice(dict.fromkeys(text[start:end] for start, end in spans), MOST_WORDS))


@dataclass(frozen=True)
class Place:
    """Where a search continues: the series by tag and run, and the first of its texts that is not yet searched."""

    tag: str
    run: str
    before: int
    """Texts with a smaller index are still to be searched: within a series, the newest comes first."""


@dataclass(frozen=True)
class Hit:
    """A text in which the pattern was found."""

    tag: str
    run: str
    index: int
    step: int
    count: int
    """Number of matches in the text, up to `MOST_COUNTED`."""
    before: str
    """The text before the first match, on one line."""
    found: str
    after: str


@dataclass(frozen=True)
class Found:
    """The results of one request."""

    hits: tuple[Hit, ...]
    searched: int
    """Number of texts searched so far, including those before ``place``."""
    total: int
    unreadable: int
    """Number of texts of this request that could not be read."""
    place: Place | None
    """Where to continue; None at the end."""


def search(chosen: Sequence[Series], pattern: TextPattern, place: Place | None, *, seconds: float = _SECONDS) -> Found:
    """Search texts, series by series, until enough hits are found, enough texts are searched, or time is up.

    Args:
        chosen: the series, in the order in which they are searched.
        pattern: the pattern to search for.
        place: where to continue; None to start. If its series is gone, the search starts over.
        seconds: time after which the next text is left to the next request.

    Raises:
        PatternError: if the pattern takes too long.
    """
    deadline = monotonic() + seconds
    at, before = _resume(chosen, place)
    searched = sum(len(series) for series in chosen[:at])
    if at < len(chosen):
        searched += len(chosen[at]) - before
    total = sum(len(series) for series in chosen)
    hits: list[Hit] = []
    unreadable = texts = characters = 0
    while at < len(chosen):
        series = chosen[at]
        while before > 0:
            if texts >= MOST_TEXTS or characters >= MOST_CHARACTERS or len(hits) >= MOST_HITS or monotonic() > deadline:
                goes_on = Place(series.tag, series.run, before)
                return Found(tuple(hits), searched + texts, total, unreadable, goes_on)
            before -= 1
            texts += 1
            try:
                text = raw_text(series.read(before).strings)[:MOST_CHARACTERS]
            except PayloadError:
                unreadable += 1
                continue
            characters += len(text)
            hit = _hit(series, before, text, pattern)
            hits += [hit] if hit else []
        at += 1
        before = len(chosen[at]) if at < len(chosen) else 0
    return Found(tuple(hits), searched + texts, total, unreadable, None)


def _resume(chosen: Sequence[Series], place: Place | None) -> tuple[int, int]:
    for at, series in enumerate(chosen):
        if place is not None and (series.tag, series.run) == (place.tag, place.run):
            return at, min(place.before, len(series))
    return 0, len(chosen[0]) if chosen else 0


def _hit(series: Series, index: int, text: str, pattern: TextPattern) -> Hit | None:
    spans = list(islice(pattern.spans(text), MOST_COUNTED))
    if not spans:
        return None
    start, end = spans[0]
    return Hit(
        series.tag,
        series.run,
        index,
        int(series.steps[index]),
        len(spans),
        _one_line(text[max(0, start - _AROUND) : start]),
        _one_line(text[start : min(end, start + 2 * _AROUND)]),
        _one_line(text[end : end + _AROUND]),
    )


def _one_line(text: str) -> str:
    return " ".join(text.split()) if not text.strip() else text.replace("\n", " ").replace("\r", " ").replace("\t", " ")
