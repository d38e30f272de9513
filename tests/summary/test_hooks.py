import io
import logging
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from stepscope.summary import SummaryWriter, open_logdir
from stepscope.summary.hooks import Hook, Hooks, LogValues, NanLossError, StepCounter, StopOnNan, SummarySaver, every


class Clock:
    """Returns the time that it was set to."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


class Recorder(Hook):
    """Records what it is told."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def begin(self) -> None:
        self.calls.append(("begin",))

    def before_step(self, step: int) -> None:
        self.calls.append(("before", step))

    def after_step(self, step: int, values: Mapping[str, Any]) -> None:
        self.calls.append(("after", step, dict(values)))

    def end(self, step: int, values: Mapping[str, Any]) -> None:
        self.calls.append(("end", step, dict(values)))


@pytest.fixture
def written(tmp_path: Path) -> Iterator[tuple[SummaryWriter, Callable[[], dict[str, list[tuple[int, float]]]]]]:
    """A writer, and what readers find in its output: (step, value) by tag."""
    writer = SummaryWriter(tmp_path / "run")

    def read() -> dict[str, list[tuple[int, float]]]:
        writer.flush()
        runs = open_logdir(tmp_path).runs
        series = runs["run"].series if runs else {}
        return {
            tag: list(zip(one.steps.tolist(), one.values.tolist(), strict=True))
            for tag, one in series.items()
            if one.kind == "scalars"
        }

    yield writer, read
    writer.close()


def test_a_loop_runs_the_hooks_around_each_step() -> None:
    recorder = Recorder()
    hooks = Hooks(recorder)
    seen = []
    for step, batch in hooks.loop("ab", first_step=7):
        seen.append((step, batch))
        hooks.log({"loss/train": step * 2}, lr=0.5)
        hooks.log(lr=0.25)
    assert seen == [(7, "a"), (8, "b")]
    assert recorder.calls == [
        ("begin",),
        ("before", 7),
        ("after", 7, {"loss/train": 14, "lr": 0.25}),
        ("before", 8),
        ("after", 8, {"loss/train": 16, "lr": 0.25}),
        ("end", 8, {"loss/train": 16, "lr": 0.25}),
    ]


def test_values_are_those_of_the_running_step_only() -> None:
    recorder = Recorder()
    hooks = Hooks(recorder)
    for step, _ in hooks.loop(range(2)):
        if step == 0:
            hooks.log(once=1)
    assert ("after", 1, {}) in recorder.calls


def test_a_step_that_break_leaves_is_unfinished_but_the_loop_ends() -> None:
    recorder = Recorder()
    hooks = Hooks(recorder)
    for _ in hooks.loop(range(5)):
        hooks.log(loss=1)
        break
    assert recorder.calls == [("begin",), ("before", 0), ("end", 0, {"loss": 1})]


def test_an_error_in_the_loop_reaches_the_caller_after_the_end() -> None:
    recorder = Recorder()

    def train() -> None:
        for _ in Hooks(recorder).loop(range(5)):
            raise RuntimeError("the loss is no good")

    with pytest.raises(RuntimeError, match="the loss is no good"):
        train()
    assert recorder.calls == [("begin",), ("before", 0), ("end", 0, {})]


def test_no_batch_no_step_no_end() -> None:
    recorder = Recorder()
    assert list(Hooks(recorder).loop([])) == []
    assert recorder.calls == [("begin",)]


def test_every_hook_gets_to_know_of_the_end_though_another_fails() -> None:
    class Failing(Hook):
        def end(self, step: int, values: Mapping[str, Any]) -> None:
            raise OSError("disk full")

    first, last = Recorder(), Recorder()
    with pytest.raises(OSError, match="disk full"):
        list(Hooks(first, Failing(), last).loop([0]))
    assert first.calls[-1] == ("end", 0, {})
    assert last.calls[-1] == ("end", 0, {})


def test_a_request_to_stop_ends_the_loop_after_the_step_and_is_forgotten_by_the_next() -> None:
    hooks = Hooks()
    steps = []
    for step, _ in hooks.loop(range(10)):
        if step == 3:
            hooks.request_stop()
        steps.append(step)
    assert steps == [0, 1, 2, 3]
    assert hooks.should_stop
    assert len(list(hooks.loop(range(10)))) == 10


def test_a_loop_of_ones_own_calls_the_same_methods() -> None:
    recorder = Recorder()
    hooks = Hooks(recorder)
    hooks.begin()
    hooks.before_step(0)
    hooks.after_step(0, {"loss": 1})
    hooks.end()
    assert recorder.calls == [("begin",), ("before", 0), ("after", 0, {"loss": 1}), ("end", 0, {"loss": 1})]


def test_what_is_no_hook_or_no_tag_is_refused() -> None:
    with pytest.raises(TypeError, match=r"must be a summary\.hooks\.Hook, got str"):
        Hooks("saver")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a tag must be a string, got int"):
        Hooks().log({3: 1})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="a step must be a whole number"):
        Hooks().loop([], first_step=math.nan)  # type: ignore[arg-type]


