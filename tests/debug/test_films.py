"""Shown arrays as files: films and images of the run, which never disturb the program."""

import logging
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from stepscope import open_logdir
from stepscope.debug import films
from stepscope.debug.films import film, picture, record_images
from stepscope.debug.live import LiveTensors
from stepscope.debug.live_frames import MOST_TENSORS, ShownTensor
from stepscope.debug.live_viewer import FORGOTTEN_AFTER_S
from stepscope.debug.pictures import laid_out
from stepscope.summary import SummaryWriter
from stepscope.summary.errors import UserError


def steps(live: LiveTensors, count: int) -> None:
    for step in range(count):
        live.offer("layer/weight", np.arange(16).reshape(4, 4) * step)
        live.offer("layer/bias", np.arange(4) * step)
        live.end_step(step)


def test_a_film_has_a_picture_of_every_chosen_step(tmp_path: Path) -> None:
    live = LiveTensors()
    with film(tmp_path / "weights.gif", every=2, rate=5, live=live):
        steps(live, 6)
    steps(live, 6)
    with Image.open(tmp_path / "weights.gif") as opened:
        assert (opened.n_frames, opened.info["duration"]) == (3, 200)  # type: ignore[attr-defined]
    assert not live.active


@pytest.mark.parametrize("ending", [".mp4", ".webm"])
def test_a_video_has_a_picture_of_every_step(tmp_path: Path, ending: str) -> None:
    live = LiveTensors()
    with film(tmp_path / f"weights{ending}", rate=5, live=live):
        steps(live, 6)
    with av.open(str(tmp_path / f"weights{ending}")) as opened:
        pictures = [shown.to_ndarray(format="rgb24") for shown in opened.decode(video=0)]
        assert opened.streams.video[0].average_rate == 5
    assert len(pictures) == 6
    assert pictures[0].shape[0] % 2 == pictures[0].shape[1] % 2 == 0


def test_a_film_of_names_that_never_come_is_no_file(tmp_path: Path) -> None:
    live = LiveTensors()
    with film(tmp_path / "weights.gif", names="decoder*", live=live):
        steps(live, 3)
    assert list(tmp_path.iterdir()) == []


def test_arrays_are_images_of_the_run(tmp_path: Path) -> None:
    live = LiveTensors()
    with SummaryWriter(tmp_path) as writer, record_images(writer, names="*weight", every=3, live=live):
        steps(live, 7)
    series = open_logdir(tmp_path).runs["."].series
    assert list(series) == ["live/layer/weight"]
    assert series["live/layer/weight"].steps.tolist() == [0, 3, 6]
    image = series["live/layer/weight"].read(2)
    assert (image.width, image.height) == (64, 64)


def test_steps_without_an_end_are_all_in_their_film_and_in_no_other(tmp_path: Path) -> None:
    live = LiveTensors()
    for name in ("first", "second"):
        with film(tmp_path / f"{name}.gif", live=live):
            for step in range(3):
                live.offer(name, np.full((2, 200 * (1 + (name == "first"))), step))
    for name, width in (("first", 404), ("second", 204)):
        with Image.open(tmp_path / f"{name}.gif") as opened:
            assert (opened.n_frames, opened.width) == (3, width)  # type: ignore[attr-defined]


def test_steps_of_images_are_the_same_whether_somebody_looks_or_not(tmp_path: Path) -> None:
    live = LiveTensors(lambda: 100.0)
    with SummaryWriter(tmp_path) as writer, record_images(writer, every=2, live=live):
        for step in range(7):
            if step == 3:
                live.answer(b'{"wait_ms": 0}')
            live.offer("a", np.eye(2) * step)
    assert open_logdir(tmp_path).runs["."].series["live/a"].steps.tolist() == [0, 2, 4, 6]


def test_images_of_a_run_are_of_arrays_shown_since_it_began_whatever_a_film_takes(tmp_path: Path) -> None:
    live = LiveTensors()
    with film(tmp_path / "all.gif", live=live):
        for run, size in (("one", 8), ("two", 16)):
            with SummaryWriter(tmp_path / run) as writer, record_images(writer, every=1, live=live):
                for _ in range(3):
                    live.offer("a", np.zeros((size, size)))
    runs = open_logdir(tmp_path).runs
    assert {name: runs[name].series["live/a"].steps.tolist() for name in ("one", "two")} == {
        "one": [0, 1, 2],
        "two": [3, 4, 5],
    }
    with Image.open(tmp_path / "all.gif") as opened:
        assert opened.n_frames == 6  # type: ignore[attr-defined]


