"""Details of one observation."""

from collections.abc import Sequence
from typing import Final

from stepscope.dashboard.debugger.lines import code_of, source_of
from stepscope.dashboard.debugger.opened import Link, OpenedDebug
from stepscope.dashboard.panels.debugger.facts import (
    code_line,
    figure_of,
    health_of,
    observation_row,
    sent,
    tensor_facts,
)
from stepscope.dashboard.panels.debugger.graph_places import graph_for
from stepscope.dashboard.panels.debugger.messages import Excerpt, ObservationDetails, Related
from stepscope.summary.debugger.model import FIGURES, Frame
from stepscope.summary.debugger.own_frames import is_library, own_frame
from stepscope.summary.names import in_order
from stepscope.summary.snapshot import Snapshot

AROUND: Final = 4
"""Lines of code shown before and after a line."""


def details_of(opened: OpenedDebug, number: int, snapshot: Snapshot, run: str) -> ObservationDetails:
    """Return the details of an observation."""
    data = opened.data
    observed = opened.one(number)
    tensor_number = int(observed.tensors[0])
    tensor = data.tensors[tensor_number]
    stack = data.stack(tensor.stack) if tensor.stack is not None else ()
    inputs = _related(opened, opened.made_of(number))
    consumers = _related(opened, opened.made_into(number))
    link = opened.first_bad_inside(number)
    inside = None if link is None else _related(opened, [link])[0]
    bad = [each["observation"] for each in (inside, *inputs) if each and each["health"] not in (None, "good")]
    graph = None if tensor.phase == "eager" else graph_for(snapshot, run)
    return {
        "number": number,
        "tensor": tensor_facts(data.tensors, tensor_number),
        "step": int(observed.steps[0]),
        "wall": sent(float(observed.wall_times[0])),
        "device": opened.device_of(observed, 0),
        "health": health_of(observed, 0),
        "figures": [
            {"name": figure, "value": value}
            for figure in FIGURES
            if (value := sent(figure_of(observed, 0, figure))) is not None
        ],
        "stack": [code_line(frame, data) for frame in stack],
        "excerpt": _excerpt(opened, stack),
        "inputs": inputs,
        "consumers": consumers,
        "inside": inside,
        "bad_input": bad[0] if bad else None,
        "previous": opened.latest([tensor_number], number).get(tensor_number),
        "following": opened.following([tensor_number], number).get(tensor_number),
        "verdict": _verdict(inputs, inside, health_of(observed, 0), knows_all=opened.knows_inputs(number)),
        "has_value": data.value(number) is not None,
        "graph": "" if graph is None else graph.id,
    }


def _verdict(inputs: Sequence[Related], inside: Related | None, health: str, *, knows_all: bool) -> str:
    if health == "good":
        return "All elements are finite."
    if inside is not None:
        return f"{inside['tensor']['name']} was the first non-finite value inside it."
    bad = [each["tensor"]["name"] for each in inputs if each["health"] not in (None, "good")]
    if bad:
        return f"Its inputs were already non-finite: {', '.join(bad[:3])}."
    if knows_all:
        return "This operation produced the non-finite values: all its inputs are finite."
    return "Some or all of its inputs were not watched."


def _related(opened: OpenedDebug, links: Sequence[Link]) -> list[Related]:
    found: list[Related] = []
    for tensor, number in links:
        facts = tensor_facts(opened.data.tensors, tensor)
        if number is None:
            found.append(
                {
                    "tensor": facts,
                    "observation": None,
                    "step": 0,
                    "health": None,
                    "minimum": None,
                    "maximum": None,
                    "l2": None,
                    "nan": None,
                }
            )
            continue
        row = observation_row(opened, number, opened.one(number), 0)
        found.append(
            {
                "tensor": facts,
                "observation": number,
                "step": row["step"],
                "health": row["health"],
                "minimum": row["minimum"],
                "maximum": row["maximum"],
                "l2": row["l2"],
                "nan": row["nan"],
            }
        )
    return found


def _excerpt(opened: OpenedDebug, stack: Sequence[Frame]) -> Excerpt | None:
    """Return the lines around the program's own line, or around the innermost kept one if the own line was not kept."""
    sources = opened.data.sources
    own = own_frame(stack)
    kept = [frame for frame in stack if source_of(frame, sources) is not None]
    if own is None:
        return None
    if kept and own not in kept:
        program = [frame for frame in kept if not is_library(frame.path)]
        own = (program or kept)[-1]
    source = source_of(own, sources)
    if source is None:
        code = code_of(own, sources)
        return {"path": own.path, "first": own.line, "line": own.line, "lines": [code]} if code else None
    first = max(own.line - AROUND, 1)
    lines = [in_order(line[:400]) for line in source.lines[first - 1 : own.line + AROUND]]
    return {"path": own.path, "first": first, "line": own.line, "lines": lines} if lines else None
