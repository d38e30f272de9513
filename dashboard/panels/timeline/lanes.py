"""Familiar names and groups of a trace's lanes, such as "GPU 0 · stream 7 · compute"; pure functions.

Process and thread names in files differ between profilers, and between versions of one. Here they become groups (a host
process, a device, counters, the profiler's notes about itself) of lanes with short names.
"""

import re
from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from stepscope.dashboard.panels.timeline.messages import GroupKind, LanesAnswer
from stepscope.profiler.analysis.classify import Kind, device_number, kind_of
from stepscope.profiler.trace import Lane, Trace
from stepscope.profiler.traces.build import rows_of
from stepscope.summary.counts import counted
from stepscope.summary.distinct import distinct_values
from stepscope.summary.errors import UserError
from stepscope.summary.safe_regex import Pattern, PatternError

GROUP_ORDER: Final[tuple[GroupKind, ...]] = ("host", "device", "counters", "tensors", "profiler")

MOST_LANES: Final = 2_000
"""Maximum number of lanes listed at once."""
MOST_DEPTHS: Final = 1_000
"""Maximum number of drawn rows of a lane: Python's default recursion limit."""
MOST_COUNTERS: Final = 2_000
MOST_SAMPLES: Final = 400
"""Maximum number of slices examined to determine what a stream is for."""
LEAST_SHARE: Final = 0.15
"""Minimum fraction of a stream's busy time for a type of work to appear in its name."""
_WORK: Final[Mapping[Kind, str]] = {
    "kernel": "compute",
    "communication": "collectives",
    "memcpy": "copies",
    "memset": "copies",
    "synchronization": "waits",
}
_HOST_SUFFIX: Final = re.compile(r"\s*\((CPU|GPU [0-9]+|XPU [0-9]+|MTIA [0-9]+)\)$")
_TASK: Final = re.compile(r"^/job:(?P<job>[^/]+)(?:/replica:(?P<replica>[0-9]+))?(?:/task:(?P<task>[0-9]+))?")
_HOST_DEVICE: Final = re.compile(r"/(?:host|device):CPU(?::([0-9]+))?$|^/cpu:([0-9]+)$", re.IGNORECASE)
_THREAD: Final = re.compile(r"^thread (-?[0-9]+)(?: \((.*)\))?$")
_STREAM: Final = re.compile(r"^stream\s*#?([0-9]+|all)\b(.*)$", re.IGNORECASE)
_COPY_WAY: Final = re.compile(r"(?P<from>[HDP])(?:to|2)(?P<to>[HDP])", re.IGNORECASE)
_ENDS: Final = {"h": "host", "d": "device", "p": "peer"}
_DEVICE_NAME: Final = re.compile(r"^/gpu:[0-9]+ \((.+)\)$")
_THREAD_IDENTIFIER: Final = re.compile(r"/[-0-9]{10,}$")


@dataclass(frozen=True)
class Group:
    """Lanes that belong together, in display order."""

    title: str
    short: str
    """The title inside a lane's full name: "GPU 0" of "GPU 0 · NVIDIA A100"."""
    kind: GroupKind
    lanes: tuple[int, ...]
    counters: tuple[int, ...]


@dataclass(frozen=True)
class Arrangement:
    """The groups of a trace, and the label of each lane inside its group."""

    groups: tuple[Group, ...]
    labels: tuple[str, ...]
    """Per lane, in the given order."""
    counters: tuple[str, ...]
    """Per counter, for the first `MOST_COUNTERS`."""


def arrange(trace: Trace, lanes: Sequence[int] | None = None) -> Arrangement:
    """Group the lanes with slices among some lanes of a trace (all if None), and its counters."""
    chosen = range(len(trace.lanes)) if lanes is None else lanes
    tasks = {match.group(0) for lane in trace.lanes if (match := _TASK.match(lane.process))}
    work = _work_of_lanes(trace, chosen)
    names = _device_names(trace)
    groups: dict[tuple[GroupKind, str], tuple[list[int], list[int]]] = {}
    for index in chosen:
        lane = trace.lanes[index]
        if lane.depths:
            groups.setdefault(_group_of(lane, len(tasks) > 1, names), ([], []))[0].append(index)
    counters = trace.counters[:MOST_COUNTERS]
    if counters:
        groups["counters", "Counters"] = ([], list(range(len(counters))))
    labels = {index: _label(trace.lanes[index], each) for index, each in zip(chosen, work, strict=True)}
    for of_group, _ in groups.values():
        _number_alike(labels, of_group)
    order = sorted(groups, key=lambda group: GROUP_ORDER.index(group[0]))
    several = len({counter.process for counter in counters}) > 1
    hosts = sum(kind == "host" for kind, _ in groups)
    return Arrangement(
        tuple(
            Group(
                title,
                _short(kind, title, names.values(), hosts),
                kind,
                tuple(_ordered(groups[kind, title][0], trace.lanes)),
                tuple(groups[kind, title][1]),
            )
            for kind, title in order
        ),
        tuple(labels.values()),
        tuple(_counter_label(c.process, c.name, c.series, several) for c in counters),
    )


