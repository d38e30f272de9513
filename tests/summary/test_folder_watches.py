import queue
import sys
import threading
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

if sys.platform != "linux" or find_spec("watchdog") is None:
    pytest.skip("Linux has these watches, by watchdog", allow_module_level=True)

from stepscope.summary.folder_watches import FolderWatches

PATIENCE = 30.0


@pytest.fixture
def told() -> "queue.Queue[Sequence[str]]":
    return queue.Queue()


@pytest.fixture
def watches(told: "queue.Queue[Sequence[str]]") -> Iterator[FolderWatches]:
    made = FolderWatches(told.put)
    yield made
    made.stop()


def wait_for(told: "queue.Queue[Sequence[str]]", path: Path) -> None:
    while str(path) not in told.get(timeout=PATIENCE):
        pass


def test_changes_of_watched_folders_are_told_and_of_no_others(
    tmp_path: Path, watches: FolderWatches, told: "queue.Queue[Sequence[str]]"
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    assert watches.watch([str(one), str(tmp_path / "absent")]) == [str(one)]
    (other / "unheard").touch()
    (one / "new").touch()
    assert told.get(timeout=PATIENCE) == [str(one / "new")]
    with (one / "new").open("w") as stream:
        stream.write("more")
    wait_for(told, one / "new")

    assert watches.watch([str(other)]) == [str(other)]
    assert len(watches) == 1
    (one / "unheard").touch()
    (other / "a b\N{SNOWMAN}").touch()
    heard: list[str] = []
    while str(other / "a b\N{SNOWMAN}") not in heard:
        heard += told.get(timeout=PATIENCE)
    assert str(one / "unheard") not in heard
    (other / "unheard").rename(other / "moved")
    wait_for(told, other / "moved")


def test_a_folder_that_went_and_came_back_is_watched_again(
    tmp_path: Path, watches: FolderWatches, told: "queue.Queue[Sequence[str]]"
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    watches.watch([str(tmp_path), str(folder)])
    folder.rmdir()
    wait_for(told, folder)
    folder.mkdir()
    wait_for(told, folder)
    assert watches.watch([str(tmp_path), str(folder)]) == [str(folder)]
    (folder / "new").touch()
    wait_for(told, folder / "new")


def test_folders_that_go_while_they_are_forgotten_are_no_error(tmp_path: Path, watches: FolderWatches) -> None:
    folders = [tmp_path / str(number) for number in range(200)]

    def delete() -> None:
        for folder in folders:
            folder.rmdir()

    for _ in range(20):
        for folder in folders:
            folder.mkdir()
        watches.watch(list(map(str, folders)))
        deleting = threading.Thread(target=delete)
        deleting.start()
        watches.watch([])
        deleting.join()
    assert len(watches) == 0
