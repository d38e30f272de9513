"""A trace in named metrics: printed first by ``stepscope analyze``, and compared by conditions of ``--fail-if``."""

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from stepscope.profiler.analysis.critical_path import critical_path_summary
from stepscope.profiler.analysis.facts import Facts, facts_of
from stepscope.profiler.analysis.idle import idle_time
from stepscope.profiler.analysis.input_pipeline import input_pipeline
from stepscope.profiler.analysis.kernels import kernels, tensor_core_share
from stepscope.profiler.analysis.memcpys import memcpys
from stepscope.profiler.analysis.memory import memory_peaks
from stepscope.profiler.analysis.queue import launch_summary, queue_summary
from stepscope.profiler.analysis.records import Column, MetricDefinition, Unit
from stepscope.profiler.analysis.roofline import utilization
from stepscope.profiler.analysis.steps import CATEGORIES, mean_step, step_breakdown
from stepscope.profiler.analysis.temporal import communication_overlap, gpu_utilization, temporal_breakdown
from stepscope.profiler.trace import Trace
from stepscope.profiler.traces.lanes import without_machine
from stepscope.profiler.traces.losses import events_not_as_stored

if TYPE_CHECKING:
    import polars as pl


class Metric(NamedTuple):
    """One metric; NaN if the trace does not provide it."""

    name: str
    unit: Unit
    meaning: str
    value: float


class _Definition(NamedTuple):
    unit: Unit
    meaning: str
    group: str
    """Metrics of one group are computed together."""


_LABELS: Final[Mapping[str, str]] = {
    "step_time": "Mean step",
    "step_time_max": "Slowest step",
    "step_time_spread": "Slowest step over the median",
    "kernel": "Kernels",
    "memcpy": "Copies",
    "memset": "Memset",
    "runtime": "Runtime calls",
    "dataloader": "Data loading",
    "cpu_exec": "Host operators",
    "input": "Waiting for input",
    "gpu_busy": "GPU busy",
    "gpu_idle": "GPU idle",
    "gpu_compute": "GPU computing",
    "gpu_utilization": "GPU utilization",
    "sm_efficiency": "SM efficiency",
    "host_wait": "Waiting for the host",
    "kernel_wait": "Starting kernels",
    "communication_overlap": "Communication hidden",
    "launch_delay_p95": "Launch delay, 95th percentile",
    "mfu": "MFU",
    "losses": "Events skipped or altered",
}


def label_of(name: str) -> str:
    """Return the display name of a metric."""
    words = name.replace("_", " ")
    return _LABELS.get(name, words[:1].upper() + words[1:])


def _in_category(category: str) -> str:
    return "that no category explains" if category == "other" else f"in {label_of(category).lower()}"


def _definitions() -> dict[str, _Definition]:
    found = {
        "steps": _Definition("count", "complete steps; a trace without marked steps counts as one", "steps"),
        "step_time": _Definition("ns", "mean duration of a step", "steps"),
        "step_time_max": _Definition("ns", "duration of the slowest step", "steps"),
        "step_time_spread": _Definition("percent", "slowest step relative to the median", "steps"),
    }
    found |= {
        category: _Definition("percent", f"share of the mean step {_in_category(category)}", "categories")
        for category in CATEGORIES
    }
    found |= {
        "input": _Definition("percent", "share of the steps' time in which only data loading runs", "input"),
        "gpu_busy": _Definition(
            "percent",
            "share of the time between a device's first and last activity with a kernel or copy; of several devices, "
            "the lowest",
            "gpu",
        ),
        "gpu_idle": _Definition(
            "percent",
            "share of the time between a device's first and last activity in which it was idle; of several devices, "
            "the highest",
            "gpu",
        ),
        "gpu_compute": _Definition(
            "percent",
            "share of the time between a device's first and last activity with kernels other than communication; of "
            "several devices, the lowest",
            "gpu",
        ),
        "gpu_utilization": _Definition(
            "percent", "share of the steps' time in which a kernel runs; of several devices, the lowest", "utilization"
        ),
        "sm_efficiency": _Definition(
            "percent",
            "share of multiprocessors in use over the steps' time, estimated from blocks; of several devices, "
            "the lowest",
            "utilization",
        ),
        "occupancy": _Definition(
            "percent",
            "achieved occupancy while kernels run, as the profiler estimates it; of several devices, the lowest",
            "utilization",
        ),
        "host_wait": _Definition("percent", "share of the streams' idle time in which the host was late", "idle"),
        "kernel_wait": _Definition("percent", "share of the streams' idle time that starting kernels took", "idle"),
        "communication_overlap": _Definition(
            "percent", "share of communication overlapped with computation; of several devices, the lowest", "overlap"
        ),
        "launch_delay": _Definition("ns", "mean time from a launch's end to its activity's start", "launches"),
        "launch_delay_p95": _Definition(
            "ns", "95th percentile of the time from a launch's end to its activity's start", "launches"
        ),
        "short_kernels": _Definition(
            "percent", "share of launches that took longer than what they launched", "launches"
        ),
        "queue_full": _Definition("ns", "time in which a stream had 1024 launches pending", "queue"),
        "kernels": _Definition("count", "kernels that ran", "kernels"),
        "kernel_time": _Definition("ns", "sum of all kernels' durations", "kernels"),
        "tensor_cores": _Definition("percent", "share of kernel time in kernels that use tensor cores", "kernels"),
        "mfu": _Definition(
            "percent",
            "model FLOPs utilization: what was computed in the steps, of what the device could compute at its peak",
            "flops",
        ),
        "copied_bytes": _Definition("bytes", "bytes of all copies", "copies"),
        "copy_time": _Definition("ns", "sum of all copies' durations", "copies"),
        "pageable_bytes": _Definition("bytes", "bytes copied to or from pageable host memory", "copies"),
        "memory_peak": _Definition("bytes", "peak memory of a device, or of the host if there is no device", "memory"),
        "critical_path_explained": _Definition("percent", "share of the trace that the critical path explains", "path"),
        "critical_path_host": _Definition("percent", "share of the trace in which host work is critical", "path"),
        "critical_path_device": _Definition("percent", "share of the trace in which device work is critical", "path"),
        "losses": _Definition("count", "events of the file that were skipped or altered", "losses"),
    }
    return found


