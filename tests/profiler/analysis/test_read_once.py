"""Arguments shared by many slices are read once, and results needed by several tables are computed once.

Building something for each of ten million slices one by one blocks every other thread and takes gigabytes.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.profiler.analysis import critical_path, distinct_arguments, memory, steps
from stepscope.profiler.analysis.code import code_view
from stepscope.profiler.analysis.communication import communication
from stepscope.profiler.analysis.critical_path import critical_path_summary, path_of
from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.analysis.memory import allocations, memory_by_module, memory_by_operator
from stepscope.profiler.analysis.operators import Key, operators
from stepscope.profiler.analysis.roofline import counted_calls
from stepscope.profiler.analysis.steps import launched_within, mean_step, step_breakdown, step_windows
from stepscope.profiler.trace import Arguments
from stepscope.profiler.traces import read_trace
from stepscope.profiler.traces.chrome_arguments import JsonArguments
from tests.profiler.analysis.kineto import activity, launch, operator, step, trace
from tests.profiler.analysis.test_arguments import TEXTS, Decoded
from tests.profiler.analysis.test_memory import change

KEYS = ("stream", "a key", "stack")
CALLS = 40


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> "Counter[int]":
    """How often the arguments of each slice are read."""
    found: Counter[int] = Counter()
    get = JsonArguments.__getitem__

    def counted(self: JsonArguments, slice_index: int) -> Mapping[str, Any]:
        found[slice_index] += 1
        return get(self, slice_index)

    monkeypatch.setattr(JsonArguments, "__getitem__", counted)
    return found


def calls() -> Facts:
    """Forty matrix product calls of two shapes; each shape belongs to one module."""
    stated = [
        {"Input_Dims": [[2, size], [size, 4]], "Input_type": ["float", "float"], "Call_stack": f"inner {size};outer"}
        for size in (3, 5)
    ]
    events = [
        operator("aten::mm", 10 * number, 5, Module_Hierarchy=f"layer{number % 2}", **stated[number % 2])
        for number in range(CALLS)
    ]
    return Facts(trace(*events))


@pytest.mark.parametrize("key", ["shape", "stack", "module"])
def test_operators_read_each_different_argument_once(key: Key, read: "Counter[int]") -> None:
    frame = operators(calls(), by=(key,))
    shapes = {"shape": "[[2, {}], [{}, 4]]", "stack": "inner {};outer", "module": "layer{}"}
    sizes = {"shape": (3, 5), "stack": (3, 5), "module": (0, 1)}[key]
    expected = [(shapes[key].replace("{}", str(size)), CALLS // 2) for size in sizes]
    assert sorted(frame.select(key, "calls").rows()) == sorted(expected)
    assert set(read) == {0, 1}


def test_floating_point_operations_are_counted_once_for_calls_that_are_alike(read: "Counter[int]") -> None:
    counted = counted_calls(calls())
    assert counted.flops.tolist() == [2.0 * 2 * size * 4 for _ in range(CALLS // 2) for size in (3, 5)]
    assert counted.moved.tolist() == [4.0 * (2 * size + size * 4) for _ in range(CALLS // 2) for size in (3, 5)]
    assert set(read) == {0, 1}


def test_lines_of_the_program_are_read_once(read: "Counter[int]") -> None:
    frame = code_view(calls())
    assert frame.select("frame", "calls").rows() == [("outer", 0), ("inner 5", CALLS // 2), ("inner 3", CALLS // 2)]
    assert set(read) == {0, 1}


def test_names_are_written_and_tested_once_for_all_calls_of_each() -> None:
    asked: list[str] = []

    def upper(name: str) -> str:
        asked.append(name)
        return name.upper()

    facts = Facts(trace(*(operator(f"aten::mm_{number % 2}", 10 * number, 5) for number in range(CALLS))))
    every = np.arange(CALLS)
    assert facts.name_column(np.append(every, -1), upper).to_list() == CALLS // 2 * ["ATEN::MM_0", "ATEN::MM_1"] + [""]
    assert facts.named(every, upper).tolist() == CALLS * [True]
    assert asked == 2 * ["aten::mm_0", "aten::mm_1"]


def test_collectives_of_one_sort_are_read_once(read: "Counter[int]") -> None:
    events = [
        activity(
            "ncclKernel_AllReduce",
            10 * number,
            5,
            number,
            more={"Process Group Name": str(number % 2), "Seq": number // 4},
        )
        for number in range(CALLS)
    ]
    found = communication(trace(step(1, 0, 1_000), *events))
    assert found.select("step", "number", "collective", "sequence", "group").rows() == [
        (1, number // 2 % 2, f"allreduce ({number % 2})", number // 4, str(number % 2)) for number in range(CALLS)
    ]
    assert set(read) == {0, 1}


def test_a_critical_path_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Facts(trace(operator("a", 0, 9), launch(2, 2, 1), activity("k", 5, 9, 1)))
    made = _counted(monkeypatch, critical_path, "edges_of")
    assert len(critical_path.critical_path(found)) == len(path_of(found).bound)
    assert critical_path_summary(found)["parts"].sum() == len(path_of(found).bound)
    assert made == [1]


def test_each_step_looks_at_what_was_launched_in_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a thousand steps and a million kernels, a mask of all kernels for each step takes gigabytes."""
    events = [
        event
        for number in range(CALLS)
        for event in (
            step(number, 10 * number, 9),
            launch(10 * number + 1, 1, number),
            activity("k", 10 * number + 3, 4, number),
        )
    ]
    facts = Facts(trace(*events))
    every = facts.every_device_activity
    bounds = [
        np.array(times) for times in zip(*((each.start_ns, each.start_ns + 9_000) for each in facts.steps), strict=True)
    ]
    assert [places.tolist() for places in launched_within(facts, every, *bounds)] == [[place] for place in range(CALLS)]
    made = _counted(monkeypatch, steps, "launched_within")
    assert len(step_breakdown(facts)) == len(step_windows(facts).start) == CALLS
    assert mean_step(facts)["mean_ns"].sum() > 0
    assert made == [1]


