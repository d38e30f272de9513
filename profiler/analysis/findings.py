"""Findings: what stands out in a trace, in plain words, with the evidence and what to do.

Limits marked "torch-tb-profiler" are those of its recommendations, "xprof" those of its input-pipeline analysis; the
others are judgments, stated in each finding.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from stepscope.profiler.analysis.facts import Facts, facts_of
from stepscope.profiler.analysis.input_pipeline import HIGH_PERCENT, MODERATE_PERCENT
from stepscope.profiler.analysis.intervals import union
from stepscope.profiler.analysis.memory import memory_peaks
from stepscope.profiler.analysis.metrics import Metric, metrics
from stepscope.profiler.analysis.operators import operator_calls
from stepscope.profiler.analysis.records import Analysis, Column
from stepscope.profiler.analysis.steps import step_windows
from stepscope.profiler.trace import Trace
from stepscope.profiler.traces.losses import counted_reason, events_not_as_stored

if TYPE_CHECKING:
    import polars as pl

Severity = Literal["problem", "notice"]
_TENSOR_CORES_SINCE: Final = (7, 0)
_BFLOAT16_SINCE: Final = (8, 0)
"""Compute capabilities (CUDA C++ programming guide, "Features and technical specifications"): float16 on tensor cores
from 7.0, bfloat16 and TF32 from 8.0."""


class Finding(NamedTuple):
    """One thing that stands out."""

    severity: Severity
    title: str
    evidence: str
    advice: str
    metric: str
    value: float
    limit: float


def findings(trace: Trace | Facts) -> "pl.DataFrame":
    """Return what stands out, problems first.

    Columns: severity ("problem", "notice"), title, evidence, advice, metric (text), value, limit (float64): the
    metric's value and the limit that it exceeds. Without rows, nothing stands out.
    """
    import polars as pl

    facts = facts_of(trace)
    known = metrics(facts)
    memory, initialization = list(_memory(facts)), list(_initialization(facts))
    left_out = _cannot(facts, memory_full=bool(memory)) | set(_INITIALIZING if initialization else ())
    found = [*_by_limit(known, left_out), *initialization, *_tensor_cores(facts, known), *memory, *_losses(facts)]
    found.sort(key=lambda finding: finding.severity != "problem")
    texts = ("severity", "title", "evidence", "advice", "metric")
    schema = {**dict.fromkeys(texts, pl.String), "value": pl.Float64, "limit": pl.Float64}
    return pl.DataFrame(found, schema=schema, orient="row")


class _Rule(NamedTuple):
    metric: str
    above: bool
    limit: float
    severity: Severity
    title: str
    evidence: str
    advice: tuple[str, ...]
    """Independent pieces of advice; those that the device cannot follow are left out."""


_LARGER: Final = "use larger batches"
_GRAPH: Final = "capture a CUDA graph"
_COMPILE: Final = "compile the model"
_INITIALIZING: Final = ("gpu_utilization", "host_wait", "short_kernels")
"""Metrics that are meaningless for a trace that is mostly the device's initialization."""
_LONG_CALL_NS: Final = 100_000_000
"""Runtime calls that neither copy nor wait take microseconds; those that initialize the device take longer than
this."""
_COPIES_OR_WAITS: Final = re.compile(r"memcpy|memset|synchroni|wait", re.I)

