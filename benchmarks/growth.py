"""A sweep as it grows: 1,000, 10,000 and 100,000 runs with hyperparameters, beside the marks.

Each run is one file of three tags and three points. A first start lasts from the command until the server has all runs,
of which it makes the index; a second one, which has the index, until it has them too. Memory is what the process holds
(the proportional set size) once it is at rest, and the quiet share is its processor time while nothing happens, of
files that were last written an hour ago: a minute after the last point all of them are said to grow no more. What is
asked for then is TensorBoard's routes of all runs, and of all tags of scalars, by which its own dashboard begins.
The mark of a first start grows with the runs; the others are those of 100,000. Loops are compiled before.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np
import psutil

from benchmarks._report import Figure, print_figures
from benchmarks.start import AS_USERS_START, answered
from stepscope.summary.kinds.scalar_batch import POINT, encode_scalars, scalar_template
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.records import frame
from stepscope.summary.v2 import hp

SIZES: Final = (1_000, 10_000, 100_000)
TAGS: Final = ("loss", "accuracy", "val/loss")
STEPS: Final = 3
MOST_SECONDS_A_RUN: Final = 90 / 100_000
MOST_SECOND_SECONDS: Final = 2.0
MOST_MEGABYTES: Final = 1_000.0
MOST_QUIET_PERCENT: Final = 1.0
MOST_ROUTE_SECONDS: Final = 0.3
LOOK_SECONDS: Final = 0.05
REST_SECONDS: Final = 5.0
REST_SHARE: Final = 0.03
LONGEST_REST: Final = 200.0
QUIET_SECONDS: Final = 40.0
AGE_SECONDS: Final = 3600.0
PATIENCE: Final = 300.0


def write_sweep(folder: Path, runs: int) -> None:
    """Write event files of runs that differ in their hyperparameters, of which some are better than others."""
    templates = [scalar_template(tag, "simple_value") for tag in TAGS]
    generator = np.random.default_rng(0)
    points = np.empty(len(TAGS) * STEPS, POINT)
    points["template"] = np.tile(np.arange(len(TAGS)), STEPS)
    points["step"] = np.repeat(np.arange(STEPS), len(TAGS))
    written_at = time.time() - AGE_SECONDS
    for run in range(runs):
        rate, optimizer = 10 ** generator.uniform(-5, -1), str(generator.choice(["adam", "sgd", "lion"]))
        begin = 1.6e9 + run
        points["wall_time"] = begin + points["step"]
        points["number"] = abs(np.log10(rate) + 3) + np.exp(-points["step"]) + generator.normal(scale=0.05)
        path = folder / f"sweep_{run // 1000:03d}" / f"run_{run:06d}"
        path.mkdir(parents=True)
        session = hp.hparams_pb({"lr": rate, "optimizer": optimizer}, trial_id=str(run), start_time_secs=begin)
        head = [Event(wall_time=begin, file_version="brain.Event:2"), Event(wall_time=begin, summary=session)]
        content = b"".join(frame(event.SerializeToString()) for event in head)
        file = path / f"events.out.tfevents.{begin:.0f}.host.{run}"
        file.write_bytes(content + encode_scalars(templates, points))
        os.utime(file, (written_at, written_at))


@contextmanager
def _served(folder: Path, index: Path) -> Iterator[tuple[str, psutil.Process]]:
    command = [sys.executable, "-m", "stepscope", "--logdir", str(folder), "--port", "0", f"--index={index}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=AS_USERS_START) as process:
        assert process.stdout is not None
        try:
            yield (
                next(word for line in process.stdout for word in line.split() if word.startswith("http://")),
                psutil.Process(process.pid),
            )
        finally:
            process.terminate()


def _processor_seconds(server: psutil.Process) -> float:
    times = server.cpu_times()
    return float(times.user + times.system)


def _wait_for_runs(url: str, runs: int, begin: float) -> float:
    """Seconds since ``begin`` until the server has all runs; raises TimeoutError."""
    while len(json.loads(answered(f"{url}data/runs") or b"[]")) < runs:
        if time.perf_counter() - begin > PATIENCE:
            raise TimeoutError(f"the server has not all {runs:,} runs after {PATIENCE:g} s")
        time.sleep(LOOK_SECONDS)
    return time.perf_counter() - begin


def _wait_for_rest(server: psutil.Process) -> None:
    begin = time.perf_counter()
    while time.perf_counter() - begin < LONGEST_REST:
        before = _processor_seconds(server)
        time.sleep(REST_SECONDS)
        if _processor_seconds(server) - before < REST_SHARE * REST_SECONDS:
            return


def _seconds_of(url: str) -> float:
    begin = time.perf_counter()
    answered(url)
    return time.perf_counter() - begin


def _figures(runs: int) -> Iterator[Figure]:
    def figure(what: str, ours: float, mark: float, unit: str) -> Figure:
        return Figure(f"{runs:,} runs, {what}", ours, mark, "the mark", unit, higher_is_better=False)

    with tempfile.TemporaryDirectory() as name:
        folder, index = Path(name) / "logs", Path(name) / "index"
        write_sweep(folder, runs)
        begin = time.perf_counter()
        with _served(folder, index) as (url, server):
            yield figure("first start to all runs", _wait_for_runs(url, runs, begin), runs * MOST_SECONDS_A_RUN, "s")
            _wait_for_rest(server)
            yield figure("memory after it", server.memory_full_info().pss / 1e6, MOST_MEGABYTES, "MB")
        begin = time.perf_counter()
        with _served(folder, index) as (url, server):
            yield figure("second start to all runs", _wait_for_runs(url, runs, begin), MOST_SECOND_SECONDS, "s")
            _wait_for_rest(server)
            yield figure("memory after the second", server.memory_full_info().pss / 1e6, MOST_MEGABYTES, "MB")
            before = _processor_seconds(server)
            time.sleep(QUIET_SECONDS)
            quiet = 100 * (_processor_seconds(server) - before) / QUIET_SECONDS
            yield figure("quiet", quiet, MOST_QUIET_PERCENT, "% of a core")
            yield figure("`data/runs`", _seconds_of(f"{url}data/runs"), MOST_ROUTE_SECONDS, "s")
            yield figure("`scalars/tags`", _seconds_of(f"{url}data/plugin/scalars/tags"), MOST_ROUTE_SECONDS, "s")


def run() -> list[Figure]:
    """All figures."""
    subprocess.run([sys.executable, "-m", "stepscope", "warm-up"], check=True, capture_output=True)
    return [figure for runs in SIZES for figure in _figures(runs)]


if __name__ == "__main__":
    print_figures(run())
