"""Metrics that conditions can name: those of a trace, their changes since another trace, and those of ranks."""

import math

from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.analysis.metrics import CHANGE, DEFINITIONS, OF_RANKS, Metric, metrics
from stepscope.profiler.analysis.ranks import Ranks, rank_summary, stragglers, tables_of_ranks
from stepscope.profiler.analysis.records import Unit
from stepscope.profiler.analysis.report import other_definitions, other_metrics


def unit_of(name: str) -> Unit | None:
    """Return the unit of a metric by its name; None if there is no such metric."""
    if name in DEFINITIONS:
        return DEFINITIONS[name].unit
    if name in OF_RANKS:
        return OF_RANKS[name].unit
    others = other_definitions()
    if name in others:
        return others[name].unit
    return "percent" if name.endswith(CHANGE) and name.removesuffix(CHANGE) in {*DEFINITIONS, *others} else None


def all_names() -> tuple[str, ...]:
    """Return the names of all metrics."""
    of_trace = (*DEFINITIONS, *other_definitions())
    return (*of_trace, *OF_RANKS, *(name + CHANGE for name in of_trace))


def needs(name: str) -> str:
    """Return what a metric needs besides one trace; empty if nothing."""
    if name in OF_RANKS:
        return "several traces, the ranks of one job"
    return "" if name in DEFINITIONS or name in other_definitions() else "--before TRACE"


def metrics_of_ranks(names: tuple[str, ...], ranks: Ranks | None) -> dict[str, Metric]:
    """Return the named metrics that are of ranks; NaN if there are fewer than two ranks."""
    if not any(name in OF_RANKS for name in names):
        return {}
    values = _of_ranks(ranks)
    return {name: Metric(*OF_RANKS[name], values[name]) for name in names if name in OF_RANKS}


def metrics_of_trace(names: tuple[str, ...], facts: Facts, before: Facts | None) -> dict[str, Metric]:
    """Return the named metrics that are of one trace; NaN if what they need is missing."""
    of_trace = {*DEFINITIONS, *other_definitions()}
    own = tuple(name for name in names if name in of_trace)
    since = tuple(name.removesuffix(CHANGE) for name in names if name not in of_trace and name not in OF_RANKS)
    found = _values_of_trace(facts, own)
    if since:
        after = _values_of_trace(facts, since)
        earlier = _values_of_trace(before, since) if before is not None else {}
        found |= {name + CHANGE: _change(after[name], earlier.get(name)) for name in since}
    return found


def _values_of_trace(facts: Facts, names: tuple[str, ...]) -> dict[str, Metric]:
    own = tuple(name for name in names if name in DEFINITIONS)
    others = [name for name in names if name not in DEFINITIONS]
    return (metrics(facts, own) if own else {}) | (other_metrics(facts, others) if others else {})


def _change(after: Metric, before: Metric | None) -> Metric:
    """Return the change in percent of the earlier value, or in percentage points if the metric is a share."""
    value = math.nan
    if before is not None and after.unit == "percent":
        value = after.value - before.value
    elif before is not None:
        same = after.value == before.value
        value = 100 * (after.value / before.value - 1) if before.value else 0.0 if same else math.inf * after.value
    way = "in percentage points" if after.unit == "percent" else "relative to before"
    return Metric(after.name + CHANGE, "percent", f"change of: {after.meaning}, {way}", value)


def _of_ranks(given: Ranks | None) -> dict[str, float]:
    ranks = tables_of_ranks(given) if given is not None else None
    if ranks is None or len(ranks.ranks) < 2:
        return dict.fromkeys(OF_RANKS, math.nan)
    summary = rank_summary(ranks)
    steps = [value for value in summary["step_ns"].to_list() if value]
    waits = [
        100 * wait / step
        for wait, step in zip(summary["waiting_ns"].to_list(), summary["step_ns"].to_list(), strict=True)
        if step and wait is not None
    ]
    caused = stragglers(ranks)["caused_waiting_ns"].to_list()
    whole = sum(caused)
    return {
        "ranks": float(len(ranks.ranks)),
        "rank_step_spread": 100 * (max(steps) / min(steps) - 1) if len(steps) > 1 else math.nan,
        "rank_waiting": max(waits, default=math.nan),
        "straggler": 100 * max(caused) / whole if whole else math.nan,
    }