def test_an_interval_in_steps() -> None:
    interval = every(steps=3)
    due = []
    for step in [10, 11, 12, 13, 13, 20, 21, 2, 3, 5]:
        if interval.is_due(step):
            interval.happened(step)
            due.append(step)
    assert due == [10, 13, 20, 2, 5]


def test_an_interval_in_seconds() -> None:
    clock = Clock()
    interval = every(secs=2, clock=clock)
    assert interval.is_due(0)
    assert interval.happened(0) is None
    clock.seconds += 1.5
    assert not interval.is_due(1)
    clock.seconds += 1.5
    assert not interval.is_due(0)
    assert interval.is_due(7)
    assert interval.happened(7) == (7, 3.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "exactly one of steps and seconds must be given, got None and None"),
        ({"steps": 1, "secs": 1}, "exactly one of steps and seconds must be given, got 1 and 1"),
        ({"steps": 0}, "must be at least 1 step, got 0"),
        ({"steps": 1.5}, "must be a whole number, got 1.5"),
        ({"secs": 0}, "must be positive and finite, got 0.0"),
        ({"secs": math.nan}, "must be positive and finite, got nan"),
    ],
)
def test_an_interval_that_is_none_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        every(**arguments)


def test_scalars_are_saved_every_so_many_steps(written: Any) -> None:
    writer, read = written
    rate = np.array(0.5)
    saver = SummarySaver(writer, save_steps=2, values={"lr": rate, "twice": lambda: rate * 2})
    hooks = Hooks(saver)
    for step, _ in hooks.loop(range(5)):
        hooks.log({"loss/train": torch.tensor(1.0 / (step + 1), requires_grad=True)})
        rate *= 0.5
    assert read() == {
        "lr": [(0, 0.25), (2, 0.0625), (4, 0.015625)],
        "twice": [(0, 0.5), (2, 0.125), (4, 0.03125)],
        "loss/train": [(0, 1.0), (2, pytest.approx(1 / 3)), (4, pytest.approx(0.2))],
    }


def test_the_interval_goes_on_from_epoch_to_epoch(written: Any) -> None:
    writer, read = written
    hooks = Hooks(SummarySaver(writer, save_steps=4))
    for epoch in range(3):
        for step, _ in hooks.loop(range(3), first_step=3 * epoch):
            hooks.log(loss=step)
    assert read() == {"loss": [(0, 0.0), (4, 4.0), (8, 8.0)]}


def test_scalars_are_saved_every_so_many_seconds(written: Any) -> None:
    writer, read = written
    clock = Clock()
    hooks = Hooks(SummarySaver(writer, save_secs=10, clock=clock))
    for step, _ in hooks.loop(range(6)):
        hooks.log(loss=step)
        clock.seconds += 4
    assert read() == {"loss": [(0, 0.0), (3, 3.0)]}


def test_a_tensor_is_looked_at_only_when_it_is_saved(written: Any) -> None:
    writer, read = written

    class OnDevice:
        copies = 0

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            OnDevice.copies += 1
            return np.array(7.0)

    hooks = Hooks(SummarySaver(writer, save_steps=5))
    for _ in hooks.loop(range(10)):
        hooks.log(loss=OnDevice())
    assert read() == {"loss": [(0, 7.0), (5, 7.0)]}
    assert OnDevice.copies == 2


def test_what_is_no_number_is_saved_by_a_function(written: Any) -> None:
    writer, read = written
    calls = []

    def save(to: SummaryWriter, step: int) -> None:
        assert to is writer
        calls.append(step)
        to.add_histogram("weights", [1.0, 2.0], step)

    list(Hooks(SummarySaver(writer, save_steps=3, save=save)).loop(range(5)))
    assert calls == [0, 3]
    assert read() == {}


def test_nothing_of_a_step_is_saved_when_one_value_is_no_number(written: Any) -> None:
    writer, read = written
    hooks = Hooks(SummarySaver(writer, save_steps=1, values={"good": 1}))
    hooks.begin()
    hooks.before_step(0)
    with pytest.raises(ValueError, match="the scalar 'bad' must have one element"):
        hooks.after_step(0, {"bad": np.zeros(2)})
    assert read() == {}


def test_steps_per_second_are_counted_without_the_time_between_loops(written: Any) -> None:
    writer, read = written
    clock = Clock()
    hooks = Hooks(StepCounter(writer, every_n_steps=4, clock=clock))
    for epoch in range(2):
        for _ in hooks.loop(range(5), first_step=5 * epoch):
            clock.seconds += 0.5
        clock.seconds += 100
    assert read() == {"global_step/sec": [(4, 2.0), (8, 2.0)]}


def test_steps_per_second_after_a_loop_without_batches(written: Any) -> None:
    writer, read = written
    clock = Clock()
    hooks = Hooks(StepCounter(writer, every_n_steps=4, clock=clock))
    for first_step, batches in ((0, 5), (5, 0), (5, 5)):
        for _ in hooks.loop(range(batches), first_step):
            clock.seconds += 0.5
        clock.seconds += 100
    assert read() == {"global_step/sec": [(4, 2.0), (8, 2.0)]}


