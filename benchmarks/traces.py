"""Reading a trace and drawing windows of it, beside what tools that keep every event as an object do.

The largest trace is given as an argument or made up: a million slices on 8 threads. The peer of reading is Python's
own JSON parser, with which HolisticTraceAnalysis and torch-tb-profiler begin; it only parses, while ours also
sorts, nests and joins flows. The peer of a window is one pass over all slices with NumPy. Memory is that of a fresh
process that reads the trace from its file, without what it held after its imports.
"""

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from benchmarks._report import Figure, print_figures
from stepscope.profiler.lod import LevelOfDetail, span_ns
from stepscope.profiler.trace import Trace
from stepscope.profiler.traces import read_trace

SLICES: Final = 1_000_000
MOST_BYTES: Final = 300
_MEMORY: Final = """
import sys
from stepscope.profiler.traces import load_trace, read_trace
def resident():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS")) * 1024
read_trace(b'[{"ph":"X","ts":0,"dur":1,"pid":1,"tid":1,"name":"imports and compiled code"}]', name="first")
before = resident()
trace = load_trace(sys.argv[1])
print((resident() - before) / len(trace))
"""
BUCKETS: Final = 1_500
WINDOWS: Final = 40


def seconds(work: Callable[[], object], *, times: int) -> float:
    """Median time of several calls, after one that warms up."""
    work()
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return median(taken)


def made_up_trace(slices: int = SLICES) -> bytes:
    """So many slices on 8 threads, nested 4 deep, not sorted, as Chrome trace JSON."""
    generator = np.random.default_rng(0)
    starts = np.arange(slices // 8) * 40.0
    events = []
    for index in generator.permutation(slices).tolist():
        place, thread = divmod(index, 8)
        level = place % 4
        events.append(
            f'{{"ph":"X","cat":"cpu_op","name":"aten::op_{place % 97}","pid":1,"tid":{thread},'
            f'"ts":{starts[place - level] + level:.3f},"dur":{150 - 30 * level + place % 7},'
            f'"args":{{"External id":{index},"Input Dims":[[32,64],[64]]}}}}'
        )
    return ("[" + ",\n".join(events) + "]").encode()


def draw_windows(detail: LevelOfDetail, starts: Sequence[int], length: int) -> None:
    """Ask for a window at each start."""
    for start in starts:
        detail.window(start, start + length, BUCKETS)


def scan_everything(trace: Trace, start: int, length: int) -> None:
    """Longest slice per row and bucket of a window, from all slices of the trace."""
    end = start + length
    inside = np.flatnonzero((trace.start_ns < end) & (trace.start_ns + trace.duration_ns > start))
    bucket = (np.maximum(trace.start_ns[inside], start) - start) * BUCKETS // (end - start)
    place = (trace.lane[inside].astype(np.int64) * 1024 + trace.depth[inside]) * BUCKETS + bucket
    np.lexsort((-trace.duration_ns[inside], place))


def figures_of(label: str, data: bytes, times: int) -> list[Figure]:
    """Reading and window figures of one trace."""
    trace = read_trace(data, name=label)
    plain = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    detail = LevelOfDetail(trace)
    begin, end = span_ns(trace)
    ours = seconds(lambda: read_trace(data, name=label), times=times)
    peer = seconds(lambda: json.loads(gzip.decompress(data) if data is not plain else data), times=1)
    figures = [
        Figure(f"read {label} ({len(plain) / 1e6:.0f} MB)", ours, peer, "json.loads alone", "s", higher_is_better=False)
    ]
    for part, share in (("whole", 1), ("a hundredth", 100)):
        length = max(1, (end - begin) // share)
        starts = np.linspace(begin, end - length, WINDOWS).astype(np.int64).tolist()
        ours = seconds(partial(draw_windows, detail, starts, length), times=3) / WINDOWS
        peer = seconds(partial(scan_everything, trace, starts[WINDOWS // 2], length), times=3)
        name = f"window, {part} of {label}"
        figures.append(Figure(name, 1e3 * ours, 1e3 * peer, "NumPy pass", "ms", higher_is_better=False))
    return figures


def memory_of(data: bytes) -> float:
    """Bytes of memory per slice that a trace holds once it is read."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(data)
        file.flush()
        command = [sys.executable, "-c", _MEMORY, file.name]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def run(slices: int = SLICES) -> list[Figure]:
    """The made-up trace."""
    data = made_up_trace(slices)
    memory = Figure("memory per slice", memory_of(data), MOST_BYTES, "the mark", "bytes", higher_is_better=False)
    label = "a million slices" if slices == SLICES else f"{slices:,} slices"
    return [*figures_of(label, data, times=3), memory]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("traces", nargs="*", type=Path, help="Chrome traces to read besides the made-up one")
    parser.add_argument("--slices", type=int, default=SLICES, help="how many the made-up trace has")
    arguments = parser.parse_args()
    figures: list[Figure] = []
    for path in arguments.traces:
        figures += figures_of(path.name, path.read_bytes(), times=3)
    print_figures(figures + run(arguments.slices))


if __name__ == "__main__":
    main()
