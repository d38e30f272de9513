"""Operators on the roofline: arithmetic intensity against throughput, where the FLOPs are known."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from profiler.analysis.facts import Facts, facts_of
from profiler.analysis.operators import operator_calls
from profiler.trace import Trace

if TYPE_CHECKING:
    import polars as pl

_ITEM_BYTES: Final = {
    "double": 8,
    "float": 4,
    "int": 4,
    "long int": 8,
    "long": 8,
    "c10::Half": 2,
    "c10::BFloat16": 2,
    "signed char": 1,
    "unsigned char": 1,
    "bool": 1,
    "short": 2,
    "c10::complex<float>": 8,
    "c10::complex<double>": 16,
}
_BY_SHAPE: Final = frozenset(["mm", "bmm", "addmm", "baddbmm", "add", "mul", "add_", "mul_"])
_FLOPS_KEYS: Final = ("flops", "model_flops", "Flops")
_BYTES_KEYS: Final = ("bytes_accessed", "bytes accessed")


def flops_of(name: str, arguments: Mapping[str, Any]) -> float | None:
    """Floating-point operations of one call, or None where they are not known.

    Those that the trace states, else by input shapes as PyTorch's ``with_flops`` (``torch/csrc/profiler/util.cpp``)
    counts: a multiplication and an addition are two. Known by shape are the matrix products (mm, addmm, bmm, baddbmm)
    and one per element for add and mul. A trace states no strides of convolutions, so these need a stated count.
    """
    for key in _FLOPS_KEYS:
        stated = arguments.get(key)
        if isinstance(stated, (int, float)) and stated > 0:
            return float(stated)
    shapes = arguments.get("Input Dims", arguments.get("Input dims"))
    if not isinstance(shapes, Sequence) or isinstance(shapes, str):
        return None
    short = name.removeprefix("aten::")
    if short in ("mm", "bmm"):
        return _product(shapes, 0)
    if short in ("addmm", "baddbmm"):
        return _product(shapes, 1)
    if short in ("add", "mul", "add_", "mul_"):
        return _elements(shapes[0]) if shapes else None
    return None


def _product(shapes: Sequence[Any], first: int) -> float | None:
    """2 x batch x m x k x n of the matrix product of two inputs."""
    if len(shapes) < first + 2:
        return None
    left, right = shapes[first], shapes[first + 1]
    if not (_is_shape(left) and _is_shape(right)) or len(left) < 2 or len(left) != len(right):
        return None
    return 2.0 * math.prod(left) * right[-1] if left[-1] == right[-2] else None


def _elements(shape: Any) -> float | None:
    return float(math.prod(shape)) if _is_shape(shape) and shape else None


def _is_shape(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(n, int) for n in value)


def bytes_of(arguments: Mapping[str, Any]) -> float | None:
    """Bytes of memory traffic of one call: what the trace states, else the size of its inputs, a lower bound."""
    for key in _BYTES_KEYS:
        stated = arguments.get(key)
        if isinstance(stated, (int, float)) and stated > 0:
            return float(stated)
    shapes, types = arguments.get("Input Dims"), arguments.get("Input type")
    if not isinstance(shapes, list) or not isinstance(types, list):
        return None
    sizes = [
        (_elements(shape) or 0.0) * _ITEM_BYTES.get(kind, 0)
        for shape, kind in zip(shapes, types, strict=False)
        if isinstance(kind, str)
    ]
    return sum(sizes) or None


def roofline(
    trace: Trace | Facts, *, peak_flops: float | None = None, peak_bytes_per_s: float | None = None
) -> "pl.DataFrame":
    """Throughput and intensity of the operators whose FLOPs are known, most FLOPs first.

    intensity = FLOPs / bytes; time is the operator's total on the device, or on the host where it launched nothing.
    With the peaks given, as xprof: efficiency = max(FLOP rate / peak, byte rate / peak), and the operator is bound by
    whichever is that maximum.

    Args:
        trace: a trace with input shapes, or with stated counts.
        peak_flops: the device's peak, in FLOP/s, for the type of numbers in use.
        peak_bytes_per_s: the peak of its memory.

    Columns: name, calls (int64), flops, bytes (float64, bytes null if unknown), time_ns (int64), gflops_per_s,
    gb_per_s, intensity, efficiency_percent (float64 or null), bound_by ("compute", "memory" or null).
    """
    import polars as pl

    facts = facts_of(trace)
    calls = operator_calls(facts)
    trace_names = facts.trace.names
    stated = not any(name.startswith("aten::") for name in trace_names)
    candidate = np.array([stated or name.removeprefix("aten::") in _BY_SHAPE for name in trace_names] or [False])
    chosen = np.flatnonzero(candidate[facts.trace.name_id[calls.slice]])
    slices = calls.slice[chosen]
    decoded = facts.decoded(slices)
    names = facts.names_of(slices)
    flops = [flops_of(name, arguments) for name, arguments in zip(names, decoded, strict=True)]
    moved = [bytes_of(arguments) if count else None for count, arguments in zip(flops, decoded, strict=True)]
    time = np.where(calls.device_total > 0, calls.device_total, calls.host_total)[chosen]
    frame = pl.DataFrame(
        {
            "name": pl.Series(names, dtype=pl.String),
            "flops": pl.Series(flops, dtype=pl.Float64),
            "bytes": pl.Series(moved, dtype=pl.Float64),
            "time_ns": time,
        }
    ).filter(pl.col("flops") > 0)
    grouped = frame.group_by("name", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("calls"),
        pl.col("flops").sum(),
        pl.when(pl.col("bytes").is_not_null().all()).then(pl.col("bytes").sum()).alias("bytes"),
        pl.col("time_ns").sum(),
    )
    busy = pl.when(pl.col("time_ns") > 0).then(pl.col("time_ns"))
    rated = grouped.with_columns(
        (pl.col("flops") / busy).alias("gflops_per_s"),
        (pl.col("bytes") / busy).alias("gb_per_s"),
        (pl.col("flops") / pl.col("bytes")).alias("intensity"),
    )
    compute = pl.col("gflops_per_s") * 1e9 / pl.lit(peak_flops, dtype=pl.Float64)
    memory = pl.col("gb_per_s") * 1e9 / pl.lit(peak_bytes_per_s, dtype=pl.Float64)
    bound = (
        pl.when(compute.is_null() | memory.is_null())
        .then(pl.lit(None, dtype=pl.String))
        .when(compute >= memory)
        .then(pl.lit("compute"))
        .otherwise(pl.lit("memory"))
    )
    return rated.with_columns(
        (100 * pl.max_horizontal(compute, memory)).alias("efficiency_percent"), bound.alias("bound_by")
    ).sort("flops", descending=True, maintain_order=True)
