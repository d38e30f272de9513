"""Tensors, observations and lines of code, as sent to the page."""

import math
from collections.abc import Sequence

from stepscope.dashboard.debugger.lines import code_of, source_of
from stepscope.dashboard.debugger.opened import OpenedDebug
from stepscope.dashboard.panels.debugger.messages import CodeLine, Health, Number, ObservationRow, TensorFacts
from stepscope.summary.debugger.model import COLUMN, DebugData, Figure, Frame, Observations, WatchedTensor
from stepscope.summary.debugger.own_frames import is_library, own_frame

LONGEST_CODE = 400


def sent(value: float) -> Number:
    """Return a statistic in its JSON form."""
    if math.isfinite(value):
        return value
    return None if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def shape_text(shape: tuple[int, ...] | None) -> str:
    """Return a shape as text: "[32, 10]"; empty if unknown."""
    return "" if shape is None else f"[{', '.join(map(str, shape))}]"


def tensor_facts(tensors: Sequence[WatchedTensor], number: int) -> TensorFacts:
    """Return the facts about a tensor."""
    tensor = tensors[number]
    return {
        "number": number,
        "name": tensor.name,
        "phase": tensor.phase,
        "module": tensor.module,
        "op": tensor.op_type,
        "slot": tensor.slot,
        "dtype": tensor.dtype,
        "shape": shape_text(tensor.shape),
        "graph": tensor.graph_id,
    }


def code_line(frame: Frame, data: DebugData) -> CodeLine:
    """Return the code line of a stack frame."""
    return {
        "path": frame.path,
        "line": frame.line,
        "function": frame.function,
        "code": code_of(frame, data.sources)[:LONGEST_CODE],
        "library": is_library(frame.path),
        "kept": source_of(frame, data.sources) is not None,
    }


def own_line(tensor: WatchedTensor, data: DebugData) -> CodeLine | None:
    """Return the program's own line that created a tensor; None if no stack was kept."""
    frame = own_frame(data.stack(tensor.stack)) if tensor.stack is not None else None
    return None if frame is None else code_line(frame, data)


def figure_of(observed: Observations, place: int, figure: Figure) -> float:
    """Return a statistic of an observation."""
    return float(observed.figures[place, COLUMN[figure]])


def infinite_of(observed: Observations, place: int) -> float:
    """Return the number of infinite elements; NaN if not measured."""
    counts = [figure_of(observed, place, figure) for figure in ("positive_infinity", "negative_infinity")]
    known = [count for count in counts if not math.isnan(count)]
    return sum(known) if known else math.nan


def health_of(observed: Observations, place: int) -> Health:
    """Return the health of an observation's worst elements."""
    if figure_of(observed, place, "nan") > 0:
        return "nan"
    if infinite_of(observed, place) > 0:
        return "infinite"
    return "not_finite" if observed.bad[place] else "good"


def observation_row(opened: OpenedDebug, number: int, observed: Observations, place: int) -> ObservationRow:
    """Return a row of the list of executions."""
    tensor_number = int(observed.tensors[place])
    tensor = opened.data.tensors[tensor_number]
    return {
        "number": number,
        "step": int(observed.steps[place]),
        "wall": sent(float(observed.wall_times[place])),
        "tensor": tensor_number,
        "name": tensor.name,
        "phase": tensor.phase,
        "module": tensor.module,
        "op": tensor.op_type,
        "dtype": tensor.dtype,
        "shape": shape_text(tensor.shape),
        "device": opened.device_of(observed, place),
        "health": health_of(observed, place),
        "nan": sent(figure_of(observed, place, "nan")),
        "infinite": sent(infinite_of(observed, place)),
        "size": sent(figure_of(observed, place, "size")),
        "minimum": sent(figure_of(observed, place, "minimum")),
        "maximum": sent(figure_of(observed, place, "maximum")),
        "l2": sent(figure_of(observed, place, "l2")),
    }
