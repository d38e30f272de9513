"""Data of several traces in one view for the browser: JSON-ready dicts; pure functions.

Times are in nanoseconds relative to the start of the trace that they belong to.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from stepscope.dashboard.panels.timeline.details import slice_row
from stepscope.dashboard.panels.timeline.messages import AlignmentAnswer, CollectivesAnswer, DifferencesAnswer
from stepscope.dashboard.traces.sources import OpenedTrace
from stepscope.profiler.analysis.communication import match_collectives
from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.analysis.trace_alignment import Aligned, Alignment, By, align, differences

if TYPE_CHECKING:
    import polars as pl

MAX_COLLECTIVES: Final = 2_000
MAX_DIFFERENCES: Final = 5_000


def labels_of(traces: Sequence[OpenedTrace]) -> list[str]:
    """Return the name of each trace in messages: its file or tag, with its run if that alone is ambiguous."""
    plain = [trace.source.label for trace in traces]
    if len(set(plain)) == len(plain):
        return plain
    return [f"{trace.source.label} of run {trace.source.run}" for trace in traces]


def alignment(
    traces: Sequence[OpenedTrace],
    facts: Sequence[Facts],
    by: By,
    step: int | None,
    name: str | None,
    parts: Sequence["pl.DataFrame"],
) -> AlignmentAnswer:
    """Return each offset; see `stepscope.profiler.analysis.trace_alignment.align`, whose errors it raises."""
    named = zip(traces, facts, labels_of(traces), strict=True)
    found: Alignment = align(
        [Aligned(each, trace.start_ns, label) for trace, each, label in named],
        by,
        step=step,
        name=name,
        communication=parts,
    )
    return {
        "by": by,
        "traces": [
            {"id": trace.source.id, "offset": offset} for trace, offset in zip(traces, found.offsets, strict=True)
        ],
        "notes": list(found.notes),
    }


def collectives(
    traces: Sequence[OpenedTrace], parts: Sequence["pl.DataFrame"], window: tuple[int, int] | None, limit: int
) -> CollectivesAnswer:
    """Return collectives that at least two of the traces have, in the chronological order of the first.

    Each has, per trace, its slice or null, its duration, and how long it waited for others there; see
    `stepscope.profiler.analysis.communication.match_collectives`. A window, in the first trace's relative time, selects
    those whose slice in the first trace reaches into it.
    """
    import polars as pl

    keys = ("step", "collective", "number")
    matched = match_collectives(parts)
    of_first = matched.filter(pl.col("trace") == 0).sort("start_ns", *keys)
    chosen = of_first.select(*keys)
    if window is not None:
        start = pl.col("start_ns") - traces[0].start_ns
        inside = (start < window[1]) & (start + pl.col("duration_ns") > window[0])
        chosen = of_first.filter(inside).select(*keys)
    else:
        # Collectives without a slice in the first trace come last.
        others = matched.join(of_first, on=keys, how="anti").select(*keys).unique(maintain_order=True)
        chosen = pl.concat([chosen, others])
    page = chosen.head(limit).with_row_index("place")
    rows = page.select(*keys).to_dicts()
    members: list[list[dict[str, Any] | None]] = [[None] * len(traces) for _ in rows]
    for member in page.join(matched, on=keys).to_dicts():
        members[member["place"]][member["trace"]] = member
    return {
        "traces": [trace.source.id for trace in traces],
        "count": len(chosen),
        "rows": [
            {
                "name": row["collective"],
                "step": row["step"],
                "number": row["number"],
                "slices": [
                    None if member is None else slice_row(trace, member["slice"])
                    for trace, member in zip(traces, of_row, strict=True)
                ],
                "duration": [None if member is None else member["duration_ns"] for member in of_row],
                "wait": [None if member is None else member["waiting_ns"] for member in of_row],
            }
            for row, of_row in zip(rows, members, strict=True)
        ],
    }


def difference(first: "pl.DataFrame", second: "pl.DataFrame", window_ns: int, limit: int) -> DifferencesAnswer:
    """Return statistics of two traces by slice name, as parallel lists, largest change first.

    Slice names are given in full, so that slices can be colored by them. ``verdicts`` counts all rows, including those
    beyond ``limit``; ``totals`` sums up each side.
    """
    import polars as pl

    table = differences(first, second, window_ns)
    sums = table.group_by("side").agg(pl.col("total_first_ns", "total_second_ns").sum()).sort("side")
    page = table.head(limit)
    return {
        "window": window_ns,
        "rows": len(table),
        "verdicts": {row["verdict"]: row["len"] for row in table.group_by("verdict").len().sort("verdict").to_dicts()},
        "totals": {row["side"]: (row["total_first_ns"], row["total_second_ns"]) for row in sums.to_dicts()},
        "name": page["name"].to_list(),
        "category": page["category"].to_list(),
        "side": page["side"].to_list(),
        "count": (page["count_first"].to_list(), page["count_second"].to_list()),
        "total": (page["total_first_ns"].to_list(), page["total_second_ns"].to_list()),
        "mean": (page["mean_first_ns"].to_list(), page["mean_second_ns"].to_list()),
        "change": page["change_ns"].to_list(),
        "verdict": page["verdict"].to_list(),
    }
