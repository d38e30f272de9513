"""What the browser gets of several traces in one view: JSON-ready dicts; pure.

Times sent are nanoseconds relative to the beginning of the trace that they belong to.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from dashboard.panels.timeline.details import slice_row
from dashboard.traces.sources import OpenedTrace
from profiler.analysis.facts import Facts
from profiler.analysis.ranks import match_collectives
from profiler.analysis.together import Aligned, Alignment, By, align, differences

if TYPE_CHECKING:
    import polars as pl

MAX_COLLECTIVES: Final = 2_000
MAX_DIFFERENCES: Final = 5_000


def labels_of(traces: Sequence[OpenedTrace]) -> list[str]:
    """What messages call each trace: its file or tag, with its run where that alone does not tell them apart."""
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
) -> dict[str, Any]:
    """The offset of each trace, see `profiler.analysis.together.align`, whose errors it raises."""
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
) -> dict[str, Any]:
    """Collectives that at least two of the traces have, in the first's order of time.

    Each has, per trace, its slice or null, its duration, and how long it waited for others there; see
    `profiler.analysis.ranks.match_collectives`. A window, in the first trace's relative time, takes those whose slice
    in the first trace reaches into it.
    """
    matched = match_collectives(parts)
    found: dict[tuple[int, str, int], list[dict[str, Any] | None]] = {}
    for row in matched.to_dicts():
        key = row["step"], row["collective"], row["number"]
        found.setdefault(key, [None] * len(traces))[row["trace"]] = row
    origin = traces[0].start_ns

    def moment(members: list[dict[str, Any] | None]) -> tuple[bool, int]:
        first = members[0]
        return first is None, first["start_ns"] if first is not None else 0

    def inside(members: list[dict[str, Any] | None]) -> bool:
        first = members[0]
        if window is None or first is None:
            return window is None
        start = first["start_ns"] - origin
        return bool(start < window[1] and start + first["duration_ns"] > window[0])

    chosen = sorted(((key, each) for key, each in found.items() if inside(each)), key=lambda pair: moment(pair[1]))
    return {
        "traces": [trace.source.id for trace in traces],
        "count": len(chosen),
        "rows": [
            {
                "name": collective,
                "step": step,
                "number": number,
                "slices": [
                    None if member is None else slice_row(trace, member["slice"])
                    for trace, member in zip(traces, members, strict=True)
                ],
                "duration": [None if member is None else member["duration_ns"] for member in members],
                "wait": [None if member is None else member["waiting_ns"] for member in members],
            }
            for (step, collective, number), members in chosen[:limit]
        ],
    }


def difference(first: "pl.DataFrame", second: "pl.DataFrame", window_ns: int, limit: int) -> dict[str, Any]:
    """What two traces have of each name, as parallel lists, the largest change first.

    Names of slices are given whole, so that slices can be coloured by them. ``verdicts`` counts all rows, also those
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
        "totals": {row["side"]: [row["total_first_ns"], row["total_second_ns"]] for row in sums.to_dicts()},
        "name": page["name"].to_list(),
        "category": page["category"].to_list(),
        "side": page["side"].to_list(),
        "count": [page["count_first"].to_list(), page["count_second"].to_list()],
        "total": [page["total_first_ns"].to_list(), page["total_second_ns"].to_list()],
        "mean": [page["mean_first_ns"].to_list(), page["mean_second_ns"].to_list()],
        "change": page["change_ns"].to_list(),
        "verdict": page["verdict"].to_list(),
    }
