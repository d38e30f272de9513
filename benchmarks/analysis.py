"""Opening a Kineto trace and analyzing it, beside HolisticTraceAnalysis on the same file.

The trace is given as an argument; without one it is the A100 trace of 108,936 events in ``../shared/peer/hta``, where
that folder is. HolisticTraceAnalysis runs in an interpreter of its own: the one that ``--hta-python`` or the
environment variable ``HTA_PYTHON`` names, else one in a temporary virtual environment into which pip installs it.
Every time is the median of several runs in a process that has run the same before; the analyses are those that both
have. HolisticTraceAnalysis decodes arguments and joins launches to kernels when it opens a trace, Stepscope when an
analysis first asks for them: so all analyses are measured with that done, and once more from the bare trace. Memory is
the peak of a fresh process that opens the trace, without what it held after its imports.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks._report import Figure, print_figures
from benchmarks.traces import seconds
from stepscope.profiler.analysis.facts import Facts, facts_of
from stepscope.profiler.analysis.idle import idle_time
from stepscope.profiler.analysis.kernels import kernels
from stepscope.profiler.analysis.memcpys import bandwidth_summary
from stepscope.profiler.analysis.queue import launch_delays, queue_summary
from stepscope.profiler.analysis.temporal import communication_overlap, temporal_breakdown, work_breakdown
from stepscope.profiler.trace import Trace
from stepscope.profiler.traces import read_trace

PEER_TRACE: Final = Path(__file__).resolve().parents[2] / "shared" / "peer" / "hta" / "a100_rank0_108936_events.json.gz"
HTA: Final = "HolisticTraceAnalysis"
TIMES: Final = 5

_MEMORY: Final = """
def resident(what):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(what)) / 1024
"""
_OUR_MEMORY: Final = (
    _MEMORY
    + """
import sys
from stepscope.profiler.traces import load_trace, read_trace
read_trace(b'[{"ph":"X","ts":0,"dur":1,"pid":1,"tid":1,"name":"imports and compiled code"}]', name="first")
before = resident("VmRSS")
trace = load_trace(sys.argv[1])
print(resident("VmHWM") - before)
"""
)
_PEER_MEMORY: Final = (
    _MEMORY
    + """
import logging, sys, warnings
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
before = resident("VmRSS")
trace = TraceAnalysis(trace_dir=sys.argv[1])
print(resident("VmHWM") - before)
"""
)
_PEER: Final = """
import json, logging, statistics, sys, time, warnings
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis

def timed(work, times):
    result = work()
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        result = work()
        taken.append(time.perf_counter() - begin)
    return result, statistics.median(taken)

opened, seconds = timed(lambda: TraceAnalysis(trace_dir=sys.argv[1]), 1)
found = {"open": seconds}
for name, options in {
    "temporal": ("get_temporal_breakdown", {"visualize": False}),
    "kernels": ("get_gpu_kernel_breakdown", {"visualize": False}),
    "idle": ("get_idle_time_breakdown", {"visualize": False}),
    "overlap": ("get_comm_comp_overlap", {"visualize": False}),
    "bandwidth": ("get_memory_bw_summary", {}),
    "queue": ("get_queue_length_summary", {}),
    "launches": ("get_cuda_kernel_launch_stats", {"visualize": False}),
}.items():
    method, arguments = options
    found[name] = timed(lambda: getattr(opened, method)(**arguments), int(sys.argv[2]))[1]
print(json.dumps(found))
"""


def _kernels(facts: Facts) -> None:
    work_breakdown(facts)
    kernels(facts, scope="complete")


ANALYSES: Final[Mapping[str, Callable[[Facts], object]]] = {
    "temporal": temporal_breakdown,
    "kernels": _kernels,
    "idle": idle_time,
    "overlap": communication_overlap,
    "bandwidth": bandwidth_summary,
    "queue": queue_summary,
    "launches": launch_delays,
}


def everything(trace: Trace | Facts) -> None:
    """All analyses that both have."""
    facts = facts_of(trace)
    for analysis in ANALYSES.values():
        analysis(facts)


def last_line(python: str, code: str, *arguments: str) -> str:
    """What a process prints last."""
    command = [python, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1]


def peer_figures(python: str, trace: Path) -> tuple[dict[str, float], float]:
    """HolisticTraceAnalysis' times for a trace, in seconds, and its megabytes."""
    # HolisticTraceAnalysis opens folders, so the trace gets one of its own.
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(trace, folder)
        found: dict[str, float] = json.loads(last_line(python, _PEER, folder, str(TIMES)))
        return found, float(last_line(python, _PEER_MEMORY, folder))


def peer_python(folder: str) -> str:
    """An interpreter with HolisticTraceAnalysis, installed into a folder."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = str(Path(folder) / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", HTA], check=True)
    return python


def figures_of(trace: Path, python: str) -> list[Figure]:
    """Ours and theirs, for opening and for each analysis."""
    theirs, their_megabytes = peer_figures(python, trace)
    our_megabytes = float(last_line(sys.executable, _OUR_MEMORY, str(trace)))
    data = trace.read_bytes()
    opened = read_trace(data, name=trace.name)
    facts = Facts(opened)
    ours = {"open": seconds(lambda: read_trace(data, name=trace.name), times=3)}
    ours |= {name: seconds(partial(analysis, facts), times=TIMES) for name, analysis in ANALYSES.items()}
    shared = seconds(lambda: everything(facts), times=TIMES)
    whole = seconds(lambda: everything(opened), times=TIMES)
    figures = [
        Figure(f"{name} ({trace.name.partition('.')[0]})", 1e3 * ours[name], 1e3 * theirs[name], HTA, "ms", False)
        for name in ours
    ]
    total = 1e3 * sum(theirs[name] for name in ANALYSES)
    return [
        *figures,
        Figure("memory to open it", our_megabytes, their_megabytes, HTA, "MB", False),
        Figure("all analyses", 1e3 * shared, total, HTA, "ms", False),
        Figure("all analyses, from the bare trace", 1e3 * whole, total, HTA, "ms", False),
    ]


def run(trace: Path = PEER_TRACE, python: str | None = None) -> list[Figure]:
    """The figures, or none, said on standard error, where the trace or the other tool cannot be had."""
    if not trace.exists():
        print(f"{trace} is not here: no figures of analyses", file=sys.stderr)
        return []
    python = python or os.environ.get("HTA_PYTHON")
    try:
        if python:
            return figures_of(trace, python)
        with tempfile.TemporaryDirectory() as folder:
            return figures_of(trace, peer_python(folder))
    except subprocess.CalledProcessError as error:
        print(f"{HTA} cannot be run: {error}", file=sys.stderr)
        return []


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", nargs="?", type=Path, default=PEER_TRACE, help="a Kineto trace")
    parser.add_argument("--hta-python", help=f"an interpreter that has {HTA}")
    arguments = parser.parse_args()
    print_figures(run(arguments.trace, arguments.hta_python))


if __name__ == "__main__":
    main()
