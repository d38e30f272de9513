"""Copies and memsets: how many bytes, from where to where, and how fast."""

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.analysis.arguments import NO_SIZE
from stepscope.profiler.analysis.facts import Device, Facts, Scope, facts_of, text
from stepscope.profiler.analysis.queue import statistics
from stepscope.profiler.analysis.reasons import NO_COPIES
from stepscope.profiler.analysis.records import Analysis, Column, statistics_of
from stepscope.profiler.trace import Trace
from stepscope.summary.distinct import numbered

if TYPE_CHECKING:
    import polars as pl

UNKNOWN: Final = "unknown"
_DIRECTION: Final = re.compile(r"([HDAP])(?:ost|evice|eer)?\s*(?:to|To|2)\s*([HDAP])", re.I)
_PLACE: Final = r"(h|host|d|device|a|array|p|peer)"
_STATED: Final = re.compile(rf"{_PLACE}[\s_-]*(?:to|2)[\s_-]*{_PLACE}", re.I)
_MOST_STATED: Final = 40
"""Maximum number of characters of a direction that an argument states in its own words."""
_PAGEABLE: Final = re.compile(r"pageable", re.I)
_PINNED: Final = re.compile(r"pinned", re.I)


@lru_cache(maxsize=1024)
def direction_of(name: str) -> str:
    """Return the direction of a copy: "HtoD", "DtoH", "DtoD", "PtoP" and the like, "memset", or "unknown"."""
    if "memset" in name.lower():
        return "memset"
    found = _DIRECTION.search(name)
    return f"{found[1].upper()}to{found[2].upper()}" if found else UNKNOWN


def _stated_direction(stated: str) -> str:
    """Return the direction that an argument states, in the form of `direction_of` if it is of that kind."""
    found = _STATED.fullmatch(stated.strip())
    return f"{found[1][0].upper()}to{found[2][0].upper()}" if found else stated[:_MOST_STATED] or UNKNOWN


@lru_cache(maxsize=1024)
def memory_of(name: str) -> str:
    """Return the kind of host memory that Kineto names in brackets: "pageable", "pinned", or "" if it names none."""
    if _PAGEABLE.search(name):
        return "pageable"
    return "pinned" if _PINNED.search(name) else ""


class _Copies(NamedTuple):
    """Copies and memsets in order of start, with the keys that analyses group them by, as parallel columns."""

    device: Device
    bytes: NDArray[np.float64]
    """NaN if the trace does not provide it."""
    direction: "pl.Series"
    memory: "pl.Series"


def _copies(facts: Facts, scope: Scope) -> _Copies:
    """Return the copies with their directions and sizes.

    Directions come from names or categories; for MTIA's ``dma_request``, from arguments, and so do sizes.
    """
    import polars as pl

    every = facts.device(scope)
    copies = every.where(every.of("memcpy", "memset"))
    trace = facts.trace
    pair = trace.name_id[copies.slice].astype(np.int64) * max(1, len(trace.categories))
    distinct, _, inverse = numbered(pair + trace.category_id[copies.slice])
    directions, memories = [], []
    for packed in distinct.tolist():
        number, category = divmod(packed, max(1, len(trace.categories)))
        name = trace.names[number]
        found = direction_of(name)
        directions.append(direction_of(trace.categories[category]) if found == UNKNOWN else found)
        memories.append(memory_of(name))
    direction = [directions[index] for index in inverse.tolist()]
    size = copies.number("bytes")
    untold = np.flatnonzero(np.array([each == UNKNOWN for each in direction], np.bool_))
    for place, arguments in zip(untold.tolist(), facts.decoded(copies.slice[untold]), strict=True):
        direction[place] = _stated_direction(text(arguments.get("direction")))
    unsized = np.flatnonzero(np.isnan(size))
    size[unsized] = copies.where(unsized).number("size")
    size[size >= NO_SIZE] = np.nan
    return _Copies(
        copies,
        size,
        pl.Series("direction", direction, dtype=pl.String),
        pl.Series("memory", [memories[index] for index in inverse.tolist()], dtype=pl.String),
    )


