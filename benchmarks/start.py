"""From the command to a dashboard that answers: Stepscope's server and TensorBoard's, over a small log directory.

A start lasts from the command until the page is answered, and until the last point of the last run is; both servers are
asked for points by TensorBoard's own route. The first start of each, which reads the program from disk, does not count.
Memory is the proportional set size a little later, on Linux only. TensorBoard runs as it is installed here, without
TensorFlow, which it would import.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import psutil

from benchmarks._report import Figure, print_figures
from benchmarks.browser import Logs, tag_name, write_logs

RUNS: Final = 20
TAGS: Final = 10
STEPS: Final = 1_000
TIMES: Final = 5
MOST_SECONDS: Final = 60.0
LOOK_SECONDS: Final = 0.01
REST_SECONDS: Final = 1.0
STEPSCOPE: Final = ("stepscope", "--no-cache")
TENSORBOARD: Final = ("tensorboard.main", "--load_fast=true")
PEER: Final = "TensorBoard"
AS_USERS_START: Final = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Python keeps what it compiled of modules, as it does unless told otherwise."""


def answered(url: str) -> bytes | None:
    """The answer, where there is one."""
    with contextlib.suppress(URLError, ConnectionError), urlopen(url) as answer:
        content: bytes = answer.read()
        return content
    return None


def has_points(url: str, logs: Logs) -> bool:
    """Whether the last point of the last run is answered."""
    asked = urlencode({"run": f"run_{logs.runs - 1:04d}", "tag": tag_name(logs.tags - 1)})
    content = answered(f"{url}data/plugin/scalars/scalars?{asked}")
    points = json.loads(content) if content else []
    return bool(points) and points[-1][1] == logs.steps - 1


def started(module: str, *options: str, logs: Logs, patience: float = MOST_SECONDS) -> tuple[float, float, float]:
    """Seconds to the page, seconds to the points, and megabytes; raises TimeoutError after ``patience`` seconds."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", module, *options, "--logdir", str(logs.folder), "--port", str(port)]
    url = f"http://localhost:{port}/"
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=AS_USERS_START) as process:
        try:
            taken = []
            asked: tuple[Callable[[], object], ...] = (partial(answered, url), partial(has_points, url, logs))
            for done in asked:
                while not done():
                    if time.perf_counter() - begin > patience:
                        raise TimeoutError(f"{module} has not answered after {patience:g} s")
                    time.sleep(LOOK_SECONDS)
                taken.append(time.perf_counter() - begin)
            time.sleep(REST_SECONDS)
            family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
            held = sum(one.memory_full_info().pss for one in family) if sys.platform == "linux" else 0
            return taken[0], taken[1], held / 1e6
        finally:
            process.terminate()


def run() -> list[Figure]:
    """All figures."""
    with tempfile.TemporaryDirectory() as folder:
        logs = write_logs(Path(folder), RUNS, TAGS, STEPS)
        taken = []
        for module, *options in (STEPSCOPE, TENSORBOARD):
            starts = [started(module, *options, logs=logs) for _ in range(TIMES + 1)][1:]
            taken.append([median(values) for values in zip(*starts, strict=True)])
    names = ("to the page", f"to the points of {logs.title}", "memory then")
    return [
        Figure(f"start of the server, {name}", ours, theirs, PEER, unit, higher_is_better=False)
        for name, unit, ours, theirs in zip(names, ("s", "s", "MB"), *taken, strict=True)
        if theirs
    ]


if __name__ == "__main__":
    print_figures(run())
