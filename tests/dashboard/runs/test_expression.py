import math
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.dashboard.runs.expression import (
    Comparison,
    Condition,
    Constant,
    ExpressionError,
    Membership,
    Named,
    compare,
    looks_like_expression,
    parse,
    resolve,
    runs_where,
)
from stepscope.dashboard.runs.facts import Facts, Field, HParamField, MetricField
from stepscope.summary.conditions import LONGEST, BoolOp, Not
from stepscope.summary.kinds.hparams import HParamValue
from tests.dashboard.runs.tiny import snapshot

RUNS = snapshot(
    {
        "adam/0": ({"lr": 0.1, "opt": "adam", "norm": True}, {"train/loss": [3.0, 1.0, 2.0], "val/loss": [5.0]}),
        "adam/1": ({"lr": 0.01, "opt": "adam", "norm": False, "seed": 20240101}, {"train/loss": [0.5, math.nan]}),
        "sgd": ({"lr": 0.1, "opt": "sgd"}, {"train/loss": [4.0], "accuracy": [0.9]}),
        "bare": ({}, {}),
    }
)


def where(text: str) -> list[str]:
    return runs_where(parse(text), Facts.of(RUNS), lambda run: run.partition("/")[0])


def test_and_binds_more_tightly_than_or_and_not_most() -> None:
    below: Condition = Not(Comparison(Named("a"), "<", Constant(1.0)))
    one_of = Membership(Named("b"), (Constant(1.0), Constant("x")))
    other = Comparison(Named("c d"), "!=", Constant(True))
    both: Condition = BoolOp("and", (below, one_of))
    assert parse('not a < 1 and b in (1, "x") or `c d` != true') == BoolOp("or", (both, other))


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("lr < 0.05", ["adam/1"]),
        ("lr >= 1e-1", ["adam/0", "sgd"]),
        ("0.05 > lr", ["adam/1"]),
        ("opt == 'sgd'", ["sgd"]),
        ("opt != 'sgd'", ["adam/0", "adam/1"]),
        ("opt not in ('sgd')", ["adam/0", "adam/1", "bare"]),
        ("norm == true", ["adam/0"]),
        ("train/loss.last < 3", ["adam/0"]),
        ("train/loss.min <= 1", ["adam/0", "adam/1"]),
        ("train/loss.max > 2.5 and lr == 0.1", ["adam/0", "sgd"]),
        ("accuracy > 0", ["sgd"]),
        ("val > 4", ["adam/0"]),
        ("step >= 1", ["adam/0", "adam/1"]),
        ('name ~ "^A"', ["adam/0", "adam/1"]),
        ('name !~ "a"', ["sgd"]),
        ('group == "adam"', ["adam/0", "adam/1"]),
        ('opt ~ "ada" and not (lr < 0.05 or norm == false)', ["adam/0"]),
        ('lr ~ "^0\\.1$"', ["adam/0", "sgd"]),
        ('seed ~ "^20240101$"', ["adam/1"]),
        ('norm ~ "true"', ["adam/0"]),
        ("lr < train/loss.min", ["adam/0", "adam/1", "sgd"]),
        ("opt < 3", []),
    ],
)
def test_runs_for_which_a_condition_holds(text: str, runs: list[str]) -> None:
    assert where(text) == runs


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lr", 'incomplete: expected a comparison such as <, ==, ~ or in after "lr"'),
        ("lr <", 'incomplete: expected a name, a number or a quoted string after "<"'),
        ("lr = 1", "'=' at character 4 is not understood; equality is \"==\""),
        ("lr < 1 2", 'expected "and", "or" or the end, but found \'2\' at character 8'),
        ("(lr < 1", 'incomplete: expected ")" after "1"'),
        ("lr in 1", "expected a list such as (1, 2, \"a\"), but found '1' at character 7"),
        ("lr not 1", "expected \"in\", but found '1' at character 8"),
        ("name ~ adam", '~ needs a regular expression in quotes after it, such as ~ "adam"'),
        ('name ~ "("', "'(' is not a regular expression: missing ) at position 1"),
        ("lr == not", "expected a name, a number or a quoted string, but found 'not' at character 7"),
        ("(" * 60 + "a < 1" + ")" * 60, "nested deeper than 50"),
        (" and ".join(['a ~ "b"'] * 21), "more than 20 regular expressions"),
        ("a" * 2001, "longer than 2000 characters"),
    ],
)
def test_what_is_wrong_is_said(text: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=f"^{re.escape(message)}$"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("los > 1", "no run has 'los'"),
        ("loss > 1", "'loss' may be train/loss, val/loss: write the whole tag"),
        ("nrom == true", "no run has 'nrom'; did you mean norm?"),
    ],
)
def test_names_that_mean_nothing_or_too_much_are_told(text: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=f"^{re.escape(message)}$"):
        where(text)


