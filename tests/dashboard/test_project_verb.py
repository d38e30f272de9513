import json
import os
import signal
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest

from stepscope.dashboard.cli.main import main
from stepscope.dashboard.cli.project import FileFollower, ProjectVerb, finder
from stepscope.dashboard.embeddings.listing import embedding_sources, has_embeddings, open_dataset
from stepscope.summary.snapshot import Snapshot

REPOSITORY = Path(__file__).resolve().parents[2]
POINTS = np.arange(12, dtype=np.float32).reshape(4, 3)


def snapshot_of(*arguments: object) -> Snapshot:
    parser = ArgumentParser()
    ProjectVerb().add_arguments(parser)
    file = finder(parser.parse_args([str(argument) for argument in arguments]))()
    assert file is not None
    return Snapshot(1, {}, (file,))


def test_a_file_with_metadata_is_all_there_is(tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", POINTS)
    (tmp_path / "m.tsv").write_text("a\nb\nc\nd\n")
    snapshot = snapshot_of(tmp_path / "p.npy", "--metadata", tmp_path / "m.tsv")
    assert has_embeddings(snapshot)
    (source,) = embedding_sources(snapshot)
    assert (source.id, source.label, source.kind, source.shape) == (".|file|p.npy|p.npy", "p.npy", "file", (4, 3))
    dataset = open_dataset(source)
    assert dataset.points.tolist() == POINTS.tolist()
    assert dataset.columns[0].texts == ("a", "b", "c", "d")


def test_raw_numbers_need_their_shape(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.bytes"
    path.write_bytes(POINTS.tobytes())
    assert open_dataset(embedding_sources(snapshot_of(path, "--shape", "4x3"))[0]).points.tolist() == POINTS.tolist()
    assert main(["project", str(path)]) == 2
    assert capsys.readouterr().err == "stepscope: p.bytes is raw float32; give its shape, as in --shape 1000x64.\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gone.npy"], "gone.npy does not exist. Expected a TensorFlow checkpoint's .index"),
        (["folder"], "folder is a folder. Expected a TensorFlow checkpoint's .index"),
        (["text.pt"], "text.pt is not a supported weight file."),
        (["p.npy", "--metadata", "gone.tsv"], "--metadata gone.tsv does not exist; expected a file."),
        (["p.npy", "--sprite", "gone.png"], "--sprite gone.png does not exist; expected a file."),
    ],
)
def test_what_cannot_be_shown_is_said(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("p.npy", POINTS)
    Path("text.pt").write_text("hello")
    Path("folder").mkdir()
    assert main(["project", *arguments]) == 2
    assert capsys.readouterr().err.startswith(f"stepscope: {said}")


@pytest.mark.parametrize("size", ["3", "0x3", "ax3", "3x", "-1x3"])
def test_sizes_are_two_numbers(size: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["project", "p.npy", f"--shape={size}"])
    assert f"{size!r} is not a size; expected one such as 64x64" in capsys.readouterr().err


def test_a_file_that_changes_is_published_anew(tmp_path: Path) -> None:
    import threading

    np.save(tmp_path / "p.npy", POINTS)
    parser = ArgumentParser()
    ProjectVerb().add_arguments(parser)
    find = finder(parser.parse_args([str(tmp_path / "p.npy")]))
    published: list[Snapshot] = []
    news = threading.Semaphore(0)

    def publish(snapshot: Snapshot) -> None:
        published.append(snapshot)
        news.release()

    follower = FileFollower(find, publish, seconds=0.01)
    follower.start()
    assert news.acquire(timeout=60)
    np.save(tmp_path / "new.npy", POINTS[:2])
    (tmp_path / "new.npy").replace(tmp_path / "p.npy")
    assert news.acquire(timeout=60)
    follower.stop()
    shapes = [embedding_sources(snapshot)[0].shape for snapshot in published]
    assert (shapes[-1], [snapshot.revision for snapshot in published]) == ((2, 3), [1, 2])


def test_the_file_is_served(tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", POINTS)
    command = [sys.executable, "-m", "stepscope", "project", str(tmp_path / "p.npy"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ), cwd=REPOSITORY) as server:
        assert server.stdout is not None
        assert next(server.stdout).endswith("p.npy has 1 embedding.\n")
        url = next(word for line in server.stdout for word in line.split() if word.startswith("http://"))
        with urlopen(f"{url}data/runs") as answer:
            assert json.load(answer) == []
        server.send_signal(signal.SIGINT)
        assert server.wait() == 0
