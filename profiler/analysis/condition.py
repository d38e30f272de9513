"""Conditions on a trace's metrics: ``gpu_idle > 20% or step_time >= 1.5 s``.

The grammar, loosest first::

    or         := and ("or" and)*
    and        := not ("and" not)*
    not        := "not" not | "(" or ")" | comparison
    comparison := metric ("<" | "<=" | ">" | ">=" | "==" | "!=") number [unit]

A metric is a name of `profiler.analysis.metrics`. Percentages are numbers, with or without "%"; times have a unit: ns,
us, ms or s; bytes one of B, kB, MB, GB, KiB, MiB, GiB or none. Nothing is evaluated as Python.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal, TypeAlias, assert_never, cast

from profiler.analysis.metrics import DEFINITIONS, Metric, Unit
from summary.errors import UserError

Operator = Literal["<", "<=", ">", ">=", "==", "!="]
LONGEST_CONDITION: Final = 2_000
DEEPEST_NESTING: Final = 50
UNITS: Final[Mapping[Unit, Mapping[str, float]]] = {
    "percent": {"%": 1.0, "": 1.0},
    "ns": {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9},
    "bytes": {"": 1.0, "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30},
    "count": {"": 1.0},
}
_TOKEN: Final = re.compile(
    r"\s*(?:(?P<number>[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)\s*(?P<unit>%|[A-Za-z]+(?!\w))?"
    r"|(?P<operator><=|>=|==|!=|<|>)|(?P<mark>[()])|(?P<word>[A-Za-z_]\w*))"
)
_KEYWORDS: Final = frozenset({"and", "or", "not"})


class ConditionError(UserError):
    """What was given is no condition on metrics."""


@dataclass(frozen=True)
class Comparison:
    """A metric and the number it is compared with, in the metric's own unit."""

    metric: str
    operator: Operator
    number: float


@dataclass(frozen=True)
class Not:
    """The opposite of a condition."""

    condition: "Condition"


@dataclass(frozen=True)
class Both:
    """All of these, or any of them."""

    kind: Literal["and", "or"]
    conditions: tuple["Condition", ...]


Condition: TypeAlias = Comparison | Not | Both


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    unit: str
    at: int


def parse(text: str) -> Condition:
    """Read a condition.

    Raises:
        ConditionError: it does not follow the grammar, or names no metric; the message says where.
    """
    if len(text) > LONGEST_CONDITION:
        raise ConditionError(f"The condition is longer than {LONGEST_CONDITION} characters. Expected a short one.")
    return _Parser(_tokens(text), text).whole()


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None:
            place = at + len(text[at:]) - len(text[at:].lstrip())
            hint = ' Equality is "==".' if text[place] == "=" else ""
            raise ConditionError(f"In {text!r}, {text[place]!r} at character {place + 1} is not understood.{hint}")
        unit = found["unit"] or ""
        after = found.end()
        if unit in _KEYWORDS:
            after, unit = found.start("unit"), ""
        kind = next(name for name in ("number", "operator", "mark", "word") if found[name] is not None)
        tokens.append(_Token(kind, found[kind], unit, found.start(kind)))
        at = after
    return tokens


class _Parser:
    """Recursive descent over the tokens."""

    def __init__(self, tokens: Sequence[_Token], text: str) -> None:
        self._tokens = tokens
        self._text = text
        self._next = 0
        self._depth = 0

    def whole(self) -> Condition:
        condition = self._either("or")
        if self._next < len(self._tokens):
            raise self._expected('"and", "or" or the end')
        return condition

    def _either(self, kind: Literal["and", "or"]) -> Condition:
        part: Callable[[], Condition] = self._not if kind == "and" else lambda: self._either("and")
        conditions = [part()]
        while self._take("word", kind):
            conditions.append(part())
        return conditions[0] if len(conditions) == 1 else Both(kind, tuple(conditions))

    def _not(self) -> Condition:
        self._depth += 1
        if self._depth > DEEPEST_NESTING:
            raise ConditionError(f"The condition is nested deeper than {DEEPEST_NESTING}. Expected a flatter one.")
        try:
            if self._take("word", "not"):
                return Not(self._not())
            if self._take("mark", "("):
                condition = self._either("or")
                if not self._take("mark", ")"):
                    raise self._expected('")"')
                return condition
            return self._comparison()
        finally:
            self._depth -= 1

    def _comparison(self) -> Comparison:
        name = self._token("word", "a metric")
        if name.text not in DEFINITIONS:
            near = get_close_matches(name.text, DEFINITIONS, n=3) or sorted(DEFINITIONS)
            raise ConditionError(f"There is no metric {name.text!r}. Expected one such as {', '.join(near)}.")
        operator = self._token("operator", "a comparison: <, <=, >, >=, == or !=")
        number = self._token("number", "a number")
        units = UNITS[DEFINITIONS[name.text].unit]
        if number.unit not in units:
            expected = ", ".join(unit for unit in units if unit) or "no unit"
            given = repr(number.unit) if number.unit else "without a unit"
            raise ConditionError(f"{name.text} cannot be compared with a number {given}. Expected {expected}.")
        return Comparison(name.text, cast(Operator, operator.text), float(number.text) * units[number.unit])

    def _token(self, kind: str, what: str) -> _Token:
        token = self._tokens[self._next] if self._next < len(self._tokens) else None
        if token is None or token.kind != kind or token.text in _KEYWORDS:
            raise self._expected(what)
        self._next += 1
        return token

    def _take(self, kind: str, text: str) -> bool:
        token = self._tokens[self._next] if self._next < len(self._tokens) else None
        if token is None or token.kind != kind or token.text != text:
            return False
        self._next += 1
        return True

    def _expected(self, what: str) -> ConditionError:
        token = self._tokens[self._next] if self._next < len(self._tokens) else None
        found = "it ends" if token is None else f"{token.text!r} stands at character {token.at + 1}"
        return ConditionError(f"In {self._text!r}, expected {what}, but {found}.")


def named(condition: Condition) -> tuple[str, ...]:
    """The metrics that a condition names, each once, in order."""
    match condition:
        case Comparison(metric, _, _):
            return (metric,)
        case Not(inner):
            return named(inner)
        case Both(_, conditions):
            return tuple(dict.fromkeys(name for part in conditions for name in named(part)))
        case _:
            assert_never(condition)


def holds(condition: Condition, known: Mapping[str, Metric]) -> bool:
    """Whether a condition holds for a trace's metrics.

    Raises:
        ConditionError: the trace does not tell one of the metrics; to take that for "fine" would hide a broken check.
    """
    match condition:
        case Comparison(name, operator, number):
            value = known[name].value
            if value != value:
                raise ConditionError(
                    f"The trace does not tell {name} ({known[name].meaning}). Expected a trace that does: see what "
                    "stepscope analyze prints for it."
                )
            return _compare(value, operator, number)
        case Not(inner):
            return not holds(inner, known)
        case Both(kind, conditions):
            results = [holds(part, known) for part in conditions]
            return all(results) if kind == "and" else any(results)
        case _:
            assert_never(condition)


def _compare(value: float, operator: Operator, number: float) -> bool:
    match operator:
        case "<":
            return value < number
        case "<=":
            return value <= number
        case ">":
            return value > number
        case ">=":
            return value >= number
        case "==":
            return value == number
        case "!=":
            return value != number
        case _:
            assert_never(operator)
