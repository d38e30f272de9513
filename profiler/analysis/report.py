"""The list of all analyses, for the command, for JSON and for the page."""

import math
import operator
import re
import reprlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args

from stepscope.plugins import ERRORS_OF_OTHERS, Extensions
from stepscope.profiler.analysis.code import CODE
from stepscope.profiler.analysis.compare import CHANGES, Per
from stepscope.profiler.analysis.critical_path import CRITICAL_PATH, CRITICAL_PATH_PARTS
from stepscope.profiler.analysis.facts import Facts, facts_of
from stepscope.profiler.analysis.findings import FINDINGS
from stepscope.profiler.analysis.idle import IDLE
from stepscope.profiler.analysis.input_pipeline import INPUT
from stepscope.profiler.analysis.kernels import KERNELS
from stepscope.profiler.analysis.memcpys import BANDWIDTH, COPY_SIZES, MEMCPYS
from stepscope.profiler.analysis.memory import (
    MEMORY,
    MEMORY_AT_PEAK,
    MEMORY_BY_MODULE,
    MEMORY_BY_OPERATOR,
    MEMORY_TIMELINE,
)
from stepscope.profiler.analysis.metrics import CHANGE, DEFINITIONS, OF_RANKS, OVERVIEW_COLUMNS, Metric, overview
from stepscope.profiler.analysis.operators import BY_OTHER_KEYS, OPERATORS
from stepscope.profiler.analysis.queue import LAUNCHES, QUEUE
from stepscope.profiler.analysis.rank_groups import RANK_GROUPS
from stepscope.profiler.analysis.rank_map import RANK_MAP
from stepscope.profiler.analysis.rank_outliers import (
    RANK_KERNELS,
    RANK_OPERATORS,
    RANK_OUTLIERS,
    RANK_RESOURCES,
    RANK_STEPS,
)
from stepscope.profiler.analysis.ranks import COLLECTIVES, RANK_SUMMARY, STRAGGLERS, rank_of
from stepscope.profiler.analysis.records import Analysis, Column, MetricDefinition, Of
from stepscope.profiler.analysis.roofline import ROOFLINE
from stepscope.profiler.analysis.slices import SLICES
from stepscope.profiler.analysis.steps import MEAN_STEP, STEPS
from stepscope.profiler.analysis.temporal import OVERLAP, TEMPORAL, UTILIZATION, WORK_AT_ONCE
from stepscope.profiler.analysis.tfprof import ADVICE, TFPROF
from stepscope.profiler.trace import Trace
from stepscope.record_fields import check_distinct
from stepscope.summary.cancellation import Cancelled
from stepscope.summary.errors import UserError

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")


def _overview(facts: Facts) -> "pl.DataFrame":
    """Return all metrics that a trace provides, those of other distributions last."""
    import polars as pl

    own = overview(facts)
    known = [metric for metric in other_metrics(facts).values() if not math.isnan(metric.value)]
    rows = [(metric.name, metric.value, metric.unit, metric.meaning) for metric in known]
    return pl.concat([own, pl.DataFrame(rows, schema=own.schema, orient="row")]) if rows else own


ANALYSES: Final = (
    Analysis(
        "overview",
        "metrics of the whole trace",
        _overview,
        OVERVIEW_COLUMNS,
        title="Metrics",
        whole=True,
    ),
    FINDINGS,
    STEPS,
    MEAN_STEP,
    OPERATORS,
    *BY_OTHER_KEYS,
    SLICES,
    KERNELS,
    MEMCPYS,
    COPY_SIZES,
    BANDWIDTH,
    UTILIZATION,
    TEMPORAL,
    WORK_AT_ONCE,
    IDLE,
    OVERLAP,
    QUEUE,
    LAUNCHES,
    MEMORY,
    MEMORY_TIMELINE,
    MEMORY_AT_PEAK,
    MEMORY_BY_MODULE,
    MEMORY_BY_OPERATOR,
    CRITICAL_PATH,
    CRITICAL_PATH_PARTS,
    INPUT,
    ROOFLINE,
    TFPROF["scope"],
    TFPROF["graph"],
    CODE,
    TFPROF["op"],
    ADVICE,
    RANK_SUMMARY,
    STRAGGLERS,
    RANK_OUTLIERS,
    RANK_STEPS,
    RANK_GROUPS,
    RANK_MAP,
    RANK_KERNELS,
    RANK_OPERATORS,
    RANK_RESOURCES,
    COLLECTIVES,
    *CHANGES.values(),
)
"""Stepscope's own analyses. An analysis is a module with its function and its record, and a line here."""
OTHERS: Final = Extensions(
    "analyses",
    Analysis,
    lambda analysis: analysis.name,
    taken=lambda: [analysis.name for analysis in ANALYSES],
    check=lambda analysis: _check(analysis),
    about_of=lambda analysis: analysis.about,
    alone_in=lambda analysis: [f"the metric {metric.name!r}" for metric in analysis.metrics],
)
"""Analyses of other distributions."""
DIGEST: Final = ("findings", "overview", "mean_step", "operators", "kernels")
"""Analyses whose tables the command prints by default."""
DIGEST_OF_RANKS: Final = ("rank_outliers", "rank_map", "ranks", "stragglers", "rank_steps")
"""The same for several ranks."""


def by_rank(traces: Sequence[T], facts: Callable[[T], Facts]) -> dict[int, T]:
    """Return traces by the rank that each states, or in order if these are not all stated and distinct."""
    stated = [rank_of(facts(trace)) for trace in traces]
    known = [rank for rank in stated if rank is not None]
    if len(set(known)) == len(traces):
        return dict(sorted(zip(known, traces, strict=True), key=lambda pair: pair[0]))
    return dict(enumerate(traces))