def _group_of(lane: Lane, many_tasks: bool, devices: Mapping[int, str]) -> tuple[GroupKind, str]:
    task = _TASK.match(lane.process)
    place = f"{task['job']} {task['task'] or 0} · " if task and many_tasks else ""
    of_device = lane.process.startswith("/device:") and not lane.process.endswith("Tensors")
    if lane.kind == "other" and not of_device:
        if lane.process.endswith("Tensors"):
            return "tensors", place + "Tensors"
        return "profiler", "Profiler"
    if lane.kind == "host":
        found = _HOST_DEVICE.search(lane.process)
        if found:
            number = found[1] or found[2]
            return "host", f"{place}Host · CPU {number}" if number else f"{place}Host · CPU"
        return "host", f"{place}Host · {_HOST_SUFFIX.sub('', lane.process) or lane.pid}"
    number = device_number(replace(lane, kind="device"))
    sort = next((each for each in ("TPU", "XPU", "MTIA") if each in lane.process.upper()), "GPU")
    name = devices.get(number)
    return "device", f"{place}{sort} {number}" + (f" · {name}" if name else "")


def _short(kind: GroupKind, title: str, devices: Iterable[str], hosts: int) -> str:
    if kind == "device":
        return next((title.removesuffix(f" · {name}") for name in devices if title.endswith(f" · {name}")), title)
    return "Host" if kind == "host" and hosts == 1 else title


def _device_names(trace: Trace) -> dict[int, str]:
    """Return device names by number, from Kineto's ``deviceProperties`` and from processes that have them."""
    names: dict[int, str] = {}
    properties = trace.metadata.get("deviceProperties")
    for each in properties if isinstance(properties, list) else ():
        if isinstance(each, Mapping) and isinstance(each.get("name"), str) and isinstance(each.get("id"), int):
            names[each["id"]] = each["name"]
    for lane in trace.lanes:
        if found := _DEVICE_NAME.match(lane.process):
            names[device_number(lane)] = found[1]
    return names


def _work_of_lanes(trace: Trace, lanes: Iterable[int]) -> Iterator[str]:
    """Yield each device lane's work, by time: "compute", "compute + copies", or nothing for host lanes."""
    lane_first = rows_of(trace.lane, trace.depth, trace.lanes)
    for index in lanes:
        lane = trace.lanes[index]
        if lane.kind not in ("stream", "memcpy") or not lane.depths:
            yield ""
            continue
        first = int(lane_first.first[lane_first.lane_first[index]])
        last = int(lane_first.first[lane_first.lane_first[index + 1]])
        samples = distinct_values(np.linspace(first, last - 1, min(last - first, MOST_SAMPLES)).astype(np.int64))
        times: dict[str, int] = {}
        for sample in samples.tolist():
            category = trace.categories[int(trace.category_id[sample])]
            kind = kind_of(category, trace.names[int(trace.name_id[sample])], lane.kind, False)
            if kind in _WORK:
                times[_WORK[kind]] = times.get(_WORK[kind], 0) + int(trace.duration_ns[sample]) + 1
        total = sum(times.values())
        shown = sorted((w for w, taken in times.items() if taken >= LEAST_SHARE * total), key=lambda w: -times[w])
        yield " + ".join(shown)


def _label(lane: Lane, work: str) -> str:
    if lane.kind in ("stream", "memcpy", "device"):
        return _device_label(lane, work)
    if lane.kind == "host" and (found := _THREAD.match(lane.name)):
        number, program = found[1], found[2]
        if lane.pid == lane.tid:
            return f"main thread · {number}"
        return f"{program} · {number}" if program else lane.name
    if lane.name == "operations":
        return "operators"
    return _THREAD_IDENTIFIER.sub("", lane.name) if "/" in lane.name else lane.name or str(lane.tid)


def _device_label(lane: Lane, work: str) -> str:
    way = _COPY_WAY.search(lane.name) if lane.kind == "memcpy" else None
    if way:
        work = f"copies {_ENDS[way['from'].lower()]} → {_ENDS[way['to'].lower()]}"
    found = _STREAM.match(lane.name)
    if found:
        stream = "all streams" if found[1].lower() == "all" else f"stream {found[1]}"
        return f"{stream} · {work}" if work else stream
    if lane.kind == "memcpy":
        return work if way else "copies"
    if lane.kind == "device":
        return "operators" if lane.name == "operations" else "whole device" if lane.tid == -1 else lane.name
    return f"{lane.name} · {work}" if work else lane.name


