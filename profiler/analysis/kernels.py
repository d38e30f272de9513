"""Kernels: how often they ran, how long, and how well they fill the device."""

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.analysis.facts import Facts, Scope, facts_of
from stepscope.profiler.analysis.reasons import NO_DEVICE
from stepscope.profiler.analysis.records import Analysis, Column
from stepscope.profiler.trace import Trace
from stepscope.summary.distinct import numbered

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
    """Return whether a kernel uses tensor cores, judged by its name.

    The names are those of NVIDIA's PyProf (``prof/tc.py``), which torch-tb-profiler also uses, and those of newer
    libraries.
    """
    return any(part in name for part in _TENSOR_CORES) or any(part in name for part in _NEWER_TENSOR_CORES)


KernelKey = Literal["name", "stem", "category"]
Category = Literal[
    "communication", "attention", "convolution", "matmul", "normalization", "reduction", "elementwise", "other"
]
_CATEGORIES: Final[tuple[tuple[Category, re.Pattern[str]], ...]] = (
    ("communication", re.compile(r"nccl|rccl|oneccl")),
    ("attention", re.compile(r"flash|fmha|attention|attn|sdpa")),
    ("convolution", re.compile(r"conv(?!ert)|implicit_gemm|winograd|wgrad|dgrad|fprop|im2col|col2im")),
    ("matmul", re.compile(r"gemm|gemv|matmul|cutlass|cublas|nvjet|splitk|^cijk_|dot_kernel")),
    ("normalization", re.compile(r"norm(?!al_)|bn_(fw|bw)|softmax")),
    ("reduction", re.compile(r"reduc|triton_(red|per)_|welford|argm(ax|in)|cum(sum|prod)|devicescan|_sum\b")),
    (
        "elementwise",
        re.compile(r"elementwise|pointwise|triton_poi_|multi_tensor_apply|eigenmetakernel|fill|copy|cast|dropout|relu"),
    ),
)
"""Parts of kernel names in lower case; the first match counts."""
_ANONYMOUS: Final = "(anonymous namespace)"


@lru_cache(maxsize=65_536)
def kernel_category(name: str) -> Category:
    """Return the category of a kernel, guessed from its name, as traces do not state it.

    Softmax counts as normalization, cuDNN's implicit matrix products as convolution, and the optimizers' fused loops
    over tensors as elementwise.
    """
    lower = name.lower()
    return next((category for category, pattern in _CATEGORIES if pattern.search(lower)), "other")


@lru_cache(maxsize=65_536)
def kernel_stem(name: str) -> str:
    """Return a kernel's name without template arguments, parameters and return type.

    ``void at::native::elementwise_kernel<128, 4>(int)`` becomes ``at::native::elementwise_kernel``. A name with
    unmatched brackets, or that would become empty, is unchanged.
    """
    kept, depth = [], 0
    for letter in name.replace(_ANONYMOUS, "\0"):
        if letter == "(" and not depth:
            break
        if letter == ">":
            depth -= 1
        elif letter == "<":
            depth += 1
        elif not depth:
            kept.append(letter)
        if depth < 0:
            return name
    stem = "".join(kept).strip().removeprefix("void ").replace("\0", _ANONYMOUS).strip()
    return stem if stem and not depth else name


def kernel_key(name: str, by: KernelKey) -> str:
    """Return the key by which a kernel is grouped."""
    match by:
        case "name":
            return name
        case "stem":
            return kernel_stem(name)
        case "category":
            return kernel_category(name)
        case _:
            assert_never(by)