def analyses(of: Of | None = None) -> dict[str, Analysis]:
    """Return all analyses by name, or only those of one trace, of ranks or of changes; Stepscope's own come first."""
    every = (*ANALYSES, *OTHERS.records())
    return {analysis.name: analysis for analysis in every if of is None or analysis.of == of}


def is_of_others(analysis: Analysis) -> bool:
    """Return whether an analysis belongs to another distribution."""
    return analysis not in ANALYSES


def table(trace: Trace | Facts, name: str) -> "pl.DataFrame":
    """Return the table of an analysis of one trace by its name.

    Raises:
        KeyError: there is no such analysis.
    """
    return _named(name, "trace").table(facts_of(trace))


def change(before: Trace | Facts, after: Trace | Facts, name: str, per: Per = "step") -> "pl.DataFrame":
    """Return the changes by the name of an analysis, such as "changed_steps"; ``per`` as in `compare`.

    Raises:
        KeyError: there is no such analysis.
    """
    return _named(name, "changes").table(facts_of(before), facts_of(after), per)


_WORDS: Final[Mapping[Of, str]] = {"trace": "one trace", "ranks": "several traces", "changes": "changes"}
_HOW: Final[Mapping[Of, str]] = {
    "trace": "stepscope.profiler.analysis.report.table",
    "ranks": "stepscope analyze TRACE TRACE, which reads the ranks of a job,",
    "changes": "stepscope.profiler.analysis.report.change",
}


def _named(name: str, of: Of) -> Analysis:
    known = analyses(of)
    if name in known:
        return known[name]
    reason = f"expected one of {', '.join(known)}"
    if name in analyses():
        reason = f"{_HOW[analyses()[name].of]} computes it"
    raise KeyError(f"{name!r} is not a table of {_WORDS[of]}: {reason}")


def other_definitions() -> dict[str, MetricDefinition]:
    """Return the metrics of other distributions' analyses by name."""
    return {definition.name: definition for analysis in OTHERS.records() for definition in analysis.metrics}


def other_metrics(facts: Facts, names: Collection[str] | None = None) -> dict[str, Metric]:
    """Return the metrics of other distributions' analyses, or only the named ones; NaN if the trace provides none.

    An analysis that fails is remembered, and its metrics are NaN unless they were named.

    Raises:
        UserError: a named metric cannot be computed.
    """
    found: dict[str, Metric] = {}
    for analysis in OTHERS.records():
        wanted = [each for each in analysis.metrics if names is None or each.name in names]
        if not wanted or analysis.figures is None:
            continue
        try:
            values = facts.once(analysis.figures)
            unknown = [name for name in values if name not in {each.name for each in analysis.metrics}]
            if unknown:
                raise ValueError(f"{unknown[0]!r} is not among its metrics")
            read = {each.name: _number(each.name, values.get(each.name)) for each in wanted}
        except Cancelled:
            raise
        except ERRORS_OF_OTHERS as error:
            OTHERS.fail(analysis, error, "figures")
            if names is not None:
                raise UserError(f"{wanted[0].name} cannot be computed, because its plug-in failed.") from error
            read = {each.name: math.nan for each in wanted}
        found |= {each.name: Metric(each.name, each.unit, each.meaning, read[each.name]) for each in wanted}
    return found


def _number(metric: str, value: Any) -> float:
    """Return the value of another distribution's metric."""
    try:
        # A text of digits is no number either.
        return math.nan if value is None else float(operator.pos(value))
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"the metric {metric!r} is {reprlib.repr(value)}, expected a number or None") from error


def _check(analysis: Analysis) -> None:
    """Raise an error with a sentence if a field of a record is invalid."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", analysis.name):
        raise ValueError(f"its name is {analysis.name!r}, expected lowercase letters, digits and underscores")
    if analysis.name == "all":
        raise ValueError("its name is 'all', which stands for every analysis")
    if analysis.of not in get_args(Of):
        raise ValueError(f"it is of {analysis.of!r}, expected one of {', '.join(get_args(Of))}")
    if not callable(analysis.function):
        raise TypeError("its function cannot be called")
    if not all(isinstance(column, Column) for column in analysis.columns):
        raise TypeError("its columns are not all of the type Column")
    check_distinct("columns", (column.name for column in analysis.columns))
    check_distinct("metrics", (metric.name for metric in analysis.metrics))
    for metric in analysis.metrics:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", metric.name) or metric.name in ("and", "or", "not"):
            raise ValueError(
                f"it has a metric {metric.name!r}, expected lowercase letters, digits and underscores, and none of "
                "'and', 'or', 'not'"
            )
        if metric.name in {*DEFINITIONS, *OF_RANKS}:
            raise ValueError(f"the name of the metric {metric.name!r} is taken by Stepscope: choose another")
        if metric.name.endswith(CHANGE):
            raise ValueError(f"it has a metric {metric.name!r}: names that end in {CHANGE!r} are those of changes")
    if analysis.metrics and (analysis.figures is None or analysis.of != "trace"):
        raise ValueError("it has metrics, so it must be of one trace and have a function for figures")


def plain(frame: "pl.DataFrame") -> list[dict[str, Any]]:
    """Return a table as a list of mappings in which non-finite numbers are None, as JSON needs."""
    import polars as pl

    floats = [name for name, kind in frame.schema.items() if kind.is_float()]
    finite = [pl.when(pl.col(name).is_finite()).then(pl.col(name)).alias(name) for name in floats]
    return frame.with_columns(finite).to_dicts()
