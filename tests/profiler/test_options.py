import gc
import importlib.util
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stepscope import profiler
from stepscope.profiler import ProfilerOptions, annotate, options
from stepscope.profiler.process import _process as running
from stepscope.profiler.session import Recording, Session

MILLISECOND = 1_000_000


@pytest.fixture(autouse=True)
def without_collections() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


class FakeClock:
    """Returns the time that it was set to, which is also the wall time."""

    def __init__(self) -> None:
        self.now = 0

    def perf_counter_ns(self) -> int:
        return self.now

    def time_ns(self) -> int:
        return self.now


def test_the_defaults_are_those_of_tensorflow() -> None:
    assert ProfilerOptions() == ProfilerOptions(
        host_tracer_level=2, python_tracer_level=0, device_tracer_level=1, delay_ms=None
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"host_tracer_level": 4}, "host_tracer_level must be a whole number from 0 to 3, got 4"),
        ({"host_tracer_level": -1}, "host_tracer_level must be a whole number from 0 to 3, got -1"),
        ({"host_tracer_level": 1.0}, "host_tracer_level must be a whole number from 0 to 3, got 1.0"),
        ({"python_tracer_level": 2}, "python_tracer_level must be a whole number from 0 to 1, got 2"),
        ({"device_tracer_level": None}, "device_tracer_level must be a whole number from 0 to 1, got None"),
        ({"delay_ms": -1}, "delay_ms must be .*milliseconds from now, 0 or more, got -1"),
        # Times would become floats, which hold nanoseconds since the epoch only to within a few hundred.
        ({"delay_ms": 0.5}, "delay_ms must be whole milliseconds from now, 0 or more, got 0.5"),
    ],
)
def test_what_is_no_option_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ProfilerOptions(**arguments)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Describes the machine's equipment, and makes options choose collectors by name only."""
    found = {"torch": False, "cupti": False, "pynvml": False}
    cuda = SimpleNamespace(is_available=lambda: found["torch"])
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(options, "make_collector", lambda name: name)
    monkeypatch.setattr(options, "find_spec", lambda name: ModuleSpec(name, None) if found[name] else None)
    return found


@pytest.mark.parametrize(
    ("host", "python", "device", "has", "names"),
    [
        (0, 0, 0, ["torch", "cupti", "pynvml"], []),
        (1, 0, 0, ["torch", "cupti", "pynvml"], []),
        (2, 0, 0, ["torch", "cupti", "pynvml"], ["resources"]),
        (3, 1, 0, ["torch", "cupti", "pynvml"], ["resources", "python"]),
        (0, 1, 0, [], ["python"]),
        (0, 0, 1, [], []),
        (0, 0, 1, ["pynvml"], []),
        (0, 0, 1, ["torch"], ["torch"]),
        (0, 0, 1, ["cupti"], ["cupti"]),
        (0, 0, 1, ["torch", "cupti"], ["torch"]),
        (2, 0, 1, ["torch", "pynvml"], ["resources", "torch", "nvml"]),
        (2, 1, 1, ["cupti", "pynvml"], ["resources", "python", "cupti", "nvml"]),
    ],
)
def test_options_choose_collectors(
    machine: dict[str, bool], host: int, python: int, device: int, has: list[str], names: list[str]
) -> None:
    machine |= dict.fromkeys(has, True)
    assert list[Any](ProfilerOptions(host, python, device).collectors()) == names


def test_a_program_without_torch_does_not_get_it_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("there is none to be imported")
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    ProfilerOptions(host_tracer_level=0).collectors()
    assert "torch" not in sys.modules


@pytest.mark.parametrize(("level", "names"), [(0, ["ProfilerStep#0"]), (1, ["ProfilerStep#0", "work"])])
def test_scopes_are_recorded_from_level_one_on(tmp_path: Path, level: int, names: list[str]) -> None:
    profiler.start(tmp_path, ProfilerOptions(host_tracer_level=level, device_tracer_level=0))
    with annotate("work"):
        pass
    metadata = profiler.stop().run_metadata[0]
    assert [node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats] == names


class Delayed:
    """A recording, on a manually set clock, that keeps what happens from 10 ms on."""

    def __init__(self, logdir: Path) -> None:
        self.clock = FakeClock()
        self.session = Session(logdir, clock=self.clock, delay_ns=10 * MILLISECOND)
        self.session.start()
        running.session, running.host = self.session, self.session.host

    def scope(self, name: str, start_ms: int, end_ms: int) -> None:
        self.clock.now = start_ms * MILLISECOND
        with annotate(name):
            self.clock.now = end_ms * MILLISECOND

    def stop(self) -> Recording:
        running.session = running.host = None
        return self.session.stop()


def spans(recording: Recording) -> dict[int, list[tuple[str, float, float]]]:
    """Name, start and end in milliseconds, by step."""
    return {
        step: [
            (
                node.node_name,
                node.all_start_nanos / MILLISECOND,
                (node.all_start_nanos + node.all_end_rel_nanos) / MILLISECOND,
            )
            for device in metadata.step_stats.dev_stats
            for node in device.node_stats
        ]
        for step, metadata in recording.run_metadata.items()
    }


def test_what_happens_before_the_delay_is_over_is_not_kept(tmp_path: Path) -> None:
    delayed = Delayed(tmp_path)
    delayed.scope("early", 1, 4)
    delayed.session.step()
    delayed.scope("across", 6, 12)
    delayed.scope("late", 13, 15)
    delayed.session.step()
    delayed.scope("later", 16, 17)
    assert spans(delayed.stop()) == {
        1: [("ProfilerStep#1", 10, 15), ("across", 10, 12), ("late", 13, 15)],
        2: [("ProfilerStep#2", 15, 17), ("later", 16, 17)],
    }


@pytest.mark.parametrize("steps", [1, 3])
def test_a_recording_that_stops_before_its_delay_is_over_says_so(tmp_path: Path, steps: int) -> None:
    # This once ended with a ValueError, in the training program's last line.
    delayed = Delayed(tmp_path)
    for step in range(steps):
        if step:
            delayed.session.step()
        delayed.scope("early", step, step + 1)
    recording = delayed.stop()
    last, end = steps - 1, float(steps)
    assert spans(recording) == {last: [(f"ProfilerStep#{last}", end, end)]}
    assert recording.notes == ("nothing is kept: the recording stopped before its delay was over",)


def test_the_delay_counts_through_a_warm_up(tmp_path: Path) -> None:
    # The end of the warm-up once ended the delay too.
    delayed = Delayed(tmp_path)
    delayed.scope("warm", 1, 2)
    delayed.session.forget()
    delayed.scope("early", 3, 4)
    delayed.scope("late", 11, 12)
    assert spans(delayed.stop()) == {1: [("ProfilerStep#1", 10, 12), ("late", 11, 12)]}


def test_the_delay_of_the_options_is_in_milliseconds(tmp_path: Path) -> None:
    with profiler.Profile(tmp_path, ProfilerOptions(host_tracer_level=1, delay_ms=3_600_000), collectors=[]) as profile:
        profiler.step()
    assert profile.recording is not None
    assert profile.recording.notes == ("nothing is kept: the recording stopped before its delay was over",)
    with profiler.Profile(tmp_path, ProfilerOptions(host_tracer_level=1, delay_ms=0), collectors=[]) as profile:
        profiler.step()
    assert profile.recording is not None
    assert profile.recording.notes == ()
