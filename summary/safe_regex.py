"""Search patterns typed by users: regular expressions with bounded time and memory."""

import math
import re
from collections.abc import Iterable
from time import monotonic
from typing import TYPE_CHECKING, Final

from stepscope.summary.errors import UserError
from stepscope.summary.full_install import needs_full_install

if TYPE_CHECKING:
    import regex

LONGEST_PATTERN: Final = 300
_SECONDS: Final = 0.5
TOO_SLOW: Final = "it takes too long to search with, as nested repetitions such as (a+)+ do"
_MOST_REPEATED: Final = 500_000
"""Maximum number of parts after the library expands repetitions; each takes some 300 bytes."""
_ESCAPED: Final = re.compile(r"\\.", re.DOTALL)
_RECURSION: Final = re.compile(r"\(\?(?:R|\d|[+-](?![A-Za-z])|&|P(?![<=]))")
"""With the flag "x", spaces and comments may come after a sign or a P."""
_PLAIN: Final = re.compile(r"[A-Za-z0-9_/=,:@% -]+")
"""Characters that match themselves in an expression."""
_COUNT: Final = re.compile(r"\{\s*(\d+)")


class PatternError(UserError):
    """The text is not a valid regular expression, or a search with it takes too long."""


class Pattern:
    """A pattern to search for anywhere in a text, ignoring case.

    Args:
        text: a regular expression or literal text.
        literal: treat ``text`` as literal text.

    Raises:
        PatternError: ``text`` is not a regular expression, or too long.
        NotInstalledError: the regular expression library is not installed.
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
            PatternError: all candidates together took longer than ``seconds``. Some expressions take exponential time
                on some texts, and an endless search would block all other requests.
        """
        deadline = monotonic() + seconds
        found = []
        plain = self.text.lower() if _PLAIN.fullmatch(self.text) else None
        for candidate in candidates:
            if plain is not None and candidate.isascii():
                # Ten times as fast, and most searches are for part of a name.
                found.append(plain in candidate.lower())
                continue
            found.append(self._first_match(candidate, deadline) is not None)
        return found

    def captured(self, texts: Iterable[str], *, seconds: float = _SECONDS) -> list[tuple[str, ...] | None]:
        """Return the contents of the capturing groups at the first match in each text.

        Without groups, return the whole match.

        Returns:
            The contents, with an empty text for each group that did not participate; None if there is no match.

        Raises:
            PatternError: all texts together took longer than ``seconds``.
        """
        deadline = monotonic() + seconds
        matches = (self._first_match(text, deadline) for text in texts)
        return [
            None if found is None else tuple(group or "" for group in found.groups()) or (found[0],)
            for found in matches
        ]

    def _first_match(self, text: str, deadline: float) -> "regex.Match[str] | None":
        left = deadline - monotonic()
        if left <= 0:
            raise PatternError(TOO_SLOW)
        try:
            # Without "concurrent", other threads would wait for the search.
            return self._compiled.search(text, timeout=left, concurrent=True)
        except (TimeoutError, MemoryError):
            raise PatternError(TOO_SLOW) from None


def _check_cost(text: str) -> None:
    """Reject expressions that take gigabytes within the time limit: recursion, and repetitions of repetitions.

    Raises:
        PatternError: the expression has either.
    """
    bare = _ESCAPED.sub(".", text)
    if _RECURSION.search(bare):
        raise PatternError("it is recursive, such as (?R) and (?1) are, which can take any amount of memory")
    # This is the maximum, however the repetitions are nested.
    repeated = len(text) * math.prod(max(int(count), 1) for count in _COUNT.findall(bare))
    if repeated > _MOST_REPEATED:
        raise PatternError("it repeats too much; numbers in braces such as {1000} are multiplied with each other")
