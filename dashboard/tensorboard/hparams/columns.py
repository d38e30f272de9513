"""Columns of the table of session groups: what groups are filtered and sorted by, and which are sent."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from stepscope.dashboard.server.patterns import exact_case
from stepscope.dashboard.tensorboard.hparams.sessions import python_value
from stepscope.summary.errors import UserError
from stepscope.summary.kinds.hparams import HParamValue
from stepscope.summary.proto import hparams_pb2
from stepscope.summary.proto.hparams_pb2 import ColParams, MetricName, MetricValue
from stepscope.summary.safe_regex import PatternError

ValuesOf: TypeAlias = Callable[[ColParams], Sequence[HParamValue | None]]
"""Gives what each group has in a column; None where it has nothing."""


class HParamsRequestError(UserError):
    """A request asks for what cannot be done."""


def metric_value(values: Iterable[MetricValue], name: MetricName) -> MetricValue | None:
    """Return the value of one metric; None where there is none."""
    return next((value for value in values if value.name == name), None)


def filtered(groups: Sequence[int], columns: Iterable[ColParams], values_of: ValuesOf) -> list[int]:
    """Return the places of groups that pass the filter of every column.

    Raises:
        HParamsRequestError: a filter cannot be applied to the values of its column.
    """
    kept = list(groups)
    for column in columns:
        values = values_of(column)
        passes = _passes(column, [value for at in kept if (value := values[at]) is not None])
        kept = [
            at for at in kept if (not column.exclude_missing_values if (value := values[at]) is None else passes(value))
        ]
    return kept


def ordered(
    groups: Iterable[int], columns: Sequence[ColParams], names: Sequence[str], values_of: ValuesOf
) -> list[int]:
    """Return places of groups by name, then by the columns that have an order, of which the first counts most.

    Missing values, and NaN, come last, or first where the column says so.

    Raises:
        HParamsRequestError: a column has an order that nobody knows.
    """
    result = sorted(groups, key=names.__getitem__)
    for column in reversed(columns):
        if column.order == hparams_pb2.ORDER_UNSPECIFIED:
            continue
        if column.order not in (hparams_pb2.ORDER_ASC, hparams_pb2.ORDER_DESC):
            raise HParamsRequestError(f"The order of a column must be ORDER_ASC or ORDER_DESC, got {column.order}.")
        descending = column.order == hparams_pb2.ORDER_DESC
        missing_is_largest = column.missing_values_first == descending
        result.sort(key=_sort_key(values_of(column), missing_is_largest), reverse=descending)
    return result


def is_included(columns: Sequence[ColParams]) -> Callable[[str], bool]:
    """Return whether a hyperparameter is sent: all are, unless any column says whether it is included."""
    if not any(column.HasField("include_in_result") for column in columns):
        return lambda _name: True
    return {c.hparam for c in columns if c.include_in_result or not c.HasField("include_in_result")}.__contains__


def _passes(column: ColParams, values: Sequence[HParamValue]) -> Callable[[HParamValue], bool]:
    match column.WhichOneof("filter"):
        case "filter_regexp":
            return _text_filter(column.filter_regexp, values)
        case "filter_interval":
            interval = column.filter_interval
            wrong = [value for value in values if isinstance(value, str)]
            if wrong:
                raise HParamsRequestError(f"An interval cannot filter the text {wrong[0][:80]!r}; expected numbers.")
            return lambda value: interval.min_value <= float(value) <= interval.max_value
        case "filter_discrete":
            allowed = [python_value(value) for value in column.filter_discrete.values]
            return lambda value: value in allowed
        case _:
            return lambda value: True


def _text_filter(pattern: str, values: Sequence[HParamValue]) -> Callable[[HParamValue], bool]:
    texts = [value for value in dict.fromkeys(values) if isinstance(value, str)]
    wrong = [value for value in values if not isinstance(value, str)]
    if wrong:
        raise HParamsRequestError(f"A regular expression cannot filter the value {wrong[0]!r}; expected texts.")
    try:
        matches = exact_case(pattern).matches(texts)
    except PatternError as error:
        raise HParamsRequestError(f"The filter {pattern[:80]!r} is not a regular expression: {error}.") from error
    passing = {text for text, fits in zip(texts, matches, strict=True) if fits}
    return lambda value: value in passing


def _sort_key(
    values: Sequence[HParamValue | None], missing_is_largest: bool
) -> Callable[[int], tuple[bool, bool, HParamValue]]:
    def key(at: int) -> tuple[bool, bool, HParamValue]:
        value = values[at]
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return (missing_is_largest, False, 0.0)
        # Numbers come before texts, with which they cannot be compared.
        return (not missing_is_largest, isinstance(value, str), value)

    return key
