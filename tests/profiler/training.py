"""A real program that trains in a loop and lets itself be recorded."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stepscope.profiler.client import Address, parse_address

REPOSITORY = Path(__file__).resolve().parents[2]
FIRST_STEP = 100

PROGRAM = f"""
import gc, sys, threading
import numpy as np
import stepscope.profiler.server; from stepscope import profiler
from stepscope.profiler import capture_recording

capture_recording.STEP_PATIENCE_S = 60.0  # However busy the machine is, a step will come.
gc.disable()  # So that what is recorded is what is written here.
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
with profiler.server.start(0, token=sys.argv[1] or None) as server:
    print(server.address, flush=True)
    weights, step = np.eye(32), {FIRST_STEP}
    while not ended.wait(0.002):
        profiler.step(step)
        with profiler.annotate("forward", batch=8):
            activations = weights @ weights
        with profiler.annotate("backward"):
            weights = activations / np.linalg.norm(activations)
        step += 1
"""


@dataclass(frozen=True)
class Training:
    """The running program."""

    address: Address
    pid: int
    temporary: Path
    """Where it keeps its temporary files."""


@contextmanager
def training(folder: Path, token: str = "") -> Iterator[Training]:
    """Runs the program until the block ends; it must end well."""
    folder.mkdir(parents=True, exist_ok=True)
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, token],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env={**os.environ, "TMPDIR": str(folder), "OPENBLAS_NUM_THREADS": "1"},
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        try:
            yield Training(parse_address(program.stdout.readline().strip()), program.pid, folder)
        finally:
            program.stdin.close()
            returned = program.wait()
    assert returned == 0
