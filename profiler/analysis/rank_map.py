"""Steps of ranks as a heat map of bounded size: which rank was slow when."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.analysis.rank_groups import members
from stepscope.profiler.analysis.rank_outliers import own_times
from stepscope.profiler.analysis.ranks import Ranks, tables_of_ranks
from stepscope.profiler.analysis.reasons import NO_STEPS
from stepscope.profiler.analysis.records import Analysis, Column

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")
MOST_ROWS: Final = 40
"""Maximum number of rows of `rank_map`; with more ranks, some share a row."""
MOST_COLUMNS: Final = 96
"""Maximum number of columns of `rank_map`; with more steps, some share a column."""


@dataclass(frozen=True)
class HeatMap:
    """Steps of ranks: each row stands for consecutive ranks, each column for consecutive steps."""

    rows: tuple[tuple[int, ...], ...]
    """The ranks of each row."""
    names: tuple[str, ...]
    """The label of each row: its ranks, or its groups."""
    first_step: NDArray[np.int64]
    """First step of each column, int64 ``[columns]``."""
    last_step: NDArray[np.int64]
    """Last step of each column, int64 ``[columns]``."""
    percent: NDArray[np.float64]
    """How much longer the slowest of a row's ranks took in a column than the median of all ranks, float64 ``[rows,
    columns]`` in percent; NaN if none has the step."""
    slowest: NDArray[np.int64]
    """That rank, int64 ``[rows, columns]``; -1 if none."""


def heat_map(
    ranks: Ranks,
    *,
    most_rows: int,
    most_columns: int,
    only: Collection[int] | None = None,
    steps: tuple[int, int] | None = None,
    by: str = "",
) -> HeatMap:
    """Return how long steps took on each rank, without waiting in collectives, relative to the median of all ranks.

    Args:
        ranks: of one job.
        most_rows: maximum number of rows; with more ranks, consecutive ones share a row, which shows the slowest.
        most_columns: likewise for steps.
        only: the ranks to show; the median is over all ranks.
        steps: the first and the last step to show.
        by: a grouping of `stepscope.profiler.analysis.rank_groups`, whose groups have separate rows; "" for none.
    """
    import polars as pl

    tables = tables_of_ranks(ranks)
    times = own_times(tables)
    median = times.group_by("step").agg(pl.col("own_ns").median().alias("median_ns"))
    known = tables.scan("steps").select("step").unique().collect(engine="streaming")["step"].sort().to_list()
    known = [step for step in known if steps is None or steps[0] <= step <= steps[1]]
    shown = [rank for rank in tables.ranks if only is None or rank in only]
    names, rows = zip(*rows_of_ranks(ranks, shown, by, most_rows), strict=True) if shown else ((), ())
    columns = _shares(known, -(-len(known) // most_columns) or 1)
    row_of = pl.DataFrame(
        [(rank, row) for row, those in enumerate(rows) for rank in those],
        schema={"rank": pl.Int64, "row": pl.Int64},
        orient="row",
    )
    column_of = pl.DataFrame(
        [(step, column) for column, those in enumerate(columns) for step in those],
        schema={"step": pl.Int64, "column": pl.Int64},
        orient="row",
    )
    over = 100 * (pl.col("own_ns") / pl.max_horizontal("median_ns", 1) - 1)
    cells = (
        times.join(median, on="step")
        .join(row_of.lazy(), on="rank")
        .join(column_of.lazy(), on="step")
        .with_columns(over.alias("percent"))
        .group_by("row", "column")
        .agg(
            pl.col("percent").max(),
            pl.col("rank").filter(pl.col("percent") == pl.col("percent").max()).min().alias("slowest"),
        )
        .collect(engine="streaming")
    )
    percent = np.full((len(rows), len(columns)), np.nan)
    slowest = np.full((len(rows), len(columns)), -1, np.int64)
    at = (cells["row"].to_numpy(), cells["column"].to_numpy())
    percent[at], slowest[at] = cells["percent"].to_numpy(), cells["slowest"].to_numpy()
    bounds = np.array([(those[0], those[-1]) for those in columns], np.int64).reshape(-1, 2)
    return HeatMap(rows, names, bounds[:, 0], bounds[:, 1], percent, slowest)


def single_steps(found: HeatMap) -> list[tuple[int, int]]:
    """Return the pairs of rank and step that have a cell of their own."""
    ranks = [row[0] for row in found.rows if len(row) == 1]
    return [(rank, step) for step in found.first_step[found.first_step == found.last_step].tolist() for rank in ranks]


def rows_of_ranks(
    ranks: Ranks, shown: Sequence[int], by: str, most: int, *, whole_groups: bool = False
) -> list[tuple[str, tuple[int, ...]]]:
    """Return some ranks in at most ``most`` rows, each with its name: one rank, consecutive ones, or groups.

    Args:
        ranks: of one job.
        shown: the requested ranks, in order.
        by: a grouping of `stepscope.profiler.analysis.rank_groups`: no row has parts of two groups; "" for none.
        most: maximum number of rows, at least one.
        whole_groups: whether a group is one row even if there is room for more.
    """
    if not shown:
        return []
    groups = _groups(ranks, shown, by)
    return _rows(groups, most, max(len(found) for _, found in groups) if by and whole_groups else 1)


def _groups(ranks: Ranks, shown: Sequence[int], by: str) -> list[tuple[str, list[int]]]:
    """Return the shown ranks by group, the group of the lowest rank first; all in one unnamed group if ``by`` is ""."""
    import polars as pl

    if not by:
        return [("", list(shown))]
    found = members(tables_of_ranks(ranks)).filter(pl.col("grouping") == by).select("rank", "group")
    group_of = dict(found.collect(engine="streaming").iter_rows())
    groups: dict[str, list[int]] = {}
    for rank in shown:
        groups.setdefault(group_of.get(rank, "in no group"), []).append(rank)
    return list(groups.items())


def _rows(groups: list[tuple[str, list[int]]], most: int, ranks_a_row: int) -> list[tuple[str, tuple[int, ...]]]:
    if len(groups) > most:
        shared = _shares(groups, -(-len(groups) // most))
        return [
            (
                " … ".join(dict.fromkeys((those[0][0], those[-1][0]))),
                tuple(rank for _, found in those for rank in found),
            )
            for those in shared
        ]
    while sum(-(-len(found) // ranks_a_row) for _, found in groups) > most:
        ranks_a_row += 1
    parts = [(name, tuple(part), found) for name, found in groups for part in _shares(found, ranks_a_row)]
    return [
        (
            name if name and len(part) == len(found) > 1 else " · ".join(filter(None, (name, _row_name(part)))),
            part,
        )
        for name, part, found in parts
    ]


def _row_name(ranks: tuple[int, ...]) -> str:
    return f"{ranks[0]}" if len(ranks) == 1 else f"{ranks[0]}–{ranks[-1]}"


def _shares(values: Sequence[T], size: int) -> list[Sequence[T]]:
    return [values[start : start + size] for start in range(0, len(values), size)]


def rank_map(ranks: Ranks) -> "pl.DataFrame":
    """Return `heat_map` with at most `MOST_ROWS` x `MOST_COLUMNS` cells, one row per cell; empty cells have none.

    Columns: first_rank, last_rank, step (int64, the first of those that share the cell), over_percent (float64),
    slowest_rank (int64).
    """
    import polars as pl

    found = heat_map(ranks, most_rows=MOST_ROWS, most_columns=MOST_COLUMNS)
    row, column = np.nonzero(found.slowest >= 0)
    ends = np.array([(those[0], those[-1]) for those in found.rows], np.int64).reshape(-1, 2)
    return pl.DataFrame(
        {
            "first_rank": ends[row, 0],
            "last_rank": ends[row, 1],
            "step": found.first_step[column],
            "over_percent": found.percent[row, column],
            "slowest_rank": found.slowest[row, column],
        },
        schema={
            "first_rank": pl.Int64,
            "last_rank": pl.Int64,
            "step": pl.Int64,
            "over_percent": pl.Float64,
            "slowest_rank": pl.Int64,
        },
    )


RANK_MAP: Final = Analysis(
    "rank_map",
    "how long each step took on each rank, as a map",
    rank_map,
    (
        Column("first_rank", "lowest rank in the cell", "identity"),
        Column("last_rank", "highest rank in the cell", "identity"),
        Column("step", "number of the step, or of the first step in the cell", "identity"),
        Column("over_percent", "how much longer it took than the median of all ranks, excluding waiting"),
        Column("slowest_rank", "the slowest rank in the cell", "identity"),
    ),
    of="ranks",
    title="Step times by rank",
    description="How much longer each step took on a rank than on the median rank, not counting waiting in "
    "collectives. With many ranks or steps, several share a cell, which shows the slowest.",
    empty=NO_STEPS,
    whole=True,
)
"""How long each step took on each rank, as a map."""
