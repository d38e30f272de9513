"""Arrays shown while they change: nothing is kept until somebody looks, and then no more than is asked for."""

import base64
import json
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from stepscope.debug import showing
from stepscope.debug.films import FrameSink
from stepscope.debug.live import MOST_VIEWERS, LiveTensors
from stepscope.debug.live_frames import MOST_TENSORS, Frame, matches
from stepscope.debug.live_viewer import FORGOTTEN_AFTER_S
from stepscope.debug.pictures import HIGHEST, LOWEST, NOT_FINITE
from stepscope.profiler.capture_routes import RefusalError
from stepscope.profiler.client import Address, CaptureError, Client
from stepscope.profiler.server import start


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def ask(live: LiveTensors, **wanted: Any) -> dict[str, Any]:
    return dict(live.answer(json.dumps({"wait_ms": 0, **wanted}).encode()))


def shown(answer: dict[str, Any]) -> list[tuple[str, str, list[int]]]:
    return [
        (section["name"], tensor["name"], list(base64.b64decode(tensor["pixels"])))
        for section in answer["sections"]
        for tensor in section["tensors"]
    ]


class Taken(FrameSink):
    def __init__(self, names: str, every: int, live: LiveTensors) -> None:
        self.names_taken: list[str] = []
        super().__init__(names, every, live)

    def _write(self, frame: Frame) -> None:
        self.names_taken += [tensor.name for tensor in frame.tensors]


class Untouchable:
    """An array that must not be looked at."""

    @property
    def shape(self) -> tuple[int, ...]:
        raise AssertionError("the array was looked at")


def test_nothing_is_looked_at_until_somebody_asks() -> None:
    live = LiveTensors(Clock())
    live.offer("weights", Untouchable())
    live.end_step(1)
    assert not live.active


def test_a_viewer_gets_the_steps_after_it_asked() -> None:
    clock = Clock()
    live = LiveTensors(clock)
    assert ask(live) == {"number": -1, "tensors": None}
    clock.now += 1
    live.offer("layer/weight", np.array([0.0, 1.0, np.nan]))
    live.offer("bias", np.array([2.0]))
    live.end_step(7)
    first = ask(live)
    assert (first["number"], first["step"], first["left_out"]) == (0, 7, 0)
    assert sorted(shown(first)) == [
        ("", "bias", [round((LOWEST + HIGHEST) / 2)]),
        ("layer", "layer/weight", [LOWEST, HIGHEST, NOT_FINITE]),
    ]
    assert ask(live, after=0) == {"number": 0, "tensors": None}


def test_a_name_that_comes_again_ends_the_step() -> None:
    clock = Clock()
    live = LiveTensors(clock)
    ask(live)
    clock.now += 1
    live.offer("a", np.zeros(2))
    live.offer("b", np.zeros(2))
    assert ask(live)["tensors"] is None
    live.offer("a", np.zeros(2))
    assert [name for _, name, _ in shown(ask(live))] == ["a", "b"]


def test_no_more_frames_are_made_than_are_asked_for() -> None:
    clock = Clock()
    live = LiveTensors(clock)
    ask(live, rate=2)
    clock.now += 0.5
    live.offer("a", np.zeros(2))
    live.end_step()
    live.offer("a", Untouchable())
    live.end_step()
    clock.now += 0.6
    live.offer("a", np.ones(2))
    live.end_step()
    assert ask(live, rate=2)["number"] == 1
    ask(live, rate=0)
    clock.now += 1
    live.offer("a", Untouchable())


def test_a_frame_that_is_due_within_a_step_begins_with_the_next() -> None:
    clock = Clock()
    live = LiveTensors(clock)
    ask(live, rate=2)
    live.offer("a", np.zeros(2))
    live.end_step(0)
    live.offer("a", Untouchable())
    clock.now += 0.6
    live.offer("b", Untouchable())
    for step in (1, 2):
        live.end_step(step)
        live.offer("a", np.zeros(2))
        live.offer("b", np.zeros(2))
    answer = ask(live, rate=2)
    assert (answer["step"], [name for _, name, _ in shown(answer)]) == (2, ["a", "b"])


def test_a_frame_that_would_be_due_within_a_long_step_begins_with_it() -> None:
    clock = Clock()
    live = LiveTensors(clock)
    ask(live, rate=2)
    frames = []
    for step in range(4):
        for name in "ab":
            live.offer(name, np.zeros(2))
            clock.now += 2
        live.end_step(step)
        answer = ask(live, rate=2)
        frames.append((answer["step"], [name for _, name, _ in shown(answer)]))
    assert frames == [(step, ["a", "b"]) for step in range(4)]


