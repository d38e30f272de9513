"""Relations of a slice: what launched it and what it launched, its operator, its call stack, its row."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.panels.timeline.details import slice_row
from stepscope.dashboard.panels.timeline.messages import Launched, Relations, SliceRow, TableRow
from stepscope.dashboard.traces.analyzed_traces import AnalyzedTrace
from stepscope.dashboard.traces.sources import OpenedTrace
from stepscope.profiler.analysis.classify import KINDS, Kind, is_profilers_own
from stepscope.profiler.analysis.code import call_stack
from stepscope.profiler.analysis.facts import Device, Facts
from stepscope.profiler.analysis.memcpys import direction_of
from stepscope.profiler.analysis.nesting import enclosing
from stepscope.profiler.analysis.operators import is_operator_name

MAX_LAUNCHED = 50
MAX_FRAMES = 500
_OPERATORS: Final[tuple[Kind, ...]] = ("operator", "communication", "data_loading")


def relations(analyzed: AnalyzedTrace, opened: OpenedTrace, index: int) -> Relations:
    """Return the relations of one slice, from facts about the whole trace.

    ``queue_ns`` is the time from the end of the call that launched it to its own start, negative if it starts before
    the call returns. ``operator`` is, for a slice on a device, the closest operator around its launch, which may be the
    launch itself; else the closest one around the slice. ``call_stack`` has the closest `MAX_FRAMES` frames, outermost
    first. ``table`` is the location of its row in the Profile panel; None if it has none.
    """
    facts, trace = analyzed.facts, opened.trace
    kinds = analyzed.kept("kinds of slices", "what each slice is", lambda: facts.kinds)
    device = analyzed.kept("device activities", "what launched what", lambda: facts.every_device_activity)
    analyzed.kept("parents of slices", "which slices lie in which", lambda: facts.parents)
    place = np.flatnonzero(device.slice == index)
    ran_on_device = len(place) > 0
    launch = int(device.launch[place[0]]) if ran_on_device else -1
    called = launch if ran_on_device else index
    kind = KINDS[int(kinds[index])]
    return {
        "index": index,
        "kind": kind,
        "launch": slice_row(opened, launch) if launch >= 0 else None,
        "launched": _launched(facts, opened, device, index),
        "operator": _operator(opened, kinds, called, itself=ran_on_device) if called >= 0 else None,
        "call_stack": list(call_stack(trace, called)[-MAX_FRAMES:]) if called >= 0 else [],
        "queue_ns": int(trace.start_ns[index] - facts.end_ns[launch]) if launch >= 0 else None,
        "table": _table(opened, kind, index, ran_on_device=ran_on_device),
    }


def _launched(facts: Facts, opened: OpenedTrace, device: Device, index: int) -> Launched:
    """Return what a slice, or the slices inside it on its lane, launched on devices, in order of start.

    Waiting does not count as work.
    """
    trace = opened.trace
    known = np.flatnonzero((device.launch >= 0) & device.of("kernel", "memcpy", "memset", "communication"))
    start, end = trace.start_ns[index], trace.start_ns[index] + trace.duration_ns[index]
    begins = trace.start_ns[device.launch[known]]
    known = known[(begins >= start) & (begins <= end) & (trace.lane[device.launch[known]] == trace.lane[index])]
    within = facts.nearest(np.arange(len(trace)) == index) == index if len(known) else np.empty(0, np.bool_)
    launches = device.launch[known]
    chosen = known[within[launches] | (launches == index)] if len(known) else known
    return {
        "count": len(chosen),
        "total_ns": int(device.duration[chosen].sum()),
        "slices": [slice_row(opened, each) for each in device.slice[chosen[:MAX_LAUNCHED]].tolist()],
    }


def _operator(opened: OpenedTrace, kinds: NDArray[np.int8], index: int, *, itself: bool) -> SliceRow | None:
    trace = opened.trace
    around = np.concatenate([enclosing(trace, index), [index] if itself else []]).astype(np.int64)
    on_host = np.array([lane.kind not in ("stream", "memcpy") for lane in trace.lanes], np.bool_)
    operators = np.isin(kinds[around], [KINDS.index(kind) for kind in _OPERATORS]) & on_host[trace.lane[around]]
    return slice_row(opened, int(around[operators][-1])) if operators.any() else None


def _table(opened: OpenedTrace, kind: Kind, index: int, *, ran_on_device: bool) -> TableRow | None:
    """Return the page of the Profile panel that has the slice, and the name of its row there.

    Return None for the profiler's own slices.
    """
    trace = opened.trace
    name = trace.names[int(trace.name_id[index])]
    if is_profilers_own(trace, trace.name_id[[index]], trace.category_id[[index]]).any():
        return None
    if ran_on_device and kind in ("kernel", "communication"):
        return {"page": "kernels", "row": name}
    if ran_on_device and kind in ("memcpy", "memset"):
        direction = direction_of(name)
        if direction == "unknown":
            direction = direction_of(f"{name} {trace.categories[int(trace.category_id[index])]}")
        return {"page": "copies", "row": direction}
    if not ran_on_device and kind in ("operator", "communication") and is_operator_name(name):
        return {"page": "operators", "row": name}
    return {"page": "slices", "row": name}
