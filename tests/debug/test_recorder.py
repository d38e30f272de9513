"""What a recorder writes, whatever the framework."""

import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from stepscope import SummaryWriter, debug, open_logdir
from stepscope.debug.catalog import Lines, described, is_of_program
from stepscope.debug.recorder import Recorder
from stepscope.debug.rules import named
from stepscope.summary.debugger.model import FIGURES, Alert, WatchedTensor
from stepscope.summary.debugger.recordings import read_recording


class Figures:
    """Figures that are already here."""

    is_here = True

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def figures(self) -> NDArray[np.float64]:
        return np.ones((self._count, len(FIGURES)))


class OnDevice:
    """Figures of one value, not yet computed by the device: two elements, of which some are NaN."""

    is_here = False

    def __init__(self, nan: int) -> None:
        self._nan = nan

    def __len__(self) -> int:
        return 1

    def figures(self) -> NDArray[np.float64]:
        figures = np.zeros((1, len(FIGURES)))
        figures[0, [FIGURES.index("size"), FIGURES.index("nan")]] = 2, self._nan
        return figures


def on(name: str, device: str) -> tuple[WatchedTensor, Lines]:
    return described(name, "forward", device=device), ()


def test_ranks_that_write_into_one_run_have_the_same_tensors_on_their_own_devices(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path)) as writer:
        for rank in range(2):
            recorder = Recorder(writer, f"rank {rank}", rules=())
            places = ("layer", f"cuda:{rank}"), ("loss", "")
            numbers = [recorder.number(name, partial(on, name, device)) for name, device in places]
            recorder.record(rank, [number for number in numbers if number is not None], Figures(2))
            recorder.close()
    data = read_recording(open_logdir(tmp_path).runs["."])
    assert [(tensor.name, tensor.device) for tensor in data.tensors] == [("layer", "cuda:0"), ("loss", "")]
    found = data.observations(0, 4)
    assert found.devices is not None
    where = [data.devices[device] for device in found.devices]
    assert list(zip(found.steps.tolist(), found.tensors.tolist(), where, strict=True)) == [
        (0, 0, "cuda:0"),
        (0, 1, ""),
        (1, 0, "cuda:1"),
        (1, 1, ""),
    ]


def test_steps_whose_figures_are_on_a_device_are_judged_before_they_leave_the_ring_and_at_the_end(
    tmp_path: Path,
) -> None:
    told: list[Alert] = []
    with SummaryWriter(str(tmp_path)) as writer:
        recorder = Recorder(writer, "", ring=3, reactions=[told.append])
        number = recorder.number("loss", partial(on, "loss", "cuda:0"))
        assert number is not None
        values = [OnDevice(nan) for nan in (0, 1, 0, 0, 0, 0, 0, 0, 1)]
        alerts = []
        for step, value in enumerate(values):
            recorder.keep(step, [number], value)
            alerts.append([alert.step for alert in told])
        recorder.judge_kept()
        recorder.close()
    # Nothing is waited for until the first of three steps has to leave.
    assert alerts == [[], [], [], [1], [1], [1], [1], [1], [1]]
    assert [alert.step for alert in told] == [1, 8]
    data = read_recording(open_logdir(tmp_path).runs["."])
    assert data.observations(0, 9).steps.tolist() == [0, 1, 2, 6, 7, 8]


def test_an_alert_is_raised_after_all_other_reactions(tmp_path: Path) -> None:
    told: list[Alert] = []
    with SummaryWriter(tmp_path) as writer:
        recorder = Recorder(writer, "", reactions=["raise", "stop", told.append])
        number = recorder.number("loss", partial(on, "loss", ""))
        assert number is not None
        with pytest.raises(debug.AlertError):
            recorder.record(0, [number], OnDevice(1))
    assert (recorder.should_stop, [alert.step for alert in told]) == (True, [0])


def test_steps_on_a_device_are_judged_before_they_are_written_by_hand(tmp_path: Path) -> None:
    told: list[Alert] = []
    with SummaryWriter(tmp_path) as writer:
        recorder = Recorder(writer, "", ring=3, reactions=[told.append, "raise"])
        number = recorder.number("loss", partial(on, "loss", "cuda:0"))
        assert number is not None
        recorder.keep(0, [number], OnDevice(1))
        with pytest.raises(debug.AlertError):
            recorder.dump()
        assert ([alert.step for alert in told], recorder.dump()) == ([0], 0)