def test_a_viewer_who_comes_within_a_long_step_sees_its_rest() -> None:
    clock = Clock()
    live = LiveTensors(clock)
    ask(live, rate=2)
    live.offer("a", np.zeros(2))
    live.end_step(0)
    live.offer("a", np.zeros(2))
    clock.now += FORGOTTEN_AFTER_S
    ask(live, rate=2)
    for name in "bc":
        clock.now += 0.8
        live.offer(name, np.zeros(2))
    live.end_step(1)
    answer = ask(live, rate=2)
    assert (answer["step"], [name for _, name, _ in shown(answer)]) == (1, ["c"])


def test_a_step_that_takes_much_longer_than_the_one_before_is_seen_in_part() -> None:
    clock = Clock()
    live = LiveTensors(clock)
    ask(live, rate=1)
    live.offer("a", np.zeros(2))
    live.end_step(0)
    for name in ("a", "val/a", "val/b"):
        live.offer(name, np.zeros(2))
        clock.now += 1.2
    live.end_step(1)
    answer = ask(live, rate=1)
    assert (answer["step"], [name for _, name, _ in shown(answer)]) == (1, ["val/b"])


def test_a_viewer_who_comes_within_a_long_step_of_a_film_sees_its_rest() -> None:
    clock = Clock()
    live = LiveTensors(clock)
    with Taken("a", 1, live) as film:
        live.offer("a", np.zeros(2))
        clock.now += 1
        ask(live)
        for name in "bc":
            clock.now += 0.8
            live.offer(name, np.zeros(2))
        clock.now += 2
        assert [name for _, name, _ in shown(ask(live))] == ["c"]
        live.end_step(0)
    assert film.names_taken == ["a"]


def test_a_film_that_begins_within_a_step_of_another_gets_its_rest() -> None:
    live = LiveTensors(Clock())
    with Taken("*", 1, live) as first:
        live.offer("a", np.zeros(2))
        with Taken("*", 1, live) as second:
            live.offer("b", np.zeros(2))
            live.end_step(0)
    assert (first.names_taken, second.names_taken) == (["a", "b"], ["b"])


def test_a_viewer_takes_no_room_from_a_film() -> None:
    live = LiveTensors(Clock())
    ask(live)
    with Taken("z", 1, live) as film:
        for number in range(MOST_TENSORS):
            live.offer(f"a{number}", np.zeros(1))
        live.offer("z", np.zeros(1))
        live.end_step(0)
    assert (film.names_taken, ask(live)["left_out"]) == (["z"], 1)


def test_a_film_takes_no_room_from_a_viewer() -> None:
    live = LiveTensors(Clock())
    ask(live, names="z")
    with Taken("*", 1, live):
        for number in range(MOST_TENSORS + 2):
            live.offer(f"a{number}", np.zeros(1))
        live.offer("z", np.zeros(1))
        live.end_step(0)
    answer = ask(live, names="z")
    assert (len(shown(answer)), answer["left_out"]) == (1, 0)


def test_arrays_of_a_long_step_are_seen_before_it_ends_among_the_others() -> None:
    clock = Clock()
    live = LiveTensors(clock)
    ask(live, scaling="fixed")
    with Taken("*", 1, live) as film:
        for value in (0.0, 1.0):
            live.offer("a", np.array([value]))
            live.offer("b", np.array([value]))
            if value == 0:
                live.end_step(0)
                clock.now += 1
        assert (ask(live, scaling="fixed")["step"], film.names_taken) == (0, ["a", "b"])
        clock.now += 2
        unfinished = ask(live, scaling="fixed", after=0)
        assert (unfinished["step"], shown(unfinished)) == (None, [("", "a", [HIGHEST]), ("", "b", [HIGHEST])])
        assert ask(live, after=unfinished["number"])["tensors"] is None
        live.offer("c", np.zeros(1))
        clock.now += 2
        assert [name for _, name, _ in shown(ask(live, after=unfinished["number"]))] == ["a", "b", "c"]
        assert film.names_taken == ["a", "b"]
        live.end_step(1)
        assert ask(live)["step"] == 1
    assert film.names_taken == ["a", "b", "a", "b", "c"]


def test_a_viewer_that_stays_away_is_forgotten() -> None:
    clock = Clock()
    live = LiveTensors(clock)
    ask(live)
    clock.now += FORGOTTEN_AFTER_S
    live.offer("a", Untouchable())
    assert not live.active


