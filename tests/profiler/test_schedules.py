import gc
import gzip
import json
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope import profiler
from stepscope.profiler import (
    AlreadyStartedError,
    NotStartedError,
    Profile,
    ProfilerAction,
    Recording,
    annotate,
    schedule,
)
from stepscope.profiler.collectors.base import Collected, RecordingClock
from stepscope.profiler.process import _process as running
from stepscope.summary.errors import UserError

NONE, WARMUP, RECORD, SAVE = ProfilerAction
LETTERS = {NONE: ".", WARMUP: "w", RECORD: "r", SAVE: "S"}


@pytest.fixture(autouse=True)
def without_collections() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()
    assert (running.session, running.host, running.profile) == (None, None, None)


def actions_of(plan: Callable[[int], Any], steps: int) -> str:
    return "".join(LETTERS[ProfilerAction[plan(step).name]] for step in range(steps))


def planned(letters: str) -> Callable[[int], ProfilerAction]:
    """A schedule that follows the letters, one per step, and then does nothing."""
    actions = {letter: action for action, letter in LETTERS.items()}
    return lambda step: actions[letters[step]] if step < len(letters) else NONE


def train(profile: Profile, steps: int, *, last: bool = True) -> None:
    """Runs steps with one scope each; ``last`` tells whether the last one ends."""
    with profile:
        for step in range(steps):
            with annotate(f"work {step}"):
                pass
            if last or step < steps - 1:
                profile.step()


def content(recording: Recording) -> dict[int, list[str]]:
    """The scopes of each step, as the event file and the trace have them."""
    names = {
        step: [node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats]
        for step, metadata in recording.run_metadata.items()
    }
    trace = json.loads(gzip.decompress(Path(recording.trace_path).read_bytes()))["traceEvents"]
    in_trace = sorted(event["name"] for event in trace if event["ph"] == "X")
    assert sorted(name for some in names.values() for name in some) == in_trace
    assert tuple(names) == recording.steps
    assert all(f"ProfilerStep#{step}" in some for step, some in names.items())
    return {step: [name for name in some if name != f"ProfilerStep#{step}"] for step, some in names.items()}


def recorded(profile: Profile) -> list[tuple[int, ...]]:
    """The steps of each recording, each of which has the scope of its own step and no other."""
    for recording in profile.recordings:
        for step, scopes in content(recording).items():
            assert scopes == [f"work {step}"]
    return [recording.steps for recording in profile.recordings]


@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
@pytest.mark.parametrize(
    ("arguments", "actions"),
    [
        ({"wait": 0, "warmup": 0, "active": 1}, "SSSSSSSSSSSS"),
        ({"wait": 0, "warmup": 0, "active": 3}, "rrSrrSrrSrrS"),
        ({"wait": 1, "warmup": 1, "active": 2}, ".wrS.wrS.wrS"),
        ({"wait": 0, "warmup": 2, "active": 1}, "wwSwwSwwSwwS"),
        ({"wait": 2, "warmup": 0, "active": 2}, "..rS..rS..rS"),
        ({"wait": 1, "warmup": 1, "active": 1, "repeat": 2}, ".wS.wS......"),
        ({"wait": 1, "warmup": 1, "active": 1, "repeat": 1, "skip_first": 4}, ".....wS....."),
        ({"wait": 1, "warmup": 0, "active": 1, "skip_first": 3}, "....S.S.S.S."),
        ({"wait": 3, "warmup": 0, "active": 2, "skip_first_wait": 1}, "rS...rS...rS"),
        ({"wait": 3, "warmup": 1, "active": 1, "skip_first": 1, "skip_first_wait": 1, "repeat": 2}, ".wS...wS...."),
    ],
)
def test_what_is_done_in_each_step(arguments: Any, actions: str) -> None:
    assert actions_of(schedule(**arguments), 12) == actions
    assert actions_of(torch.profiler.schedule(**arguments), 12) == actions


numbers = st.integers(0, 5)


