"""Time by lines of the program."""

from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.profiler.analysis import code
from stepscope.profiler.analysis.code import code_view
from stepscope.profiler.trace import Trace
from tests.profiler.analysis.kineto import activity, event, launch, operator, trace

COLUMNS = ("frame", "depth", "calls", "cpu_ns", "accelerator_ns", "self_ns", "total_ns")


def rows(of: Trace) -> list[tuple[object, ...]]:
    return code_view(of).select(COLUMNS).rows()


def test_time_belongs_to_the_frames_of_the_call_stack() -> None:
    traced = trace(
        operator("aten::mm", 0, 10, Call_stack="net.py(4): forward;train.py(9): step;train.py(2): main"),
        launch(2, 1, 5),
        activity("gemm", 20, 30, 5),
        operator("aten::add", 60, 5, Call_stack="train.py(9): step;train.py(2): main"),
        operator("aten::sum", 70, 4, Call_stack="eval.py(1): check;train.py(2): main"),
        operator("aten::rand", 80, 7),
    )
    assert rows(traced) == [
        ("train.py(2): main", 0, 0, 0, 0, 0, 48_000),
        ("train.py(9): step", 1, 1, 5_000, 0, 5_000, 44_000),
        ("net.py(4): forward", 2, 1, 9_000, 30_000, 39_000, 39_000),
        ("eval.py(1): check", 1, 1, 4_000, 0, 4_000, 4_000),
    ]


def test_recorded_python_functions_are_frames_and_their_modules_are_not() -> None:
    traced = trace(
        event("python_function", "main (a.py:1)", 0, 100),
        event("python_function", "nn.Module: Net_0", 10, 40),
        event("python_function", "forward (net.py:3)", 11, 38),
        operator("aten::mm", 12, 10),
        operator("aten::add", 60, 5),
    )
    assert rows(traced) == [
        ("main (a.py:1)", 0, 1, 5_000, 0, 5_000, 15_000),
        ("forward (net.py:3)", 1, 1, 10_000, 0, 10_000, 10_000),
    ]


@given(st.dictionaries(st.text(max_size=3), st.integers(0, 3), max_size=12))
def test_very_many_frames_of_one_place_are_in_the_order_of_few(times: dict[str, int]) -> None:
    total: dict[code.Stack, int] = {("main", name): time for name, time in times.items()}
    few = code._shortest_first(list(total), total)
    assert few == sorted(total, key=lambda stack: (total[stack], stack))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code, "_MANY", 0)
        assert code._shortest_first(list(total), total) == few


def test_very_many_frames_of_one_place_are_not_compared_by_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a million equally long frames, everybody once waited for seconds."""
    monkeypatch.setattr(code, "_MANY", 4)
    compared: list[int] = []

    class Time(int):
        __hash__ = int.__hash__

        def __eq__(self, other: object) -> bool:
            compared.append(int(self))
            return super().__eq__(other)

    total: dict[code.Stack, int] = {(name,): Time(5) for name in "cadb"}
    assert code._in_order(total) == [("d",), ("c",), ("b",), ("a",)]
    assert compared == []


def test_the_view_is_made_of_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row is an object for the garbage collector to examine: a million of them once blocked everybody for seconds."""
    made_of: list[Mapping[str, Any]] = []
    frame = pl.DataFrame

    def noted(data: Mapping[str, Any], **more: Any) -> pl.DataFrame:
        made_of.append(data)
        return frame(data, **more)

    monkeypatch.setattr(pl, "DataFrame", noted)
    shown = code_view(trace(operator("aten::mm", 0, 10, Call_stack="inner;outer")))
    assert shown["frame"].to_list() == ["outer", "inner"]
    assert [{len(column) for column in columns.values()} for columns in made_of] == [{2}]
