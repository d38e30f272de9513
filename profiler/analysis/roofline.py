"""Operators on the roofline, and the share of a device's peak that was used, where FLOPs are known."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.analysis.device_peaks import PRECISIONS, DevicePeaks, Precision, peaks_of, precision_of
from stepscope.profiler.analysis.facts import Facts, facts_of, text_column
from stepscope.profiler.analysis.flops import BY_SHAPE, COUNTED_BY, bytes_of, flops_of
from stepscope.profiler.analysis.operators import operator_calls
from stepscope.profiler.analysis.reasons import NO_FLOPS
from stepscope.profiler.analysis.records import Analysis, Column
from stepscope.profiler.analysis.steps import in_steps, step_windows
from stepscope.profiler.trace import Trace
from stepscope.summary.distinct import distinct_rows, distinct_values
from stepscope.summary.listed import listed

if TYPE_CHECKING:
    import polars as pl

_KNOWN_ENOUGH: Final = 0.9
"""Share of the time of matrix products and convolutions whose FLOPs must be known for a sum to be meaningful."""
_NUMBERS: Final = (*PRECISIONS, None)


@dataclass(frozen=True)
class Counted:
    """Calls of operators with what is known of their arithmetic, as parallel columns ``[n]``."""

    call: NDArray[np.int64]
    """Indices into `operator_calls`."""
    flops: NDArray[np.float64]
    """NaN if not known."""
    moved: NDArray[np.float64]
    """Bytes of memory traffic, NaN if not known."""
    precision: NDArray[np.int8]
    """Indices into `PRECISIONS`; one beyond them if nothing is stated."""
    time_ns: NDArray[np.int64]
    """On the device, or on the host if nothing was launched."""


def counted_calls(trace: Trace | Facts) -> Counted:
    """Return the calls whose FLOPs may be known, computed once per trace."""
    return facts_of(trace).once(_counted_calls)


def _candidates(facts: Facts, slices: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return those of some slices whose FLOPs may be known: PyTorch's by name, or any in traces without PyTorch's."""
    names = facts.trace.names
    stated = not any(name.startswith("aten::") for name in names)
    may = [stated or name.removeprefix("aten::") in BY_SHAPE or name.startswith("aten::conv") for name in names]
    chosen: NDArray[np.int64] = slices[np.array(may or [False])[facts.trace.name_id[slices]]]
    return chosen


def _counted_calls(facts: Facts) -> Counted:
    calls = operator_calls(facts)
    slices = _candidates(facts, calls.slice)
    chosen = np.flatnonzero(np.isin(calls.slice, slices))
    found = facts.distinct(slices, *COUNTED_BY)
    decoded = found.each(dict)
    # Calls with the same name and equal arguments do the same work.
    alike = distinct_rows(facts.trace.name_id[slices].astype(np.int64), found.number)
    examples = zip(facts.names_of(slices[alike.first]), listed(found.number[alike.first]), strict=True)
    counts = [(flops_of(name, decoded[number]), decoded[number]) for name, number in examples]
    moved = [bytes_of(each) if count else None for count, each in counts]
    precisions = [
        np.array([_NUMBERS.index(precision_of(each.get("Input type"), tensor_cores=used)) for each in decoded], np.int8)
        for used in (False, True)
    ]
    return Counted(
        call=chosen,
        flops=np.array([count for count, _ in counts], np.float64)[alike.group],
        moved=np.array(moved, np.float64)[alike.group],
        precision=np.where(calls.tensor_total[chosen] > 0, *(each[found.number] for each in reversed(precisions))),
        time_ns=np.where(calls.device_total > 0, calls.device_total, calls.host_total)[chosen],
    )


_LOOKED_AT: Final = 500
"""Number of calls that are checked for known FLOPs."""


