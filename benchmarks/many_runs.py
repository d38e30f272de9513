"""A thousand runs (20 tags x 1,000 steps each, 1 GB): cold, from the cache, and idle, beside TensorBoard's data server.

Both keep every point and check every CRC. Ours is timed in a fresh process without its imports, of which Numba makes
the larger part at the first call of a kernel, the data server by the load cycle that it logs itself, so that the start
of neither process counts. From the cache, the time is that until
every series and its number of points are there; its columns are read, and their CRCs checked, when they are asked for.
Outside the time, all tags and a part of the series are compared with what was written.

Then a sweep, 10,000 runs of one small file each: from the command to the page, and until the last point of the last run
is answered, of a server that starts for the first time and of one that has an index, beside TensorBoard with its data
server. Loops are compiled before; a start of each over few runs, which reads the programs from disk, does not count.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks._report import Figure, print_figures
from benchmarks.browser import write_logs
from benchmarks.reading import seconds_of_data_server
from benchmarks.start import STEPSCOPE, TENSORBOARD, started
from stepscope.summary.kinds.scalar_batch import POINT, encode_scalars, scalar_template
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.records import frame

RUNS: Final = 1000
TAGS: Final = 20
STEPS: Final = 1000
ROUNDS: Final = 3
IDLE_SECONDS: Final = 20.0
MOST_MEGABYTES: Final = 1200.0
MOST_IDLE_SHARE: Final = 0.01
SWEEP_RUNS: Final = 10_000
SWEEP_TAGS: Final = 10
SWEEP_STEPS: Final = 100
SWEEP_ROUNDS: Final = 3
SWEEP_PATIENCE: Final = 120.0
MOST_SWEEP_MEGABYTES: Final = 250.0

_READ_ONCE: Final = """
import hashlib, sys, time
from pathlib import Path
import numpy as np
from stepscope.summary.column_cache import ColumnCache
from stepscope.summary.logdir import Logdir
from stepscope.summary.scan import ROW, Scanner
cache = ColumnCache(Path(sys.argv[2])) if len(sys.argv) > 2 else None
Scanner().scan(np.empty(0, np.uint8), 0, 0, np.empty(1, ROW))
begin = time.perf_counter()
logdir = Logdir(sys.argv[1], cache=cache)
points = sum(len(series) for run in logdir.update().runs.values() for series in run.series.values())
seconds = time.perf_counter() - begin
digest = hashlib.sha256()
for run in sorted(logdir.snapshot.runs.values(), key=lambda run: run.name):
    digest.update(repr((run.name, run.first_wall_time, [(s.tag, s.kind) for s in run.series.values()])).encode())
for run in sorted(logdir.snapshot.runs.values(), key=lambda run: run.name)[::50]:
    for series in run.series.values():
        digest.update(series.steps.tobytes() + series.wall_times.tobytes() + series.values.tobytes())