def each_copy(trace: Trace | Facts, *, scope: Scope = "all") -> "pl.DataFrame":
    """Return every copy and memset.

    Columns: slice (int64), direction, memory (text, as in `memcpys`), bytes (int64 or null), start_ns, duration_ns
    (int64), gb_per_s (float64, null if bytes or time are unknown), in order of start.
    """
    import polars as pl

    copies, size, direction, memory = _copies(facts_of(trace), scope)
    moved, took = pl.col("bytes"), pl.col("duration_ns")
    return pl.DataFrame(
        {
            "slice": copies.slice,
            "direction": direction,
            "memory": memory,
            "bytes": pl.Series(np.where(size >= 0, size, 0).astype(np.int64)).set(pl.Series(~(size >= 0)), None),
            "start_ns": copies.start,
            "duration_ns": copies.duration,
        }
    ).with_columns(pl.when((moved > 0) & (took > 0)).then(moved / took).alias("gb_per_s"))


def memcpys(trace: Trace | Facts, *, scope: Scope = "all") -> "pl.DataFrame":
    """Return copies by direction and host memory, longest total first.

    Bandwidth is total bytes divided by total time, in GB/s = bytes/ns.

    Columns: direction, memory ("pageable", "pinned" or "") (text), count, bytes, total_ns (int64), mean_ns (float64),
    max_ns (int64), gb_per_s (float64, null if bytes or time are unknown).
    """
    import polars as pl

    copies, size, direction, memory = _copies(facts_of(trace), scope)
    frame = pl.DataFrame(
        {
            "direction": direction,
            "memory": memory,
            "bytes": np.where(size >= 0, size, 0).astype(np.int64),
            "ns": copies.duration,
        }
    )
    total, moved = pl.col("ns").sum(), pl.col("bytes").sum()
    return (
        frame.group_by("direction", "memory", maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("count"),
            moved.alias("bytes"),
            total.alias("total_ns"),
            pl.col("ns").mean().alias("mean_ns"),
            pl.col("ns").max().alias("max_ns"),
            pl.when((total > 0) & (moved > 0)).then(moved / total).alias("gb_per_s"),
        )
        .sort("total_ns", descending=True, maintain_order=True)
    )