def _ordered(lanes: Sequence[int], known: Sequence[Lane]) -> list[int]:
    """Return lanes for the whole device first, then streams, then lanes with only copies.

    Main threads come first.
    """
    rank = {"device": 0, "stream": 1, "memcpy": 2}

    def place(index: int) -> int:
        lane = known[index]
        return rank.get(lane.kind, int(lane.pid != lane.tid))

    return sorted(lanes, key=place)


def _number_alike(labels: dict[int, str], lanes: Sequence[int]) -> None:
    """Add numbers to equal labels of lanes of one group to tell them apart."""
    shared = Tally(labels[index] for index in lanes)
    seen: Tally[str] = Tally()
    for index in lanes:
        label = labels[index]
        if shared[label] > 1:
            seen[label] += 1
            labels[index] = f"{label} · {seen[label]}"


def _counter_label(process: str, name: str, series: str, several: bool) -> str:
    label = f"{name} · {series}" if series and series != name else name
    return f"{_HOST_SUFFIX.sub('', process)} · {label}" if several and process != "Allocators" else label


def shown_lanes(trace: Trace, pattern: str = "", *, with_lane: int | None = None, most: int = MOST_LANES) -> list[int]:
    """Return the lanes that a page shows among those whose names match a pattern, as indices in order.

    If there are more than ``most``, device lanes are taken first, then those with the most time. ``pattern`` is a
    regular expression on ``process › name (process pid, thread tid)``; ``with_lane`` is always shown.

    Raises:
        UserError: if the pattern is not a valid regular expression.
    """
    found = [index for index, lane in enumerate(trace.lanes) if lane.depths] if len(trace.lanes) > most else None
    if found is None:
        return list(range(len(trace.lanes)))
    if pattern:
        lanes = trace.lanes
        texts = [f"{e.process} › {e.name} (process {e.pid}, thread {e.tid})" for e in (lanes[i] for i in found)]
        try:
            found = [index for index, fits in zip(found, Pattern(pattern).matches(texts), strict=True) if fits]
        except PatternError as error:
            raise UserError(f"Invalid lane filter “{pattern}”: {error}. Expected a regular expression.") from None
    if len(found) > most:
        outermost = trace.depth == 0
        busy = np.bincount(trace.lane[outermost], trace.duration_ns[outermost].astype(np.float64), len(trace.lanes))
        on_host = np.array([trace.lanes[index].kind in ("host", "other") for index in found])
        found = np.array(found)[np.lexsort((-busy[found], on_host))[:most]].tolist()
    return sorted({*found, with_lane} if with_lane is not None else found)


def lanes_payload(trace: Trace, shown: Sequence[int]) -> LanesAnswer:
    """Return some lanes as sent to the browser: what they are, their groups, and the labels of lanes and counters.

    In each lane, ``lane`` is its number in the trace, and ``depths`` is the number of drawn rows.
    """
    found = arrange(trace, shown)
    return {
        "lanes": [
            {
                "lane": index,
                "process": lane.process,
                "name": lane.name,
                "pid": lane.pid,
                "tid": lane.tid,
                "kind": lane.kind,
                "depths": min(lane.depths, MOST_DEPTHS),
            }
            for index, lane in ((index, trace.lanes[index]) for index in shown)
        ],
        "lanes_total": len(trace.lanes),
        "groups": [
            {"title": g.title, "short": g.short, "kind": g.kind, "lanes": list(g.lanes), "counters": list(g.counters)}
            for g in found.groups
        ],
        "lane_labels": list(found.labels),
        "counter_labels": list(found.counters),
    }


def left_out(trace: Trace) -> list[str]:
    """Return sentences about which lanes, rows and counters are not drawn."""
    remarks = []
    if len(trace.lanes) > MOST_LANES:
        remarks.append(
            f"showing {MOST_LANES:,} of {len(trace.lanes):,} lanes: device lanes, then the busiest; filter lanes by "
            "name to see others"
        )
    deep = [lane for lane in trace.lanes if lane.depths > MOST_DEPTHS]
    if deep:
        lane = max(deep, key=lambda lane: lane.depths)
        others = f", and {counted(len(deep) - 1, 'other has', 'others have')} too many" if len(deep) > 1 else ""
        remarks.append(
            f"{lane.process}, {lane.name} has {lane.depths:,} rows of slices that overlap{others}: the first "
            f"{MOST_DEPTHS:,} are drawn; search and tables have all"
        )
    if len(trace.counters) > MOST_COUNTERS:
        remarks.append(f"of {len(trace.counters):,} counters the first {MOST_COUNTERS:,} are shown")
    return remarks