logdir.wait_until_stored()
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(seconds, int(peak) / 1024, points, digest.hexdigest())
"""


def write_runs(folder: Path) -> str:
    """Event files as training writes them: step after step, all tags; returns the digest of what `read_once` reads."""
    templates = [scalar_template(template_tag(tag), "simple_value") for tag in range(TAGS)]
    generator = np.random.default_rng(0)
    points = np.empty(STEPS * TAGS, POINT)
    points["template"] = np.tile(np.arange(TAGS), STEPS)
    points["step"] = np.repeat(np.arange(STEPS), TAGS)
    tags = [(template_tag(tag), "scalars") for tag in range(TAGS)]
    names, columns = hashlib.sha256(), []
    for run in range(RUNS):
        begin = 1.7e9 + 10 * run
        points["wall_time"] = begin + np.arange(len(points)) * 0.01
        points["number"] = generator.normal(size=len(points))
        path = folder / f"experiment_{run // 100}" / f"run_{run:04d}" / f"events.out.tfevents.{begin:.0f}.host.1.0"
        path.parent.mkdir(parents=True)
        names.update(repr((path.parent.relative_to(folder).as_posix(), begin, tags)).encode())
        if run % 50 == 0:
            columns += [column_bytes(points[tag::TAGS]) for tag in range(TAGS)]
        version = Event(wall_time=begin, file_version="brain.Event:2").SerializeToString()
        path.write_bytes(frame(version) + encode_scalars(templates, points))
    names.update(b"".join(columns))
    return names.hexdigest()


def template_tag(tag: int) -> str:
    """The name of a tag."""
    return f"group_{tag // 5}/metric_{tag}"


def column_bytes(points: NDArray[np.void]) -> bytes:
    """Steps, wall times and values as a reader gives them: numbers in event files are float32."""
    numbers = points["number"].astype(np.float32).astype(np.float64)
    return points["step"].astype(np.int64).tobytes() + points["wall_time"].tobytes() + numbers.tobytes()


def read_once(digest: str, *arguments: str) -> tuple[float, float]:
    """Seconds and the peak of memory in megabytes, in a fresh process that must read what `write_runs` wrote."""
    done = subprocess.run(
        [sys.executable, "-c", _READ_ONCE, *arguments], capture_output=True, text=True, check=True, cwd=os.getcwd()
    )
    seconds, megabytes, points, read = done.stdout.split()
    if int(points) != RUNS * TAGS * STEPS or read != digest:
        raise AssertionError(f"read {points} points, not those that were written")
    return float(seconds), float(megabytes)


def idle_share(folder: Path) -> float:
    """What share of a core a dashboard takes while nothing happens."""
    command = [sys.executable, "-m", "stepscope", "--logdir", str(folder), "--port", "0", "--no-cache"]
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


def sweep() -> list[Figure]:
    """Starts over many runs of one small file each: medians of rounds."""
    with tempfile.TemporaryDirectory() as name:
        subprocess.run([sys.executable, "-m", "stepscope", "warm-up"], check=True, capture_output=True)
        few = write_logs(Path(name) / "few", 2, SWEEP_TAGS, SWEEP_STEPS)
        for module, *options in (STEPSCOPE, TENSORBOARD):
            started(module, *options, logs=few, patience=SWEEP_PATIENCE)
        logs = write_logs(Path(name) / "logs", SWEEP_RUNS, SWEEP_TAGS, SWEEP_STEPS)
        first, second, theirs = [], [], []
        for number in range(SWEEP_ROUNDS):
            index = f"--index={name}/index_{number}"
            first.append(started("stepscope", index, logs=logs, patience=SWEEP_PATIENCE))
            second.append(started("stepscope", index, logs=logs, patience=SWEEP_PATIENCE))
            theirs.append(started(*TENSORBOARD, logs=logs, patience=SWEEP_PATIENCE))
    peer = "TensorBoard with its data server"
    figures = []
    for what, ours in (("first start", first), ("second start", second)):
        for number, until in enumerate(("the page", "the points of the last run")):
            taken, taken_there = (median(start[number] for start in starts) for starts in (ours, theirs))
            figures.append((f"{logs.title}, {what} to {until}", taken, taken_there, peer, "s"))
        held = median(start[2] for start in ours)
        figures.append((f"{logs.title}, memory after the {what}", held, MOST_SWEEP_MEGABYTES, "the mark", "MB"))
    return [Figure(*figure, higher_is_better=False) for figure in figures]


def run() -> list[Figure]:
    """Medians of alternating rounds."""
    with tempfile.TemporaryDirectory() as name:
        folder, cache = Path(name) / "logs", str(Path(name) / "cache")
        digest = write_runs(folder)
        read_once(digest, str(folder), cache)
        cold, warm, server = [], [], []
        for _ in range(ROUNDS):
            cold.append(read_once(digest, str(folder)))
            warm.append(read_once(digest, str(folder), cache))
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
    return [*(Figure(*figure, higher_is_better=False) for figure in figures), *sweep()]


if __name__ == "__main__":
    print_figures(run())