def test_a_film_begins_with_its_first_step_whatever_was_shown_before(tmp_path: Path) -> None:
    clock = [100.0]
    live = LiveTensors(lambda: clock[0])
    live.answer(b'{"wait_ms": 0}')
    for _ in range(3):
        live.offer("a", np.zeros(2))
    clock[0] += FORGOTTEN_AFTER_S
    for _ in range(2):
        live.offer("a", np.zeros(2))
    assert not live.active
    with film(tmp_path / "weights.gif", every=10, live=live):
        for _ in range(11):
            live.offer("a", np.zeros(2))
    with Image.open(tmp_path / "weights.gif") as opened:
        assert opened.n_frames == 2  # type: ignore[attr-defined]


def test_a_film_says_that_a_frame_has_no_room_for_some_arrays(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    live = LiveTensors()
    with film(tmp_path / "weights.gif", live=live):
        for _ in range(2):
            for number in range(MOST_TENSORS + 2):
                live.offer(f"a{number}", np.zeros(1))
    assert caplog.messages[0] == "2 shown arrays do not fit in a frame and are left out. Select fewer with `names`."
    assert [message for message in caplog.messages if "in a frame" in message] == caplog.messages[:1]


def test_an_array_larger_than_a_film_is_thinned_out(tmp_path: Path) -> None:
    live = LiveTensors()
    with film(tmp_path / "weights.gif", live=live):
        live.offer("tall", np.ones((4096, 8)))
        live.offer("small", np.eye(4))
        live.end_step(0)
    with Image.open(tmp_path / "weights.gif") as opened:
        assert opened.size == (120, 1050)


def test_a_film_names_the_array_for_which_it_has_no_room_and_shows_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    live = LiveTensors()
    with caplog.at_level(logging.WARNING), film(tmp_path / "weights.gif", live=live):
        for step in range(2):
            for number in range(12):
                live.offer(f"wide{number}", np.ones((20, 1200)))
                if number == 9:
                    live.offer("tall", np.ones((4096, 8)))
            live.offer("small", np.eye(4))
            live.end_step(step)
    assert [record.message for record in caplog.records] == [
        f"Left out of the film {tmp_path / 'weights.gif'}, where they do not fit: tall. Select fewer with `names`."
    ]
    with Image.open(tmp_path / "weights.gif") as opened:
        assert (opened.n_frames, opened.size) == (2, (1272, 464))  # type: ignore[attr-defined]


def test_a_film_that_is_full_ends_and_not_the_program(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(films, "MOST_WAITING_BYTES", 100_000)
    live = LiveTensors()
    with caplog.at_level(logging.WARNING), film(tmp_path / "weights.gif", live=live):
        steps(live, 30)
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        "Arrays given to debug.show are no longer written"
    ]
    with Image.open(tmp_path / "weights.gif") as opened:
        assert 1 < opened.n_frames < 30  # type: ignore[attr-defined]


@pytest.mark.parametrize("ending", [".gif", ".mp4"])
def test_the_folder_of_a_film_is_made_when_the_film_begins(tmp_path: Path, ending: str) -> None:
    live = LiveTensors()
    path = tmp_path / "new" / "films" / f"weights{ending}"
    with film(path, live=live):
        assert path.parent.is_dir()
        steps(live, 2)
    assert path.is_file()


def test_a_film_whose_folder_cannot_be_made_does_not_begin(tmp_path: Path) -> None:
    live = LiveTensors()
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(FileExistsError, match="taken"):
        film(tmp_path / "taken" / "weights.gif", live=live)
    assert not live.active


@pytest.mark.parametrize("ending", [".gif", ".mp4"])
def test_a_film_that_cannot_be_written_raises_but_replaces_no_error_of_the_program(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, ending: str
) -> None:
    live = LiveTensors()
    folder = tmp_path / "films"

    def train(batches: dict[int, str]) -> None:
        with film(folder / f"weights{ending}", live=live):
            folder.rmdir()
            steps(live, 2)
            batches.pop(2)

    with pytest.raises(FileNotFoundError):
        train({2: "the last batch"})
    assert caplog.messages == []
    with pytest.raises(KeyError):
        train({})
    (message,) = caplog.messages
    assert message.startswith("Not all arrays given to debug.show were written: [Errno 2] No such file or directory")


def test_a_name_that_is_no_film_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"Expected a name that ends with \.gif"):
        film(tmp_path / "weights.avi")


@pytest.mark.parametrize("array", [np.empty(0), np.float64(3), np.full((2, 2), np.nan), np.zeros((3, 3, 3), np.uint8)])
def test_any_array_is_a_picture(array: np.ndarray) -> None:
    drawn = picture(ShownTensor("a", "", laid_out(array)))
    assert drawn.ndim == 3
    assert drawn.size > 0