@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
@given(numbers, numbers, st.integers(1, 5), st.integers(0, 3), numbers, st.integers(0, 1))
def test_schedules_are_those_of_torch(
    wait: int, warmup: int, active: int, repeat: int, skip_first: int, skip_first_wait: int
) -> None:
    arguments: dict[str, int] = {
        "wait": wait,
        "warmup": warmup,
        "active": active,
        "repeat": repeat,
        "skip_first": skip_first,
        "skip_first_wait": skip_first_wait,
    }
    assert actions_of(schedule(**arguments), 70) == actions_of(torch.profiler.schedule(**arguments), 70)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"wait": -1, "warmup": 0, "active": 1}, "wait must be a number of steps, 0 or more, got -1"),
        ({"wait": 0, "warmup": -2, "active": 1}, "warmup must be a number of steps, 0 or more, got -2"),
        ({"wait": 0, "warmup": 0, "active": 0}, "active must be a number of steps, 1 or more, got 0"),
        ({"wait": 0, "warmup": 0, "active": 1, "repeat": -1}, "repeat must be a number of steps, 0 or more, got -1"),
        ({"wait": 0, "warmup": 0, "active": 1, "skip_first": -1}, "skip_first must be a number of steps, 0 or more"),
    ],
)
def test_numbers_that_make_no_schedule_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        schedule(**arguments)
    with pytest.raises(AssertionError):
        torch.profiler.schedule(**arguments)


def test_cycles_are_recordings_without_their_warm_up(tmp_path: Path) -> None:
    # The recording once included the warm-up step, some nanoseconds long, and the last step counted as unfinished.
    profile = Profile(tmp_path, schedule=schedule(wait=1, warmup=1, active=2, repeat=3), collectors=[])
    train(profile, 13)
    assert recorded(profile) == [(2, 3), (6, 7), (10, 11)]
    assert [recording.unfinished for recording in profile.recordings] == [0, 0, 0]
    assert profile.recording == profile.recordings[-1]
    assert len({recording.trace_path for recording in profile.recordings}) == 3


def test_a_last_step_in_which_nothing_was_recorded_is_in_the_recording(tmp_path: Path) -> None:
    # It was once taken for a step that began after the loop was over, and left out.
    profile = Profile(tmp_path, schedule=schedule(wait=0, warmup=1, active=2, repeat=1), collectors=[])
    with profile:
        for _ in range(4):
            profile.step()
    assert [content(recording) for recording in profile.recordings] == [{1: [], 2: []}]


@pytest.mark.parametrize("warmup", [0, 1])
@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_the_schedules_of_torch_are_taken(tmp_path: Path, warmup: int) -> None:
    plan = torch.profiler.schedule(wait=1, warmup=warmup, active=1, repeat=2)
    profile = Profile(tmp_path, schedule=plan, collectors=[])
    train(profile, 8)
    assert recorded(profile) == ([(1,), (3,)] if warmup == 0 else [(2,), (5,)])


def groups(actions: Sequence[ProfilerAction]) -> list[tuple[int, ...]]:
    """The steps that are recorded together."""
    found: list[list[int]] = []
    before = NONE
    for step, action in enumerate(actions):
        if action in (RECORD, SAVE):
            if before is not RECORD:
                found.append([])
            found[-1].append(step)
        before = action
    return [tuple(group) for group in found]


@settings(max_examples=60)
@given(st.lists(st.sampled_from(ProfilerAction), min_size=1, max_size=9), st.booleans())
def test_any_schedule_records_the_steps_that_it_says_and_no_others(actions: list[ProfilerAction], last: bool) -> None:
    with tempfile.TemporaryDirectory() as logdir:
        profile = Profile(logdir, schedule=lambda step: actions[step] if step < len(actions) else NONE, collectors=[])
        train(profile, len(actions), last=last)
        assert recorded(profile) == groups(actions)
        unfinished = [recording.unfinished for recording in profile.recordings]
        assert sum(unfinished) == (0 if last or actions[-1] in (NONE, WARMUP) else 1)