DEFINITIONS: Final[Mapping[str, _Definition]] = _definitions()
"""Every metric by name. Metrics over devices are of the worst device."""
OF_RANKS: Final[Mapping[str, MetricDefinition]] = {
    definition.name: definition
    for definition in (
        MetricDefinition("ranks", "count", "ranks of the job"),
        MetricDefinition("rank_step_spread", "percent", "mean step of the slowest rank relative to the fastest"),
        MetricDefinition(
            "rank_waiting", "percent", "share of a rank's mean step in which it waits in collectives, highest rank"
        ),
        MetricDefinition("straggler", "percent", "share of all waiting in collectives that the worst rank causes"),
    )
}
"""Metrics of several traces of one job, by name."""
CHANGE: Final = "_change"
"""Suffix of a metric's name for its change since an earlier trace."""


def metrics(trace: Trace | Facts, names: tuple[str, ...] = ()) -> dict[str, Metric]:
    """Return the named metrics, or all of them; only what these need is computed.

    Raises:
        KeyError: there is no metric with one of the names.
    """
    facts = facts_of(trace)
    wanted = names or tuple(DEFINITIONS)
    groups = {DEFINITIONS[name].group for name in wanted}
    values: dict[str, float | None] = {}
    for group in sorted(groups):
        values |= facts.once(_GROUPS[group])
    result = {}
    for name in wanted:
        value = values[name]
        definition = DEFINITIONS[name]
        result[name] = Metric(name, definition.unit, definition.meaning, math.nan if value is None else float(value))
    return result


def overview(trace: Trace | Facts) -> "pl.DataFrame":
    """Return all metrics that the trace provides.

    Columns: name (text), value (float64), unit ("percent", "ns", "bytes" or "count"), meaning (text).
    """
    import polars as pl

    known = [metric for metric in metrics(trace).values() if not math.isnan(metric.value)]
    schema = {"name": pl.String, "unit": pl.String, "meaning": pl.String, "value": pl.Float64}
    return pl.DataFrame(known, schema=schema, orient="row").select("name", "value", "unit", "meaning")


def _steps(facts: Facts) -> dict[str, float | None]:
    total = step_breakdown(facts)["total_ns"].to_numpy()
    if not len(total):
        return {"steps": 0, "step_time": None, "step_time_max": None, "step_time_spread": None}
    median = float(np.median(total))
    return {
        "steps": len(total),
        "step_time": float(total.mean()),
        "step_time_max": float(total.max()),
        "step_time_spread": 100 * (float(total.max()) / median - 1) if median > 0 else None,
    }


def _categories(facts: Facts) -> dict[str, float | None]:
    return {row["category"]: row["percent"] for row in mean_step(facts).to_dicts()}


def _input(facts: Facts) -> dict[str, float | None]:
    return {"input": input_pipeline(facts)["input_percent"][0]}


