"""Search patterns that users type: regular expressions that neither hold a program up nor take its memory."""

import math
import re
from collections.abc import Iterable
from time import monotonic
from typing import Final

from stepscope.summary.errors import UserError
from stepscope.summary.full_install import needs_full_install

LONGEST_PATTERN: Final = 300
_SECONDS: Final = 0.5
TOO_SLOW: Final = "it takes too long to search with, as nested repetitions such as (a+)+ do"
_MOST_REPEATED: Final = 500_000
"""Parts that an expression may have once its repetitions are written out, as the library does: some 300 bytes each."""
_ESCAPED: Final = re.compile(r"\\.", re.DOTALL)
_RECURSION: Final = re.compile(r"\(\?(?:R|[+-]?\d|&|P>)")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_/=,:@% -]+")
"""What stands for itself in an expression."""
_COUNT: Final = re.compile(r"\{\s*(\d+)")


class PatternError(UserError):
    """What was typed is not a regular expression, or takes too long to search with."""


class Pattern:
    """A pattern to search for anywhere in a text, ignoring case.

    Args:
        text: a regular expression, or what to search for as it stands.
        literal: take ``text`` as it stands.

    Raises:
        PatternError: ``text`` is not a regular expression, or too long.
        NotInstalledError: the library of expressions is not there.
    """

    def __init__(self, text: str, *, literal: bool = False) -> None:
        if len(text) > LONGEST_PATTERN:
            raise PatternError(f"longer than {LONGEST_PATTERN} characters")
        self.text: Final = text
        if not literal:
            _check_cost(text)
        with needs_full_install("Searching by a pattern"):
            import regex
        try:
            self._compiled = regex.compile(regex.escape(text) if literal else text, regex.IGNORECASE)
        except (regex.error, RecursionError, OverflowError) as error:
            raise PatternError(str(error)) from None

    def matches(self, candidates: Iterable[str], *, seconds: float = _SECONDS) -> list[bool]:
        """Return whether each candidate contains the pattern.

        Raises:
            PatternError: all of them together took longer than ``seconds``. Some expressions take exponential time on
                some texts, and a search that does not end would keep everybody else waiting.
        """
        deadline = monotonic() + seconds
        found = []
        plain = self.text.lower() if _PLAIN.fullmatch(self.text) else None
        for candidate in candidates:
            if plain is not None and candidate.isascii():
                # A tenth of the time: most of what is searched for is part of a name.
                found.append(plain in candidate.lower())
                continue
            try:
                # Without "concurrent" other threads would wait for the search.
                left = max(deadline - monotonic(), 1e-3)
                found.append(self._compiled.search(candidate, timeout=left, concurrent=True) is not None)
            except (TimeoutError, MemoryError):
                raise PatternError(TOO_SLOW) from None
        return found

    def captured(self, text: str, *, seconds: float = _SECONDS) -> tuple[str, ...] | None:
        """Return what the capturing groups hold where the pattern is found first in a text.

        All that it found without groups.

        Returns:
            None where it is not found. A group that took no part is empty.

        Raises:
            PatternError: it took longer than ``seconds``.
        """
        try:
            found = self._compiled.search(text, timeout=seconds, concurrent=True)
        except (TimeoutError, MemoryError):
            raise PatternError(TOO_SLOW) from None
        return None if found is None else tuple(group or "" for group in found.groups()) or (found[0],)


def _check_cost(text: str) -> None:
    """Refuse what takes gigabytes before the time is over: recursion, and repetitions of repetitions.

    Raises:
        PatternError: the expression has one of them.
    """
    bare = _ESCAPED.sub("", text)
    if _RECURSION.search(bare):
        raise PatternError("it is recursive, such as (?R) and (?1) are, which can take any amount of memory")
    # Whatever is nested in whatever, this is the most that it comes to.
    repeated = len(text) * math.prod(max(int(count), 1) for count in _COUNT.findall(bare))
    if repeated > _MOST_REPEATED:
        raise PatternError("it repeats too much; numbers in braces such as {1000} are multiplied with each other")
