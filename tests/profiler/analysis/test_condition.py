"""Conditions on metrics."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.profiler.analysis.condition import ConditionError, holds, named, parse
from stepscope.profiler.analysis.metrics import DEFINITIONS, Metric

KNOWN = {
    "gpu_idle": Metric("gpu_idle", "percent", "", 25.0),
    "step_time": Metric("step_time", "ns", "", 2e9),
    "memory_peak": Metric("memory_peak", "bytes", "", 3 * 2.0**30),
    "kernels": Metric("kernels", "count", "", 7.0),
    "occupancy": Metric("occupancy", "percent", "", math.nan),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpu_idle > 20%", True),
        ("gpu_idle > 20", True),
        ("gpu_idle>30%", False),
        ("step_time >= 2 s", True),
        ("step_time < 1999.5ms", False),
        ("memory_peak == 3GiB", True),
        ("memory_peak > 3.3 GB", False),
        ("kernels != 7", False),
        ("kernels <= 7", True),
        ("not gpu_idle > 20%", False),
        ("gpu_idle > 30% or kernels == 7", True),
        ("gpu_idle > 30% and kernels == 7 or step_time > 1 s", True),
        ("gpu_idle > 30% and (kernels == 7 or step_time > 1 s)", False),
        ("gpu_idle > 20 and not (kernels > 7)", True),
    ],
)
def test_conditions(text: str, expected: bool) -> None:
    assert holds(parse(text), KNOWN) is expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a metric, but the expression is empty"),
        ("gpu_idle", "expected a comparison"),
        ("gpu_idle > ", 'incomplete: expected a number after ">"'),
        ("gpu_idle = 3", 'equality is "=="'),
        ("gpu_idel > 3", "no metric 'gpu_idel'. Expected one such as gpu_idle"),
        ("gpu_idle > 3 ms", "gpu_idle cannot be compared with a number 'ms'. Expected %"),
        ("step_time > 3", "step_time cannot be compared with a number without a unit. Expected ns, us, ms, s"),
        ("gpu_idle > 3 gpu_busy", "In 'gpu_idle > 3 gpu_busy'"),
        ("(gpu_idle > 3", 'expected ")"'),
        ("gpu_idle > 3) ", '"and", "or" or the end'),
        ("and > 3", "expected a metric"),
        ("__import__('os') > 3", "is not understood"),
        ("__import__ > 3", "no metric '__import__'"),
        ("not " * 60 + "gpu_idle > 3", "nested deeper than 50"),
        ("x" * 3000, "longer than 2000"),
        ("gpu_idle > 3; 1", "is not understood"),
    ],
)
def test_what_is_no_condition(text: str, message: str) -> None:
    with pytest.raises(ConditionError) as caught:
        parse(text)
    assert message in str(caught.value)


def test_an_unknown_figure_is_an_error_and_not_fine() -> None:
    with pytest.raises(ConditionError, match="no data for occupancy"):
        holds(parse("occupancy < 10%"), KNOWN)


def test_only_what_is_named_is_worked_out() -> None:
    assert named(parse("gpu_idle > 1 or not (kernels > 1 and gpu_idle < 3)")) == ("gpu_idle", "kernels")


@given(st.text(alphabet="gpu_idle kernels><=!()%.0123ms andornot", max_size=40))
def test_any_text_is_a_condition_or_an_error(text: str) -> None:
    try:
        found = parse(text)
    except ConditionError:
        return
    assert set(named(found)) <= set(DEFINITIONS)
