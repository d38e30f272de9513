"""Equal rows have a defined order in every table, not one that depends on the build of Polars or NumPy."""

from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.analysis.report import analyses
from tests.other_builds import last_of_equals_first
from tests.profiler.analysis.kineto import Event, activity, event, launch, operator, step, trace
from tests.profiler.analysis.test_device import COPY, NCCL
from tests.profiler.analysis.test_memory import change

EQUAL_PRODUCTS = {
    "aten::mm": [[4, 8], [8, 16]],
    "aten::bmm": [[1, 4, 8], [1, 8, 16]],
    "aten::addmm": [[16], [4, 8], [8, 16]],
    "aten::baddbmm": [[16], [1, 4, 8], [1, 8, 16]],
}
"""Operators whose FLOPs are as many, and the shapes of what they are given."""


def equal_work(number: int, at: int) -> list[Event]:
    """A step whose operators, kernels, copies, collectives and allocations each take equally long."""
    found = [step(number, at, 100), event("user_annotation", "enumerate(DataLoader)#_Iter.__next__", at, 5)]
    for place, (name, shapes) in enumerate(EQUAL_PRODUCTS.items()):
        device, start, correlation = place % 2, at + 10 + 20 * place, 100 * number + 10 * place
        stated = {
            "Input_Dims": shapes,
            "Call_stack": f"f{place} (a.py:{place});main (a.py:1)",
            "Module_Hierarchy": f"layer{place}",
        }
        found += [
            operator(name, start, 10, **stated),
            change(start + 1, 100, place, **{"Device Id": device}),
        ]
        kinds = ((f"gemm_{place}", "kernel"), (NCCL, "kernel"), (COPY, "gpu_memcpy"), ("Memset (Device)", "gpu_memset"))
        for more, (work, category) in enumerate(kinds):
            found += [
                launch(start + 2 + more, 1, correlation + more),
                activity(
                    work,
                    start + 4 + 2 * more,
                    2,
                    correlation + more,
                    stream=more,
                    device=device,
                    category=category,
                    bytes=1000,
                    more={"memory bandwidth (GB/s)": 0.5, "blocks per SM": 0.5, "est. achieved occupancy %": 40},
                ),
            ]
    return found


def made(steps: int = 3) -> Facts:
    return Facts(trace(*(each for number in range(1, steps + 1) for each in equal_work(number, 100 * number))))


@pytest.mark.parametrize("name", analyses())
def test_equal_rows_have_the_same_order_in_every_build(name: str) -> None:
    analysis = analyses()[name]

    def table() -> pl.DataFrame:
        given: dict[str, tuple[Any, ...]] = {
            "trace": (made(),),
            "ranks": ({rank: made() for rank in range(3)},),
            "changes": (made(), made(4), "step"),
        }
        return analysis.table(*given[analysis.of])

    expected = table()
    with last_of_equals_first():
        found = table()
    assert_frame_equal(found, expected)
