"""A thousand runs (20 tags x 1,000 steps each, 1 GB): cold, from the cache, and idle, beside TensorBoard's data server.

Both keep every point and check every CRC. Ours is timed in a fresh process without its imports, the data server by the
load cycle that it logs itself, so that the start of neither process counts.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from benchmarks._report import Figure, print_figures
from benchmarks.reading import seconds_of_data_server
from summary.kinds.scalar_batch import POINT, encode_scalars, scalar_template
from summary.proto.event_pb2 import Event
from summary.records import frame

RUNS: Final = 1000
TAGS: Final = 20
STEPS: Final = 1000
ROUNDS: Final = 3
IDLE_SECONDS: Final = 20.0
MOST_MEGABYTES: Final = 1200.0
MOST_IDLE_SHARE: Final = 0.01

_READ_ONCE: Final = """
import sys, time
from pathlib import Path
from summary.column_cache import ColumnCache
from summary.logdir import Logdir
cache = ColumnCache(Path(sys.argv[2])) if len(sys.argv) > 2 else None
begin = time.perf_counter()
logdir = Logdir(sys.argv[1], cache=cache)
points = sum(len(series) for run in logdir.update().runs.values() for series in run.series.values())
seconds = time.perf_counter() - begin
logdir.wait_until_stored()
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(seconds, int(peak) / 1024, points)
"""


def write_runs(folder: Path) -> None:
    """Event files as training writes them: step after step, all tags."""
    templates = [scalar_template(f"group_{tag // 5}/metric_{tag}", "simple_value") for tag in range(TAGS)]
    generator = np.random.default_rng(0)
    points = np.empty(STEPS * TAGS, POINT)
    points["template"] = np.tile(np.arange(TAGS), STEPS)
    points["step"] = np.repeat(np.arange(STEPS), TAGS)
    for run in range(RUNS):
        begin = 1.7e9 + 10 * run
        points["wall_time"] = begin + np.arange(len(points)) * 0.01
        points["number"] = generator.normal(size=len(points))
        path = folder / f"experiment_{run // 100}" / f"run_{run:04d}" / f"events.out.tfevents.{begin:.0f}.host.1.0"
        path.parent.mkdir(parents=True)
        version = Event(wall_time=begin, file_version="brain.Event:2").SerializeToString()
        path.write_bytes(frame(version) + encode_scalars(templates, points))


def read_once(*arguments: str) -> tuple[float, float]:
    """Seconds and the peak of memory in megabytes, in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", _READ_ONCE, *arguments], capture_output=True, text=True, check=True, cwd=os.getcwd()
    )
    seconds, megabytes, points = done.stdout.split()
    if int(points) != RUNS * TAGS * STEPS:
        raise AssertionError(f"read {points} points")
    return float(seconds), float(megabytes)


def idle_share(folder: Path) -> float:
    """What share of a core a dashboard takes while nothing happens."""
    command = [sys.executable, "-m", "dashboard", "--logdir", str(folder), "--port", "0", "--no-cache"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            next(line for line in server.stdout if "event files" in line)
            time.sleep(5)
            before = _cpu_seconds(server.pid)
            time.sleep(IDLE_SECONDS)
            return (_cpu_seconds(server.pid) - before) / IDLE_SECONDS
        finally:
            server.terminate()


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run() -> list[Figure]:
    """Medians of alternating rounds."""
    with tempfile.TemporaryDirectory() as name:
        folder, cache = Path(name) / "logs", str(Path(name) / "cache")
        write_runs(folder)
        read_once(str(folder), cache)
        cold, warm, server = [], [], []
        for _ in range(ROUNDS):
            cold.append(read_once(str(folder)))
            warm.append(read_once(str(folder), cache))
            server.append(seconds_of_data_server(folder, "--checksum", "--samples-per-plugin=scalars=all"))
        idle = idle_share(folder)
    peer = "TensorBoard data server (all points, CRC)"
    theirs = median(server)
    what = f"{RUNS:,} runs x {TAGS} tags x {STEPS:,} steps"
    figures = (
        (f"{what}, cold", median(seconds for seconds, _ in cold), theirs, peer, "s"),
        (f"{what}, from the cache", median(seconds for seconds, _ in warm), theirs, peer, "s"),
        (f"{what}, peak memory", max(megabytes for _, megabytes in cold), MOST_MEGABYTES, "the mark", "MB"),
        (f"{RUNS:,} quiet runs", 100 * idle, 100 * MOST_IDLE_SHARE, "the mark", "% of a core"),
    )
    return [Figure(*figure, higher_is_better=False) for figure in figures]


if __name__ == "__main__":
    print_figures(run())
