"""Differences between two texts: lines, and words inside changed lines. Bounded in size and time."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from time import monotonic
from typing import Final, Literal, TypeAlias

from stepscope.dashboard.server.numbers import count

Change: TypeAlias = Literal["same", "added", "removed", "changed"]
Segment: TypeAlias = tuple[str, bool]
"""A piece of a line, and whether it changed."""

MOST_LINES: Final = 5_000
MOST_CHARACTERS: Final = 500_000
MOST_WORDS: Final = 400
"""Maximum number of words of a line that is compared word by word."""
_MOST_PAIRS: Final = 1_000_000
"""Maximum number of pairs of equal lines; the time for one step of the comparison grows with it."""
_SECONDS: Final = 1.0
_ALIKE: Final = 0.3
"""Lines that share a smaller fraction of their words count as one removed and one added, without emphasis."""
_WORD: Final = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True)
class Row:
    """A line of the old text beside a line of the new one; None if one is missing."""

    change: Change
    old_number: int | None
    """Counted from 1."""
    new_number: int | None
    old: tuple[Segment, ...]
    new: tuple[Segment, ...]


@dataclass(frozen=True)
class Diff:
    """Two texts side by side."""

    rows: tuple[Row, ...]
    added: int
    """Number of added lines."""
    removed: int
    notice: str
    """Notice about what was not compared; empty if everything was."""


class _OutOfTimeError(Exception):
    pass


class _TimedMatcher(SequenceMatcher[str]):
    """Stops at a deadline; its steps are short because pairs of equal lines are limited."""

    def __init__(self, old: Sequence[str], new: Sequence[str], deadline: float, *, autojunk: bool) -> None:
        self._deadline: Final = deadline
        super().__init__(None, old, new, autojunk=autojunk)

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None):  # type: ignore[no-untyped-def]
        if monotonic() > self._deadline:
            raise _OutOfTimeError
        return super().find_longest_match(alo, ahi, blo, bhi)


def diff(old: str, new: str, *, seconds: float = _SECONDS) -> Diff:
    """Compare two texts line by line, and replaced lines word by word.

    Args:
        old: the text to compare with.
        new: the text that is viewed.
        seconds: time limit; what is not compared by then is returned as removed and added.
    """
    deadline = monotonic() + seconds
    notices: list[str] = []
    old_lines, new_lines = (_lines(text, notices) for text in (old, new))
    rows: list[Row] = []
    for tag, a, b, c, d in _opcodes(old_lines, new_lines, deadline, notices):
        if tag == "equal":
            pairs = enumerate(zip(old_lines[a:b], new_lines[c:d], strict=True))
            rows += [Row("same", a + i + 1, c + i + 1, ((x, False),), ((y, False),)) for i, (x, y) in pairs]
            continue
        both = min(b - a, d - c)
        rows += [_changed(a + i, c + i, old_lines, new_lines, deadline) for i in range(both)]
        rows += [Row("removed", i + 1, None, ((old_lines[i], False),), ()) for i in range(a + both, b)]
        rows += [Row("added", None, i + 1, (), ((new_lines[i], False),)) for i in range(c + both, d)]
    return Diff(
        tuple(rows),
        sum(row.change in ("added", "changed") for row in rows),
        sum(row.change in ("removed", "changed") for row in rows),
        " ".join(dict.fromkeys(notices)),
    )


def _lines(text: str, notices: list[str]) -> list[str]:
    if len(text) > MOST_CHARACTERS:
        notices.append(f"Only the first {count(MOST_CHARACTERS)} characters are compared.")
        text = text[:MOST_CHARACTERS]
    lines = text.split("\n") if text else []
    if len(lines) > MOST_LINES:
        notices.append(f"Only the first {count(MOST_LINES)} of {count(len(lines))} lines are compared.")
    return [line.removesuffix("\r") for line in lines[:MOST_LINES]]


def _opcodes(
    old: list[str], new: list[str], deadline: float, notices: list[str]
) -> Iterator[tuple[str, int, int, int, int]]:
    """Return the result of `SequenceMatcher.get_opcodes`, with equal lines at both ends left out of the search."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    a, b = old[start : len(old) - end], new[start : len(new) - end]
    if start:
        yield "equal", 0, start, 0, start
    for tag, i, j, k, m in _middle(a, b, deadline, notices):
        yield tag, start + i, start + j, start + k, start + m
    if end:
        yield "equal", len(old) - end, len(old), len(new) - end, len(new)


def _middle(a: list[str], b: list[str], deadline: float, notices: list[str]) -> list[tuple[str, int, int, int, int]]:
    if not a and not b:
        return []
    times = Counter(b)
    pairs = sum(times[line] for line in a)
    # Lines that recur throughout the text, such as empty ones, reveal little about what belongs together.
    matcher = _TimedMatcher(a, b, deadline, autojunk=pairs > _MOST_PAIRS)
    try:
        return [(str(tag), i, j, k, m) for tag, i, j, k, m in matcher.get_opcodes()]
    except _OutOfTimeError:
        notices.append(
            "Comparing took too long: everything between the first and last difference is shown as one change."
        )
        return [("replace", 0, len(a), 0, len(b))]


def _changed(i: int, j: int, old: list[str], new: list[str], deadline: float) -> Row:
    before, after = _words(old[i], new[j], deadline)
    return Row("changed", i + 1, j + 1, before, after)


def _words(old: str, new: str, deadline: float) -> tuple[tuple[Segment, ...], tuple[Segment, ...]]:
    a, b = _WORD.findall(old), _WORD.findall(new)
    whole = ((old, False),), ((new, False),)
    if not a or not b or max(len(a), len(b)) > MOST_WORDS or monotonic() > deadline:
        return whole
    try:
        matcher = _TimedMatcher(a, b, deadline, autojunk=False)
        if matcher.ratio() < _ALIKE:
            return whole
        codes = matcher.get_opcodes()
    except _OutOfTimeError:
        return whole
    return (
        tuple(("".join(a[i:j]), tag != "equal") for tag, i, j, _, _ in codes if j > i),
        tuple(("".join(b[k:m]), tag != "equal") for tag, _, _, k, m in codes if m > k),
    )
