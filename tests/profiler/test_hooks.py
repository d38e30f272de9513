import gc
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stepscope import profiler
from stepscope.profiler import annotate
from stepscope.profiler.collectors.base import Collected, Record, RecordingClock, stream_lane
from stepscope.profiler.hooks import ProfilerHook
from stepscope.profiler.process import _process as running
from stepscope.profiler.timeline import chrome_trace
from stepscope.profiler.traces import load_trace
from stepscope.summary import open_logdir
from stepscope.summary.errors import UserError
from stepscope.summary.hooks import Hooks
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata


class Clock:
    """Returns the time that it was set to."""

    def __init__(self) -> None:
        self.seconds = 50.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture(autouse=True)
def without_collections() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()
    assert (running.session, running.host, running.profile) == (None, None, None)


def train(hook: ProfilerHook, steps: int, first_step: int = 0) -> None:
    for step, _ in Hooks(hook).loop(range(steps), first_step=first_step):
        with annotate(f"work {step}"):
            pass


def timelines(folder: Path) -> dict[str, list[str]]:
    """The names of the slices in each timeline."""
    return {
        path.name: [event["args"]["name"] for event in json.loads(path.read_text())["traceEvents"] if "args" in event][
            3:
        ]
        for path in sorted(folder.glob("timeline-*"))
    }


def tags(logdir: Path) -> dict[str, tuple[list[int], RunMetadata]]:
    """Steps and last message by tag, for all RunMetadata in the event files."""
    runs = open_logdir(logdir).runs
    return {
        tag: (series.steps.tolist(), series.read(len(series.steps) - 1))
        for run in runs.values()
        for tag, series in run.series.items()
    }


@pytest.mark.parametrize(
    ("save_steps", "first_step", "recorded"),
    [(1, 0, [1, 2, 3, 4]), (2, 0, [2, 4]), (3, 10, [13]), (4, 0, [4]), (5, 0, [])],
)
def test_a_step_is_recorded_every_so_often_but_never_the_first(
    tmp_path: Path, save_steps: int, first_step: int, recorded: list[int]
) -> None:
    train(ProfilerHook(save_steps, output_dir=tmp_path, collectors=[]), 5, first_step)
    assert timelines(tmp_path) == {
        f"timeline-{step}.json": [f"ProfilerStep#{step}", f"work {step}"] for step in recorded
    }
    found = tags(tmp_path)
    assert {tag: steps for tag, (steps, _) in found.items()} == {f"step_{step}": [step] for step in recorded}


def test_seconds_count_from_the_end_of_the_last_recorded_step(tmp_path: Path) -> None:
    clock = Clock()
    hook = ProfilerHook(save_secs=10, output_dir=tmp_path, collectors=[], clock=clock)
    for step, at in enumerate([0, 5, 9, 10, 14, 21, 23, 24, 40]):
        clock.seconds = 50.0 + at
        hook.before_step(step)
        if step == 3:
            clock.seconds += 4  # the recorded step takes from 10 to 14
        hook.after_step(step)
    assert sorted(timelines(tmp_path)) == ["timeline-3.json", "timeline-7.json", "timeline-8.json"]


def test_a_timeline_is_what_tensorflow_makes_of_the_step_stats(tmp_path: Path) -> None:
    train(ProfilerHook(save_steps=1, output_dir=tmp_path, collectors=[]), 2)
    (_, run_metadata) = tags(tmp_path)["step_1"]
    expected = json.dumps(chrome_trace(run_metadata.step_stats), indent=4)
    assert (tmp_path / "timeline-1.json").read_text() == expected
    assert expected.startswith('{\n    "traceEvents": [\n        {\n            "name": "process_name"')
    trace = load_trace(str(tmp_path / "timeline-1.json"))
    assert sorted(trace.names[name] for name in trace.name_id) == ["ProfilerStep#1", "work_1"]


class Device:
    """A collector that reports one kernel and serves one recording after another."""

    def __init__(self) -> None:
        self.recordings = 0

    def start(self, clock: RecordingClock) -> None:
        self.clock = clock
        self.recordings += 1

    def stop(self) -> Collected:
        end = self.clock.now() + self.clock.wall_offset_ns
        return Collected([Record(f"kernel {self.recordings}", "kernel", stream_lane(0, 7), end, 5000)])


