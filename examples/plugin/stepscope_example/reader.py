"""A format of traces: a line per span, with its lane, its start and its duration in microseconds, and its name."""

from typing import Final

from stepscope.profiler.trace import Lane, Trace
from stepscope.profiler.traces import TraceReader
from stepscope.profiler.traces.limits import Limits
from stepscope.profiler.traces.simple import Slice, trace_of_slices

MARK: Final = b"# spans 1\n"


def read_spans(data: bytes, name: str, notes: tuple[str, ...], limits: Limits) -> Trace:
    """Return the spans of a file as a trace; lines that are not spans are noted.

    Args:
        data: the file, such as ``# spans 1``, and then ``loader 0 250 next batch``.
        name: name of the file, for messages.
        notes: what was already lost of the file.
        limits: limits on what is read.
    """
    lanes: dict[str, Lane] = {}
    slices: list[Slice] = []
    bad = 0
    for line in data.removeprefix(MARK).decode(errors="replace").splitlines():
        if len(slices) == limits.events:
            notes = (*notes, f"only the first {limits.events:,} spans were read")
            break
        try:
            lane, start, duration, title = line.split(maxsplit=3)
            start_ns, duration_ns = round(float(start) * 1000), round(float(duration) * 1000)
        except (ValueError, OverflowError):
            bad += bool(line.strip())
            continue
        known = lanes.setdefault(lane, Lane(process="spans", name=lane, pid=1, tid=len(lanes) + 1, kind="host"))
        slices.append(Slice(title, start_ns, duration_ns, known))
    if bad:
        notes = (*notes, f"lines that are not spans: {bad:,}")
    return trace_of_slices(slices, notes=notes)


READER: Final = TraceReader(
    name="spans",
    about="a list of spans (.spans)",
    sniff=lambda beginning: beginning.startswith(MARK),
    read=read_spans,
    suffixes=(".spans", ".spans.gz"),
    reads_beginning=True,
)