@pytest.mark.parametrize(
    ("actions", "steps"),
    [(".", []), ("w", []), ("r", [(0,)]), ("S", [(0,)]), ("rw", [(0,)]), ("rSw", [(0, 1)]), ("rS.", [(0, 1)])],
)
def test_the_block_may_be_left_in_any_state(tmp_path: Path, actions: str, steps: list[tuple[int, ...]]) -> None:
    profile = Profile(tmp_path, schedule=planned(actions), collectors=[])
    train(profile, len(actions), last=False)
    assert recorded(profile) == steps
    assert len(list(tmp_path.glob("**/*.trace.json.gz"))) == len(list(tmp_path.glob("*.tfevents.*"))) == len(steps)


def test_steps_have_the_numbers_of_the_program_and_the_schedule_its_own(tmp_path: Path) -> None:
    seen = []

    def plan(step: int) -> ProfilerAction:
        seen.append(step)
        return planned(".rrS")(step)

    with Profile(tmp_path, first_step=1000, schedule=plan, collectors=[]) as profile:
        for number in (None, 2000, None, None):
            with annotate("work"):
                pass
            profile.step(number)
    assert profile.recording is not None
    assert profile.recording.steps == (1001, 2000, 2001)
    assert seen == [0, 1, 2, 3, 4]


def test_a_loop_that_numbers_its_steps_at_their_beginning_is_scheduled_from_the_first(tmp_path: Path) -> None:
    with Profile(tmp_path, schedule=planned(".S.S"), collectors=[]) as profile:
        for number in range(100, 104):
            profile.step(number)
    assert [recording.steps for recording in profile.recordings] == [(101,), (103,)]


def test_a_number_that_is_none_changes_nothing(tmp_path: Path) -> None:
    # The step was once counted before the number was checked, so the schedule was one step ahead.
    with Profile(tmp_path, schedule=planned(".S"), collectors=[]) as profile:
        with pytest.raises(TypeError, match="'str' object cannot be interpreted as an integer"):
            profile.step("1")  # type: ignore[arg-type]
        profile.step()
        with annotate("work 1"):
            pass
        profile.step()
    assert recorded(profile) == [(1,)]


def test_step_outside_of_the_block_drives_the_schedule(tmp_path: Path) -> None:
    with Profile(tmp_path, schedule=planned(".S.S"), collectors=[]) as profile:
        for step in range(5):
            with annotate(f"work {step}"):
                pass
            profiler.step()
    profiler.step()
    profile.step()
    assert recorded(profile) == [(1,), (3,)]


def test_steps_of_another_thread_count(tmp_path: Path) -> None:
    with Profile(tmp_path, schedule=planned(".S"), collectors=[]) as profile:
        for _ in range(2):
            thread = threading.Thread(target=profiler.step)
            thread.start()
            thread.join()
    assert [recording.steps for recording in profile.recordings] == [(1,)]


def test_each_recording_is_told_once_it_is_written(tmp_path: Path) -> None:
    reported = []

    def tell(recording: Recording) -> None:
        assert Path(recording.trace_path).exists()
        reported.append((recording.steps, running.session is None))

    profile = Profile(tmp_path, schedule=planned("S.rSr"), collectors=[], on_recording=tell)
    train(profile, 5, last=False)
    # The next one follows the second at once, so it is already running.
    assert reported == [((0,), True), ((2, 3), False), ((4,), True)]


def test_without_a_schedule_all_is_one_recording(tmp_path: Path) -> None:
    reported: list[Recording] = []
    profile = Profile(tmp_path, collectors=[], on_recording=reported.append)
    train(profile, 3)
    assert recorded(profile) == [(0, 1, 2)]
    assert reported == profile.recordings


def test_a_profile_may_be_used_again(tmp_path: Path) -> None:
    # The schedule once continued where the last block had ended.
    profile = Profile(tmp_path, first_step=0, schedule=planned(".S"), collectors=[])
    train(profile, 3)
    train(profile, 3)
    assert recorded(profile) == [(1,), (1,)]


def test_an_exception_in_the_loop_leaves_what_was_recorded(tmp_path: Path) -> None:
    profile = Profile(tmp_path, schedule=planned("..rrr"), collectors=[])

    def fail() -> None:
        with profile:
            for step in range(5):
                with annotate(f"work {step}"):
                    if step == 3:
                        raise RuntimeError("training broke")
                profile.step()

    with pytest.raises(RuntimeError, match="training broke"):
        fail()
    assert recorded(profile) == [(2, 3)]
    assert profile.recordings[0].unfinished == 1


