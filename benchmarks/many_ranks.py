"""``stepscope analyze`` of many ranks, beside the marks, and HolisticTraceAnalysis where it can still open them.

The ranks are made of the beginning of a real trace of an A100 (27,000 slices), with other clocks, names and speeds and
a straggler, which must be found. Each question is a fresh process, with its imports: the first answer is the first that
it says, of a sample; all is its end; the second question asks other tables of the facts that the first kept.
Memory is the peak of what all its processes hold, shared pages counted once (PSS), sampled five times a second.
HolisticTraceAnalysis opens the same ranks and tells busy, idle and hidden times, in an interpreter of its own, as in
`benchmarks.analysis`. Dask's two workers are beside its one, warm, each with one thread. Others' work on the same cores
makes all of these worse.
"""

import argparse
import gzip
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from benchmarks._rank_traces import RankMaker, real_template, write_ranks
from benchmarks._report import Figure, print_figures
from benchmarks.analysis import HTA, PEER_TRACE, peer_python
from stepscope.profiler.ranks.collection import gather
from stepscope.profiler.ranks.store import FactStore

RANKS: Final = (8, 64, 512, 1024)
PEER_RANKS: Final = (8,)
"""Of more, HolisticTraceAnalysis takes minutes, and memory for all of them at once."""
SLICES: Final = 27_000
STRAGGLER: Final = 5
DASK_RANKS: Final = 512
DASK_ROUNDS: Final = 2
FIRST_ANSWER_MARK: Final = 5.0
SECONDS_A_RANK_MARK: Final = 0.12
MEGABYTES_MARK: Final = 1000.0
SECOND_QUESTION_MARK: Final = 2.0
DASK_MARK: Final = 1.7
_TWO_CORES: Final = "the mark, of two cores"
_FIRST: Final = ("rank_outliers", "ranks", "stragglers", "rank_steps")
_SECOND: Final = ("rank_kernels", "rank_resources")
_PEER: Final = """
import logging, sys, warnings
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
if __name__ == "__main__":
    opened = TraceAnalysis(trace_dir=sys.argv[1])
    opened.get_temporal_breakdown(visualize=False)
    opened.get_comm_comp_overlap(visualize=False)
    opened.get_idle_time_breakdown(ranks=list(range(int(sys.argv[2]))), visualize=False)
"""


@dataclass(frozen=True)
class Asked:
    """What a process took."""

    first: float
    """Seconds until it first said something on standard error; until its end if it never did."""
    seconds: float
    processor: float
    """Seconds of processor time, of all its processes."""
    megabytes: float
    output: bytes


def ask(command: Sequence[str]) -> Asked:
    """Run a command, and watch it and its children."""
    begin, before = time.perf_counter(), processor_seconds()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        said: list[float] = []
        wrong: list[bytes] = []
        stderr = process.stderr

        def listen() -> None:
            for line in stderr:
                if not said and b" of " in line and b" ranks" in line:
                    said.append(time.perf_counter() - begin)
                wrong.append(line)

        peak: list[float] = [0.0]
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(0.2):
                peak[0] = max(peak[0], megabytes_of(process.pid))

        threads = [threading.Thread(target=work) for work in (listen, watch)]
        for thread in threads:
            thread.start()
        output = process.stdout.read()
        code = process.wait()
        seconds = time.perf_counter() - begin
        ended.set()
        for thread in threads:
            thread.join()
        if code:
            raise subprocess.CalledProcessError(code, command, output, b"".join(wrong))
        return Asked(said[0] if said else seconds, seconds, processor_seconds() - before, peak[0], output)


