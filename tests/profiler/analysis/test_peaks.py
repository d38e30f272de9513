"""Peaks of devices, the share of them that was used, and conditions on changes and ranks."""

import math
from typing import Any

import pytest

from stepscope.profiler.analysis.condition import ConditionError, holds, named, parse
from stepscope.profiler.analysis.device_peaks import PRECISIONS, StatedPeaks, known_devices, peaks_of, precision_of
from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.analysis.flops import flops_of
from stepscope.profiler.analysis.memory import memory_by_module
from stepscope.profiler.analysis.metric_sources import metrics_of_ranks, metrics_of_trace
from stepscope.profiler.analysis.metrics import metrics
from stepscope.profiler.analysis.roofline import has_flops, roofline, unknown_flops, utilization
from stepscope.profiler.trace import Trace
from tests.profiler.analysis.kineto import activity, event, launch, operator, step, trace

V100 = {"id": 0, "name": "Tesla V100-SXM2-16GB"}


@pytest.mark.parametrize(
    ("name", "device"),
    [
        ("Tesla V100-DGXS-32GB", "V100 SXM2"),
        ("Tesla V100-PCIE-16GB", "V100 PCIe"),
        ("Tesla V100S-PCIE-32GB", "V100S PCIe"),
        ("Tesla P100-PCIE-16GB", "P100 PCIe"),
        ("Tesla T4", "T4"),
        ("NVIDIA A10G", "A10G"),
        ("NVIDIA A10", "A10"),
        ("NVIDIA A100-SXM4-40GB", "A100 40GB SXM"),
        ("NVIDIA A100-SXM4-80GB", "A100 80GB SXM"),
        ("NVIDIA A100-PCIE-40GB", "A100 40GB PCIe"),
        ("NVIDIA A100 80GB PCIe", "A100 80GB PCIe"),
        ("NVIDIA L4", "L4"),
        ("NVIDIA L40", "L40"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA H100 NVL", "H100 NVL"),
        ("NVIDIA H200", "H200 SXM"),
        ("NVIDIA GH200 480GB", "GH200 96GB"),
        ("NVIDIA B200", "B200"),
        ("NVIDIA GB200", "GB200"),
        ("NVIDIA GeForce RTX 2080 Ti", "RTX 2080 Ti"),
        ("NVIDIA GeForce RTX 3090", "RTX 3090"),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", "RTX 4070 Ti Super"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada"),
        ("AMD Instinct MI250X/MI250", "MI250X (one of two devices)"),
        ("AMD Instinct MI300X", "MI300X"),
        ("NVIDIA GeForce RTX 4070 Laptop GPU", None),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", None),
        ("NVIDIA GeForce RTX 4090 D", None),
        ("NVIDIA RTX A1000", None),
        ("AMD Radeon Graphics", None),
        ("A GPU", None),
        ("", None),
    ],
)
def test_devices_are_known_by_the_names_of_their_drivers(name: str, device: str | None) -> None:
    found = peaks_of(name)
    assert (found.name if found else None) == device


@pytest.mark.parametrize("peaks", known_devices(), ids=lambda peaks: peaks.name)
def test_peaks_are_in_order_and_have_their_sources(peaks: Any) -> None:
    assert peaks.source
    assert peaks.gb_per_s > 100
    known = [peaks.flops(each) for each in ("fp32", "tf32", "fp16", "fp8")]
    assert peaks.flops("fp32")
    stated = [each for each in known if each]
    assert stated == sorted(stated)
    # Reaching the peak takes more than a few FLOPs per byte.
    assert peaks.flops("fp16") / peaks.bytes_per_s > 10


def test_types_of_numbers() -> None:
    assert precision_of(["float", "float"], tensor_cores=False) == "fp32"
    assert precision_of(["float", "float"], tensor_cores=True) == "tf32"
    assert precision_of(["long int", "c10::BFloat16"], tensor_cores=True) == "bf16"
    assert precision_of(["c10::Half"], tensor_cores=False) == "fp16"
    assert precision_of(["c10::Float8_e4m3fn"], tensor_cores=True) == "fp8"
    assert precision_of(["double"], tensor_cores=False) == "fp64"
    assert precision_of(["long", ""], tensor_cores=False) is None
    assert precision_of(None, tensor_cores=False) is None
    assert set(PRECISIONS) == {"fp64", "fp32", "tf32", "fp16", "bf16", "fp8"}


BACKWARD = ["", "", "", "[0]", "[2, 2]", "[3, 3]", "[1, 1]", "False", "[0, 0]", "1", "[True, True, True]"]
CONVOLUTION = ["", "", "", "[2, 2]", "[3, 3]", "[1, 1]", "False", "[0, 0]", "1"]