def test_only_the_names_that_are_asked_for_are_looked_at() -> None:
    clock = Clock()
    live = LiveTensors(clock)
    ask(live, names="enc*/weight, bias?")
    clock.now += 1
    live.offer("encoder/weight", np.zeros(1))
    live.offer("decoder/weight", Untouchable())
    live.offer("bias1", np.zeros(1))
    live.end_step()
    assert [name for _, name, _ in shown(ask(live, names="enc*/weight, bias?"))] == ["encoder/weight", "bias1"]
    assert not matches("a", "")


def test_what_a_film_takes_is_not_shown_to_who_asks_for_other_names() -> None:
    clock = Clock()
    live = LiveTensors(clock)
    ask(live, names="decoder*")
    with Taken("encoder*", 1, live) as film:
        clock.now += 1
        live.offer("decoder/weight", np.zeros(1))
        live.offer("encoder/weight", np.zeros(1))
        live.end_step()
    assert [name for _, name, _ in shown(ask(live, names="decoder*"))] == ["decoder/weight"]
    assert film.names_taken == ["encoder/weight"]


def test_each_viewer_sees_the_arrays_that_it_asks_for() -> None:
    live = LiveTensors(Clock())
    viewers = {"ann": "encoder*", "bob": "decoder*", "eve": "*"}
    for viewer, names in viewers.items():
        ask(live, viewer=viewer, names=names)
    live.offer("encoder/weight", np.zeros(1))
    live.offer("decoder/weight", np.zeros(1))
    live.end_step(7)
    answers = {viewer: ask(live, viewer=viewer, names=names) for viewer, names in viewers.items()}
    assert {viewer: [name for _, name, _ in shown(answer)] for viewer, answer in answers.items()} == {
        "ann": ["encoder/weight"],
        "bob": ["decoder/weight"],
        "eve": ["encoder/weight", "decoder/weight"],
    }
    assert {(answer["step"], answer["left_out"]) for answer in answers.values()} == {(7, 0)}


def test_each_viewer_has_its_own_rate() -> None:
    clock = Clock()
    live = LiveTensors(clock)
    rates = {"slow": 1, "fast": 4, "paused": 0}
    steps: dict[str, list[int]] = {viewer: [] for viewer in rates}
    after = dict.fromkeys(rates, -1)
    for step in range(9):
        for viewer, rate in rates.items():
            answer = ask(live, viewer=viewer, rate=rate, after=after[viewer])
            after[viewer] = answer["number"]
            if "step" in answer:
                steps[viewer].append(answer["step"])
        live.offer("a", np.zeros(1))
        live.end_step(step)
        clock.now += 0.25
    assert steps == {"slow": [0, 4], "fast": list(range(8)), "paused": []}


def test_each_viewer_sees_changes_over_its_own_frames() -> None:
    clock = Clock()
    live = LiveTensors(clock)
    windows = {"short": 2, "long": 4}
    for step in range(4):
        for viewer, window in windows.items():
            ask(live, viewer=viewer, show="variance", window=window)
        clock.now += 1
        live.offer("a", np.array([0.0, float(step)]))
        live.end_step(step)
    highest = {}
    for viewer, window in windows.items():
        ((tensor,),) = [
            section["tensors"] for section in ask(live, viewer=viewer, show="variance", window=window)["sections"]
        ]
        highest[viewer] = tensor["highest"]
    assert highest == {"short": np.var([2, 3]), "long": np.var([0, 1, 2, 3])}


def test_no_viewer_takes_room_from_another() -> None:
    live = LiveTensors(Clock())
    ask(live, viewer="small", most_bytes=1024)
    ask(live, viewer="large")
    for number in range(10):
        live.offer(f"layer{number}", np.zeros((100, 100)))
    live.end_step()
    small, large = ask(live, viewer="small", most_bytes=1024), ask(live, viewer="large")
    assert [(len(shown(answer)), answer["left_out"]) for answer in (small, large)] == [(2, 8), (10, 0)]
    assert {len(drawn) for _, _, drawn in shown(small)} <= set(range(1025))
    assert {len(drawn) for _, _, drawn in shown(large)} == {10_000}


def test_one_viewer_too_many_takes_the_place_of_the_most_silent() -> None:
    live = LiveTensors(Clock())
    for number in range(MOST_VIEWERS + 1):
        ask(live, viewer=str(number))
    live.offer("a", np.zeros(1))
    live.end_step(0)
    # An answer to the first one would take another's place, which has been silent longer.
    seen = {str(number): ask(live, viewer=str(number)) for number in range(1, MOST_VIEWERS + 1)}
    assert [answer["step"] for answer in seen.values()] == [0] * MOST_VIEWERS
    assert ask(live, viewer="0")["tensors"] is None