_RULES: Final = (
    _Rule(
        "dataloader",
        True,
        HIGH_PERCENT,  # xprof
        "problem",
        "Steps wait for input",
        "{value:.1f}% of the mean step is data loading while nothing else runs",
        ("load data in more workers (PyTorch: num_workers)", "prefetch", "make loading cheaper"),
    ),
    _Rule(
        "dataloader",
        True,
        MODERATE_PERCENT,  # torch-tb-profiler and xprof
        "notice",
        "Loading data takes time",
        "{value:.1f}% of the mean step is data loading while nothing else runs",
        ("load data in more workers (PyTorch: num_workers)", "prefetch"),
    ),
    _Rule(
        "gpu_utilization",
        False,
        50.0,  # torch-tb-profiler
        "problem",
        "Low GPU utilization",
        "a kernel runs in {value:.1f}% of the steps' time",
        (_LARGER, "wait less often for the device", "do less on the host between launches"),
    ),
    _Rule(
        "host_wait",
        True,
        50.0,
        "notice",
        "Streams wait for the host",
        "in {value:.1f}% of the streams' idle time the next activity was not launched yet",
        ("launch earlier: avoid .item() and prints in the step", _GRAPH, _COMPILE),
    ),
    _Rule(
        "short_kernels",
        True,
        50.0,
        "notice",
        "Kernels are shorter than their launches",
        "{value:.1f}% of the launches took longer than what they launched",
        ("fuse operations", _LARGER, _GRAPH, _COMPILE),
    ),
    _Rule(
        "communication",
        True,
        10.0,  # torch-tb-profiler
        "problem",
        "Communication takes much of the step",
        "{value:.1f}% of the mean step is exposed communication (not overlapped by computation)",
        ("overlap it with the backward pass", "compress gradients", "accumulate them over steps"),
    ),
    _Rule(
        "communication_overlap",
        False,
        30.0,
        "notice",
        "Little communication is hidden",
        "{value:.1f}% of the communication is overlapped with computation",
        ("start collectives as soon as their data is ready", "use smaller buckets"),
    ),
    _Rule(
        "sm_efficiency",
        False,
        30.0,
        "notice",
        "Kernels leave multiprocessors empty",
        "the estimated efficiency of the multiprocessors is {value:.1f}%",
        (_LARGER, "use larger tensors, which give kernels more blocks"),
    ),
    _Rule(
        "step_time_spread",
        True,
        50.0,
        "notice",
        "One step is much slower than the others",
        "the slowest step takes {value:.0f}% more than the median",
        ("open that step on the Timeline tab: first steps compile and warm up, others may save or evaluate",),
    ),
    _Rule(
        "memcpy",
        True,
        10.0,
        "notice",
        "Copies take much of the step",
        "{value:.1f}% of the mean step is copies that overlap no kernel",
        ("copy from pinned memory with non_blocking=True", "keep the data on the device"),
    ),
)


def _by_limit(known: Mapping[str, Metric], left_out: Collection[str]) -> Iterator[Finding]:
    """Yield metrics beyond their limit; ``left_out`` has advice that cannot be followed and meaningless metrics."""
    seen = set(left_out)
    for rule in _RULES:
        value = known[rule.metric].value
        # NaN is never beyond a limit.
        beyond = value >= rule.limit if rule.above else value < rule.limit
        if beyond and rule.metric not in seen:
            seen.add(rule.metric)
            evidence = rule.evidence.format(value=value)
            advice = _sentence([each for each in rule.advice if each not in left_out])
            yield Finding(rule.severity, rule.title, evidence, advice, rule.metric, value, rule.limit)


def _sentence(parts: Sequence[str]) -> str:
    words = ", ".join(parts[:-1]) + (", or " if len(parts) > 2 else " or ") + parts[-1] if len(parts) > 1 else parts[0]
    return f"{words[:1].upper()}{words[1:]}."


def _cannot(facts: Facts, *, memory_full: bool) -> set[str]:
    """Return advice that the device cannot follow.

    Triton, which compiled models need, requires compute capability 7.0 or higher.
    """
    capability = _capability(facts)
    return {
        *([_LARGER] if memory_full else []),
        *([_COMPILE] if capability is not None and capability < (7, 0) else []),
    }