def test_allocations_are_numbers_and_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Facts(trace(operator("make", 0, 10), change(1, 100, 1), change(2, 50, 2), change(5, -100, 1)))
    made = _counted(monkeypatch, memory, "_paired")
    assert [column.dtype.kind for column in allocations(found)[1:]] == ["i"] * 5
    assert memory_by_operator(found).rows() == [("GPU 0", "make", 2, 150, 100, 50)]
    assert memory_by_module(found).is_empty()
    assert made == [1]


def _counted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[int]:
    """Count the calls of a function in a module."""
    function: Callable[..., Any] = getattr(module, name)
    times = [0]

    def counted(*arguments: Any, **named: Any) -> Any:
        times[0] += 1
        return function(*arguments, **named)

    monkeypatch.setattr(module, name, counted)
    return times


def arguments_of(texts: list[str]) -> Arguments:
    head = '"ph": "X", "pid": 1, "tid": 1, "dur": 1'
    events = [f'{{{head}, "ts": {2 * number}, "args": {text}}}' for number, text in enumerate(texts)]
    return read_trace(("[" + ",".join(events) + "]").encode(), name="odd").arguments


@given(st.lists(TEXTS, max_size=8), st.sampled_from([None, 1]), st.booleans(), st.integers(1, 3))
def test_slices_have_what_their_example_has(
    texts: list[dict[str, Any]], indent: int | None, ascii_only: bool, piece: int
) -> None:
    arguments = arguments_of([json.dumps(each, indent=indent, ensure_ascii=ascii_only) for each in texts])
    slices = np.arange(len(texts))
    whole = distinct_arguments._PIECE
    distinct_arguments._PIECE = piece  # type: ignore[misc]
    try:
        for kept in (arguments, Decoded(arguments)):
            found = distinct_arguments.distinct_arguments(kept, slices, KEYS)
            stated = found.each(lambda each: [each.get(key) for key in KEYS])
            assert [stated[number] for number in found.number.tolist()] == [
                [each.get(key) for key in KEYS] for each in texts
            ]
    finally:
        distinct_arguments._PIECE = whole  # type: ignore[misc]


def test_texts_that_are_odd_are_read_one_by_one() -> None:
    texts = [
        '{"stream": 1}',
        '{"stream":1, "x": {"stream": 2}}',
        "[1]",
        '{"str\\u0065am": 1}',
        '{"stream": 3, "stream": 1}',
        "{}",
    ]
    found = distinct_arguments.distinct_arguments(arguments_of(texts), np.arange(len(texts)), ("stream",))
    stated = found.each(lambda each: each.get("stream"))
    assert [stated[number] for number in found.number.tolist()] == [1, 1, None, 1, 1, None]
    # The first two differ only in a space; the last of two values counts.
    assert found.number.tolist() == [0, 1, 2, 3, 0, 4]