def test_what_collectors_record_is_in_the_timeline(tmp_path: Path) -> None:
    train(ProfilerHook(save_steps=2, output_dir=tmp_path, collectors=[Device()]), 5)
    for step, kernel in ((2, "kernel 1"), (4, "kernel 2")):
        _, metadata = tags(tmp_path)[f"step_{step}"]
        streams = {device.device: device for device in metadata.step_stats.dev_stats}
        (node,) = streams["/device:GPU:0/stream:7"].node_stats
        assert (node.all_end_rel_nanos, kernel in node.timeline_label) == (5000, True)
        assert kernel in timelines(tmp_path)[f"timeline-{step}.json"]


@pytest.mark.parametrize("show_dataflow", [True, False])
@pytest.mark.parametrize("show_memory", [True, False])
def test_dataflow_and_memory_are_shown_on_demand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, show_dataflow: bool, show_memory: bool
) -> None:
    # No collector reports tensors, so a timeline could not show the difference.
    requested = []

    def shown(step_stats: Any, **arguments: Any) -> dict[str, Any]:
        requested.append(arguments)
        return chrome_trace(step_stats, **arguments)

    monkeypatch.setattr("stepscope.profiler.hooks.chrome_trace", shown)
    train(ProfilerHook(1, None, tmp_path, show_dataflow, show_memory, collectors=[]), 2)
    assert requested == [{"show_dataflow": show_dataflow, "show_memory": show_memory}]


def test_the_log_directory_may_be_another(tmp_path: Path) -> None:
    hook = ProfilerHook(save_steps=1, output_dir=tmp_path / "timelines", logdir=tmp_path / "run", collectors=[])
    train(hook, 2)
    assert [path.name for path in (tmp_path / "timelines").iterdir()] == ["timeline-1.json"]
    assert list(tags(tmp_path)) == ["step_1"]
    assert len(list((tmp_path / "run").glob("plugins/profile/*/*.trace.json.gz"))) == 1


def test_the_default_is_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    train(ProfilerHook(save_steps=1, collectors=[]), 2)
    assert sorted(timelines(tmp_path)) == ["timeline-1.json"]


def test_a_timeline_of_an_earlier_run_stays(tmp_path: Path) -> None:
    for _ in range(2):
        train(ProfilerHook(save_steps=1, output_dir=tmp_path, collectors=[]), 2)
    assert sorted(timelines(tmp_path)) == ["timeline-1.2.json", "timeline-1.json"]


def test_intervals_go_on_from_one_loop_to_the_next(tmp_path: Path) -> None:
    hook = ProfilerHook(save_steps=4, output_dir=tmp_path, collectors=[])
    for epoch in range(3):
        train(hook, 3, first_step=3 * epoch)
    assert sorted(timelines(tmp_path)) == ["timeline-4.json", "timeline-8.json"]


def test_a_loop_without_hooks(tmp_path: Path) -> None:
    hook = ProfilerHook(save_steps=2, output_dir=tmp_path, collectors=[])
    for step in range(3):
        hook.before_step(step)
        with annotate("work"):
            pass
        hook.after_step(step)
    hook.end()
    assert timelines(tmp_path) == {"timeline-2.json": ["ProfilerStep#2", "work"]}


@pytest.mark.parametrize("where", ["before", "after"])
def test_steps_that_the_loop_counts_itself_do_not_cut_the_recording(tmp_path: Path, where: str) -> None:
    hooks = Hooks(ProfilerHook(save_steps=1, output_dir=tmp_path, collectors=[]))
    for step, _ in hooks.loop(range(3)):
        if where == "before":
            profiler.step(step)
        with annotate("work"):
            pass
        if where == "after":
            profiler.step()
    assert timelines(tmp_path) == {f"timeline-{step}.json": [f"ProfilerStep#{step}", "work"] for step in (1, 2)}


def test_a_step_is_finished_when_its_loop_says_so(tmp_path: Path) -> None:
    # The step once counted as unfinished, because no step began after it.
    train(ProfilerHook(save_steps=1, output_dir=tmp_path, collectors=[]), 2)
    assert "unfinished" not in (tmp_path / "timeline-1.json").read_text()


