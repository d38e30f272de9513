"""Large recordings of tensors, as files: what the panel's server is measured with.

python -m benchmarks.large_recordings FOLDER --tensors 2000 --steps 100000
python -m benchmarks.large_recordings FOLDER --modules 1000 --steps 360000  # ten hours, ten steps per second
python -m benchmarks.large_recordings FOLDER --traces 5000000
python -m benchmarks.large_recordings FOLDER --full 160  # whole tensors of 64 MiB, of which most is a hole of the file
python -m benchmarks.large_recordings FOLDER  # what is there is opened, as for the page
"""

import argparse
import itertools
import os
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
from stepscope.dashboard.debugger.values import shown_value
from stepscope.dashboard.panels.debugger.map import Steps, map_answer
from stepscope.dashboard.panels.debugger.overview import measured, overview_of
from stepscope.debug.catalog import Lines, described
from stepscope.debug.recorder import DEFAULT_BUDGET, Recorder
from stepscope.summary.debugger.model import COLUMN, FIGURES, Figure, WatchedTensor
from stepscope.summary.debugger.tfdbg_writer import FULL_HEALTH, TfdbgWriter, debug_tensor_of_figures
from stepscope.summary.kinds.tensor_proto import numbers_tensor
from stepscope.summary.proto.debug_event_pb2 import FULL_TENSOR, DebugEvent
from stepscope.summary.proto.tensor_pb2 import TensorProto
from stepscope.summary.records import FOOTER_BYTES, frame
from stepscope.summary.writer import SummaryWriter

