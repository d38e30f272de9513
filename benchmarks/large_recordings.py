"""Large recordings of tensors, as files: what the panel's server is measured with.

python -m benchmarks.large_recordings FOLDER --tensors 2000 --steps 100000
python -m benchmarks.large_recordings FOLDER --modules 1000 --steps 360000  # ten hours, ten steps per second
python -m benchmarks.large_recordings FOLDER --traces 5000000
python -m benchmarks.large_recordings FOLDER  # what is there is opened, as for the page
"""

import argparse
import itertools
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.cli.reading import read_logdir
from stepscope.dashboard.debugger.filters import ObservationFilter, TensorFilter
from stepscope.dashboard.debugger.findings import findings
from stepscope.dashboard.debugger.sources import DebugCache, debug_sources
from stepscope.dashboard.panels.debugger.map import Steps, map_answer
from stepscope.dashboard.panels.debugger.overview import overview_of
from stepscope.debug.catalog import Lines, described
from stepscope.debug.recorder import DEFAULT_BUDGET, Recorder
from stepscope.summary.debugger.model import COLUMN, FIGURES, Figure, WatchedTensor
from stepscope.summary.debugger.tfdbg_writer import FULL_HEALTH, TfdbgWriter, debug_tensor_of_figures
from stepscope.summary.writer import SummaryWriter

FIGURES_SHOWN: Final[tuple[Figure, ...]] = ("l2", "maximum", "mean", "variance")
"""More than are kept, as of somebody who looks at one after the other."""
SCREEN_LINES: Final = 700
SCREEN_COLUMNS: Final = 1_000
NOTHING: Final[tuple[Figure, ...]] = (
    "nan", "positive_infinity", "negative_infinity", "zeros", "underflow", "overflow"
)  # fmt: skip
MEASURED: Final[tuple[Figure, ...]] = ("minimum", "maximum", "mean", "variance", "l2", "absolute_mean")
KINDS: Final = 64
"""Different steps, which come again and again: noise is compressed no better for being new."""


class Figures:
    """Figures of one step, which are there already."""

    is_here: Final = True

    def __init__(self, table: NDArray[np.float64]) -> None:
        self._table: Final = table

    def __len__(self) -> int:
        return len(self._table)

    def figures(self) -> NDArray[np.float64]:
        return self._table


def tensors_of(count: int) -> list[WatchedTensor]:
    """Return so many outputs of modules."""
    names = [f"layers.{number // 4}.part{number % 4}" for number in range(count)]
    return [described(name, "forward", module=name, op_type="Linear") for name in names]


def passing_through(count: int) -> list[WatchedTensor]:
    """Return outputs of so many modules and their gradients, in the order of a step."""
    outputs = tensors_of(count)
    return [*outputs, *(replace(output, phase="backward") for output in reversed(outputs))]


def write_recording(folder: Path, tensors: Sequence[WatchedTensor], steps: int, budget: int) -> None:
    """Write a recording of tensors and steps, ten a second, every one recorded as far as the budget allows it."""
    random = np.random.default_rng(0)
    tables = []
    for _ in range(KINDS):
        table = np.full((len(tensors), len(FIGURES)), np.nan)
        table[:, COLUMN["size"]] = 768 * 1024
        table[:, [COLUMN[name] for name in NOTHING]] = 0
        table[:, COLUMN["negatives"]] = random.integers(300_000, 400_000, len(tensors))
        for name in MEASURED:
            table[:, COLUMN[name]] = random.lognormal(size=len(tensors)) * (-1 if name == "minimum" else 1)
        tables.append(table)
    numbers = list(range(len(tensors)))
    times = itertools.count(1e9, 0.1)
    with SummaryWriter(str(folder)) as writer:
        clock = partial(next, times)
        recorder = Recorder(writer, "made for a benchmark", rules=(), budget=budget, clock=clock)
        for number, tensor in enumerate(tensors):
            recorder.number(number, partial(_first_seen, tensor))
        for step in range(steps):
            recorder.record(step, numbers, Figures(tables[step % KINDS]))
        recorder.close()


