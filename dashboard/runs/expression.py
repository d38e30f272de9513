"""Conditions on runs that users type: ``lr < 0.01 and loss.last < 0.2 or name ~ "adam"``.

Comparisons are combined as in `stepscope.summary.conditions`::

    comparison := operand ("<" | "<=" | ">" | ">=" | "==" | "!=" | "~" | "!~") operand | operand ["not"] "in" list
    list       := "(" operand ("," operand)* ")"
    operand    := field | number | string | "true" | "false"
    field      := letters, digits, "_", ".", "/", "-", or anything between backquotes

A field is ``name``, ``group``, ``step`` (the furthest step), a hyperparameter, or a metric: a scalar tag with
``.last``, ``.min`` or ``.max``, by default the last value. ``~`` searches for a regular expression. Comparisons with a
value that a run does not have are false. Nothing is evaluated as Python.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal, TypeAlias, assert_never, cast, get_args

from stepscope.dashboard.runs.facts import Facts, FactValue, Field, HParamField, MetricField, Statistic
from stepscope.dashboard.runs.grouping import shown_value
from stepscope.summary.conditions import NUMBER, BoolOp, ConditionParser, Not, Tree
from stepscope.summary.errors import UserError
from stepscope.summary.safe_regex import Pattern, PatternError

Operator = Literal["<", "<=", ">", ">=", "==", "!=", "~", "!~"]
BuiltIn = Literal["name", "group", "step"]
MOST_PATTERNS: Final = 20
"""Maximum number of regular expressions; each may take as long as a search may."""
_RUNS_AT_ONCE: Final = 1_000

_TOKEN: Final = re.compile(
    rf"""\s*(?:
      (?P<number>{NUMBER}(?!\w))
    | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<quoted>`[^`]+`)
    | (?P<operator><=|>=|==|!=|!~|<|>|~)
    | (?P<mark>[(),])
    | (?P<word>[^\W\d][\w./-]*)
    )""",
    re.VERBOSE,
)
_LOOKS_LIKE: Final = re.compile(r"<=|>=|==|!=|!~|<|>|~|\bin\s*\(")
_QUOTED: Final = re.compile(r""" "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' | `[^`]*` """, re.VERBOSE)


class ExpressionError(UserError):
    """The text is not a condition, or names something that no run has."""


@dataclass(frozen=True)
class Constant:
    """A number, a string or a Boolean."""

    value: float | str | bool


@dataclass(frozen=True)
class Named:
    """A field as typed."""

    name: str


@dataclass(frozen=True)
class Comparison:
    """Two operands and the relation that must hold between them."""

    left: "Operand"
    operator: Operator
    right: "Operand"


@dataclass(frozen=True)
class Membership:
    """An operand that must equal one of several others."""

    operand: "Operand"
    options: tuple["Operand", ...]


Operand: TypeAlias = Constant | Named
Condition: TypeAlias = Tree[Comparison | Membership]


def looks_like_expression(text: str) -> bool:
    """Return whether a search is a condition, which compares something, not a regular expression."""
    bare = _QUOTED.sub("``", text)
    return "(?" not in bare and _LOOKS_LIKE.search(bare) is not None


def parse(text: str) -> Condition:
    """Read a condition.

    Raises:
        ExpressionError: the text does not follow the grammar; the message tells where.
    """
    return _Parser(text, _TOKEN, ExpressionError).whole()


class _Parser(ConditionParser[Comparison | Membership]):
    keywords = frozenset({"and", "or", "not", "in"})
    _patterns = 0

    def comparison(self) -> Condition:
        left = self._operand()
        if self.take("word", "not"):
            if not self.take("word", "in"):
                raise self.expected('"in"')
            return Not(self._membership(left))
        if self.take("word", "in"):
            return self._membership(left)
        token = self.take_one(("operator",), "a comparison such as <, ==, ~ or in")
        right = self._operand()
        operator = cast(Operator, token.text)
        if operator in ("~", "!~"):
            if not (isinstance(right, Constant) and isinstance(right.value, str)):
                raise ExpressionError(f'{operator} needs a regular expression in quotes after it, such as ~ "adam"')
            self._check_pattern(right.value)
        return Comparison(left, operator, right)

    def _check_pattern(self, text: str) -> None:
        self._patterns += 1
        if self._patterns > MOST_PATTERNS:
            raise ExpressionError(f"more than {MOST_PATTERNS} regular expressions")
        try:
            Pattern(text)
        except PatternError as error:
            raise ExpressionError(f"{text!r} is not a regular expression: {error}") from None

    def _membership(self, left: Operand) -> Membership:
        if not self.take("mark", "("):
            raise self.expected('a list such as (1, 2, "a")')
        options = [self._operand()]
        while self.take("mark", ","):
            options.append(self._operand())
        if not self.take("mark", ")"):
            raise self.expected('"," or ")"')
        return Membership(left, tuple(options))

    def _operand(self) -> Operand:
        token = self.take_one(("number", "string", "quoted", "word"), "a name, a number or a quoted string")
        match token.kind:
            case "number":
                return Constant(float(token.text))
            case "string":
                return Constant(re.sub(r"\\([\"'\\])", r"\1", token.text[1:-1]))
            case "quoted":
                return Named(token.text[1:-1])
            case _:
                return Constant(token.text == "true") if token.text in ("true", "false") else Named(token.text)


def runs_where(condition: Condition, facts: Facts, group_of: Callable[[str], str]) -> list[str]:
    """Return the runs for which a condition holds, in order.

    Args:
        condition: a condition returned by `parse`.
        facts: the facts of the runs.
        group_of: returns the label of a run's group.

    Raises:
        ExpressionError: a name has no meaning in any run, or more than one meaning.
        PatternError: a regular expression takes too long.
    """
    runs = list(facts.runs)
    held = _holds(condition, facts, runs, group_of)
    return [run for run, holds in zip(runs, held, strict=True) if holds]


def holds_for_some(condition: Condition, facts: Facts, group_of: Callable[[str], str]) -> bool:
    """Return whether a condition holds for any run, checking some at a time; raises the errors of `runs_where`."""
    runs = list(facts.runs)
    parts = (runs[at : at + _RUNS_AT_ONCE] for at in range(0, len(runs), _RUNS_AT_ONCE))
    return any(any(_holds(condition, facts, part, group_of)) for part in parts)


def _holds(condition: Condition, facts: Facts, runs: Sequence[str], group_of: Callable[[str], str]) -> list[bool]:
    match condition:
        case Comparison(left, operator, right):
            values = _values(left, facts, runs, group_of)
            if operator in ("~", "!~"):
                texts = ["" if value is None else shown_value(value) for value in values]
                found = Pattern(str(cast(Constant, right).value)).matches(texts)
                wanted = operator == "~"
                return [value is not None and hit is wanted for value, hit in zip(values, found, strict=True)]
            others = _values(right, facts, runs, group_of)
            return [compare(value, operator, other) for value, other in zip(values, others, strict=True)]
        case Membership(operand, options):
            values = _values(operand, facts, runs, group_of)
            choices = [_values(option, facts, runs, group_of) for option in options]
            return [any(compare(v, "==", c) for c in row) for v, *row in zip(values, *choices, strict=True)]
        case Not(inner):
            return [not holds for holds in _holds(inner, facts, runs, group_of)]
        case BoolOp(kind, conditions):
            columns = [_holds(part, facts, runs, group_of) for part in conditions]
            join = all if kind == "and" else any
            return [join(row) for row in zip(*columns, strict=True)]
        case _:
            assert_never(condition)


def compare(left: FactValue, operator: Operator, right: FactValue) -> bool:
    """Return whether a comparison holds; missing values, and values that cannot be ordered, compare as false.

    Raises:
        ExpressionError: the operator compares with a regular expression.
    """
    if left is None or right is None:
        return False
    comparable = isinstance(left, str) == isinstance(right, str)
    match operator:
        case "==":
            return comparable and left == right
        case "!=":
            return not comparable or left != right
        case "~" | "!~":
            raise ExpressionError(f"{operator} compares with a regular expression")
        case _:
            pass
    if not comparable:
        return False
    if isinstance(left, str) or isinstance(right, str):
        order = (str(left) > str(right)) - (str(left) < str(right))
    elif math.isnan(left) or math.isnan(right):
        return False
    else:
        order = (left > right) - (left < right)
    return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[operator]


def _values(operand: Operand, facts: Facts, runs: Sequence[str], group_of: Callable[[str], str]) -> list[FactValue]:
    if isinstance(operand, Constant):
        return [operand.value] * len(runs)
    field = resolve(operand.name, facts)
    match field:
        case "name":
            return list(runs)
        case "group":
            return [group_of(run) for run in runs]
        case "step":
            return list(facts.last_steps(runs))
        case _:
            return facts.values(runs, field)


def resolve(name: str, facts: Facts) -> Field | BuiltIn:
    """Return the meaning of a name in a condition: a built-in field, a hyperparameter, or a metric.

    A hyperparameter may be given by the display name from its experiment, and a metric by the last part of its tag if
    no other tag ends with it. ``hparam.NAME`` and ``metric.TAG`` select one of two meanings, unless something has that
    whole name.

    Raises:
        ExpressionError: the name has no meaning, or several.
    """
    for built_in in get_args(BuiltIn):
        if name == built_in:
            return cast(BuiltIn, name)
    readings = _readings(name)
    # "metric.max" is the metric "max" if there is one, and else the maximum of the metric "metric".
    of_prefix = [metric for metric in readings if metric.tag in ("hparam", "metric") and metric.tag != name]
    whole = [metric for metric in readings if metric not in of_prefix]
    of_metric = _readings(name.removeprefix("metric."))
    field = (
        (_hparam(name, facts) or _metric(whole, facts))
        or (_hparam(name.removeprefix("hparam."), facts) or _metric(of_metric, facts))
        or _metric(of_prefix, facts)
        or (_metric_by_part([*whole, *of_metric], facts) or _metric_by_part(of_prefix, facts))
    )
    if field is not None:
        return field
    known = [*get_args(BuiltIn), *facts.hparam_names, *facts.metric_tags]
    near = get_close_matches(name, known, n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise ExpressionError(f"no run has {name!r}{hint}")


def _hparam(name: str, facts: Facts) -> HParamField | None:
    if name in facts.hparam_names:
        return HParamField(name)
    titled = [own for own in facts.hparam_names if facts.hparam_titles.get(own) == name]
    return HParamField(titled[0]) if len(titled) == 1 else None


def _metric(readings: Sequence[MetricField], facts: Facts) -> MetricField | None:
    return next((metric for metric in readings if metric.tag in facts.metric_tags), None)


def _metric_by_part(readings: Sequence[MetricField], facts: Facts) -> MetricField | None:
    for metric in readings:
        tags = [tag for tag in facts.metric_tags if metric.tag in (tag.rpartition("/")[2], tag.partition("/")[0])]
        if len(tags) == 1:
            return MetricField(tags[0], metric.statistic)
        if tags:
            raise ExpressionError(f"{metric.tag!r} may be {', '.join(tags[:4])}: write the whole tag")
    return None


def _readings(name: str) -> list[MetricField]:
    """Return the metrics that a name may denote: the last value of this tag, or the statistic that it ends with."""
    stem, dot, end = name.rpartition(".")
    last = MetricField(name, "last")
    return [last, MetricField(stem, cast(Statistic, end))] if dot and end in get_args(Statistic) else [last]
