"""Reading scalars: 20 runs x 10 tags x 10,000 steps, beside TensorBoard's data server and its Python reader.

Ours keeps every point and checks every CRC. The data server runs with its own defaults (it keeps 1,000 points a tag and
checks no CRC) and once more with the same duties as ours. Its time is the load cycle that it logs itself, so that the
start of its process does not count.
"""

import os
import random
import re
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks._report import Figure, print_figures
from stepscope.summary.logdir import open_logdir
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.records import frame

RUNS: Final = 20
TAGS: Final = 10
STEPS: Final = 10_000
ROUNDS: Final = 7


def write_runs(folder: Path, runs: int, tags: int, steps: int) -> int:
    """Writes event files as PyTorch's writer does, and returns how many points they hold."""
    generator = random.Random(0)
    names = [f"group_{tag % 3}/metric_{tag}" for tag in range(tags)]
    for run in range(runs):
        records = [frame(Event(wall_time=1.7e9, file_version="brain.Event:2").SerializeToString())]
        for step in range(steps):
            for name in names:
                value = Summary.Value(tag=name, simple_value=generator.random())
                event = Event(wall_time=1.7e9 + step, step=step, summary=Summary(value=[value]))
                records.append(frame(event.SerializeToString()))
        (folder / f"run_{run:02d}").mkdir()
        (folder / f"run_{run:02d}" / f"events.out.tfevents.1700000000.host.{run}").write_bytes(b"".join(records))
    return runs * tags * steps


def seconds_of_ours(folder: Path, points: int) -> float:
    begin = time.perf_counter()
    snapshot = open_logdir(folder)
    seconds = time.perf_counter() - begin
    read = sum(len(series) for run in snapshot.runs.values() for series in run.series.values())
    if (read, snapshot.damage_count) != (points, 0):
        raise AssertionError(f"read {read} of {points} points")
    return seconds


def seconds_of_data_server(folder: Path, *options: str) -> float:
    """The load cycle of TensorBoard's Rust data server, as it logs it."""
    from tensorboard_data_server import server_binary

    command = [server_binary(), "--logdir", str(folder), "--port", "0", "--reload", "once", "-v", *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            for line in server.stderr:
                if found := re.search(r"Finished load cycle \(([\d.]+)(µs|ms|s)\)", line):
                    return float(found[1]) * {"µs": 1e-6, "ms": 1e-3, "s": 1.0}[found[2]]
        finally:
            server.kill()
    raise RuntimeError("the data server ended without a load cycle")


def seconds_of_python_reader(folder: Path) -> float:
    """TensorBoard's Python reader on one run, keeping every point."""
    from tensorboard.backend.event_processing.event_accumulator import SCALARS, EventAccumulator

    begin = time.perf_counter()
    EventAccumulator(str(folder), size_guidance={SCALARS: 0}).Reload()
    return time.perf_counter() - begin


def run() -> list[Figure]:
    """Measures in alternating rounds; medians of points per second."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        points = write_runs(folder, RUNS, TAGS, STEPS)
        seconds_of_ours(folder, points)
        ours, server, same_duties = [], [], []
        for _ in range(ROUNDS):
            ours.append(seconds_of_ours(folder, points))
            server.append(seconds_of_data_server(folder))
            same_duties.append(seconds_of_data_server(folder, "--checksum", "--samples-per-plugin=scalars=all"))
        python = seconds_of_python_reader(folder / "run_00")
    rate = points / median(ours) / 1e6
    cores = os.cpu_count()
    return [
        Figure(
            f"read {points / 1e6:g} M scalars, {cores} cores",
            rate,
            points / median(seconds) / 1e6,
            peer,
            "M points/s",
        )
        for peer, seconds in (
            ("TensorBoard data server (1,000 points a tag, no CRC)", server),
            ("TensorBoard data server (all points, CRC)", same_duties),
            ("TensorBoard Python reader (all points)", [python * RUNS]),
        )
    ]


if __name__ == "__main__":
    print_figures(run())