def _first_seen(tensor: WatchedTensor) -> tuple[WatchedTensor, Lines]:
    return tensor, ()


def write_dump(folder: Path, traces: int) -> None:
    """Write a dump as of TensorFlow's debugger with so many traces of one host."""
    graph, operations = "graph", 2_000
    with TfdbgWriter(folder) as writer:
        writer.add_graph(graph, name=graph)
        tensors = []
        for number in range(operations):
            writer.add_operation(graph, f"layer_{number}/MatMul", "MatMul", output_ids=[number + 1])
            figures = np.arange(len(FIGURES), dtype=np.float64)
            figures[COLUMN["nan"]] = figures[COLUMN["positive_infinity"]] = figures[COLUMN["negative_infinity"]] = 0
            tensors.append(debug_tensor_of_figures(FULL_HEALTH, figures, tensor_id=number + 1, dtype="float32"))
        for number in range(traces):
            at = number % operations
            writer.add_trace(graph, f"layer_{at}/MatMul", 0, FULL_HEALTH, tensors[at], wall_time=1e9 + number * 1e-4)


def open_all(folder: Path) -> None:
    """Do what the panel's server does for its screens, and print seconds and MB of each.

    MB are of the resident set, above what it was when another log directory was read: now, and at the highest since.
    """
    with tempfile.TemporaryDirectory() as other:
        with SummaryWriter(f"{other}/run") as writer:
            writer.add_scalar("loss", 1.0, 0)
        read_logdir([other])
    before = _resident("VmRSS")

    def say(what: str, begin: float) -> None:
        held, peak = _resident("VmRSS") - before, _resident("VmHWM") - before
        print(f"{what:24} {time.perf_counter() - begin:7.1f} s, now {held:5.0f} MB, at most {peak:5.0f} MB", flush=True)
        # From here on the highest is that of what comes next.
        Path("/proc/self/clear_refs").write_text("5")

    begin = time.perf_counter()
    snapshot = read_logdir([str(folder)])
    say("log directory", begin)
    cache = DebugCache()
    for source in debug_sources(snapshot):
        begin = time.perf_counter()
        opened = cache.get(source)
        overview_of(opened, source.id, "")
        say("overview", begin)
        index = opened.index
        print(f"{source.id}: {len(index.counts):,} tensors, {len(index.steps):,} steps, {index.observations:,} values")
        for figure in FIGURES_SHOWN:
            begin = time.perf_counter()
            rows = (0, len(index.counts))
            map_answer(opened, TensorFilter(), "run", figure, rows, Steps(), SCREEN_LINES, SCREEN_COLUMNS)
            say(f"map of {figure}", begin)
        begin = time.perf_counter()
        few = Steps(begin=len(index.steps) // 2, end=len(index.steps) // 2 + 100)
        map_answer(opened, TensorFilter(), "run", FIGURES_SHOWN[-1], rows, few, SCREEN_LINES, SCREEN_COLUMNS)
        say("map of 100 steps", begin)
        begin = time.perf_counter()
        opened.page(ObservationFilter(), index.observations // 2, 200)
        say("page of executions", begin)
        begin = time.perf_counter()
        findings(opened, {})
        say("alerts", begin)


def _resident(name: str) -> float:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) / 1e3


def main() -> None:
    """Write or open one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tensors", type=int, default=2_000)
    parser.add_argument("--modules", type=int, default=0)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--budget", type=int, default=DEFAULT_BUDGET)
    parser.add_argument("--traces", type=int, default=0)
    chosen = parser.parse_args()
    begin = time.perf_counter()
    if chosen.traces:
        write_dump(chosen.folder, chosen.traces)
    elif chosen.steps and chosen.modules:
        write_recording(chosen.folder, passing_through(chosen.modules), chosen.steps, chosen.budget)
    elif chosen.steps:
        write_recording(chosen.folder, tensors_of(chosen.tensors), chosen.steps, chosen.budget)
    else:
        open_all(chosen.folder)
        return
    size = sum(path.stat().st_size for path in chosen.folder.rglob("*") if path.is_file())
    print(f"{size / 1e6:,.0f} MB in {time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
