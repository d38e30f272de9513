"""The visible part of a trace as a trace of its own, for export."""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.traces.folders import TRACE_SUFFIXES
from stepscope.dashboard.traces.sources import TraceSource
from stepscope.profiler.analysis.area import Overlap
from stepscope.profiler.trace import Arguments, Counter, Flows, Losses, Trace
from stepscope.profiler.traces.build import RawSlices, arrange, assemble, intern_used
from stepscope.summary.distinct import numbered

MAX_SLICES = 2_000_000
"""Maximum number of slices of one export: about 500 MB of JSON."""
_PIECE: Final = 1 << 18


class _Chosen:
    """The arguments of some slices of a trace."""

    def __init__(self, arguments: Arguments, slices: NDArray[np.int64]) -> None:
        self._arguments = arguments
        self._slices = slices

    def __getitem__(self, slice_index: int) -> Mapping[str, Any]:
        return self._arguments[int(self._slices[slice_index])]


def visible_part(
    trace: Trace, found: Overlap, start_ns: int, end_ns: int, counters: Sequence[int] | None = None
) -> Trace:
    """Return a trace of the full slices found in an area, with everything else in ``[start_ns, end_ns)``.

    It has the flows that begin and end in these slices, the steps that overlap the range, and the lanes that have
    slices. Each counter begins with its value at the start. ``counters`` are indices into `Trace.counters`; all if
    None.
    """
    slices = found.indices
    used, _, lane = numbered(trace.lane[slices])
    flows = trace.flows
    inside = np.isin(flows.source, slices) & np.isin(flows.target, slices)
    names, name_texts = intern_used(trace.name_id[slices], trace.names)
    both, category_texts = intern_used(
        np.concatenate([trace.category_id[slices], flows.category_id[inside]]), trace.categories
    )
    raw = RawSlices(
        trace.start_ns[slices],
        trace.duration_ns[slices],
        lane.astype(np.int32),
        names,
        both[: len(slices)],
    )
    # A slice that crossed one that is not among these may lie in a higher row now.
    arranged = arrange(raw, [trace.lanes[number] for number in used.tolist()])
    place = np.empty(len(slices), np.int64)
    place[arranged.order] = np.arange(len(slices))
    chosen = range(len(trace.counters)) if counters is None else counters
    pieces = [_counter_within(trace.counters[number], start_ns, end_ns) for number in chosen]
    return assemble(
        arranged,
        names=name_texts,
        categories=category_texts,
        arguments=_Chosen(trace.arguments, slices[arranged.order]),
        flows=Flows(
            place[np.searchsorted(slices, flows.source[inside])],
            place[np.searchsorted(slices, flows.target[inside])],
            both[len(slices) :],
        ),
        counters=tuple(counter for counter in pieces if len(counter.times_ns)),
        steps=tuple(
            step for step in trace.steps if step.start_ns < end_ns and step.start_ns + step.duration_ns > start_ns
        ),
        losses=Losses(),
        metadata=trace.metadata,
        epoch_ns=trace.epoch_ns,
    )


def _counter_within(counter: Counter, start_ns: int, end_ns: int) -> Counter:
    first = max(int(np.searchsorted(counter.times_ns, start_ns, side="right")) - 1, 0)
    last = int(np.searchsorted(counter.times_ns, end_ns))
    times = np.maximum(counter.times_ns[first:last], start_ns)
    return replace(counter, times_ns=times, values=counter.values[first:last])


def too_many(count: int) -> str:
    """Return a message if an export has too many slices; empty otherwise."""
    if count <= MAX_SLICES:
        return ""
    return (
        f"The window has {count:,} slices in these lanes, and at most {MAX_SLICES:,} can be exported at once. "
        "Zoom in, or choose fewer lanes."
    )


def export_name(source: TraceSource, start: int, end: int) -> str:
    """Return a file name without extension: run, trace and window in nanoseconds since the trace's start."""
    label = source.label
    for suffix in (*TRACE_SUFFIXES, ".pt"):
        label = label[: -len(suffix)] if label.lower().endswith(suffix) else label
    return f"{source.run}_{label}"[:60] + f"_{start}-{end}ns"


def in_pieces(parts: Iterable[bytes], *, compress: bool) -> Iterator[bytes]:
    """Join small parts into pieces worth sending, as one gzip stream if asked for."""
    packer = zlib.compressobj(1, wbits=31) if compress else None
    held: list[bytes] = []
    size = 0
    for part in parts:
        held.append(part)
        size += len(part)
        if size >= _PIECE:
            piece = b"".join(held)
            held, size = [], 0
            if packed := packer.compress(piece) if packer else piece:
                yield packed
    rest = b"".join(held)
    yield packer.compress(rest) + packer.flush() if packer else rest
