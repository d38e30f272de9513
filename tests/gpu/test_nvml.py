"""The collector "nvml" compared with nvidia-smi; skipped where there is no NVIDIA GPU."""

import shutil
import subprocess
import time

import pytest

from stepscope.profiler.collectors.base import RecordingClock
from stepscope.profiler.collectors.nvml import NvmlCollector

ASKED = {
    "memory.used": ("GPU memory (bytes)", "used"),
    "clocks.mem": ("memory clock (MHz)", "memory"),
    "temperature.gpu": ("temperature (°C)", "GPU"),
    "power.draw": ("power (W)", "power"),
}


@pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="there is no nvidia-smi here")
def test_the_figures_are_those_of_nvidia_smi() -> None:
    pytest.importorskip("pynvml")
    collector = NvmlCollector(interval=3600)
    collector.start(RecordingClock(time))
    query = [f"--query-gpu={','.join(ASKED)}", "--format=csv,noheader,nounits", "--id=0"]
    told = subprocess.run(["nvidia-smi", *query], capture_output=True, text=True, check=True).stdout.split(",")
    collected = collector.stop()
    assert collected.notes == ()
    found = {
        (counter.name, counter.series): float(counter.values[-1])
        for counter in collected.counters
        if counter.device == "/device:GPU:0"
    }
    ours = {name: found[counter] for name, counter in ASKED.items()}
    megabytes, memory_clock, temperature, power = map(float, told)
    assert ours["memory.used"] / 2**20 == pytest.approx(megabytes, abs=4)
    assert ours["clocks.mem"] == memory_clock
    assert ours["temperature.gpu"] == pytest.approx(temperature, abs=3)
    assert ours["power.draw"] == pytest.approx(power, rel=0.5)
