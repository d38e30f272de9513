"""Whether steps wait for their input."""

from typing import TYPE_CHECKING, Final, Literal, assert_never

from stepscope.profiler.analysis.facts import Facts, facts_of
from stepscope.profiler.analysis.records import Analysis, Column
from stepscope.profiler.analysis.steps import mean_step, step_breakdown
from stepscope.profiler.trace import Trace

if TYPE_CHECKING:
    import polars as pl

Verdict = Literal["input_bound", "moderately_input_bound", "not_input_bound", "unknown"]
HIGH_PERCENT: Final = 20.0
MODERATE_PERCENT: Final = 5.0


def verdict_of(percent: float | None) -> Verdict:
    """Return the verdict on a share of step time, by xprof's limits: 20 percent is high and 5 moderate."""
    if percent is None:
        return "unknown"
    if percent >= HIGH_PERCENT:
        return "input_bound"
    return "moderately_input_bound" if percent >= MODERATE_PERCENT else "not_input_bound"


def explanation(verdict: Verdict) -> str:
    """Return the meaning of a verdict, in a sentence."""
    match verdict:
        case "input_bound":
            return "Steps wait for input: load data in more workers, ahead of time, or make loading cheaper."
        case "moderately_input_bound":
            return "Steps wait for input now and then: loading ahead of time may help."
        case "not_input_bound":
            return "Input is ready when steps need it."
        case "unknown":
            return "The trace marks no data loading, so there is nothing to judge."
        case _:
            assert_never(verdict)


def input_pipeline(trace: Trace | Facts) -> "pl.DataFrame":
    """Return the verdict on the input pipeline, with its evidence.

    The share is the part of the steps' time in which only data loading is active ("dataloader" of
    `stepscope.profiler.analysis.steps`); input that is hidden behind computation does not count.

    Columns: verdict, explanation (text), input_percent (float64 or null), input_ns, worst_step_ns (int64), worst_step
    (int64 or null); one row.
    """
    import polars as pl

    facts = facts_of(trace)
    table = step_breakdown(facts)
    marked = len(facts.slices("data_loading")) > 0
    by_category = {row["category"]: row["percent"] for row in mean_step(facts).to_dicts()}
    percent = by_category.get("dataloader") if marked else None
    worst = table.sort("dataloader_ns", descending=True, maintain_order=True).head(1).to_dicts() if marked else []
    verdict = verdict_of(percent)
    row = {
        "verdict": verdict,
        "explanation": explanation(verdict),
        "input_percent": percent,
        "input_ns": int(table["dataloader_ns"].sum()),
        "worst_step_ns": worst[0]["dataloader_ns"] if worst else 0,
        "worst_step": worst[0]["step"] if worst else None,
    }
    schema = {
        "verdict": pl.String,
        "explanation": pl.String,
        "input_percent": pl.Float64,
        "input_ns": pl.Int64,
        "worst_step_ns": pl.Int64,
        "worst_step": pl.Int64,
    }
    return pl.DataFrame([row], schema=schema)


INPUT: Final = Analysis(
    "input",
    "verdict on the input pipeline",
    input_pipeline,
    (
        Column("verdict", '"input_bound", "moderately_input_bound", "not_input_bound" or "unknown"', "word"),
        Column("explanation", "the verdict as a sentence"),
        Column("input_percent", "share of the steps' time in which only data loading runs"),
        Column("input_ns", "time of the steps in which only data loading runs"),
        Column("worst_step_ns", "the same time in the step that waited longest"),
        Column("worst_step", "number of the step that waited longest", "identity"),
    ),
    title="Verdict",
    description="Data loading counts only where nothing else runs.",
    whole=True,
)
"""Whether steps wait for input."""
