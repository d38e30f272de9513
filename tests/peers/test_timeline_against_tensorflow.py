"""Timelines compared, event for event, with those of TensorFlow's own ``Timeline`` for the same StepStats."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stepscope.profiler.step_stats import load_step_stats
from stepscope.profiler.timeline import allocator_maximums, chrome_trace

pytestmark = pytest.mark.peers

GENERATIONS = [
    f"{place}timeline/gen{generation}_{number}"
    for place in ("", "pack/")
    for generation in (1, 2, 3)
    for number in (0, 1)
]
Peer = Callable[[str], Path]

OPTIONS: dict[str, dict[str, Any]] = {
    "show_dataflow=False,show_memory=False": {"show_dataflow": False},
    "show_dataflow=False,show_memory=True": {"show_dataflow": False, "show_memory": True},
    "show_dataflow=True,show_memory=False": {"show_dataflow": True},
    "show_dataflow=True,show_memory=True": {"show_dataflow": True, "show_memory": True},
    "op_time=gpu": {"op_time": "gpu"},
    "op_time=all": {"op_time": "all"},
}


def in_order(trace: Any) -> str:
    """The trace as text, so that the order of events and of their fields counts."""
    return json.dumps(trace)


@pytest.mark.parametrize("name", GENERATIONS)
def test_every_option(peer: Peer, name: str) -> None:
    step_stats = load_step_stats(peer(f"{name}.step_stats.pb"))
    expected = json.loads(peer(f"{name}.timeline.json").read_text())
    assert set(expected) == {*OPTIONS, "allocator_maximums"}
    for key, options in OPTIONS.items():
        assert in_order(chrome_trace(step_stats, **options)) == in_order(expected[key]), key
    maximums = {
        allocator: {"timestamp": m.timestamp, "num_bytes": m.num_bytes, "tensors": sorted(m.tensors)}
        for allocator, m in allocator_maximums(step_stats).items()
    }
    assert maximums == expected["allocator_maximums"]


@pytest.mark.parametrize("step", ["tensorflow1/rm_4", "pack/tensorflow1/rm_2", "pack/tensorflow1/rm_4"])
@pytest.mark.parametrize(("name", "show_memory"), [("dataflow", False), ("dataflow_memory", True)])
def test_a_traced_training_step(peer: Peer, step: str, name: str, show_memory: bool) -> None:
    step_stats = load_step_stats(peer(f"{step}.pb"))
    expected = json.loads(peer(f"{step}.timeline_{name}.json").read_text())
    assert in_order(chrome_trace(step_stats, show_memory=show_memory)) == in_order(expected)