def kernels(
    trace: Trace | Facts,
    *,
    scope: Scope = "all",
    by: KernelKey = "name",
    chosen: NDArray[np.bool_] | None = None,
) -> "pl.DataFrame":
    """Return kernels by name, by `kernel_stem` or by `kernel_category`, including communication, longest total first.

    Like torch-tb-profiler's ``KernelParser``: blocks per SM and occupancy are means weighted by duration in which
    unknown values count as 0; null if the trace has none. The standard deviation is the sample's, 0 for one call, as in
    HolisticTraceAnalysis. A group of names uses tensor cores if one of them does, and its kind is the one with the most
    time. ``chosen`` (bool ``[slices]``) selects some kernels only.

    Columns: name, kind ("kernel" or "communication") (text), tensor_cores (bool), count, total_ns (int64), mean_ns
    (float64), min_ns, max_ns (int64), std_ns, percent (of all kernels' time), blocks_per_sm, occupancy_percent
    (float64).
    """
    import polars as pl

    facts = facts_of(trace)
    every = facts.device(scope)
    counted = every.where(every.of("kernel", "communication"))
    if chosen is not None:
        counted = counted.where(chosen[counted.slice])
    known, _, place = numbered(facts.trace.name_id[counted.slice])
    names = [facts.trace.names[number] for number in known.tolist()]
    number_of: dict[str, int] = {}
    # One number for all names in a group.
    group = np.array([number_of.setdefault(kernel_key(name, by), len(number_of)) for name in names], np.int64)
    used = np.array([uses_tensor_cores(name) for name in names], np.bool_)
    labels = list(number_of)
    blocks, occupancy = counted.numbers("blocks per SM", "est. achieved occupancy %")
    duration = pl.col("duration_ns")
    frame = pl.DataFrame(
        {
            "group": group[place],
            "communication": counted.of("communication"),
            "tensor_cores": used[place],
            "duration_ns": counted.duration,
            "blocks": blocks,
            "occupancy": occupancy,
        }
    )

    def weighted(column: str) -> "pl.Expr":
        value = pl.col(column)
        mean = (value.fill_nan(0) * duration).sum() / duration.sum()
        return pl.when(value.is_not_nan().any()).then(pl.when(duration.sum() > 0).then(mean).otherwise(0.0))

    communicating = duration.filter(pl.col("communication")).sum()
    grouped = frame.group_by("group", maintain_order=True).agg(
        (pl.col("communication").all() | (2 * communicating > duration.sum())).alias("communication"),
        pl.col("tensor_cores").any(),
        pl.len().cast(pl.Int64).alias("count"),
        duration.sum().alias("total_ns"),
        duration.mean().alias("mean_ns"),
        duration.min().alias("min_ns"),
        duration.max().alias("max_ns"),
        duration.cast(pl.Float64).std().fill_null(0.0).alias("std_ns"),
        weighted("blocks").alias("blocks_per_sm"),
        weighted("occupancy").alias("occupancy_percent"),
    )
    texts = [labels[number] for number in grouped["group"].to_list()]
    total = pl.col("total_ns").sum()
    return (
        grouped.with_columns(
            pl.Series("name", texts, dtype=pl.String),
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
    """Return the share of kernel time in kernels that use tensor cores; NaN without kernels."""
    facts = facts_of(trace)
    every = facts.every_device_activity
    chosen = every.where(every.of("kernel", "communication"))
    used = np.array([uses_tensor_cores(name) for name in facts.trace.names] or [False], np.bool_)
    duration = chosen.duration
    total = int(duration.sum())
    return float(duration[used[facts.trace.name_id[chosen.slice]]].sum() / total) if total else float("nan")


KERNELS: Final = Analysis(
    "kernels",
    "kernels by name",
    kernels,
    (
        Column("name", "name of the kernel"),
        Column("count", "how often it ran", adds_up=True),
        Column("total_ns", "sum of the durations", adds_up=True),
        Column("percent", "share of the time of all kernels", adds_up=True),
        Column("mean_ns", "mean duration"),
        Column("min_ns", "shortest duration"),
        Column("max_ns", "longest duration"),
        Column("std_ns", "standard deviation of the durations"),
        Column(
            "blocks_per_sm",
            "mean blocks per multiprocessor, weighted by duration; below 1, some multiprocessors stay empty",
        ),
        Column("occupancy_percent", "estimated achieved occupancy: mean, weighted by duration"),
        Column("kind", '"kernel" or "communication"', "word"),
        Column("tensor_cores", "whether the kernel uses tensor cores, according to its name"),
    ),
    title="Kernels",
    description="Device activity by name.",
    empty=NO_DEVICE,
    of_devices=True,
)
"""Kernels by name."""