def test_a_name_may_say_what_it_is() -> None:
    clash = Facts.of(snapshot({"a": ({"loss": 1}, {"loss": [2.0], "x.min": [3.0]})}))
    assert resolve("loss", clash) == HParamField("loss")
    assert resolve("hparam.loss", clash) == HParamField("loss")
    assert resolve("metric.loss.max", clash) == MetricField("loss", "max")
    assert resolve("x.min", clash) == MetricField("x.min", "last")


def test_a_name_that_begins_like_what_it_is_means_itself() -> None:
    facts = Facts.of(
        snapshot({"a": ({"hparam.lr": 1, "lr": 2}, {"metric.loss": [1.0], "val/loss": [2.0], "val/metric.acc": [3.0]})})
    )
    assert {name: resolve(name, facts) for name in ("hparam.lr", "lr", "metric.loss.min", "metric.acc")} == {
        "hparam.lr": HParamField("hparam.lr"),
        "lr": HParamField("lr"),
        "metric.loss.min": MetricField("metric.loss", "min"),
        "metric.acc": MetricField("val/metric.acc", "last"),
    }


@pytest.mark.parametrize(
    ("name", "hparams", "tags", "expected"),
    [
        ("metric.max", {}, ["metric", "max"], MetricField("max", "last")),
        ("metric.max", {}, ["metric/a", "metric/b", "val/max"], MetricField("val/max", "last")),
        ("metric.max", {}, ["metric.max", "metric", "max"], MetricField("metric.max", "last")),
        ("metric.max", {}, ["metric"], MetricField("metric", "max")),
        ("metric.max", {}, ["metric", "train/max", "val/max"], MetricField("metric", "max")),
        ("metric.max", {}, ["val/metric"], MetricField("val/metric", "max")),
        ("metric.metric.max", {}, ["metric", "max"], MetricField("metric", "max")),
        ("metric", {}, ["metric", "max"], MetricField("metric", "last")),
        ("hparam.min", {"min": 1}, ["hparam"], HParamField("min")),
    ],
)
def test_a_prefix_goes_before_a_metric_of_its_name(
    name: str, hparams: dict[str, HParamValue], tags: list[str], expected: Field
) -> None:
    assert resolve(name, Facts.of(snapshot({"a": (hparams, {tag: [1.0] for tag in tags})}))) == expected


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("lr < 1", True),
        ('not name ~ "(?i)x"', True),
        ("lr in (1, 2)", True),
        ("train/(loss|acc)", False),
        ("train(ing)?", False),
        ("(?<=a)b", False),
        ("adam", False),
        ('"<"', False),
    ],
)
def test_a_search_that_compares_is_a_condition(text: str, is_one: bool) -> None:
    assert looks_like_expression(text) is is_one


@pytest.mark.parametrize("value", [1.0, "1", True, math.nan, None])
def test_what_is_missing_or_no_number_is_in_no_order(value: float | str | bool | None) -> None:
    assert not compare(value, "<", None)
    assert not compare(value, "<", math.nan)
    assert not compare(None, "==", value)


words = st.sampled_from(
    ["lr", "loss", "<", "<=", "==", "!=", "~", "!~", "in", "not", "and", "or", "(", ")", ",", "1", "-2e3", '"a"', "`b`"]
)


@given(st.one_of(st.text(max_size=80), st.lists(words, max_size=30).map(" ".join)))
def test_any_text_is_a_condition_or_a_told_error(text: str) -> None:
    try:
        condition = parse(text)
        runs_where(condition, Facts.of(RUNS), lambda run: run)
    except ExpressionError:
        return
    assert looks_like_expression(text) or "in" in text


@pytest.mark.parametrize("piece", [*string.punctuation, "1", "a", "1e", "not ", '"\\', "((", "a<1 and "])
@given(st.sampled_from(["", "x", '"', " ", "1z"]))
def test_long_texts_of_one_kind_are_read_at_once(piece: str, end: str) -> None:
    # A tokenizer or parser that backtracks would never finish here.
    text = (piece * LONGEST)[: LONGEST - len(end)] + end
    try:
        parse(text)
    except ExpressionError:
        return
    assert piece in ("1", "a")
