"""What could not be shown of a trace as stored."""

from typing import TYPE_CHECKING

from stepscope.dashboard.panels.profile.table import Table
from stepscope.dashboard.traces.analyzed_traces import AnalyzedTrace
from stepscope.profiler.traces.losses import arrows_with_one_end, events_not_as_stored, examples_since, explain
from stepscope.summary.counts import counted

if TYPE_CHECKING:
    pass


def losses_table(analyzed: AnalyzedTrace) -> Table:
    """Return what could not be shown as stored, by reason, most frequent first; arrows with one end come last."""
    import polars as pl

    losses = analyzed.facts.trace.losses
    events = events_not_as_stored(losses)
    arrows = {reason: count for reason, count in losses.counts.items() if count and reason not in events}
    counts = events | dict(sorted(arrows.items(), key=lambda pair: (-pair[1], pair[0])))
    examples = examples_since(losses, analyzed.start_ns)
    columns = {
        "reason": list(counts),
        "count": list(counts.values()),
        "meaning": [explain(reason) for reason in counts],
        "example": [examples.get(reason, "") for reason in counts],
    }
    schema = {"reason": pl.String, "count": pl.Int64, "meaning": pl.String, "example": pl.String}
    return Table("losses", "Skipped or altered events", pl.DataFrame(columns, schema=schema), "All events were read.")


def losses_words(analyzed: AnalyzedTrace) -> list[str]:
    """Return how much could not be shown as stored, in the Timeline's words; empty if everything was."""
    losses = analyzed.facts.trace.losses
    events, arrows = sum(events_not_as_stored(losses).values()), arrows_with_one_end(losses)
    return [
        *([f"{counted(events, 'event')} skipped or altered"] if events else []),
        *([f"{counted(arrows, 'arrow')} {'has' if arrows == 1 else 'have'} only one end"] if arrows else []),
    ]
