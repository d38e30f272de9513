"""Short summaries of the recordings and dumps in a log directory, for ``stepscope inspect``."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from stepscope.summary.debugger.listing import DumpSource, dump_sources
from stepscope.summary.debugger.recordings import has_recording, read_recording
from stepscope.summary.debugger.tfdbg import NoDumpError
from stepscope.summary.errors import reason_of
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.series import Run
from stepscope.summary.snapshot import Snapshot

_WIDTH: Final = 20


@dataclass(frozen=True)
class DebugDigest:
    """A summary of a recording of `stepscope.debug` or a dump of TensorFlow's debugger."""

    run: str
    kind: Literal["recording", "tfdbg"]
    source: str
    """The program that wrote it, and its mode."""
    counts: Mapping[str, int]
    """The number of items of each kind, by name."""
    alerts: Mapping[str, int]
    """The number of findings that the rules of a recording made while it recorded, by rule."""
    problems: Sequence[str]
    """Missing or damaged content, one sentence each."""


def digests(snapshot: Snapshot) -> list[DebugDigest]:
    """Return all digests of a log directory, in the order of its runs: recordings before dumps."""
    recordings = [_recording(snapshot, run) for run in snapshot.runs.values() if has_recording(run)]
    return [*recordings, *(_dump(source) for source in dump_sources(snapshot))]


def _recording(snapshot: Snapshot, run: Run) -> DebugDigest:
    data = read_recording(run)
    counts = {
        "steps": len(data.point_ends),
        "tensors": len(data.tensors),
        "values": data.observation_count,
        "source_files": len(data.sources),
    }
    alerts = Counter(alert.rule for alert in data.alerts)
    files = [file for file in snapshot.health if file.run == run.name and (file.damage_count or file.error)]
    damaged = [f"{file.path} is damaged, or cannot be read: see its lines above." for file in files]
    return DebugDigest(run.name, "recording", data.source, counts, dict(alerts), (*data.problems, *damaged))


def _dump(source: DumpSource) -> DebugDigest:
    try:
        dump = source.following().update(source.sizes)
        data = dump.data()
        columns = [each.measured.bad for each in dump.columns]
        counts = {
            "files": len(source.files),
            "executions": dump.execution_count,
            "traces": dump.trace_count,
            "tensors": len(data.tensors),
            "values": data.observation_count,
            "not_finite": sum(int(np.count_nonzero(bad[:])) for bad in columns),
            "graphs": len(dump.graphs),
            "source_files": len(data.sources),
        }
        return DebugDigest(source.run, "tfdbg", data.source, counts, {}, tuple(data.problems))
    except (OSError, NoDumpError, PayloadError) as error:
        reason = reason_of(error)
        return DebugDigest(source.run, "tfdbg", "", {"files": len(source.files)}, {}, (f"It cannot be read: {reason}",))


def text_of_digests(found: Sequence[DebugDigest]) -> str:
    """Return the lines of text about all digests; an empty text if there are none."""
    if not found:
        return ""
    lines = [line for digest in found for line in _lines(digest)]
    return "".join(f"{line}\n" for line in lines) + "=" * 70 + "\n\n"


def _lines(digest: DebugDigest) -> Iterator[str]:
    what = "Recording of tensors" if digest.kind == "recording" else "Dump of TensorFlow's debugger"
    yield f"{what} in {digest.run}:"
    if digest.source:
        yield f"   {'source':<{_WIDTH}} {digest.source}"
    for name, count in digest.counts.items():
        yield f"   {name:<{_WIDTH}} {count}"
    if digest.kind == "recording":
        yield f"   {'alerts':<{_WIDTH}} {sum(digest.alerts.values())}"
        for rule, count in digest.alerts.items():
            yield f"      {rule:<{_WIDTH - 3}} {count}"
    yield f"   {'problems':<{_WIDTH}} {len(digest.problems) or '-'}"
    for problem in digest.problems:
        yield f"      {problem}"