def test_a_step_that_the_loop_leaves_half_way_is_written_as_unfinished(tmp_path: Path) -> None:
    def fail() -> None:
        for step, _ in Hooks(ProfilerHook(save_steps=1, output_dir=tmp_path, collectors=[])).loop(range(9)):
            with annotate("work"):
                if step == 2:
                    raise RuntimeError("training broke")

    with pytest.raises(RuntimeError, match="training broke"):
        fail()
    assert [timelines(tmp_path)[f"timeline-{step}.json"] for step in (1, 2)] == [
        ["ProfilerStep#1", "work"],
        ["ProfilerStep#2", "work"],
    ]
    assert "unfinished=True" in (tmp_path / "timeline-2.json").read_text()


def test_a_step_whose_end_nobody_told_ends_with_the_next(tmp_path: Path) -> None:
    hook = ProfilerHook(save_steps=1, output_dir=tmp_path, collectors=[])
    for step in range(3):
        hook.before_step(step)
    hook.end()
    assert sorted(timelines(tmp_path)) == ["timeline-1.json", "timeline-2.json"]


def test_a_step_is_left_out_while_another_recording_runs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    hook = ProfilerHook(save_steps=3, output_dir=tmp_path / "hook", collectors=[])
    with profiler.Profile(tmp_path / "own", collectors=[]) as own:
        train(hook, 6)
    assert timelines(tmp_path / "hook") == {}
    # One message per interval, not one for every step from the first that was due.
    assert [record.getMessage().split(":")[0] for record in caplog.records] == ["step 3 is not recorded"]
    assert "a recording is already running" in caplog.text
    assert own.recording is not None
    assert own.recording.unfinished == 1
    train(hook, 3, first_step=6)
    assert sorted(timelines(tmp_path / "hook")) == ["timeline-6.json"]


class NoDevice:
    def start(self, clock: RecordingClock) -> None:
        raise UserError("there is no device")

    def stop(self) -> Collected:
        raise AssertionError("it never started")


def test_a_collector_that_cannot_record_costs_the_steps_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    train(ProfilerHook(save_steps=1, output_dir=tmp_path, collectors=[NoDevice()]), 3)
    assert caplog.messages == [
        f"step {step} is not recorded: the collector 'NoDevice' cannot record: there is no device" for step in (1, 2)
    ]
    assert timelines(tmp_path) == {}


def test_a_directory_that_takes_no_more_costs_the_steps_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    hook = ProfilerHook(save_steps=1, output_dir=tmp_path / "timelines", logdir=tmp_path / "run", collectors=[])
    (tmp_path / "timelines").rmdir()
    (tmp_path / "timelines").write_text("in the way of the timelines")
    (tmp_path / "run" / "plugins").write_text("in the way of the traces")
    train(hook, 2)
    (tmp_path / "run" / "plugins").unlink()
    train(hook, 1, first_step=2)
    lost, unwritten = caplog.messages
    assert lost.startswith("the recording of step 1 is lost: ")
    assert unwritten.startswith("the timeline of step 2 cannot be written: ")
    assert list(tags(tmp_path)) == ["step_2"]


def test_what_was_not_recorded_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Dropping(Device):
        def stop(self) -> Collected:
            return Collected(notes=("3 kernels were dropped",))

    with caplog.at_level(logging.INFO):
        train(ProfilerHook(save_steps=1, output_dir=tmp_path, collectors=[Dropping()]), 2)
    assert caplog.messages == [
        "step 1: 3 kernels were dropped",
        f"the timeline of step 1 is in {tmp_path / 'timeline-1.json'}",
    ]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, ValueError, "exactly one of steps and seconds must be given, got None and None"),
        ({"save_steps": 1, "save_secs": 1}, ValueError, "exactly one of steps and seconds must be given, got 1 and 1"),
        ({"save_steps": 0}, ValueError, "an interval must be at least 1 step, got 0"),
        ({"save_secs": -1.0}, ValueError, "an interval in seconds must be positive and finite, got -1.0"),
        ({"save_steps": "ten"}, TypeError, "an interval in steps must be real numbers, got str"),
        ({"save_steps": 1, "collectors": "torch"}, ValueError, r"collectors must be a list, such as \['torch'\]"),
        ({"save_steps": 1, "collectors": ["torhc"]}, UserError, "there is no collector 'torhc'"),
    ],
)
def test_wrong_arguments_are_refused_before_the_training(
    tmp_path: Path, arguments: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        ProfilerHook(output_dir=tmp_path, **arguments)


def test_a_directory_that_cannot_be_made_is_refused_before_the_training(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"no timelines can be written into .*file: .* Expected a directory"):
        ProfilerHook(save_steps=1, output_dir=tmp_path / "file")
