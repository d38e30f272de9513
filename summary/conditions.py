"""What languages of conditions share: tokens, ``and``, ``or``, ``not`` and parentheses. Nothing is evaluated as Python.

The grammar, loosest first; what a comparison is, each language says::

    or  := and ("or" and)*
    and := not ("and" not)*
    not := "not" not | "(" or ")" | comparison
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeAlias, TypeVar

from stepscope.summary.errors import UserError

C = TypeVar("C")
LONGEST: Final = 2_000
"""Characters."""
DEEPEST_NESTING: Final = 50
NUMBER: Final = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
"""A regular expression of numbers."""


@dataclass(frozen=True)
class Not(Generic[C]):
    """The opposite of a condition."""

    condition: "Tree[C]"


@dataclass(frozen=True)
class BoolOp(Generic[C]):
    """All of these, or any of them."""

    kind: Literal["and", "or"]
    conditions: tuple["Tree[C]", ...]


Tree: TypeAlias = C | Not[C] | BoolOp[C]
"""A condition whose comparisons are of the type ``C``."""


@dataclass(frozen=True)
class Token:
    """A part of what was typed: the name of the group of the language's regular expression that it matches."""

    kind: str
    text: str
    at: int
    """Characters before it."""


class ConditionParser(ABC, Generic[C]):
    """Recursive descent over the tokens of one condition.

    Args:
        text: what was typed.
        token: a regular expression of one token and the blanks before it, with a named group for each kind of token.
            Keywords are of the kind "word", parentheses of the kind "mark".
        error: what is raised, given a message that begins in lower case and ends without a full stop.

    Raises:
        UserError: by ``error``, as all methods do.
    """

    keywords: frozenset[str] = frozenset({"and", "or", "not"})
    """Words that name nothing."""

    def __init__(self, text: str, token: re.Pattern[str], error: Callable[[str], UserError]) -> None:
        self.error: Final = error
        if len(text) > LONGEST:
            raise error(f"longer than {LONGEST} characters")
        self._tokens: Final = self._scan(text, token)
        self._next = 0
        self._depth = 0

    @abstractmethod
    def comparison(self) -> Tree[C]:
        """Return what comes next, as a condition without ``and`` and ``or``."""

    def whole(self) -> Tree[C]:
        """Return all that was typed, as a condition."""
        condition = self._either("or")
        if self._next < len(self._tokens):
            raise self.expected('"and", "or" or the end')
        return condition

    def peek(self) -> Token | None:
        """Return the next token; None at the end."""
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def take(self, kind: str, text: str) -> bool:
        """Pass over the next token where it is this one, and say whether it was."""
        token = self.peek()
        if token is None or token.kind != kind or token.text != text:
            return False
        self._next += 1
        return True

    def take_one(self, kinds: tuple[str, ...], what: str) -> Token:
        """Pass over a token of one of some kinds, which is no keyword; fails with ``what`` was expected."""
        token = self.peek()
        if token is None or token.kind not in kinds or (token.kind == "word" and token.text in self.keywords):
            raise self.expected(what)
        self._next += 1
        return token

    def expected(self, what: str) -> UserError:
        """Return what to raise where something else comes next."""
        token = self.peek()
        if token is None and self._tokens:
            return self.error(f'incomplete: expected {what} after "{self._tokens[-1].text}"')
        found = "it ends" if token is None else f"{token.text!r} stands at character {token.at + 1}"
        return self.error(f"expected {what}, but {found}")

    def _scan(self, text: str, token: re.Pattern[str]) -> list[Token]:
        tokens: list[Token] = []
        at, end = 0, len(text.rstrip())
        while at < end:
            found = token.match(text, at)
            if found is None or found.lastgroup is None:
                place = at + len(text[at:]) - len(text[at:].lstrip())
                hint = '; equality is "=="' if text[place] == "=" else ""
                raise self.error(f"{text[place]!r} at character {place + 1} is not understood{hint}")
            tokens.append(Token(found.lastgroup, found[found.lastgroup], found.start(found.lastgroup)))
            at = found.end()
        return tokens

    def _either(self, kind: Literal["and", "or"]) -> Tree[C]:
        part: Callable[[], Tree[C]] = self._not if kind == "and" else lambda: self._either("and")
        conditions = [part()]
        while self.take("word", kind):
            conditions.append(part())
        return conditions[0] if len(conditions) == 1 else BoolOp(kind, tuple(conditions))

    def _not(self) -> Tree[C]:
        self._depth += 1
        if self._depth > DEEPEST_NESTING:
            raise self.error(f"nested deeper than {DEEPEST_NESTING}")
        try:
            if self.take("word", "not"):
                return Not(self._not())
            if self.take("mark", "("):
                condition = self._either("or")
                if not self.take("mark", ")"):
                    raise self.expected('")"')
                return condition
            return self.comparison()
        finally:
            self._depth -= 1