def _least(frame: "pl.DataFrame", column: str) -> float | None:
    found = frame[column].min()
    return found if isinstance(found, (int, float)) else None


def _gpu(facts: Facts) -> dict[str, float | None]:
    table = temporal_breakdown(facts)
    idle = table["idle_percent"].max()
    most = idle if isinstance(idle, (int, float)) else None
    return {
        "gpu_idle": most,
        "gpu_busy": None if most is None else 100 - most,
        "gpu_compute": _least(table, "compute_percent"),
    }


def _utilization(facts: Facts) -> dict[str, float | None]:
    table = gpu_utilization(facts)
    pairs = (
        ("gpu_utilization", "utilization_percent"),
        ("sm_efficiency", "sm_efficiency_percent"),
        ("occupancy", "occupancy_percent"),
    )
    return {name: _least(table, column) for name, column in pairs}


def _idle(facts: Facts) -> dict[str, float | None]:
    table = idle_time(facts)
    by_cause: dict[str, int] = {}
    for row in table.to_dicts():
        by_cause[row["cause"]] = by_cause.get(row["cause"], 0) + row["idle_ns"]
    whole = sum(by_cause.values())
    return {
        cause: 100 * by_cause.get(cause, 0) / whole if whole > 0 else None for cause in ("host_wait", "kernel_wait")
    }


def _overlap(facts: Facts) -> dict[str, float | None]:
    return {"communication_overlap": _least(communication_overlap(facts), "overlap_percent")}


def _launches(facts: Facts) -> dict[str, float | None]:
    (row,) = launch_summary(facts).to_dicts()
    count = row["launches"]
    return {
        "launch_delay": row["delay_mean_ns"],
        "launch_delay_p95": row["delay_p95_ns"],
        "short_kernels": 100 * row["short_kernels"] / count if count else None,
    }


def _queue(facts: Facts) -> dict[str, float | None]:
    table = queue_summary(facts)
    return {"queue_full": None if table.is_empty() else float(table["full_ns"].sum())}


def _kernels(facts: Facts) -> dict[str, float | None]:
    table = kernels(facts)
    share = tensor_core_share(facts)
    return {
        "kernels": float(table["count"].sum()),
        "kernel_time": float(table["total_ns"].sum()),
        "tensor_cores": None if math.isnan(share) else 100 * share,
    }


def _flops(facts: Facts) -> dict[str, float | None]:
    return {"mfu": utilization(facts)}


def _copies(facts: Facts) -> dict[str, float | None]:
    rows = [row for row in memcpys(facts).to_dicts() if row["direction"] != "memset"]
    return {
        "copied_bytes": float(sum(row["bytes"] for row in rows)),
        "copy_time": float(sum(row["total_ns"] for row in rows)),
        "pageable_bytes": float(sum(row["bytes"] for row in rows if row["memory"] == "pageable")),
    }


def _memory(facts: Facts) -> dict[str, float | None]:
    rows = memory_peaks(facts).to_dicts()
    devices = [row["peak_bytes"] for row in rows if "GPU" in without_machine(row["device"])]
    return {"memory_peak": max(devices or [row["peak_bytes"] for row in rows], default=None)}


def _path(facts: Facts) -> dict[str, float | None]:
    explained = critical_path_summary(facts).filter("explained")
    share = {row["bound"]: row["percent"] for row in explained.to_dicts()}
    if not any(share.values()):
        return dict.fromkeys(("critical_path_explained", "critical_path_host", "critical_path_device"))
    return {
        "critical_path_explained": sum(share.values()),
        "critical_path_host": share.get("host", 0.0),
        "critical_path_device": sum(share.get(bound, 0.0) for bound in ("kernel", "memory", "communication")),
    }


def _losses(facts: Facts) -> dict[str, float | None]:
    return {"losses": float(sum(events_not_as_stored(facts.trace.losses).values()))}


_GROUPS: Final[Mapping[str, Callable[[Facts], dict[str, float | None]]]] = {
    "steps": _steps,
    "categories": _categories,
    "input": _input,
    "gpu": _gpu,
    "utilization": _utilization,
    "idle": _idle,
    "overlap": _overlap,
    "launches": _launches,
    "queue": _queue,
    "kernels": _kernels,
    "flops": _flops,
    "copies": _copies,
    "memory": _memory,
    "path": _path,
    "losses": _losses,
}


OVERVIEW_COLUMNS: Final = (
    Column("name", "name of the metric, as used in conditions"),
    Column("value", "its value"),
    Column("unit", '"percent", "ns", "bytes" or "count"', hidden=True),
    Column("meaning", "what it is"),
)
"""Columns of the analysis "overview"."""