def test_an_exception_in_the_warm_up_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), Profile(tmp_path, schedule=planned("w"), collectors=[]) as profile:
        raise RuntimeError
    assert profile.recordings == []
    assert profile.recording is None


@pytest.mark.parametrize("action", ["record", None, 1, torch.profiler.ProfilerAction.DEVICE_STOPPED])
def test_what_is_no_action_is_refused_and_what_was_recorded_is_kept(tmp_path: Path, action: Any) -> None:
    profile = Profile(tmp_path, schedule=lambda step: RECORD if step < 2 else action, collectors=[])
    with pytest.raises(TypeError, match=r"a schedule must return a ProfilerAction \(NONE, WARMUP, RECORD, RECORD_AND"):
        train(profile, 3)
    assert recorded(profile) == [(0, 1)]
    with pytest.raises(TypeError), Profile(tmp_path, schedule=lambda _: action):
        pass


def test_one_recording_at_a_time(tmp_path: Path) -> None:
    with Profile(tmp_path, schedule=planned(".S"), collectors=[]) as profile:
        # Also while the schedule waits: otherwise the step that it wants would be taken away from it.
        with pytest.raises(AlreadyStartedError, match="a process can have only one at a time"):
            profiler.start(tmp_path)
        with pytest.raises(AlreadyStartedError), Profile(tmp_path):
            pass
        with pytest.raises(AlreadyStartedError), profile:
            pass
        profile.step()
        with pytest.raises(AlreadyStartedError):
            profiler.start(tmp_path)
        profile.step()
    assert [recording.steps for recording in profile.recordings] == [(1,)]
    profiler.start(tmp_path, collectors=[])
    with pytest.raises(AlreadyStartedError), Profile(tmp_path):
        pass
    assert profiler.stop().steps == (0,)


def test_stop_ends_a_profile_and_what_starts_then_is_left_alone(tmp_path: Path) -> None:
    # The end of the block once stopped a recording that somebody else had started in the meantime.
    reported: list[Recording] = []
    with Profile(tmp_path / "a", schedule=planned(".rrr"), collectors=[], on_recording=reported.append) as profile:
        with pytest.raises(NotStartedError):
            profiler.stop()
        profile.step()
        recording = profiler.stop()
        profiler.start(tmp_path / "b", collectors=[])
        profile.step()
    other = profiler.stop()
    assert (recording.steps, other.steps) == ((1,), (0,))
    assert reported == profile.recordings == [recording]


def test_stop_without_saving_writes_nothing(tmp_path: Path) -> None:
    profiler.start(tmp_path, collectors=[])
    with annotate("work"):
        pass
    assert profiler.stop(save=False) is None
    with Profile(tmp_path, collectors=[]) as profile:
        assert profiler.stop(save=False) is None
    assert profile.recordings == []
    assert list(tmp_path.iterdir()) == []


class SecondTime:
    """A collector that records once."""

    def __init__(self) -> None:
        self.started = 0

    def start(self, clock: RecordingClock) -> None:
        self.started += 1
        if self.started == 2:
            raise UserError("the device is gone")

    def stop(self) -> Collected:
        return Collected(notes=("one event was dropped",))


def test_a_recording_is_told_though_the_next_cannot_start(tmp_path: Path) -> None:
    # It was once written without anybody being told.
    reported: list[Recording] = []
    plan = schedule(wait=0, warmup=0, active=1)
    profile = Profile(tmp_path, schedule=plan, collectors=[SecondTime()], on_recording=reported.append)
    with pytest.raises(UserError, match="the device is gone"):
        train(profile, 3)
    assert recorded(profile) == [(0,)]
    assert reported == profile.recordings
    assert profile.recordings[0].notes == ("one event was dropped",)


def test_a_log_directory_that_is_a_file_is_refused_when_the_recording_begins(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    profile = Profile(tmp_path / "file", schedule=planned(".S"), collectors=[])
    with profile, pytest.raises(UserError, match="nothing can be recorded into"):
        profile.step()