@pytest.mark.parametrize(
    ("name", "arguments", "flops"),
    [
        # torch.utils.flop_counter.conv_flop_count([8, 3, 224, 224], [64, 3, 7, 7], [8, 64, 112, 112])
        (
            "aten::convolution",
            {
                "Input Dims": [[8, 3, 224, 224], [64, 3, 7, 7], [], [], [], [], [], [], []],
                "Concrete Inputs": CONVOLUTION,
            },
            2.0 * 8 * 64 * 112 * 112 * 3 * 49,
        ),
        ("aten::convolution", {"Input Dims": [[8, 3, 224, 224], [64, 3, 7, 7], []]}, None),
        (
            "aten::convolution",
            {
                "Input Dims": [[8, 3, 9, 9], [64, 3, 7, 7]],
                "Concrete Inputs": [*CONVOLUTION[:3], "[0, 0]", *CONVOLUTION[4:]],
            },
            None,
        ),
        (
            "aten::convolution_backward",
            {"Input Dims": [[8, 64, 5, 5], [8, 3, 7, 7], [64, 3, 3, 3]]},
            4.0 * 8 * 64 * 25 * 27,
        ),
        # torch.utils.flop_counter.conv_backward_flop: the first layer of a network needs no gradient of its input.
        (
            "aten::convolution_backward",
            {
                "Input Dims": [[8, 64, 112, 112], [8, 3, 224, 224], [64, 3, 7, 7]],
                "Concrete Inputs": [*BACKWARD[:10], "[False, True, True]"],
            },
            2.0 * 8 * 64 * 112 * 112 * 3 * 49,
        ),
        (
            "aten::convolution_backward",
            {
                "Input Dims": [[1, 32, 32, 32], [1, 64, 16, 16], [64, 32, 4, 4]],
                "Concrete Inputs": [*BACKWARD[:7], "True", *BACKWARD[8:]],
            },
            4.0 * 64 * 16 * 16 * 32 * 16,
        ),
        ("aten::cudnn_convolution_backward_input", {"Input Dims": [[], [2, 4, 5], [4, 3, 3]]}, 2.0 * 2 * 4 * 5 * 9),
        # torch.utils.flop_counter.sdpa_flop_count and sdpa_backward_flop_count
        (
            "aten::_scaled_dot_product_flash_attention",
            {"Input Dims": [[2, 3, 5, 7], [2, 3, 11, 7], [2, 3, 11, 13]]},
            2.0 * 6 * 55 * 20,
        ),
        (
            "aten::_scaled_dot_product_flash_attention_backward",
            {"Input Dims": [[2, 3, 5, 13], [2, 3, 5, 7], [2, 3, 11, 7], [2, 3, 11, 13]]},
            2.0 * 6 * 55 * (3 * 7 + 2 * 13),
        ),
        ("aten::_scaled_dot_product_flash_attention", {"Input Dims": [[2, 3]]}, None),
    ],
)
def test_flops_by_shape(name: str, arguments: dict[str, Any], flops: float | None) -> None:
    assert flops_of(name, arguments) == flops


def product(begin: int, number: int, name: str = "aten::mm", **arguments: Any) -> list[dict[str, Any]]:
    shapes: dict[str, Any] = {"Input_Dims": [[100, 100], [100, 100]], "Input_type": ["float", "float"]} | arguments
    return [
        operator(name, begin, 20, **shapes),
        launch(begin + 2, 3, number),
        activity("sgemm", begin + 10, 10, number),
    ]


def steps_of_products(*more: dict[str, Any]) -> Trace:
    return trace(step(1, 0, 100), *product(5, 1), step(2, 100, 100), *product(105, 2), *more, deviceProperties=[V100])


def test_mfu_is_what_was_computed_of_what_could_have_been() -> None:
    # Two products of 2e6 FLOPs in 200 us on a device with 15.7 TFLOP/s.
    assert utilization(steps_of_products()) == pytest.approx(100 * 4e6 / (15.7e12 * 200e-6))
    assert metrics(Facts(steps_of_products()), ("mfu",))["mfu"].value == pytest.approx(0.1274, rel=1e-3)
    # A call with stated FLOPs around another such call also counts once.
    nested = operator("aten::mm", 104, 22, Input_Dims=[[100, 100], [100, 100]], Input_type=["float"], flops=2_000_000)
    assert utilization(steps_of_products(nested)) == pytest.approx(utilization(steps_of_products()))


def test_mfu_is_not_known_where_much_is_not_counted_or_the_device_is_not_known() -> None:
    unknown = steps_of_products(*product(150, 3, "aten::cudnn_convolution"))
    assert utilization(unknown) is None
    assert unknown_flops(unknown)["name"].to_list() == ["aten::cudnn_convolution"]
    assert unknown_flops(unknown)["percent"].to_list() == [pytest.approx(100 / 3)]
    assert utilization(trace(*product(0, 1), deviceProperties=[{"name": "A GPU"}])) is None
    assert utilization(trace(*product(0, 1))) is None
    assert utilization(trace(operator("a", 0, 1), deviceProperties=[V100])) is None


