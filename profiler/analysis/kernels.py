"""Kernels: how often, how long, how well they fill the device."""

from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.analysis.facts import Facts, Scope, facts_of
from profiler.trace import Trace

if TYPE_CHECKING:
    import polars as pl

_TENSOR_CORES: Final = (
    "h884",
    "s884",
    "h1688",
    "s1688",
    "hmma",
    "i8816",
    "16816",
    "dgrad_1x1_stride_2x2",
    "first_layer_wgrad_kernel",
    "conv1x1",
    "conv2d_c1_k1",
    "direct_group",
    "xmma_implicit_gemm",
    "xmma_sparse_conv",
    "xmma_warp_specialized_implicit_gemm",
    "xmma_gemm",
    "xmma_sparse_gemm",
    "c1688",
)
_NEWER_TENSOR_CORES: Final = ("tensorop", "wgmma", "gmma", "sm90_xmma", "sm100_xmma", "nvjet", "flash_fwd", "flash_bwd")


def uses_tensor_cores(name: str) -> bool:
    """Whether a kernel's name says that it uses tensor cores.

    The names are those of NVIDIA's PyProf (``prof/tc.py``), which torch-tb-profiler uses too, and those of newer
    libraries.
    """
    return any(part in name for part in _TENSOR_CORES) or any(part in name for part in _NEWER_TENSOR_CORES)


def kernels(trace: Trace | Facts, *, scope: Scope = "all") -> "pl.DataFrame":
    """Kernels by name, communication included, longest total first.

    As torch-tb-profiler's ``KernelParser``: blocks per SM and occupancy are means weighted by duration in which
    unknown values count as 0; null if the trace gives none. The standard deviation is the sample's, 0 for one call,
    as in HolisticTraceAnalysis.

    Columns: name, kind ("kernel" or "communication") (text), tensor_cores (bool), count, total_ns (int64), mean_ns
    (float64), min_ns, max_ns (int64), std_ns, percent (of all kernels' time), blocks_per_sm, occupancy_percent
    (float64).
    """
    import polars as pl

    facts = facts_of(trace)
    every = facts.device(scope)
    chosen = every.where(every.of("kernel", "communication"))
    names = facts.trace.name_id[chosen.slice]
    blocks, occupancy = chosen.numbers("blocks per SM", "est. achieved occupancy %")
    duration = pl.col("duration_ns")
    frame = pl.DataFrame(
        {
            "name_id": names,
            "communication": chosen.of("communication"),
            "duration_ns": chosen.duration,
            "blocks": blocks,
            "occupancy": occupancy,
        }
    )

    def weighted(column: str) -> "pl.Expr":
        value = pl.col(column)
        mean = (value.fill_nan(0) * duration).sum() / duration.sum()
        return pl.when(value.is_not_nan().any()).then(pl.when(duration.sum() > 0).then(mean).otherwise(0.0))

    grouped = frame.group_by("name_id", maintain_order=True).agg(
        pl.col("communication").first(),
        pl.len().cast(pl.Int64).alias("count"),
        duration.sum().alias("total_ns"),
        duration.mean().alias("mean_ns"),
        duration.min().alias("min_ns"),
        duration.max().alias("max_ns"),
        duration.cast(pl.Float64).std().fill_null(0.0).alias("std_ns"),
        weighted("blocks").alias("blocks_per_sm"),
        weighted("occupancy").alias("occupancy_percent"),
    )
    texts = [facts.trace.names[number] for number in grouped["name_id"].to_list()]
    total = pl.col("total_ns").sum()
    return (
        grouped.with_columns(
            pl.Series("name", texts, dtype=pl.String),
            pl.Series("tensor_cores", [uses_tensor_cores(name) for name in texts], dtype=pl.Boolean),
            pl.when("communication").then(pl.lit("communication")).otherwise(pl.lit("kernel")).alias("kind"),
            pl.when(total > 0).then(100 * pl.col("total_ns") / total).otherwise(0.0).alias("percent"),
        )
        .select(
            "name",
            "kind",
            "tensor_cores",
            "count",
            "total_ns",
            "mean_ns",
            "min_ns",
            "max_ns",
            "std_ns",
            "percent",
            "blocks_per_sm",
            "occupancy_percent",
        )
        .sort("total_ns", descending=True, maintain_order=True)
    )


def tensor_core_share(trace: Trace | Facts) -> float:
    """Share of kernel time in kernels that use tensor cores, NaN without kernels."""
    facts = facts_of(trace)
    every = facts.every_device_activity
    chosen = every.where(every.of("kernel", "communication"))
    used = np.array([uses_tensor_cores(name) for name in facts.trace.names] or [False], np.bool_)
    duration = chosen.duration
    total = int(duration.sum())
    return float(duration[used[facts.trace.name_id[chosen.slice]]].sum() / total) if total else float("nan")