def test_steps_per_second_every_so_many_seconds(written: Any) -> None:
    writer, read = written
    clock = Clock()
    for _ in Hooks(StepCounter(writer, every_n_secs=3, clock=clock)).loop(range(9)):
        clock.seconds += 1
    assert read() == {"global_step/sec": [(3, 1.0), (6, 1.0)]}


def test_values_are_shown_with_the_time_since_the_line_before() -> None:
    stream, clock = io.StringIO(), Clock()
    hooks = Hooks(LogValues(every_n_iter=2, to=stream, clock=clock))
    for step, _ in hooks.loop(range(100, 104)):
        hooks.log(loss=torch.tensor(0.1) * step, accuracy=0.5, seen=np.int64(32))
        clock.seconds += 0.25
    assert stream.getvalue() == (
        "loss = 0.0, accuracy = 0.5, seen = 32, step = 0\nloss = 0.2, accuracy = 0.5, seen = 32, step = 2 (0.500 sec)\n"
    )


def test_chosen_values_are_shown_at_the_end_through_a_logger(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    hooks = Hooks(LogValues(at_end=True, tags=["loss", "absent"], to=logging.getLogger("training")))
    for step, _ in hooks.loop(range(3)):
        hooks.log(accuracy=1, loss=step / 2)
    assert caplog.record_tuples == [("training", logging.INFO, "loss = 1.0, step = 2")]


def test_a_line_of_ones_own_and_no_second_one_for_the_last_step(capsys: pytest.CaptureFixture[str]) -> None:
    hooks = Hooks(LogValues(every_n_secs=60, at_end=True, formatter=lambda values: f"{values['loss']:.2f}"))
    for _ in hooks.loop(range(1)):
        hooks.log(loss=1 / 3)
    assert capsys.readouterr().err == "0.33\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float16(0.1), "0.1"),
        (np.float32(0.1), "0.1"),
        (torch.tensor(0.1, dtype=torch.float64), "0.1"),
        (np.float32(1e-7), "1e-07"),
        (float("nan"), "nan"),
        (True, "True"),
        ("warm-up", "warm-up"),
        (np.uint8(3), "3"),
    ],
)
def test_numbers_are_shown_as_briefly_as_their_precision_allows(value: Any, text: str) -> None:
    stream = io.StringIO()
    hooks = Hooks(LogValues(to=stream))
    for _ in hooks.loop([0]):
        hooks.log(x=value)
    assert stream.getvalue() == f"x = {text}, step = 0\n"


def logged(hooks: Hooks, tag: str, values: list[Any]) -> list[int]:
    """Runs a loop that logs these values; returns the loop's steps."""
    steps = []
    for step, value in hooks.loop(values):
        hooks.log({tag: value})
        steps.append(step)
    return steps


def test_a_loss_that_is_nan_ends_the_loop_with_an_error() -> None:
    recorder = Recorder()
    with pytest.raises(NanLossError, match="loss is NaN at step 2"):
        logged(Hooks(recorder, StopOnNan()), "loss", [0.5, torch.tensor(0.25), torch.tensor(math.nan), 0.125])
    assert [call[0] for call in recorder.calls] == ["begin", *["before", "after"] * 3, "end"]


def test_a_loss_that_is_nan_asks_the_loop_to_stop(caplog: pytest.LogCaptureFixture) -> None:
    hooks = Hooks(StopOnNan(fail_on_nan_loss=False, tag="loss/train", every_n_steps=4))
    assert logged(hooks, "loss/train", [1.0, 1.0, *[math.nan] * 7]) == [0, 1, 2, 3, 4]
    assert caplog.messages == ["loss/train is NaN at step 4: the loop stops"]


def test_a_loss_that_is_not_logged_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"each step must log 'loss' for StopOnNan, but step 0 logged \['accuracy'\]"):
        logged(Hooks(StopOnNan()), "accuracy", [1, 2])


def test_infinity_is_no_nan() -> None:
    assert logged(Hooks(StopOnNan()), "loss", [math.inf, -math.inf]) == [0, 1]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SummarySaver("x", 10), "writer must be a SummaryWriter, got str"),  # type: ignore[arg-type]
        (lambda: StepCounter("x"), "writer must be a SummaryWriter, got str"),  # type: ignore[arg-type]
        (lambda: LogValues(to=3), "`to` must be a logger or a stream, got int"),  # type: ignore[arg-type]
    ],
)
def test_hooks_that_could_not_work_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()


def test_what_a_saver_cannot_save_is_refused(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        with pytest.raises(TypeError, match="values must map tags to numbers, got list"):
            SummarySaver(writer, 10, values=[1])  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="`save` must be a function of the writer and the step, got int"):
            SummarySaver(writer, 10, save=3)  # type: ignore[arg-type]