def size_histogram(trace: Trace | Facts, *, scope: Scope = "all") -> "pl.DataFrame":
    """Return copies by size, in powers of two.

    Columns: direction (text), at_least_bytes, below_bytes, count, total_ns (int64), in order. Copies of unknown size
    are left out; those of 0 bytes are in [0, 1).
    """
    import polars as pl

    copies, size, direction, _ = _copies(facts_of(trace), scope)
    known = size >= 0
    # Exact, whereas a logarithm may fall short of a power of two.
    upper = np.int64(1) << np.maximum(np.frexp(size[known])[1], 0).astype(np.int64)
    lower = np.where(size[known] >= 1, upper // 2, 0)
    frame = pl.DataFrame(
        {
            "direction": direction.filter(pl.Series(known, dtype=pl.Boolean)),
            "at_least_bytes": lower,
            "below_bytes": upper,
            "ns": copies.duration[known],
        }
    )
    keys = ("direction", "at_least_bytes", "below_bytes")
    grouped = frame.group_by(*keys).agg(pl.len().cast(pl.Int64).alias("count"), pl.col("ns").sum().alias("total_ns"))
    return grouped.sort(*keys)


def bandwidth_over_time(trace: Trace | Facts, *, scope: Scope = "complete") -> "pl.DataFrame":
    """Return the sum of the bandwidths of the running copies, by direction, over time.

    Like HolisticTraceAnalysis' ``get_memory_bw_time_series``: each copy counts with its own "memory bandwidth (GB/s)"
    from start to end; one of 0 ns counts as 1 us. When none runs, the value is exactly 0, while a running sum of
    floating-point numbers, as used there, may leave a residue.

    Columns: direction (text), time_ns (int64), gb_per_s (float64), one row per change, in order.
    """
    import polars as pl

    copies, _, direction_of_each, _ = _copies(facts_of(trace), scope)
    bandwidth = np.nan_to_num(copies.number("memory bandwidth (GB/s)"))
    end = np.where(copies.duration == 0, copies.start + 1000, copies.end)
    parts = []
    for direction in sorted(direction_of_each.unique().to_list()):
        here = (direction_of_each == direction).to_numpy()
        # Ends come first, so that a copy that immediately follows another does not add to it.
        times = np.concatenate([end[here], copies.start[here]])
        change = np.concatenate([-bandwidth[here], bandwidth[here]])
        running = np.repeat(np.array([-1, 1], np.int64), int(here.sum()))
        order = np.argsort(times, kind="stable")
        level = np.where(np.cumsum(running[order]) > 0, np.cumsum(change[order]), 0.0)
        parts.append(
            pl.DataFrame(
                {
                    "direction": pl.Series([direction] * len(times), dtype=pl.String),
                    "time_ns": times[order],
                    "gb_per_s": level,
                }
            )
        )
    schema = {"direction": pl.String, "time_ns": pl.Int64, "gb_per_s": pl.Float64}
    return pl.concat(parts) if parts else pl.DataFrame(schema=schema)


def bandwidth_summary(trace: Trace | Facts, *, scope: Scope = "complete") -> "pl.DataFrame":
    """Return statistics of `bandwidth_over_time` over its changes to a value above 0.

    Columns: direction (text), count (int64), mean, std, min, p25, p50, p75, max (float64).
    """
    import polars as pl

    series = bandwidth_over_time(trace, scope=scope).filter(pl.col("gb_per_s") > 0)
    return series.group_by("direction").agg(*statistics("gb_per_s")).sort("direction")


MEMCPYS: Final = Analysis(
    "memcpys",
    "copies by direction and host memory",
    memcpys,
    (
        Column("direction", "source and destination, such as HtoD, or memset", "label"),
        Column("memory", 'the host\'s memory: "pageable", "pinned" or ""', "label"),
        Column("count", "number of copies", adds_up=True),
        Column("bytes", "sum of their bytes", adds_up=True),
        Column("total_ns", "sum of their durations", adds_up=True),
        Column("mean_ns", "mean duration"),
        Column("max_ns", "longest duration"),
        Column("gb_per_s", "bandwidth: total bytes divided by total time"),
    ),
    title="By direction",
    description="Copies and memsets by direction and host memory.",
    empty=NO_COPIES,
)
"""Copies by direction and host memory."""
COPY_SIZES: Final = Analysis(
    "copy_sizes",
    "copies by size",
    size_histogram,
    (
        Column("direction", "source and destination, such as HtoD, or memset", "label"),
        Column("at_least_bytes", "the lower bound of the row's sizes"),
        Column("below_bytes", "the upper bound of the row's sizes (exclusive)"),
        Column("count", "number of copies", adds_up=True),
        Column("total_ns", "sum of their durations", adds_up=True),
    ),
    title="By size",
    description="Many small copies cost more than one large one: each has to be launched.",
    empty="No copy reports how many bytes it moved.",
)
"""Copies by size."""
BANDWIDTH: Final = Analysis(
    "bandwidth",
    "bandwidth of copies",
    bandwidth_summary,
    (Column("direction", "source and destination, such as HtoD, or memset", "label"), *statistics_of("GB/s")),
    title="Bandwidth",
    description="Bandwidth of running copies in GB/s; statistics over each change.",
    empty="No copy reports its bandwidth.",
)
"""Bandwidth of copies."""