def has_flops(facts: Facts) -> bool:
    """Return whether the FLOPs of any call are known, judged by a sample."""
    slices = _candidates(facts, facts.operator_slices)
    sample = slices[:: max(1, len(slices) // _LOOKED_AT)]
    return any(flops_of(*each) for each in zip(facts.names_of(sample), facts.decoded(sample), strict=True))


def device_peaks(facts: Facts) -> DevicePeaks | None:
    """Return the peaks of the trace's devices: as stated by the user, else by the devices' name.

    None if they differ, or are not known.
    """
    properties = facts.trace.metadata.get("deviceProperties")
    listed = properties if isinstance(properties, list) else []
    used = {peaks_of(str(each.get("name", ""))) for each in listed if isinstance(each, Mapping)}
    return facts.stated_peaks.over(used.pop() if len(used) == 1 else None)


def _rates(peaks: DevicePeaks | None) -> NDArray[np.float64]:
    """Return the peaks in FLOP/s by index into `PRECISIONS`; NaN if not known, and for calls that state no type."""
    return np.array([(peaks.flops(each) if peaks and each else None) or np.nan for each in _NUMBERS], np.float64)


def peaks_in_use(facts: Facts) -> dict[Precision, float]:
    """Return the device's peak in FLOP/s, if known, for each number type in which calls with known FLOPs computed."""
    peaks = device_peaks(facts)
    counted = counted_calls(facts)
    used = set(counted.precision[counted.flops > 0].tolist())
    found = {name: peaks.flops(name) for place, name in enumerate(PRECISIONS) if place in used} if peaks else {}
    return {name: peak for name, peak in found.items() if peak}


def utilization(trace: Trace | Facts) -> float | None:
    """Return the model FLOPs utilization (MFU), in percent: computed in the steps, of what the devices could have.

    = sum over calls of FLOPs / peak of their number type, divided by the steps' time and the number of devices used (as
    in Chowdhery et al., PaLM, appendix B, with the FLOPs that ran: recomputed ones count). Of nested calls, the
    outermost with known FLOPs counts. None if the peaks of the device are not known, or if FLOPs are known for under
    90% of the time of matrix products and convolutions.
    """
    facts = facts_of(trace)
    peaks = device_peaks(facts)
    if peaks is None:
        return None
    counted, calls = counted_calls(facts), operator_calls(facts)
    inside = in_steps(facts)[calls.slice]
    known = _outermost(counted, calls.parent)
    matrix = calls.is_operator & calls.eligible & (calls.device_self > 0) & inside
    whole = int(calls.device_self[matrix].sum())
    covered = int(calls.device_self[matrix & (known >= 0)].sum())
    windows = step_windows(facts)
    devices = len(distinct_values(facts.every_device_activity.device))
    span = int((windows.end - windows.start).sum()) * devices
    if not whole or covered < _KNOWN_ENOUGH * whole or not span:
        return None
    rates = _rates(peaks)
    place = distinct_values(known[(known >= 0) & inside])
    seconds = counted.flops[place] / rates[counted.precision[place]]
    counts = np.isfinite(seconds)
    if counted.flops[place[counts]].sum() < _KNOWN_ENOUGH * counted.flops[place].sum():
        return None
    return 100 * float(seconds[counts].sum()) * 1e9 / span


def _outermost(counted: Counted, parent: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for each call, the index in ``counted`` of the outermost with known FLOPs among it and its parents.

    -1 if there is none.
    """
    has = np.flatnonzero(counted.flops > 0)
    own = np.full(len(parent), -1, np.int64)
    own[counted.call[has]] = has
    found, above = own.copy(), parent.copy()
    while (above >= 0).any():
        around = np.where(above >= 0, own[above], -1)
        found = np.where(around >= 0, around, found)
        above = np.where(above >= 0, parent[above], -1)
    return found


def unknown_flops(trace: Trace | Facts) -> "pl.DataFrame":
    """Return matrix products and convolutions with unknown FLOPs, longest first.

    Columns: name (text), device_self_ns (int64), percent of the time of all matrix products and convolutions (float64).
    """
    import polars as pl

    facts = facts_of(trace)
    calls = operator_calls(facts)
    matrix = calls.is_operator & calls.eligible & (calls.device_self > 0)
    unknown = matrix & (_outermost(counted_calls(facts), calls.parent) < 0)
    whole = max(1, int(calls.device_self[matrix].sum()))
    frame = pl.DataFrame(
        {
            "name": facts.name_column(calls.slice[unknown]),
            "device_self_ns": calls.device_self[unknown],
        }
    )
    grouped = frame.group_by("name", maintain_order=True).agg(pl.col("device_self_ns").sum())
    share = (100 * pl.col("device_self_ns") / whole).alias("percent")
    return grouped.with_columns(share).sort("device_self_ns", descending=True, maintain_order=True)


def roofline(
    trace: Trace | Facts, *, peak_flops: float | None = None, peak_bytes_per_s: float | None = None
) -> "pl.DataFrame":
    """Return throughput and intensity of the operators with known FLOPs, most FLOPs first.

    Of nested calls, the outermost counts.

    intensity = FLOPs / bytes; time is the operator's total on the device, or on the host if it launched nothing. With
    peaks, as in xprof: efficiency = max(FLOP rate / peak, byte rate / peak), and the operator is bound by whichever is
    that maximum. Peaks that are not given are those of the device, if it is known, for the number type of each call.

    Args:
        trace: a trace with input shapes, or with stated counts.
        peak_flops: the device's peak, in FLOP/s, for all number types.
        peak_bytes_per_s: the peak of its memory.

    Columns: name, calls (int64), flops, bytes (float64, bytes null if unknown), time_ns (int64), gflops_per_s,
    gb_per_s, intensity, efficiency_percent (float64 or null), bound_by ("compute", "memory" or null), precision (text:
    the number types, empty if none is stated).
    """
    import polars as pl

    facts = facts_of(trace)
    counted, calls = counted_calls(facts), operator_calls(facts)
    outermost = _outermost(counted, calls.parent)[counted.call] == np.arange(len(counted.call))
    device = device_peaks(facts)
    rates = _rates(device) if peak_flops is None else np.full(len(_NUMBERS), peak_flops)
    if peak_bytes_per_s is None and device is not None:
        peak_bytes_per_s = device.bytes_per_s
    words = (*PRECISIONS.values(), "")
    frame = pl.DataFrame(
        {
            "name": facts.name_column(calls.slice[counted.call]),
            "flops": counted.flops,
            "bytes": counted.moved,
            "time_ns": counted.time_ns,
            # Time of the call at the peak of its number type.
            "least_ns": counted.flops / rates[counted.precision] * 1e9,
            "precision": text_column(counted.precision, words.__getitem__),
        }
    ).filter(pl.Series(outermost, dtype=pl.Boolean))

    grouped = frame.group_by("name", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("calls"),
        pl.col("flops").sum(),
        pl.when(pl.col("bytes").is_not_nan().all()).then(pl.col("bytes").sum()),
        pl.col("time_ns").sum(),
        # Operations on number types without a stated peak, such as integers, are few compared to the others.
        pl.when(pl.col("least_ns").is_not_nan().any()).then(pl.col("least_ns").fill_nan(0).sum()),
        pl.col("precision").filter(pl.col("precision") != "").unique(maintain_order=True).str.join(", "),
    )
    busy = pl.when(pl.col("time_ns") > 0).then(pl.col("time_ns"))
    rated = grouped.with_columns(
        (pl.col("flops") / busy).alias("gflops_per_s"),
        (pl.col("bytes") / busy).alias("gb_per_s"),
        (pl.col("flops") / pl.col("bytes")).alias("intensity"),
    )
    compute = pl.col("least_ns") / busy
    memory = pl.col("gb_per_s") * 1e9 / pl.lit(peak_bytes_per_s, dtype=pl.Float64)
    bound = (
        pl.when(compute.is_null() | memory.is_null())
        .then(pl.lit(None, dtype=pl.String))
        .when(compute >= memory)
        .then(pl.lit("compute"))
        .otherwise(pl.lit("memory"))
    )
    efficiency = pl.when(compute.is_not_null() & memory.is_not_null()).then(100 * pl.max_horizontal(compute, memory))
    columns = ("name", "calls", "flops", "bytes", "time_ns", "gflops_per_s", "gb_per_s", "intensity")
    return (
        rated.with_columns(efficiency.alias("efficiency_percent"), bound.alias("bound_by"))
        .select(*columns, "efficiency_percent", "bound_by", "precision")
        .sort("flops", descending=True, maintain_order=True)
    )


ROOFLINE: Final = Analysis(
    "roofline",
    "throughput and intensity of operators",
    roofline,
    (
        Column("name", "name of the operator"),
        Column("calls", "how often it was called"),
        Column("flops", "floating-point operations of all calls", adds_up=True),
        Column("bytes", "bytes that the calls are known to move; for PyTorch those of their inputs", "bytes"),
        Column(
            "time_ns", "time of all calls on the device, or on the host if there is no device", "duration", adds_up=True
        ),
        Column("gflops_per_s", "throughput"),
        Column("gb_per_s", "bytes divided by time"),
        Column("intensity", "FLOPs per byte"),
        Column("efficiency_percent", "throughput relative to the peak of the device that limits the operator"),
        Column("bound_by", '"compute" or "memory": the peak that limits the operator', "word"),
        Column("precision", "data types"),
    ),
    title="Operators",
    description="Operators with known FLOPs (for nested ones, the outermost). "
    "Efficiency is relative to the peak that limits the operator.",
    empty=NO_FLOPS,
)
"""Throughput and intensity of operators."""