def processor_seconds() -> float:
    """What the processes that this one has waited for took, and those that they have waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def megabytes_of(pid: int) -> float:
    """What a process and its children hold."""
    total = 0
    try:
        process = psutil.Process(pid)
        for each in (process, *process.children(recursive=True)):
            total += each.memory_full_info().pss
    except psutil.Error:
        # One of the processes has just ended.
        return 0.0
    return total / 1e6


def question(folder: Path, facts: Path, tables: Sequence[str]) -> list[str]:
    """The command that asks for tables of all ranks."""
    named = [part for table in tables for part in ("--table", table)]
    return [sys.executable, "-m", "stepscope", "analyze", str(folder), "--facts", str(facts), "--json", *named]


def figures_of(folder: Path, ranks: int, python: str | None) -> list[Figure]:
    """Ours for so many ranks beside the marks, and HolisticTraceAnalysis' where it is asked."""
    with tempfile.TemporaryDirectory() as facts:
        first = ask(question(folder, Path(facts), _FIRST))
        second = ask(question(folder, Path(facts), _SECOND))
        kept = sum(path.stat().st_size for path in Path(facts).rglob("*") if path.is_file())
    check(first.output, ranks)
    what = f"{ranks:,} ranks x {SLICES:,} slices"
    rows: list[tuple[str, float, float, str, str]] = [
        (f"{what}, first answer", first.first, FIRST_ANSWER_MARK, "the mark", "s"),
        (f"{what}, all, a rank", first.seconds / ranks, SECONDS_A_RANK_MARK, "the mark", "s"),
        (f"{what}, all, processor time a rank", first.processor / ranks, 2 * SECONDS_A_RANK_MARK, _TWO_CORES, "s"),
        (f"{what}, peak memory", max(first.megabytes, second.megabytes), MEGABYTES_MARK, "the mark", "MB"),
        (f"{what}, second question", second.seconds, SECOND_QUESTION_MARK, "the mark", "s"),
        (f"{what}, kept facts a rank", kept / ranks / 1e3, kilobytes_mark(folder), "a thousandth of its JSON", "kB"),
    ]
    if python and ranks in PEER_RANKS:
        theirs = ask([python, "-c", _PEER, str(folder), str(ranks)])
        rows += [
            (f"{what}, all", first.seconds, theirs.seconds, HTA, "s"),
            (f"{what}, all, processor time", first.processor, theirs.processor, HTA, "s"),
            (f"{what}, peak memory", first.megabytes, theirs.megabytes, HTA, "MB"),
        ]
    return [Figure(*row, higher_is_better=False) for row in rows]


def kilobytes_mark(folder: Path) -> float:
    """A thousandth of a trace of a folder without its compression."""
    path = next(iter(sorted(folder.iterdir())))
    return len(gzip.decompress(path.read_bytes())) / 1e6


def check(output: bytes, ranks: int) -> None:
    """Refuse an answer that is not of all ranks, or does not tell the straggler."""
    told = json.loads(output)
    odd = {row["rank"] for row in told["tables"]["rank_outliers"]}
    if told["ranks"]["read"] != ranks or told["ranks"]["left_out"] or odd != {STRAGGLER}:
        raise AssertionError(f"asked of {ranks} ranks: {told['ranks']}, odd are {sorted(odd)}")


def dask_figure(folder: Path, ranks: int) -> Figure:
    """How much faster two workers read ranks than one, of the shortest time of each."""
    from distributed import Client, LocalCluster

    paths = [str(path) for path in sorted(folder.iterdir())]
    shortest = {1: math.inf, 2: math.inf}
    # Alternate between them, since other load on the machine comes and goes.
    for workers in (1, 2) * DASK_ROUNDS:
        options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None, "host": "127.0.0.1"}
        with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster) as client:
            client.wait_for_workers(workers)
            engine = "dask://" + cluster.scheduler_address.removeprefix("tcp://")
            for some in (paths[: 4 * workers], paths):
                with tempfile.TemporaryDirectory() as facts:
                    begin = time.perf_counter()
                    *_, last = gather(some, FactStore(facts), engine=engine)
                    if not last.complete:
                        raise AssertionError(f"{last.words}: {dict(last.failures)}")
                    seconds = time.perf_counter() - begin
        shortest[workers] = min(shortest[workers], seconds)
    one, two = shortest[1], shortest[2]
    return Figure(f"Dask, 2 workers over 1, {ranks:,} ranks", one / two, DASK_MARK, "the mark", "x")


def run(ranks: Sequence[int] = RANKS, python: str | None = None, *, dask: bool = True) -> list[Figure]:
    """The figures, or none, said on standard error, where there is no trace to make ranks of."""
    if not PEER_TRACE.exists():
        print(f"{PEER_TRACE} is not here: no figures of many ranks", file=sys.stderr)
        return []
    template = real_template(PEER_TRACE, SLICES)
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as name:
        python = python or os.environ.get("HTA_PYTHON")
        if not python and set(ranks) & set(PEER_RANKS):
            try:
                python = peer_python(str(Path(name) / "hta"))
            except subprocess.CalledProcessError as error:
                print(f"{HTA} cannot be run: {error}", file=sys.stderr)
        for count in ranks:
            folder = Path(name) / str(count)
            write_ranks(folder, RankMaker(template, count, STRAGGLER))
            figures += figures_of(folder, count, python)
            if count == DASK_RANKS and dask:
                figures.append(dask_figure(folder, count))
            for path in folder.iterdir():
                path.unlink()
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", nargs="+", type=int, default=RANKS, help="how many ranks")
    parser.add_argument("--hta-python", help=f"an interpreter that has {HTA}")
    parser.add_argument("--no-dask", action="store_true", help=f"without Dask's workers, of {DASK_RANKS} ranks")
    arguments = parser.parse_args()
    print_figures(run(arguments.ranks, arguments.hta_python, dask=not arguments.no_dask))


if __name__ == "__main__":
    main()
