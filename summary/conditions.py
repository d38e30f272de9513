"""The shared part of condition languages: tokens, ``and``, ``or``, ``not`` and parentheses.

Nothing is evaluated as Python. The grammar, loosest first; each language defines its own comparisons::

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
"""Maximum length of a condition in characters."""
DEEPEST_NESTING: Final = 50
NUMBER: Final = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
"""A regular expression that matches numbers."""


@dataclass(frozen=True)
class Not(Generic[C]):
    """The negation of a condition."""

    condition: "Tree[C]"


@dataclass(frozen=True)
class BoolOp(Generic[C]):
    """All of several conditions, or any of them."""

    kind: Literal["and", "or"]
    conditions: tuple["Tree[C]", ...]


Tree: TypeAlias = C | Not[C] | BoolOp[C]
"""A condition whose comparisons are of the type ``C``."""


@dataclass(frozen=True)
class Token:
    """A part of the input; ``kind`` is the group of the language's regular expression that it matches."""

    kind: str
    text: str
    at: int
    """Number of characters before it."""


class ConditionParser(ABC, Generic[C]):
    """Recursive descent over the tokens of one condition.

    Args:
        text: the condition as typed.
        token: a regular expression for one token and the blanks before it, with a named group for each kind of token.
            Keywords have the kind "word", parentheses the kind "mark".
        error: returns the error to raise, given a message that begins in lowercase and ends without a period.

    Raises:
        UserError: created by ``error``; all methods raise it.
    """

    keywords: frozenset[str] = frozenset({"and", "or", "not"})
    """Words that cannot be names."""

    def __init__(self, text: str, token: re.Pattern[str], error: Callable[[str], UserError]) -> None:
        self.error: Final = error
        if len(text) > LONGEST:
            raise error(f"longer than {LONGEST} characters")
        self._tokens: Final = self._scan(text, token)
        self._next = 0
        self._depth = 0

    @abstractmethod
    def comparison(self) -> Tree[C]:
        """Parse the next tokens as a condition without ``and`` and ``or``."""

    def whole(self) -> Tree[C]:
        """Parse the whole input as a condition."""
        condition = self._either("or")
        if self._next < len(self._tokens):
            raise self.expected('"and", "or" or the end')
        return condition

    def peek(self) -> Token | None:
        """Return the next token; None at the end."""
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def take(self, kind: str, text: str) -> bool:
        """Consume the next token if it has this kind and text; return whether it did."""
        token = self.peek()
        if token is None or token.kind != kind or token.text != text:
            return False
        self._next += 1
        return True

    def take_one(self, kinds: tuple[str, ...], what: str) -> Token:
        """Consume and return a token of these kinds that is not a keyword; the error says ``what`` was expected."""
        token = self.peek()
        if token is None or token.kind not in kinds or (token.kind == "word" and token.text in self.keywords):
            raise self.expected(what)
        self._next += 1
        return token

    def expected(self, what: str) -> UserError:
        """Return the error to raise if something other than ``what`` comes next."""
        token = self.peek()
        if token is None and self._tokens:
            return self.error(f'incomplete: expected {what} after "{self._tokens[-1].text}"')
        found = "the expression is empty" if token is None else f"found {token.text!r} at character {token.at + 1}"
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