def test_stated_peaks_go_before_those_that_are_known() -> None:
    unknown = trace(*product(0, 1), deviceProperties=[{"name": "A GPU"}])
    slower = Facts(steps_of_products(), StatedPeaks(tflops=7.85))
    known = utilization(steps_of_products())
    assert known is not None
    assert utilization(slower) == pytest.approx(2 * known)
    assert utilization(Facts(unknown, StatedPeaks(tflops=1))) is not None
    assert utilization(Facts(unknown, StatedPeaks(gb_per_s=100))) is None
    (row,) = roofline(Facts(unknown, StatedPeaks(0.1, 1))).to_dicts()
    assert (row["bound_by"], row["efficiency_percent"]) == ("memory", pytest.approx(100 * 80_000 / (1e9 * 10e-6)))
    assert roofline(Facts(unknown, StatedPeaks(tflops=1)))["bound_by"].to_list() == [None]


def test_the_roof_of_a_known_device_is_that_of_the_type_of_number() -> None:
    (row,) = roofline(steps_of_products()).to_dicts()
    assert (row["precision"], row["bound_by"]) == ("FP32", "compute")
    assert row["efficiency_percent"] == pytest.approx(100 * 4e6 / (15.7e12 * 20e-6))
    half = trace(*product(0, 1, Input_type=["c10::Half"] * 2), deviceProperties=[V100])
    assert roofline(half)["precision"].to_list() == ["FP16"]
    assert has_flops(Facts(half))
    assert not has_flops(Facts(trace(operator("aten::mm", 0, 1))))


def test_memory_is_known_by_module() -> None:
    def change(at: float, size: int, address: int) -> dict[str, Any]:
        return {
            "ph": "i",
            "cat": "cpu_instant_event",
            "name": "[memory]",
            "pid": 100,
            "tid": 1,
            "ts": at,
            "args": {"Device Type": 0, "Device Id": -1, "Addr": address, "Bytes": size},
        }

    found = trace(
        event("python_function", "nn.Module: Linear_0", 0, 20),
        operator("aten::addmm", 2, 10),
        change(3, 100, 1),
        event("python_function", "nn.Module: ReLU_0", 30, 20),
        operator("aten::relu", 32, 10),
        change(33, 40, 2),
        change(45, -100, 1),
        operator("aten::mul", 60, 10),
        change(61, 10, 3),
    )
    assert memory_by_module(found).rows() == [
        ("CPU", "Linear_0", 1, 100, 100, 0),
        ("CPU", "ReLU_0", 1, 40, 40, 40),
        ("CPU", "", 1, 10, 0, 10),
    ]
    assert memory_by_module(trace(operator("aten::mul", 0, 10), change(1, 10, 3))).is_empty()


def loop(length: float) -> Facts:
    return Facts(
        trace(step(1, 0, length), operator("a", 0, length), step(2, length, length), operator("a", length, length))
    )


def test_conditions_on_changes_and_ranks() -> None:
    condition = parse("step_time_change > 5% and not cpu_exec_change > 1")
    assert named(condition) == ("step_time_change", "cpu_exec_change")
    known = metrics_of_trace(named(condition), loop(110), loop(100))
    assert known["step_time_change"].value == pytest.approx(10)
    assert holds(condition, known)
    assert not holds(condition, metrics_of_trace(named(condition), loop(100), loop(100)))
    ranks = {0: loop(100), 1: loop(130)}
    slow = parse("rank_step_spread > 20% and ranks == 2")
    assert holds(slow, metrics_of_ranks(named(slow), ranks))
    with pytest.raises(ConditionError, match="step_time_change needs --before TRACE"):
        holds(condition, metrics_of_trace(named(condition), loop(1), None))
    with pytest.raises(ConditionError, match="rank_step_spread needs several traces"):
        holds(slow, metrics_of_ranks(named(slow), {0: loop(1)}))
    with pytest.raises(ConditionError, match="no metric 'nothing_change'"):
        parse("nothing_change > 1")


def test_what_appears_where_there_was_nothing_is_an_endless_change() -> None:
    idle = trace(step(1, 0, 100), operator("a", 0, 10))
    busy = trace(step(1, 0, 100), *product(5, 1))
    found = metrics_of_trace(("kernel_time_change", "kernels_change"), Facts(busy), Facts(idle))
    assert found["kernels_change"].value == math.inf
    assert metrics_of_trace(("kernels_change",), Facts(idle), Facts(idle))["kernels_change"].value == 0
