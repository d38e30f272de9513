"""Example searches that find something, made from the names, hyperparameters and metrics of the runs."""

import re
from collections.abc import Iterator
from typing import Final, TypedDict

import numpy as np

from stepscope.dashboard.runs.expression import holds_for_some, parse
from stepscope.dashboard.runs.facts import Facts, FactValue, HParamField, MetricField
from stepscope.summary.errors import UserError

_PLAIN: Final = re.compile(r"[^\W\d][\w./-]*")
_WORDS: Final = frozenset({"and", "or", "not", "in", "true", "false"})
_SHORT: Final = 26
_LONGEST_NAME: Final = 16


class Example(TypedDict):
    """A search, and what it shows."""

    text: str
    meaning: str


def name_example(facts: Facts) -> str:
    """Return the end of the first run's name, as a regular expression."""
    name = next((run for run in facts.trainings if run != "."), "").rpartition("/")[2]
    while len(name) > _LONGEST_NAME and (shorter := re.sub(r"^.+?[_-]", "", name)) != name:
        name = shorter
    return re.sub(r"([\\.^$*+?{}\[\]|()])", r"\\\1", name)


def condition_example(facts: Facts) -> str:
    """Return a condition on a hyperparameter that some runs meet, preferably on one that differs between runs.

    Empty if there are no hyperparameters.
    """
    conditions = [text for name in facts.hparam_names[:20] if (text := _condition(facts, name))]
    return min(conditions, key=lambda text: len(text) > _SHORT, default="")


def examples(facts: Facts) -> list[Example]:
    """Return one search of every kind that applies to these runs; each finds some of them."""
    found: list[Example] = []
    for text, meaning in _candidates(facts):
        try:
            if holds_for_some(parse(text), facts, lambda run: run):
                found.append({"text": text, "meaning": meaning})
        except UserError:
            # A name that is like another's, or that cannot be written.
            continue
    name = name_example(facts)
    return [*([Example(text=name, meaning="a regular expression over the names")] if name else []), *found]


def _candidates(facts: Facts) -> Iterator[tuple[str, str]]:
    condition, metric, name = condition_example(facts), _metric(facts), name_example(facts)
    if condition:
        yield condition, "a condition on a hyperparameter"
    if metric:
        yield metric, "a metric: its last value; .min and .max are its minimum and maximum"
    if condition and metric:
        yield f"{condition} or {metric}", "conditions are joined by and, or, not"
    if name:
        yield f"name ~ {_quoted_text(name)}", "~ and !~ search within text"
    for hparam in facts.differing_hparams[:1]:
        values = [_written(value) for value in _values(facts, hparam)[:2]]
        yield f"{_quoted(hparam)} in ({', '.join(values)})", "one of several"
    steps = [step for run in facts.trainings[:100] if (step := facts.last_step(run)) is not None]
    if steps:
        yield f"step >= {sorted(steps)[len(steps) // 2]}", "the furthest step"


def _condition(facts: Facts, name: str) -> str:
    values = _values(facts, name)
    numbers = sorted(v for v in values if isinstance(v, int | float) and not isinstance(v, bool) and np.isfinite(v))
    if numbers and len(numbers) == len(values):
        return f"{_quoted(name)} <= {_end(numbers[(len(numbers) - 1) // 2])}"
    return f"{_quoted(name)} == {_written(values[0])}" if values else ""


def _metric(facts: Facts) -> str:
    for tag in facts.metric_tags[:1]:
        column = (facts.value(run, MetricField(tag, "last")) for run in facts.trainings[:100])
        numbers = sorted(value for value in column if isinstance(value, float) and np.isfinite(value))
        if numbers:
            return f"{_quoted(f'{tag}.last')} <= {_end(numbers[(len(numbers) - 1) // 2])}"
    return ""


def _values(facts: Facts, name: str) -> list[FactValue]:
    """Return the distinct values of a hyperparameter."""
    column = facts.column(HParamField(name))
    return list(dict.fromkeys(value for run in facts.trainings if (value := column[run]) is not None))


def _quoted(name: str) -> str:
    """Return a name as written in a condition: in backquotes if it would otherwise be read as something else."""
    return name if _PLAIN.fullmatch(name) and name not in _WORDS else f"`{name}`"


def _quoted_text(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _written(value: FactValue) -> str:
    if isinstance(value, str):
        return _quoted_text(value)
    return str(value).lower() if isinstance(value, bool) else f"{value!r}"


def _end(value: float) -> str:
    """Return the upper end of a range that includes the value, with few digits unless that would make it smaller."""
    short = f"{value:.4g}"
    return short if float(short) >= value else repr(value)