def test_who_asks_for_other_names_gets_frames_of_these_alone() -> None:
    clock = Clock()
    live = LiveTensors(clock)
    ask(live)
    live.offer("a", np.zeros(1))
    live.end_step(0)
    assert ask(live, names="b")["tensors"] is None
    live.offer("a", Untouchable())
    live.offer("b", np.zeros(1))
    live.end_step(1)
    answer = ask(live, names="b")
    assert (answer["step"], [name for _, name, _ in shown(answer)]) == (1, ["b"])


def test_a_frame_is_bounded_and_says_what_it_leaves_out() -> None:
    clock = Clock()
    live = LiveTensors(clock)
    ask(live, most_bytes=1024)
    clock.now += 1
    for number in range(10):
        live.offer(f"layer{number}", np.zeros((100, 100)))
    live.end_step()
    answer = ask(live, most_bytes=1024)
    assert (len(shown(answer)), answer["left_out"]) == (2, 8)
    assert sum(len(drawn) for _, _, drawn in shown(answer)) <= 2 * 1024


@pytest.mark.parametrize(
    ("scaling", "expected"),
    [
        ("tensor", {"s/a": [LOWEST, HIGHEST], "s/b": [LOWEST, HIGHEST], "t/c": [LOWEST, HIGHEST]}),
        ("section", {"s/a": [LOWEST, 27], "s/b": [LOWEST, HIGHEST], "t/c": [LOWEST, HIGHEST]}),
        ("fixed", {"s/a": [LOWEST, LOWEST + 25], "s/b": [LOWEST, HIGHEST], "t/c": [LOWEST, HIGHEST]}),
    ],
)
def test_colors_stand_for_the_extremes_of_an_array_of_its_section_or_of_all(
    scaling: str, expected: dict[str, list[int]]
) -> None:
    clock = Clock()
    live = LiveTensors(clock)
    wanted = {"scaling": scaling, "lowest": 0, "highest": 10}
    ask(live, **wanted)
    clock.now += 1
    live.offer("s/a", np.array([0.0, 1.0]))
    live.offer("s/b", np.array([0.0, 10.0]))
    live.offer("t/c", np.array([0.0, 99.0]))
    live.end_step()
    assert {name: drawn for _, name, drawn in shown(ask(live, **wanted))} == expected


def test_sections_that_change_most_come_first_and_change_can_be_shown() -> None:
    clock = Clock()
    live = LiveTensors(clock)
    ask(live, show="variance")
    for step in range(4):
        clock.now += 1
        live.offer("still/a", np.array([0.0, 1.0]))
        live.offer("moving/b", np.array([0.0, float(step)]))
        live.end_step(step)
    answer = ask(live, show="variance")
    assert [section["name"] for section in answer["sections"]] == ["moving", "still"]
    moving = answer["sections"][0]["tensors"][0]
    assert (moving["lowest"], moving["highest"]) == (0, np.var([0, 1, 2, 3]))


def test_what_was_asked_wrong_is_said() -> None:
    with pytest.raises(RefusalError, match="Expected `float` <= 30"):
        ask(LiveTensors(), rate=1000)
    with pytest.raises(RefusalError, match="cannot be used"):
        LiveTensors().answer(b"\x80\x04pickle")


@pytest.fixture
def watched() -> Iterator[Client]:
    with start(0, token="correct horse battery staple") as server:
        yield Client(Address("127.0.0.1", server.port), "correct horse battery staple")


def test_a_viewer_looks_through_the_programs_server(watched: Client) -> None:
    answers: list[dict[str, Any]] = []
    stop = threading.Event()

    def train() -> None:
        step = 0
        while not stop.wait(0.001):
            showing.show("weights", torch.full((2, 2), float(step)))
            showing.end_step(step)
            step += 1

    trainer = threading.Thread(target=train)
    trainer.start()
    try:
        while len(answers) < 3:
            after = answers[-1]["number"] if answers else -1
            answer = watched.ask_json("/live", {"rate": 30, "after": after})
            if answer.get("sections"):
                answers.append(answer)
    finally:
        stop.set()
        trainer.join()
    numbers = [answer["number"] for answer in answers]
    assert numbers == sorted(set(numbers))
    assert answers[0]["sections"][0]["tensors"][0]["shape"] == [2, 2]


def test_who_does_not_know_the_token_sees_nothing(watched: Client) -> None:
    with pytest.raises(CaptureError, match="token"):
        Client(watched.address, "another token of some length").ask_json("/live", {})
