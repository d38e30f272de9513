"""Conditions on a trace's metrics: ``gpu_idle > 20% or step_time >= 1.5 s``.

Comparisons are joined as in `stepscope.summary.conditions`::

    comparison := metric ("<" | "<=" | ">" | ">=" | "==" | "!=") number [unit]

A metric is a name from `stepscope.profiler.analysis.metrics`; the same with the suffix ``_change``, for its change
since an earlier trace; or a metric of several ranks (`stepscope.profiler.analysis.metric_sources`). Percentages are
numbers, with or without "%"; times have a unit: ns, us, ms or s; bytes have B, kB, MB, GB, KiB, MiB, GiB or none.
Nothing is evaluated as Python.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal, TypeAlias, assert_never, cast

from stepscope.profiler.analysis.metric_sources import all_names, needs, unit_of
from stepscope.profiler.analysis.metrics import Metric
from stepscope.profiler.analysis.records import Unit
from stepscope.summary.conditions import NUMBER, BoolOp, ConditionParser, Not, Tree
from stepscope.summary.errors import UserError

Operator = Literal["<", "<=", ">", ">=", "==", "!="]
UNITS: Final[Mapping[Unit, Mapping[str, float]]] = {
    "percent": {"%": 1.0, "": 1.0},
    "ns": {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9},
    "bytes": {"": 1.0, "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30},
    "count": {"": 1.0},
}
_TOKEN: Final = re.compile(
    rf"\s*(?:(?P<number>{NUMBER}(?:\s*(?:%|(?!(?:and|or|not)\b)[A-Za-z]+(?!\w)))?)"
    r"|(?P<operator><=|>=|==|!=|<|>)|(?P<mark>[()])|(?P<word>[A-Za-z_]\w*))"
)
_MOST_SHOWN: Final = 200
"""Maximum number of characters of a condition that a message repeats."""
_NUMBER: Final = re.compile(rf"({NUMBER})\s*(.*)")


class ConditionError(UserError):
    """The given text is not a condition on metrics."""


@dataclass(frozen=True)
class Comparison:
    """A metric and the number it is compared with, in the metric's own unit."""

    metric: str
    operator: Operator
    number: float


Condition: TypeAlias = Tree[Comparison]


def parse(text: str) -> Condition:
    """Parse a condition.

    Raises:
        ConditionError: it does not follow the grammar, or names an unknown metric; the message says where.
    """
    shown = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
    return _Parser(text, _TOKEN, lambda message: ConditionError(f"In {shown!r}: {message}.")).whole()


class _Parser(ConditionParser[Comparison]):
    def comparison(self) -> Comparison:
        name = self.take_one(("word",), "a metric").text
        kind = unit_of(name)
        if kind is None:
            near = get_close_matches(name, all_names(), n=3) or sorted(all_names())
            raise ConditionError(f"There is no metric {name!r}. Expected one such as {', '.join(near)}.")
        operator = self.take_one(("operator",), "a comparison: <, <=, >, >=, == or !=").text
        found = _NUMBER.fullmatch(self.take_one(("number",), "a number").text)
        assert found is not None
        number, unit = found.groups()
        units = UNITS[kind]
        if unit not in units:
            expected = ", ".join(each for each in units if each) or "no unit"
            given = repr(unit) if unit else "without a unit"
            raise ConditionError(f"{name} cannot be compared with a number {given}. Expected {expected}.")
        return Comparison(name, cast(Operator, operator), float(number) * units[unit])


def named(condition: Condition) -> tuple[str, ...]:
    """Return the metrics that a condition names, each once, in order."""
    match condition:
        case Comparison(metric, _, _):
            return (metric,)
        case Not(inner):
            return named(inner)
        case BoolOp(_, conditions):
            return tuple(dict.fromkeys(name for part in conditions for name in named(part)))
        case _:
            assert_never(condition)


def holds(condition: Condition, known: Mapping[str, Metric]) -> bool:
    """Return whether a condition holds for a trace's metrics.

    Raises:
        ConditionError: the trace does not provide one of the metrics; treating that as "fine" would hide a broken
            check.
    """
    match condition:
        case Comparison(name, operator, number):
            value = known[name].value
            if value != value:
                if needs(name):
                    raise ConditionError(f"{name} needs {needs(name)}, and that the traces have data for it.")
                raise ConditionError(
                    f"The trace has no data for {name} ({known[name].meaning}). Expected a trace that does: see what "
                    "stepscope analyze prints for it."
                )
            return _compare(value, operator, number)
        case Not(inner):
            return not holds(inner, known)
        case BoolOp(kind, conditions):
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
