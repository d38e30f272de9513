import importlib.util
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

from stepscope.profiler.collectors.base import CounterSeries, RecordingClock
from stepscope.profiler.collectors.nvml import READINGS, SLOW_READINGS, NvmlCollector, visible_gpus
from stepscope.summary.errors import UserError

UUIDS = ["GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "GPU-8932aaaa-1111-2222-3333-444455556666", "GPU-01234567-0-0-0-0"]


@pytest.mark.parametrize(
    ("visible", "found"),
    [
        (None, [0, 1, 2]),
        ("", []),
        ("1", [1]),
        ("2,0", [2, 0]),
        (" 2 , 0 ", [2, 0]),
        # Nothing after an invalid entry is visible: this is the example in NVIDIA's guide.
        ("0,2,-1,1", [0, 2]),
        ("3,0", []),
        ("NoDevFiles", []),
        (UUIDS[2], [2]),
        ("GPU-0123,GPU-8932f", [2, 0]),
        # The prefix of more than one UUID.
        ("GPU-8932", []),
        ("1,1", []),
        ("MIG-5c6b1c5e-1b0a-5c1f-a4a1-ab0f0d5a3d2c", ["MIG-5c6b1c5e-1b0a-5c1f-a4a1-ab0f0d5a3d2c"]),
    ],
)
def test_the_gpus_that_cuda_sees(visible: str | None, found: list[int | str]) -> None:
    assert visible_gpus(visible, UUIDS) == found


def test_what_answers_mean() -> None:
    # In the units of the NVML reference: percent, bytes, milliwatts, MHz, degrees Celsius, kilobytes a second.
    answers: dict[str, Any] = {
        "utilization": SimpleNamespace(gpu=37, memory=12),
        "memory": SimpleNamespace(total=85_520_809_984, free=84_930_854_912, used=589_955_072),
        "power": 71_325,
        "SM clock": 1980,
        "memory clock": 2619,
        "temperature": 31,
        "PCIe received": 850,
        "PCIe sent": 400,
    }
    meanings = {
        counter: value
        for reading in (*READINGS, *SLOW_READINGS)
        for counter, value in zip(reading.counters, reading.values(answers[reading.name]), strict=True)
    }
    assert meanings == {
        ("GPU utilization (%)", "GPU"): 37,
        ("memory utilization (%)", "memory"): 12,
        ("GPU memory (bytes)", "used"): 589_955_072,
        ("power (W)", "power"): 71.325,
        ("SM clock (MHz)", "SM"): 1980,
        ("memory clock (MHz)", "memory"): 2619,
        ("temperature (°C)", "GPU"): 31,
        ("PCIe (bytes/s)", "received"): 850_000,
        ("PCIe (bytes/s)", "sent"): 400_000,
    }


class FakeError(Exception):
    def __init__(self, value: int, text: str) -> None:
        super().__init__(text)
        self.value = value


class FakeNvml:
    """The part of pynvml that is used, simulating GPUs that this machine does not have."""

    NVMLError = FakeError
    NVML_ERROR_NOT_SUPPORTED = 3
    NVML_ERROR_FUNCTION_NOT_FOUND = 13
    NVML_CLOCK_SM, NVML_CLOCK_MEM = 1, 2
    NVML_TEMPERATURE_GPU = 0
    NVML_PCIE_UTIL_TX_BYTES, NVML_PCIE_UTIL_RX_BYTES = 0, 1
    nvmlMemory_v2 = 0x02000028  # noqa: N815

    def __init__(self) -> None:
        self.memory_versions: tuple[int, ...] = (1, self.nvmlMemory_v2)
        self.initialized = 0
        self.models = ["NVIDIA H100", "NVIDIA H100"]

    def nvmlInit(self) -> None:  # noqa: N802
        self.initialized += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.initialized -= 1

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return len(self.models)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        return index

    def nvmlDeviceGetUUID(self, gpu: int) -> str:  # noqa: N802
        return UUIDS[gpu]

    def nvmlDeviceGetName(self, gpu: int) -> str:  # noqa: N802
        return self.models[gpu]

    def nvmlDeviceGetUtilizationRates(self, gpu: int) -> Any:  # noqa: N802
        return SimpleNamespace(gpu=10 + gpu, memory=20 + gpu)

    def nvmlDeviceGetMemoryInfo(self, gpu: int, version: int = 1) -> Any:  # noqa: N802
        if version not in self.memory_versions:
            raise FakeError(self.NVML_ERROR_FUNCTION_NOT_FOUND, "Function Not Found")
        # Version 1 also counts the memory that the driver reserves.
        return SimpleNamespace(used=(1000 if version == self.nvmlMemory_v2 else 1500) + gpu)

    def nvmlDeviceGetPowerUsage(self, gpu: int) -> int:  # noqa: N802
        raise FakeError(self.NVML_ERROR_NOT_SUPPORTED, "Not Supported")

    def nvmlDeviceGetClockInfo(self, gpu: int, clock: int) -> int:  # noqa: N802
        return 100 * clock + gpu

    def nvmlDeviceGetTemperature(self, gpu: int, sensor: int) -> int:  # noqa: N802
        raise FakeError(15, "GPU is lost")

    def nvmlDeviceGetPcieThroughput(self, gpu: int, counter: int) -> int:  # noqa: N802
        raise FakeError(self.NVML_ERROR_NOT_SUPPORTED, "Not Supported")


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> FakeNvml:
    fake = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("CUDA_DEVICE_ORDER", raising=False)
    return fake


def test_counters_of_the_gpus_by_cudas_numbers(nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    collector = NvmlCollector(interval=3600)
    collector.start(RecordingClock(time))
    assert nvml.initialized == 1
    collected = collector.stop()
    assert nvml.initialized == 0
    assert [(*series[:3], list(series.values)) for series in collected.counters] == [
        ("/device:GPU:0", "GPU utilization (%)", "GPU", [11, 11]),
        ("/device:GPU:0", "memory utilization (%)", "memory", [21, 21]),
        ("/device:GPU:0", "GPU memory (bytes)", "used", [1001, 1001]),
        ("/device:GPU:0", "SM clock (MHz)", "SM", [101, 101]),
        ("/device:GPU:0", "memory clock (MHz)", "memory", [201, 201]),
    ]
    assert collected.notes == (
        "power of GPU 0 is not recorded: Not Supported",
        "temperature of GPU 0: 2 samples failed; the first: FakeError: GPU is lost",
    )


def test_a_driver_that_does_not_tell_its_own_memory_apart_is_asked_the_older_question(nvml: FakeNvml) -> None:
    nvml.memory_versions = (1,)
    collector = NvmlCollector(interval=3600)
    collector.start(RecordingClock(time))
    used = [list(each.values) for each in collector.stop().counters if each.name == "GPU memory (bytes)"]
    assert used == [[1500, 1500], [1501, 1501]]


def test_gpus_that_cuda_does_not_see_are_an_error(nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(UserError, match=r"CUDA sees no GPU.*CUDA_VISIBLE_DEVICES, which is ''"):
        NvmlCollector().start(RecordingClock(time))
    assert nvml.initialized == 0


def test_gpus_of_several_models_are_a_note(nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch) -> None:
    nvml.models = ["NVIDIA T4", "NVIDIA H100"]
    collector = NvmlCollector(interval=3600)
    collector.start(RecordingClock(time))
    assert "set CUDA_DEVICE_ORDER=PCI_BUS_ID" in collector.stop().notes[0]
    monkeypatch.setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    collector.start(RecordingClock(time))
    assert "CUDA_DEVICE_ORDER" not in collector.stop().notes[0]


def test_a_driver_that_fails_while_it_starts_is_a_clear_error(nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> str:
        raise FakeError(999, "Unknown Error")

    monkeypatch.setattr(nvml, "nvmlDeviceGetUUID", fail)
    with pytest.raises(UserError, match=r"NVML cannot record: Unknown Error\. Expected GPUs"):
        NvmlCollector().start(RecordingClock(time))
    assert nvml.initialized == 0


def test_without_pynvml_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(UserError, match=r"pynvml is not installed.*stepscope\[cuda\]"):
        NvmlCollector().start(RecordingClock(time))


def has_driver() -> bool:
    try:
        import_nvml().nvmlInit()
    except import_nvml().NVMLError:
        return False
    return True


def import_nvml() -> Any:
    return importlib.import_module("pynvml")


@pytest.mark.skipif(importlib.util.find_spec("pynvml") is None, reason="pynvml is not installed")
class TestWithTheLibrary:
    def test_everything_that_is_asked_for_is_there(self) -> None:
        names = {name for name in vars(FakeNvml) if name.startswith(("nvml", "NVML"))}
        assert {name for name in names if not hasattr(import_nvml(), name)} == set()

    def test_without_a_driver_the_error_says_so(self) -> None:
        if has_driver():
            pytest.skip("there is a driver")
        with pytest.raises(UserError, match=r"NVML Shared Library Not Found.*Expected a machine with an NVIDIA GPU"):
            NvmlCollector().start(RecordingClock(time))

    def test_a_real_gpu(self) -> None:
        if not has_driver():
            pytest.skip("there is no driver")
        collector = NvmlCollector()
        collector.start(RecordingClock(time))
        counters: dict[str, CounterSeries] = {series.name: series for series in collector.stop().counters}
        assert 0 <= counters["GPU utilization (%)"].values[0] <= 100
        assert counters["GPU memory (bytes)"].values[0] >= 0