LOOKED_AT: Final[tuple[Figure, ...]] = ("l2", "maximum", "mean", "variance", "zeros", "negatives", "nan", "size")
"""The first four that were measured are shown: more than are kept, as of somebody who looks at one after the other."""
MAPS: Final = 4
SCREEN_LINES: Final = 700
SCREEN_COLUMNS: Final = 1_000
NOTHING: Final[tuple[Figure, ...]] = (
    "nan", "positive_infinity", "negative_infinity", "zeros", "underflow", "overflow"
)  # fmt: skip
MEASURED: Final[tuple[Figure, ...]] = ("minimum", "maximum", "mean", "variance", "l2", "absolute_mean")
LARGE_OPERATIONS: Final = 16
LARGE_BYTES: Final = 64 << 20
KINDS: Final = 64
"""Different steps, which come again and again: noise is compressed no better for being new."""
OPERATIONS: Final = 2_000
"""Of a dump."""
BAD: Final = 3
"""Of these, whose values are not finite in the last tenth of the dump."""


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
    graph = "graph"
    random = np.random.default_rng(0)
    with TfdbgWriter(folder) as writer:
        writer.add_graph(graph, name=graph)
        for number in range(OPERATIONS):
            writer.add_operation(graph, f"layer_{number}/MatMul", "MatMul", output_ids=[number + 1])
        steps = [[_health(random, number) for number in range(OPERATIONS)] for _ in range(KINDS // 4)]
        bad = [_health(random, number, nan=1) for number in range(BAD)]
        for number in range(traces):
            step, at = divmod(number, OPERATIONS)
            tensor = bad[at] if at < BAD and number > traces * 9 // 10 else steps[step % len(steps)][at]
            # TensorFlow's clock counts microseconds.
            writer.add_trace(
                graph, f"layer_{at}/MatMul", 0, FULL_HEALTH, tensor, wall_time=(10**15 + 100 * number) / 1e6
            )


def write_full_dump(folder: Path, traces: int) -> None:
    """Write a dump of whole tensors, zeros but for their first elements and, in the last of them, an infinite one."""
    random = np.random.default_rng(0)
    with TfdbgWriter(folder) as writer:
        writer.add_graph("graph", name="graph")
        for number in range(LARGE_OPERATIONS):
            writer.add_operation("graph", f"layer_{number}/MatMul", "MatMul", output_ids=[number + 1])
    values = np.zeros((4_096, LARGE_BYTES // 4 // 4_096), np.float32)
    with (folder / f"{writer.prefix}.graph_execution_traces").open("r+b") as file:
        for number in range(traces):
            values[0] = random.normal(size=values.shape[1])
            values[0, 0] = np.inf if number == traces - 1 else 0
            event = DebugEvent(wall_time=(10**15 + 100 * number) / 1e6)
            trace = event.graph_execution_trace
            trace.tfdbg_context_id, trace.op_name = "graph", f"layer_{number % LARGE_OPERATIONS}/MatMul"
            trace.tensor_debug_mode = FULL_TENSOR
            trace.tensor_proto.CopyFrom(numbers_tensor(values))
            record = frame(event.SerializeToString())
            begin = record.index(b"\0" * 4_096)
            file.write(record[:begin])
            file.seek(len(record) - begin - FOOTER_BYTES, os.SEEK_CUR)
            file.write(record[-FOOTER_BYTES:])


def _health(random: np.random.Generator, operation: int, nan: int = 0) -> TensorProto:
    size = 768 * (operation % 64 + 1)
    figures = np.zeros(len(FIGURES))
    figures[COLUMN["size"]], figures[COLUMN["nan"]] = size, nan
    figures[COLUMN["zeros"]] = random.integers(0, size // 4)
    figures[COLUMN["negatives"]] = random.integers(0, size // 2)
    return debug_tensor_of_figures(FULL_HEALTH, figures, tensor_id=operation + 1, dtype="float32")


def open_all(folder: Path) -> None:
    """Do what the panel's server does for its screens, and print seconds, those of the processor, and MB of each.

    MB are of the resident set, above what it was when another log directory was read: now, and at the highest since.
    """
    with tempfile.TemporaryDirectory() as other:
        with SummaryWriter(f"{other}/run") as writer:
            writer.add_scalar("loss", 1.0, 0)
        read_logdir([other])
    before = _resident("VmRSS")

    def say(what: str, begin: tuple[float, float]) -> None:
        held, peak = _resident("VmRSS") - before, _resident("VmHWM") - before
        took, worked = (now - then for now, then in zip(_clocks(), begin, strict=True))
        print(f"{what:24} {took:6.1f} s, {worked:6.1f} s of work, {held:5.0f} MB, at most {peak:5.0f} MB", flush=True)
        # From here on, the peak is that of whatever comes next.
        Path("/proc/self/clear_refs").write_text("5")

    begin = _clocks()
    snapshot = read_logdir([str(folder)])
    say("log directory", begin)
    cache = DebugCache()
    for source in debug_sources(snapshot):
        begin = _clocks()
        opened = cache.get(source)
        overview_of(opened, source.id, "")
        say("overview", begin)
        index = opened.index
        print(f"{source.id}: {len(index.counts):,} tensors, {len(index.steps):,} steps, {index.observations:,} values")
        known = measured(opened)
        shown = [figure for figure in LOOKED_AT if figure in known][:MAPS]
        for figure in shown:
            begin = _clocks()
            rows = (0, len(index.counts))
            map_answer(opened, TensorFilter(), "run", figure, rows, Steps(), SCREEN_LINES, SCREEN_COLUMNS)
            say(f"map of {figure}", begin)
        begin = _clocks()
        few = Steps(begin=len(index.steps) // 2, end=len(index.steps) // 2 + 100)
        map_answer(opened, TensorFilter(), "run", shown[-1], rows, few, SCREEN_LINES, SCREEN_COLUMNS)
        say("map of 100 steps", begin)
        begin = _clocks()
        opened.page(ObservationFilter(), index.observations // 2, 200)
        say("page of executions", begin)
        begin = _clocks()
        findings(opened, {})
        say("alerts", begin)
        begin = _clocks()
        value = opened.data.value(index.observations // 2)
        if value is not None:
            shown_value(value)
            del value
            say("a value", begin)


def _clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


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
    parser.add_argument("--full", type=int, default=0)
    chosen = parser.parse_args()
    begin = time.perf_counter()
    if chosen.full:
        write_full_dump(chosen.folder, chosen.full)
    elif chosen.traces:
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
