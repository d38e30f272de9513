"""Details of one slice that are available at once, without facts about the whole trace."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.panels.timeline.messages import Children, FlowEnds, SliceDetails, SliceRow
from stepscope.dashboard.traces.sources import OpenedTrace
from stepscope.profiler.analysis.nesting import children, enclosing
from stepscope.profiler.lod import statistics_of_name
from stepscope.profiler.trace import Step, Trace

MAX_FLOWS = 50
MAX_STACK = 200
MAX_CHILDREN = 50
MAX_ARGUMENT_CHARACTERS: Final = 50_000
"""Maximum number of characters of all shown arguments of a slice."""
MAX_ARGUMENT_KEY: Final = 1_000
MAX_ARGUMENT_NESTING: Final = 90
FLOW_KINDS: Final = {
    "ac2g": "launch",
    "async": "launch",
    "async_cpu_to_gpu": "launch",
    "launch": "launch",
    "fwdbwd": "forward → backward",
    "forward_backward": "forward → backward",
    "DataFlow": "producer → consumer",
    "context": "producer → consumer",
}
"""Meaning of arrows by category: those of Kineto, today and in 2021, of StepStats and of XSpaces."""


def slice_row(opened: OpenedTrace, index: int) -> SliceRow:
    """Return one slice as shown in lists and tables."""
    trace = opened.trace
    return {
        "index": index,
        "name": trace.names[int(trace.name_id[index])],
        "lane": int(trace.lane[index]),
        "depth": int(trace.depth[index]),
        "start": int(trace.start_ns[index]) - opened.start_ns,
        "duration": int(trace.duration_ns[index]),
    }


def slice_details(opened: OpenedTrace, index: int) -> SliceDetails:
    """Return one slice: its arguments, what lies around and inside it, occurrences of its name, flows and neighbors.

    ``stack`` has the closest `MAX_STACK` slices around it, outermost first.
    """
    trace = opened.trace
    lane = trace.lanes[int(trace.lane[index])]
    occurrences = statistics_of_name(trace, int(trace.name_id[index]))
    (step,) = step_at(steps_of(trace), trace.start_ns[index : index + 1]).tolist()
    return {
        **slice_row(opened, index),
        "category": trace.categories[int(trace.category_id[index])],
        "process": lane.process,
        "lane_name": lane.name,
        "arguments": shown_arguments(trace.arguments[index]),
        "occurrences": {
            "count": int(occurrences.count),
            "total": int(occurrences.total_ns),
            "mean": float(occurrences.mean_ns),
            "min": int(occurrences.min_ns),
            "max": int(occurrences.max_ns),
        },
        "incoming": _flow_ends(opened, trace.flows.target, trace.flows.source, index),
        "outgoing": _flow_ends(opened, trace.flows.source, trace.flows.target, index),
        "previous": _neighbor(opened, index, -1),
        "next": _neighbor(opened, index, 1),
        "step": steps_of(trace)[step].number if step >= 0 else None,
        "stack": [slice_row(opened, around) for around in enclosing(trace, index)[-MAX_STACK:].tolist()],
        "children": _children(opened, index),
    }


def shown_arguments(arguments: Mapping[str, Any], most: int = MAX_ARGUMENT_CHARACTERS) -> dict[str, Any]:
    """Return arguments, with texts, lists and objects cut so that the total is about ``most`` characters.

    Cut values end with "…" and the full length.
    """
    left = most

    def shown(value: Any, depth: int) -> Any:
        nonlocal left
        if isinstance(value, str):
            kept = value if len(value) <= left else f"{value[: max(left, 0)]}… ({len(value):,} characters)"
            left -= len(kept)
            return kept
        if not isinstance(value, (Mapping, list, tuple)):
            left -= 8
            return value
        if depth == MAX_ARGUMENT_NESTING:
            return "… (nested deeper)"
        if isinstance(value, Mapping):
            return inside(value, depth)
        listed: list[Any] = []
        for entry in value:
            if left <= 0:
                return [*listed, f"… ({len(value):,} in all)"]
            listed.append(shown(entry, depth + 1))
        return listed

    def inside(value: Mapping[str, Any], depth: int) -> dict[str, Any]:
        nonlocal left
        found: dict[str, Any] = {}
        for key, entry in value.items():
            if left <= 0:
                return found | {"…": f"{len(value):,} in all"}
            left -= len(key)
            found[key[:MAX_ARGUMENT_KEY]] = shown(entry, depth + 1)
        return found

    return inside(arguments, 0)


def steps_of(trace: Trace) -> list[Step]:
    """Return the steps that the trace marks, in chronological order."""
    return sorted(trace.steps, key=lambda step: step.start_ns)


def step_at(steps: list[Step], times_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the step that contains each moment, as an index into ``steps``, or -1.

    If there are several, return the last to begin.
    """
    starts = np.array([step.start_ns for step in steps], np.int64)
    ends = starts + np.array([step.duration_ns for step in steps], np.int64)
    found = np.searchsorted(starts, times_ns, side="right") - 1
    if not steps:
        return found
    return np.where((found >= 0) & (times_ns < ends[found]), found, -1)


def longest_of(trace: Trace, slices: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the longest of some slices, longest first; equally long ones are in the order of ``slices``."""
    durations = trace.duration_ns[slices]
    if len(slices) > count:
        least = np.partition(durations, len(slices) - count)[len(slices) - count]
        longer = np.flatnonzero(durations > least)
        as_long = np.flatnonzero(durations == least)[: count - len(longer)]
        chosen = np.sort(np.concatenate([longer, as_long]))
        slices, durations = slices[chosen], durations[chosen]
    return slices[np.argsort(-durations, kind="stable")]


def _children(opened: OpenedTrace, index: int) -> Children:
    found = children(opened.trace, index)
    return {
        "count": len(found),
        "own_ns": int(opened.trace.duration_ns[index] - opened.trace.duration_ns[found].sum()),
        "slices": [slice_row(opened, child) for child in longest_of(opened.trace, found, MAX_CHILDREN).tolist()],
    }


def _flow_ends(opened: OpenedTrace, here: NDArray[np.int64], there: NDArray[np.int64], index: int) -> FlowEnds:
    touching = np.flatnonzero(here == index)
    trace = opened.trace
    categories = [trace.categories[number] for number in trace.flows.category_id[touching[:MAX_FLOWS]].tolist()]
    return {
        "total": len(touching),
        "slices": [
            {**slice_row(opened, end), "category": category, "kind": FLOW_KINDS.get(category)}
            for end, category in zip(there[touching[:MAX_FLOWS]].tolist(), categories, strict=True)
        ],
    }


def _neighbor(opened: OpenedTrace, index: int, offset: int) -> int | None:
    trace, other = opened.trace, index + offset
    if not 0 <= other < len(trace):
        return None
    same_row = trace.lane[other] == trace.lane[index] and trace.depth[other] == trace.depth[index]
    return other if same_row else None