def _initialization(facts: Facts) -> Iterator[Finding]:
    """Report that the trace is mostly the device's initialization, which makes other figures meaningless."""
    calls = facts.slices("runtime", on_device=False)
    duration = facts.trace.duration_ns[calls]
    counts = ~facts.named(calls, _COPIES_OR_WAITS.search)
    long = union(
        *(part[counts & (duration >= _LONG_CALL_NS)] for part in (facts.trace.start_ns[calls], facts.end_ns[calls]))
    )
    windows = step_windows(facts)
    whole = int((windows.end - windows.start).sum())
    spent = int(long.lengths_within(windows.start, windows.end).sum())
    if whole and spent > whole / 2:
        percent = 100 * spent / whole
        evidence = f"{percent:.0f}% of the time is in runtime calls that take over {_LONG_CALL_NS // 10**6} ms each"
        advice = (
            "Record after a few steps (torch.profiler: schedule with wait and warmup): the first initialize the device."
        )
        yield Finding("notice", "Most of the trace is initialization", evidence, advice, "runtime", percent, 50.0)


def _tensor_cores(facts: Facts, known: Mapping[str, Metric]) -> Iterator[Finding]:
    """Report, like torch-tb-profiler, tensor cores that are unused although operators could use them."""
    capability = _capability(facts)
    if capability is None or capability < _TENSOR_CORES_SINCE or known["tensor_cores"].value != 0:
        return
    calls = operator_calls(facts)
    device = calls.device_self[calls.is_operator].sum()
    eligible = calls.device_self[calls.is_operator & calls.eligible].sum()
    if eligible > 0:
        percent = 100 * float(eligible) / float(device)
        evidence = f"{percent:.0f}% of device time is in operators that could use tensor cores; none do"
        advice = "Train in mixed precision (float16)."
        if capability >= _BFLOAT16_SINCE:
            advice = "Train in mixed precision (bfloat16 or float16), or allow TF32."
        yield Finding("problem", "Tensor cores are not used", evidence, advice, "tensor_cores", 0.0, 0.0)


def _memory(facts: Facts) -> Iterator[Finding]:
    """Report, like torch-tb-profiler, that a device's memory is nearly full."""
    properties = _devices(facts)
    for row in memory_peaks(facts).to_dicts() if properties else ():
        number = row["device"].removeprefix("GPU ")
        if not number.isdigit() or int(number) >= len(properties):
            continue
        total = properties[int(number)].get("totalGlobalMem")
        if isinstance(total, int) and total > 0 and row["peak_bytes"] > 0.9 * total:
            percent = 100 * row["peak_bytes"] / total
            evidence = (
                f"{row['device']} holds {row['peak_bytes'] / 2**30:.1f} GiB at its peak, {percent:.0f}% of its memory"
            )
            advice = "Smaller batches, activation checkpointing, or mixed precision."
            yield Finding("problem", "Device memory is nearly full", evidence, advice, "memory_peak", percent, 90.0)


def _losses(facts: Facts) -> Iterator[Finding]:
    counts = events_not_as_stored(facts.trace.losses)
    if counts:
        evidence = "; ".join(counted_reason(reason, count) for reason, count in counts.items())
        advice = "Metrics cover only what could be read; the reasons explain what happened to these events."
        total = float(sum(counts.values()))
        yield Finding("notice", "Some events were skipped or altered", evidence, advice, "losses", total, 0.0)


def _capability(facts: Facts) -> tuple[int, int] | None:
    """Return the lowest compute capability of the NVIDIA devices; None if there are none, or one does not state it."""
    found = []
    for device in _devices(facts):
        major, minor = device.get("computeMajor"), device.get("computeMinor", 0)
        # AMD's devices also have such numbers.
        if not isinstance(major, int) or not isinstance(minor, int) or "AMD" in str(device.get("name", "")).upper():
            return None
        found.append((major, minor))
    return min(found, default=None)


def _devices(facts: Facts) -> list[Mapping[str, Any]]:
    found = facts.trace.metadata.get("deviceProperties")
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


FINDINGS: Final = Analysis(
    "findings",
    "problems and other notable facts",
    findings,
    (
        Column("severity", '"problem" or "notice"'),
        Column("title", "the finding, in a few words"),
        Column("evidence", "the number that shows it"),
        Column("advice", "what to do"),
        Column("metric", "the metric it refers to"),
        Column("value", "the metric's value, in its unit"),
        Column("limit", "the limit that the metric exceeds"),
    ),
    title="Findings",
    empty="No findings.",
)
"""What stands out."""
