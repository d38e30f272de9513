"""How ranks are divided: by host, and by the process groups that their traces state."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from stepscope.profiler.analysis.rank_facts import RankTables
from stepscope.profiler.analysis.ranks import Ranks, rank_summary, slowest_rank, tables_of_ranks
from stepscope.profiler.analysis.records import Analysis, Column

if TYPE_CHECKING:
    import polars as pl

HOST: Final = "host"
"""The grouping by host name."""
_RANGE: Final = re.compile(r"(\d{1,9})(?:\s*[-–]\s*(\d{1,9})(?:\s+by\s+(\d{1,9}))?)?")


def members(tables: RankTables) -> "pl.LazyFrame":
    """Return the group of each rank, for each way in which ranks are divided.

    A grouping with all ranks in one group divides nothing and is left out; so is one that is not known for every rank.
    Columns: rank (int64), grouping, group (text).
    """
    import polars as pl

    hosts = (
        tables.scan("trace")
        .filter(pl.col("host") != "")
        .select("rank", pl.lit(HOST).alias("grouping"), pl.col("host").alias("group"))
    )
    stated = tables.scan("groups").select("rank", "grouping", "group").filter(pl.col("grouping") != HOST)
    every = pl.concat([hosts, stated])
    whole = (
        every.group_by("grouping")
        .agg(pl.col("rank").n_unique().alias("ranks"), pl.col("group").n_unique().alias("groups"))
        .filter((pl.col("ranks") == len(tables.ranks)) & (pl.col("groups") > 1))
    )
    return every.join(whole, on="grouping", how="semi")


def groupings(ranks: Ranks) -> tuple[str, ...]:
    """Return the ways in which ranks are divided: first by host, if applicable, then by name."""
    found = members(tables_of_ranks(ranks)).select("grouping").unique().collect(engine="streaming")["grouping"]
    return tuple(sorted(found.to_list(), key=lambda name: (name != HOST, name)))


def selected_ranks(ranks: Ranks, words: str) -> tuple[int, ...]:
    """Return the requested ranks, or all if none are requested.

    Args:
        ranks: of one job.
        words: comma-separated parts, each a rank, "0-7", "0-56 by 8", or a part of the name of a host or a group,
            case-insensitive.
    """
    tables = tables_of_ranks(ranks)
    parts = [part.strip() for part in words.split(",") if part.strip()]
    if not parts:
        return tables.ranks
    asked = [_RANGE.fullmatch(part) for part in parts]
    names = [part.casefold() for part, found in zip(parts, asked, strict=True) if found is None]
    ranges = [found for found in asked if found is not None]
    wanted = {rank for rank in tables.ranks if any(_holds(found, rank) for found in ranges)}
    if names:
        rows = members(tables).select("rank", "group").collect(engine="streaming").iter_rows()
        wanted |= {rank for rank, group in rows if any(name in group.casefold() for name in names)}
    return tuple(rank for rank in tables.ranks if rank in wanted)


def _holds(asked: re.Match[str], rank: int) -> bool:
    first, last, stride = asked.groups()
    start, end = int(first), int(last or first)
    return start <= rank <= end and (rank - start) % max(1, int(stride or 1)) == 0


def ranges_in_words(ranks: tuple[int, ...]) -> str:
    """Return ranks in the words by which `selected_ranks` finds them."""
    return ", ".join(f"{start}" if start == end else f"{start}-{end}" for start, end in _runs(ranks))


def _runs(ranks: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    start = 0
    for place in range(1, len(ranks) + 1):
        if place == len(ranks) or ranks[place] != ranks[place - 1] + 1:
            yield ranks[start], ranks[place - 1]
            start = place


def rank_groups(ranks: Ranks) -> "pl.DataFrame":
    """Return each group of ranks with the mean step of its ranks: by grouping, slowest first.

    A slow group is recognized by the time that its ranks do not wait for others: `own_ns`.

    Columns: grouping, group (text), ranks (int64), step_ns, computation_ns, communication_ns, waiting_ns, own_ns
    (float64, means over its ranks of those of `stepscope.profiler.analysis.ranks.rank_summary`; own is step without
    waiting), slowest_rank (int64, the one with the largest own time).
    """
    import polars as pl

    tables = tables_of_ranks(ranks)
    own = (pl.col("step_ns") - pl.col("waiting_ns")).clip(0).alias("own_ns")
    summary = rank_summary(tables).filter(pl.col("steps") > 0).with_columns(own)
    return (
        members(tables)
        .join(summary.lazy(), on="rank")
        .group_by("grouping", "group")
        .agg(
            pl.len().cast(pl.Int64).alias("ranks"),
            pl.col("step_ns", "computation_ns", "communication_ns", "waiting_ns", "own_ns").mean(),
            slowest_rank("own_ns"),
        )
        # Rounded, as sums computed by several threads differ in their last bits.
        .sort(pl.col("grouping") != HOST, "grouping", -pl.col("own_ns").round(), "group")
        .collect(engine="streaming")
    )


RANK_GROUPS: Final = Analysis(
    "rank_groups",
    "hosts and process groups",
    rank_groups,
    (
        Column("grouping", "how ranks are grouped: by host, or by process group as named in the traces", "label"),
        Column("group", "the host, or the group's ranks", "text"),
        Column("ranks", "number of ranks in the group"),
        Column("step_ns", "mean step of its ranks"),
        Column("computation_ns", "mean time per step in computation"),
        Column("communication_ns", "mean time per step in communication"),
        Column("waiting_ns", "time that its collectives took beyond those of the fastest rank"),
        Column("own_ns", "mean step excluding waiting in collectives"),
        Column("slowest_rank", "number of its slowest rank, excluding waiting", "identity"),
    ),
    of="ranks",
    title="Hosts and process groups",
    description="The mean step of the ranks of each host and each process group, the slowest first.",
    empty="The traces name one host or none, and no process groups that divide the ranks.",
    note="means per step",
)
"""Hosts and process groups."""
