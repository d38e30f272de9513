"""Recordings made from arrays, for tests of what is computed from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.debugger.model import (
    COLUMN,
    FIGURES,
    Alert,
    Frame,
    Observations,
    SourceFile,
    WatchedTensor,
)
from stepscope.summary.event_file_writer import EventFileWriter
from stepscope.summary.kinds.debug import STEPS_TAG, debug_catalog, debug_steps
from stepscope.summary.proto.debug_pb2 import DebugCatalog, DebugFrame, DebugSource, DebugStack, DebugTensor
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.summary_pb2 import Summary


@dataclass
class Recorded:
    """A recording in memory."""

    tensors: Sequence[WatchedTensor]
    observed: Observations
    source: str = "a test"
    stacks: Sequence[Sequence[Frame]] = ()
    sources: Sequence[SourceFile] = ()
    alerts: Sequence[Alert] = ()
    problems: Sequence[str] = ()
    values: Mapping[int, NDArray[np.generic]] = field(default_factory=dict)
    reads: list[tuple[int, int]] = field(default_factory=list)
    """What was read."""

    @property
    def observation_count(self) -> int:
        return len(self.observed)

    def observations(self, begin: int, end: int) -> Observations:
        self.reads.append((begin, end))
        part = slice(begin, end)
        return Observations(
            self.observed.tensors[part],
            self.observed.steps[part],
            self.observed.wall_times[part],
            self.observed.figures[part],
        )

    def value(self, number: int) -> NDArray[np.generic] | None:
        return self.values.get(number)

    def stack(self, number: int) -> Sequence[Frame]:
        return self.stacks[number] if 0 <= number < len(self.stacks) else ()


def observed(rows: Sequence[tuple[int, int, Mapping[Any, float]]]) -> Observations:
    """Return observations from (tensor, step, figures), a second apart."""
    figures = np.full((len(rows), len(FIGURES)), np.nan)
    for place, (_tensor, _step, given) in enumerate(rows):
        for figure, value in given.items():
            figures[place, COLUMN[figure]] = value
    return Observations(
        np.array([tensor for tensor, _, _ in rows], np.int32),
        np.array([step for _, step, _ in rows], np.int64),
        1e9 + np.arange(len(rows), dtype=np.float64),
        figures,
    )


def many(tensors: int, steps: int, every: int = 1) -> Recorded:
    """Return a recording of every tensor at every step, whose L2 is ``tensor + step / 10``."""
    count = tensors * steps
    figures = np.full((count, len(FIGURES)), np.nan)
    number = np.arange(count)
    figures[:, COLUMN["l2"]] = number % tensors + number // tensors * every / 10
    figures[:, COLUMN["nan"]] = 0
    return Recorded(
        [WatchedTensor(f"layer.{place}", "forward", f"layer.{place}") for place in range(tensors)],
        Observations(
            (number % tensors).astype(np.int32),
            (number // tensors * every).astype(np.int64),
            1e9 + number.astype(np.float64),
            figures,
        ),
    )


def write(run: Path, recorded: Recorded) -> None:
    """Write a recording into a run as `stepscope.debug` does, one value per step."""
    numbers: dict[Frame, int] = {}
    stacks = [[numbers.setdefault(frame, len(numbers)) for frame in stack] for stack in recorded.stacks]
    catalog = DebugCatalog(
        recording=1,
        source=recorded.source,
        tensors=[_tensor(number, tensor) for number, tensor in enumerate(recorded.tensors)],
        frames=[
            DebugFrame(number=number, path=frame.path, line=frame.line, function=frame.function, code=frame.code)
            for frame, number in numbers.items()
        ],
        stacks=[DebugStack(number=number, frames=frames) for number, frames in enumerate(stacks)],
        sources=[DebugSource(path=source.path, text="\n".join(source.lines)) for source in recorded.sources],
        notes=list(recorded.problems),
    )
    writer = EventFileWriter(run)
    writer.add_event(Event(summary=Summary(value=[debug_catalog(catalog)])), float(recorded.observed.wall_times[0]))
    write_steps(writer, recorded)


def write_steps(writer: EventFileWriter, recorded: Recorded) -> None:
    """Write the steps of a recording, and end the file."""
    steps = recorded.observed.steps
    begins = np.flatnonzero(np.diff(steps, prepend=np.nan) != 0).tolist()
    for begin, end in pairwise([*begins, len(steps)]):
        part = recorded.observations(begin, end)
        values = debug_steps(STEPS_TAG, 1, part.tensors, part.figures)
        writer.add_event(Event(step=int(part.steps[0]), summary=Summary(value=values)), float(part.wall_times[0]))
    writer.close()


def _tensor(number: int, tensor: WatchedTensor) -> DebugTensor:
    return DebugTensor(
        number=number,
        name=tensor.name,
        phase=tensor.phase,
        module=tensor.module,
        op_type=tensor.op_type,
        slot=tensor.slot,
        dtype=tensor.dtype,
        shape=tensor.shape or (),
        has_shape=tensor.shape is not None,
        stack=tensor.stack,
        inputs=tensor.inputs,
        device=tensor.device,
    )


MODEL = SourceFile(
    "model.py",
    ("import torch", "", "def forward(x):", "    x = layer(x)", "    x = torch.log(x)", "    return head(x)"),
)


def going_bad(steps: int = 12, bad_from: int = 8) -> Recorded:
    """Return a training whose ``log``, and all that is computed from it, is NaN from a given step on."""
    main = Frame("train.py", 9, "main", "step()")
    stacks = [[main, Frame("model.py", line, "forward")] for line in (4, 5, 6)]
    stacks[1].append(Frame("/x/site-packages/torch/functional.py", 33, "log", "return _log(x)"))
    tensors = [
        WatchedTensor("layer", "forward", "net.layer", "aten.linear", 0, "float32", (4, 8), 0, device="cuda:0"),
        WatchedTensor("log", "forward", "net", "aten.log", 0, "float32", (4, 8), 1, (0,), device="cuda:0"),
        WatchedTensor("head", "forward", "net.head", "aten.linear", 0, "float32", (4, 2), 2, (1,), device="cpu"),
        WatchedTensor("layer.weight", "backward", "net.layer", "aten.mm", 0, "float32", (8, 8), None, (1,)),
        WatchedTensor("layer.weight", "parameter", "net.layer", "", 0, "float32", (8, 8)),
    ]
    rows: list[tuple[int, int, Mapping[Any, float]]] = []
    for step in range(0, steps * 10, 10):
        for tensor in range(5):
            bad = step >= bad_from * 10 and tensor in (1, 2, 3)
            size = 16.0 if tensor == 2 else 32.0
            figures = {"size": size, "nan": size / 4 if bad else 0, "positive_infinity": 0, "negative_infinity": 0}
            figures |= {"minimum": -1.0 - tensor, "maximum": 2.0 + step, "l2": (1 + tensor) * 2.0 ** (step / 10)}
            figures |= {"mean": -0.5, "absolute_mean": 1.0, "variance": 1.0, "zeros": 0, "negatives": 4}
            rows.append((tensor, step, figures))
    return Recorded(tensors, observed(rows), "stepscope.debug, a test", stacks, [MODEL])