def test_the_ring_has_recorded_steps_that_the_budget_left_out(tmp_path: Path) -> None:
    told: list[Alert] = []
    with SummaryWriter(tmp_path) as writer:
        recorder = Recorder(writer, "", ring=3, budget=8_000, reactions=[told.append])
        number = recorder.number("loss", partial(on, "loss", ""))
        assert number is not None
        for step in range(100):
            recorder.record(step, [number], OnDevice(nan=step == 99))
        recorder.close()
    assert [alert.step for alert in told] == [99]
    written = sorted(read_recording(open_logdir(tmp_path).runs["."]).observations(0, 100).steps.tolist())
    assert written[-5:] == [93, 96, 97, 98, 99]


def test_each_stretch_of_a_broken_rule_about_scalars_is_an_alert(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        recorder = Recorder(writer, "", rules=named(["loss_spike", "class_imbalance"]), reactions=[])
        for step in range(60):
            loss = {30: 40.0, 50: math.nan}.get(step, 1.0)
            recorder.log(step, {"train loss": loss})
            recorder.log(step, {"labels/cat": 1_000.0 + step, "labels/dog": 50.0 if step % 20 > 10 else 500.0})
    assert [(alert.rule, alert.step) for alert in recorder.alerts] == [
        ("class_imbalance", 11),
        ("loss_spike", 30),
        ("class_imbalance", 31),
        ("loss_spike", 50),
        ("class_imbalance", 51),
    ]


def test_histograms_of_numpy_are_of_any_numbers(tmp_path: Path) -> None:
    with debug.watch(np.fft.fft, tmp_path, every=1, tensors="histogram", framework="numpy") as step:
        step(np.array([1.0, 2.0]))
    with debug.watch(np.exp, tmp_path, every=1, tensors="histogram", framework="numpy") as step:
        step(np.ones(0))
    (run,) = open_logdir(tmp_path).runs.values()
    assert {series.tag: len(series.steps) for series in run.of_kind("histograms")} == {
        "forward/a": 1,
        "forward/numpy.fft": 1,
    }


def test_arrays_that_a_numpy_function_keeps_are_plain_again_after_their_step(tmp_path: Path) -> None:
    class Network:
        def __init__(self) -> None:
            self.weight = np.full((2, 2), 0.1)

        def step(self, x: NDArray[np.float64]) -> float:
            hidden = x @ self.weight
            self.weight -= 0.01 * (x.T @ (hidden - 1))
            return float((hidden**2).mean())

    network = Network()
    with debug.watch(network.step, tmp_path, every=3, on_alert=None, framework="numpy") as watcher:
        for step in range(7):
            watcher(np.ones((3, 2)))
            if step % 3:
                assert type(network.weight) is np.ndarray
    data = read_recording(open_logdir(tmp_path).runs["."])
    steps, tensors = data.observations(0, 10**6).steps, data.observations(0, 10**6).tensors
    assert [tensors[steps == step].tolist() for step in (0, 3, 6)] == [list(range(len(data.tensors)))] * 3


def test_what_pip_put_into_a_folder_of_its_own_is_not_the_program() -> None:
    assert not is_of_program("/home/somebody/.local/lib/python3.11/site-packages/torch/nn/modules/module.py")
    assert is_of_program("/home/somebody/train.py")


def test_a_broken_rule_logs_stops_and_calls_back(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    told: list[Alert] = []

    def step_of(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.log(x)

    with (
        np.errstate(all="ignore"),
        caplog.at_level("WARNING", "stepscope.debug"),
        debug.watch(
            step_of, tmp_path, every=1, rules=["not_finite"], on_alert=["log", "stop", told.append], framework="numpy"
        ) as watcher,
    ):
        for sign, stops in ((1, False), (-1, True)):
            watcher(sign * np.ones(2))
            assert watcher.should_stop == stops
    said = "numpy.log has 2 NaN of 2 elements; all should be finite"
    assert [(alert.rule, alert.step, alert.message) for alert in told] == [("not_finite", 1, said)]
    assert [record.getMessage() for record in caplog.records] == [f"step 1: {said} (not_finite)"]
