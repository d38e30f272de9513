"""Facts about the run from a trace: its hosts, devices and versions."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from stepscope.dashboard.panels.profile import texts
from stepscope.dashboard.server.numbers import count
from stepscope.dashboard.traces.analyzed_traces import AnalyzedTrace
from stepscope.summary.counts import counted

MOST_HOSTS: Final = 8
"""Maximum number of hosts that are named."""


def run_facts(analyzed: AnalyzedTrace, workers: int = 1) -> Iterator[tuple[str, str]]:
    """Yield facts about the run, the host, the software and the devices, as name and text."""
    trace = analyzed.facts.trace
    known = trace.metadata
    yield "Run", analyzed.source.run
    yield "Trace", analyzed.source.label
    if analyzed.source.left_out:
        yield "Not listed", f"{', '.join(analyzed.source.left_out)}: same recording, less detail"
    if trace.epoch_ns is not None:
        begun = datetime.fromtimestamp((trace.epoch_ns + analyzed.start_ns) // 10**9, UTC)
        yield "Recorded at", begun.strftime("%Y-%m-%d %H:%M:%S UTC")
    yield "Slices", f"{count(len(trace))} on {counted(len(trace.lanes), 'lane')}"
    if not trace.losses.counts and not trace.losses.notes:
        yield "Events", "all were read"
    yield from _hosts(known)
    if workers > 1:
        yield "Workers", f"{counted(workers, 'trace')} in this folder"
    distributed = known.get("distributedInfo")
    if isinstance(distributed, Mapping):
        for key, label in (("backend", "Backend"), ("rank", "Rank"), ("world_size", "World size")):
            if isinstance(distributed.get(key), (int, str)):
                yield label, str(distributed[key])[:200]
    flags = [key for key in ("record_shapes", "with_stack", "profile_memory", "with_flops") if known.get(key)]
    if flags:
        yield "Recorded with", ", ".join(flags)
    yield from versions(known)
    devices = known.get("deviceProperties")
    alike: dict[str, list[str]] = {}
    for device in devices if isinstance(devices, list) else ():
        if isinstance(device, Mapping):
            alike.setdefault(device_text(device), []).append(str(device.get("id", "")))
    for words, ids in alike.items():
        yield f"Device{'' if len(ids) == 1 else 's'} {', '.join(ids)}".strip(), words


def _hosts(known: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    other = known.get("otherData")
    inside = other if isinstance(other, Mapping) else {}
    hosts = known.get("hostnames")
    names = [
        known.get("host_name"),
        known.get("hostname"),
        inside.get("host"),
        *(hosts if isinstance(hosts, list) else ()),
    ]
    found = list(dict.fromkeys(name[:200] for name in names if isinstance(name, str) and name))
    if found:
        more = f", and {count(len(found) - MOST_HOSTS)} more" if len(found) > MOST_HOSTS else ""
        yield "Host" if len(found) == 1 else "Hosts", ", ".join(found[:MOST_HOSTS]) + more
    for value, label in (
        (inside.get("producer"), "Recorded by"),
        (known.get("traceName"), "Recorded as"),
        (known.get("trace_id"), "Id"),
    ):
        if isinstance(value, str) and value:
            yield label, value[:200]


def versions(known: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield all versions that a trace states."""
    for key, value in known.items():
        if not re.search(r"_version$|[a-z]Version$| version$", key) or key == "schemaVersion":
            continue
        if isinstance(value, (str, int)) and not isinstance(value, bool) and value != "":
            words = re.sub(r"(?<=[a-z])V", " v", key).replace("_", " ")
            words = words.replace("cuda", "CUDA").replace("cupti", "CUPTI").replace("nccl", "NCCL")
            # CUDA states 12.4 as 12040.
            of_cuda = isinstance(value, int) and value >= 1000 and "CUDA" in words
            yield (
                words[:1].upper() + words[1:60],
                (f"{int(value) // 1000}.{int(value) % 1000 // 10}" if of_cuda else str(value)[:200]),
            )


def device_names(analyzed: AnalyzedTrace) -> str:
    """Return the distinct names of the devices; "the device" if none is stated."""
    found = analyzed.facts.trace.metadata.get("deviceProperties")
    listed = (
        [str(each.get("name", "")) for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []
    )
    return ", ".join(name[:120] for name in dict.fromkeys(listed) if name) or "the device"


def device_text(device: Mapping[str, Any]) -> str:
    """Return a one-line description of a device."""
    parts = [str(device.get("name", "unnamed"))[:120]]
    total = device.get("totalGlobalMem")
    if isinstance(total, int) and total > 0:
        parts.append(f"{texts.size(total)} memory")
    if isinstance(device.get("computeMajor"), int):
        parts.append(f"compute capability {device['computeMajor']}.{device.get('computeMinor', 0)}")
    if isinstance(device.get("numSms"), int):
        parts.append(counted(device["numSms"], "multiprocessor"))
    return ", ".join(parts)
